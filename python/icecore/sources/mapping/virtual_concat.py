"""Join several files along a dimension into one source; everything else must be equal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from icecore import errors
from icecore.repository.json_attributes import fill_attribute, fill_of_attribute
from icecore.repository.zarr_dtypes import copy_codecs, data_type, fill_json
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Note, Reader, Region
from icecore.sources.mapping.cf_compare import LIMITS, PACKED, SCALE, Sourced, compare, sourced, unlike_scales
from icecore.sources.mapping.consistency import Rounding, alike, coordinates
from icecore.sources.mapping.stitched_array import Converted, Part, decodes_alike, join
from icecore.sources.mapping.stored_chunks import StoredChunks
from icecore.sources.mapping.time_units import Conversion, is_time, spans_or_times

# Number of reasons that are spelled out.
_SAID = 2


def concat(maps: list[ArrayMap], dim: str, unpack: bool = False, tolerance: float | None = None) -> ArrayMap:
    """Join sources along dimension ``dim``, in the given order.

    Arrays with ``dim`` are concatenated along it, and every source must have them. Chunks stay linked if they
    fit a common grid (rectilinear if lengths are not multiples of the chunk). Arrays without ``dim`` must be
    equal, but need not be in every source, as in :func:`xarray.concat`.

    Arrays of several types become one type that holds all values exactly. 64-bit integers combined with
    floats become float64; reading a value that float64 can't hold is an error. Times (and the bounds of their
    cells) in other units than those of the first source are converted: float32 and integers must be exact,
    float64 is rounded to the nearest value. With ``unpack``, numbers that are packed with different scales or
    offsets become unscaled floats in all sources; a note in ``dropped`` reports it (``kind`` is
    ``"unpacked"``). Coordinates without ``dim`` may differ by ``tolerance`` in their units: the first
    source's values are used, their attributes record the largest difference, and a note reports it (``kind``
    is ``"tolerance"``).

    Raises:
        Error: ``not-found`` if no array has ``dim``; ``mismatch`` if sources differ in their arrays, shapes,
            values that must be equal, or in units, scale, offset, fill value or the meanings of codes.
    """
    if not maps:
        raise errors.make("invalid", "nothing to concatenate", "give at least one source")
    first = maps[0]
    if not any(dim in entry.dims for entry in first.arrays.values()):
        names = sorted({name for entry in first.arrays.values() for name in entry.dims if name})
        hint = f"it has {', '.join(names)}" if names else "its axes have no names: join the arrays first"
        raise errors.make("not-found", f"{first.source} has no dimension {dim!r}", hint)
    result = ArrayMap(first.source, dict(first.groups), {}, [note for each in maps for note in each.dropped])
    for each in maps[1:]:
        _same_arrays(first, each, dim)
    members = sourced(maps)
    everywhere: list[list[Sourced]] = []
    for path in dict.fromkeys(path for each in maps for path in each.arrays):
        arrays = [each[path] for each in members if path in each]
        if dim in arrays[0].entry.dims:
            plain = unpacked(arrays) if unpack else arrays
            joined = _joined(plain, dim)
            result.add(joined)
            if plain[0] is not arrays[0]:
                result.dropped.append(Note(path, "unpacked", told(arrays, joined.dtype)))
        else:
            everywhere.append(arrays)
            result.add(arrays[0].entry)
    rounding = Rounding(coordinates(maps), tolerance)
    alike(everywhere, dim, rounding)
    for entry, note in rounding.results() if rounding.found else ():
        result.arrays[entry.path] = entry
        result.dropped.append(note)
    result.dropped += unstated(members)
    return result


def _same_arrays(first: ArrayMap, other: ArrayMap, dim: str) -> None:
    """Raise ``mismatch`` unless both sources have the same arrays with the joined dimension."""
    for here, there in ((first, other), (other, first)):
        growing = {path for path, entry in here.arrays.items() if dim in entry.dims}
        missing = sorted(growing - set(there.arrays))
        if missing:
            raise errors.make(
                "mismatch",
                f"{there.source} has no array {missing[0]}, which {here.source} has ({len(missing)} such)",
                "join files of one kind, the others on their own",
            )


def _joined(arrays: list[Sourced], dim: str) -> ArrayEntry:
    first = arrays[0].entry
    axis = first.dims.index(dim)
    dtype = _common_dtype(arrays)
    # The first array with the common dtype determines the codecs.
    model = next((array.entry for array in arrays if array.entry.dtype == dtype), None)
    parts: list[Part] = []
    start = 0
    why: list[str] = []
    for array in arrays:
        entry = array.entry
        _fits(arrays[0], array, axis)
        times = compare(arrays[0], array)
        read, reason = _reader(array, dtype, times), _unlinkable(arrays[0], array, model, times)
        if reason and entry.shape[axis]:
            why.append(reason)
        parts.append(Part(entry, read, not reason, start, array.source))
        start += entry.shape[axis]
    whole = replace(
        first,
        shape=(*first.shape[:axis], start, *first.shape[axis + 1 :]),
        dtype=dtype,
        data_type=model.data_type if model is not None else data_type(dtype),
        codecs=model.codecs if model is not None else copy_codecs(dtype),
        fill_value=model.fill_value if model is not None else first.fill_value,
        attrs=first.attrs if dtype == first.dtype else _attributes(first, dtype),
        unlimited=tuple(sorted({*first.unlimited, axis})),
    )
    reason = join(parts, axis, whole)
    whole.held = partial(_held, parts, axis, whole)
    whole.note = reason or _note(whole, first, why, len(parts))
    return whole


def _held(parts: list[Part], axis: int, whole: ArrayEntry) -> StoredChunks | None:
    """Return the stored chunks of the parts, if they have one grid and the same fill value."""
    chunks: list[np.ndarray] = []
    unit: tuple[int, ...] | None = None
    for part in parts:
        if not part.entry.shape[axis]:
            continue
        plain = part.read is part.entry.read and part.entry.fill_value == whole.fill_value
        held = part.entry.present() if plain else None
        if held is None or held.chunk != (unit or held.chunk) or part.start % held.chunk[axis]:
            return None
        unit = held.chunk
        chunks.append(held.moved(axis, part.start // unit[axis], whole.shape))
    return None if unit is None else StoredChunks(whole.shape, unit, np.concatenate(chunks))


def _note(whole: ArrayEntry, first: ArrayEntry, why: list[str], count: int) -> str:
    # Units relative to the beginning of each file give as many reasons as files.
    reasons = list(dict.fromkeys(why))
    if len(reasons) > _SAID + 1:
        reasons[_SAID:] = [f"and {len(reasons) - _SAID} more"]
    said = "; ".join(reasons)
    if whole.links is None:
        return said or first.note
    if said:
        return f"{len(why)} of {count} files are copied: {said}"
    if whole.native:
        return f"{len(whole.native)} chunks that files cut off are copied"
    return first.note


def _reader(array: Sourced, dtype: np.dtype, times: Conversion | None) -> Reader:
    entry = array.entry
    if entry.read is None:
        raise errors.make("unsupported", f"{entry.path} can't be read", "open it with a source that can read")
    if times is None and entry.dtype == dtype:
        return entry.read
    fill = None if times is None else array.marks
    return Converted(entry.read, dtype, times, fill, array.name, spans_or_times(array.attrs))


def _unlinkable(first: Sourced, array: Sourced, model: ArrayEntry | None, times: Conversion | None) -> str:
    entry = array.entry
    if entry.links is None:
        return entry.note or "not linked"
    if times is not None:
        return f"times converted from {array.attrs.get('units')!r} to {first.attrs.get('units')!r}"
    if model is None or entry.dtype != model.dtype:
        return f"{entry.dtype} converted to {'a wider type' if model is None else model.dtype}"
    if not decodes_alike(model.codecs, entry.codecs):
        return "stored with other codecs than what it joins"
    if entry.fill_value != model.fill_value:
        return "another fill value for chunks that are not there"
    return ""


def _common_dtype(arrays: list[Sourced]) -> np.dtype:
    """Return the dtype that holds every file's values exactly.

    64-bit integers combined with floats become float64; each value is checked when it is read.
    """
    first = arrays[0]
    result = first.entry.dtype
    for array in arrays:
        entry = array.entry
        if entry.dtype == result:
            continue
        both = {entry.dtype.kind, result.kind}
        exact = both <= set("iuf") or both == {"S"}
        wider = np.result_type(entry.dtype, result) if exact else result
        # NumPy promotes int64 and uint64 together to floats, which users do not expect.
        if not exact or (wider.kind == "f" and both <= set("iu")):
            raise errors.make(
                "mismatch",
                f"{entry.path}: {entry.dtype} in {array.source}, {first.entry.dtype} in {first.source}",
                "no type holds both exactly: keep them in groups of their own",
            )
        result = wider
    return result


def _attributes(first: ArrayEntry, dtype: np.dtype) -> dict[str, Any]:
    """Return the attributes of ``first``, with ``_FillValue`` encoded for ``dtype``."""
    fill = fill_of_attribute(first.attrs.get("_FillValue"), first.dtype)
    return first.attrs if fill is None else {**first.attrs, "_FillValue": fill_attribute(fill, dtype)}


def _fits(first: Sourced, other: Sourced, axis: int) -> None:
    def others(shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return shape[:axis] + shape[axis + 1 :]

    one, two = first.entry, other.entry
    if one.dims != two.dims or others(one.shape) != others(two.shape):
        raise errors.make(
            "mismatch",
            f"{one.path}: {other.spelled(axis)} in {other.source}, {first.spelled(axis)} in {first.source}",
            "only the dimension that is joined may differ in length",
        )


# Convert numbers that files pack with different scales to unscaled floats for one common array.


@dataclass(frozen=True)
class Unpacked:
    """Reader of ``packed * scale + offset``, computed in ``dtype`` as xarray does.

    Values equal to one of ``marks`` become NaN. Integers are read as
    ``packed``, which is unsigned if the file says so.
    """

    read: Reader
    packed: np.dtype
    dtype: np.dtype
    scale: Any
    offset: Any
    marks: np.ndarray

    def __call__(self, region: Region) -> np.ndarray:
        stored = self.read(region).view(self.packed)
        values = stored.astype(self.dtype)
        if self.scale is not None:
            values *= self.scale
        if self.offset is not None:
            values += self.offset
        if len(self.marks):
            values[np.isin(stored, self.marks)] = np.nan
        return values


def unpacked(arrays: Sequence[Sourced]) -> list[Sourced]:
    """Return the arrays, as unscaled floats (NaN for missing values) if their scales or offsets differ.

    They are only converted if no attribute unrelated to packing differs.
    """
    if not unlike_scales(arrays):
        return list(arrays)
    made = [_unpacked(array) for array in arrays]
    return list(arrays) if None in made else [array for array in made if array is not None]


def told(arrays: Sequence[Sourced], dtype: np.dtype) -> str:
    """Return the note for readers of the joined array."""
    limits = [name for name in LIMITS if any(name in array.entry.attrs for array in arrays)]
    left = f"; {', '.join(limits)} left out" if limits else ""
    return f"its files have different scales: unpacked to {dtype}, missing values are NaN{left}"


def _unpacked(array: Sourced) -> Sourced | None:
    """Return the unscaled array; None if an attribute is not a number."""
    entry = array.entry
    scale, offset = (_number(array, name) for name in SCALE)
    if scale is False or offset is False or entry.read is None:
        return None
    unsigned = entry.dtype.kind == "i" and str(array.attrs.get("_Unsigned")).lower() == "true"
    packed = np.dtype(f"u{entry.dtype.itemsize}") if unsigned else entry.dtype
    dtype = _float(packed, scale, offset)
    marks = array.explicit_marks.view(packed)
    attrs, types = (
        {k: v for k, v in each.items() if k not in PACKED} for each in (entry.attrs, entry.attr_types)
    )
    made: ArrayEntry = replace(
        entry,
        dtype=dtype,
        data_type=data_type(dtype),
        codecs=copy_codecs(dtype),
        fill_value=fill_json(np.nan, dtype),
        attrs=attrs,
        attr_types=types,
        links=None,
        native={},
        held=None,
        read=Unpacked(entry.read, packed, dtype, scale, offset, marks),
    )
    return Sourced(array.source, made, {k: v for k, v in array.attrs.items() if k not in PACKED})


def _number(array: Sourced, name: str) -> Any:
    """Return an attribute in the file's type; None if it is missing, False if it is not a number."""
    value = array.said(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return np.dtype(array.entry.attr_types.get(name, np.asarray(value).dtype)).type(value)


def _float(packed: np.dtype, scale: Any, offset: Any) -> np.dtype:
    """Return the dtype of unpacked numbers (CF, 8.1): the type of the attributes.

    It is float64 if those are not floats, if a float32 would round integers of 32 bits or more, or (as in
    xarray) if there is only an offset.
    """
    given = [value.dtype for value in (scale, offset) if value is not None]
    wide = packed.kind in "iu" and packed.itemsize > 2
    if wide or any(dtype.kind != "f" for dtype in given) or (scale is None and offset is not None):
        return np.dtype("f8")
    return np.result_type(np.float32, *given, *([packed] if packed.kind == "f" else []))


# Notes on times that were converted without a calendar attribute although other times have one.

#: calendar of times without a ``calendar`` attribute (CF 1.12, 4.4.1)
DEFAULT = "standard"


def unstated(members: Sequence[dict[str, Sourced]]) -> Iterator[Note]:
    """Yield a note for each array of times whose conversion by CF's default calendar is doubtful.

    Such an array has different units in the sources and no calendar, while other times of its source have a
    calendar other than CF's default. The two would be converted by different calendars.

    Args:
        members: path → array, for each source.
    """
    for path, first in members[0].items():
        units = {str(each[path].attrs.get("units")) for each in members if path in each}
        if len(units) < 2 or not all(map(is_time, units)) or first.attrs.get("calendar"):
            continue
        for other, beside in members[0].items():
            calendar = beside.said("calendar")
            if is_time(beside.attrs.get("units")) and calendar not in (None, DEFAULT):
                message = (
                    f"states no calendar, so that its times were converted by CF's default, {DEFAULT}; "
                    f"{other} is in the calendar {calendar}: if that is meant here too, state it in the files"
                )
                yield Note(path, "calendar", message)
                break
