"""Several files as one: arrays joined along a dimension, all else equal or refused."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

import numpy as np

from icecore import errors
from icecore.sources.arraymap import ArrayEntry, ArrayMap, Reader, Region
from icecore.sources.attributes import fill_of_attribute
from icecore.sources.dtypes import copy_codecs, data_type
from icecore.sources.held import Held
from icecore.sources.stitch import Converted, Part, decodes_alike, join
from icecore.sources.timeunits import Conversion, conversion, is_time

# What decides how stored numbers are understood: a difference would be silently wrong values.
_MEANING = ("units", "calendar", "scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned")
_COMPARE = 16 << 20


def concat(maps: list[ArrayMap], dim: str) -> ArrayMap:
    """Join sources along dimension ``dim``, in the given order.

    Arrays that have ``dim`` follow each other along it: chunks stay linked wherever they fit a common grid
    (rectilinear where lengths are no multiples of the chunk). Arrays without it must be equal in all sources.
    Times in other units than the first source's are converted exactly and copied.

    Raises:
        Error: ``not-found`` where no array has ``dim``; ``mismatch`` where sources differ in the arrays they
            have, in shape, in values that should be equal, or in units, scale, offset or fill value.
    """
    if not maps:
        raise errors.make("invalid", "nothing to concatenate", "give at least one source")
    first = maps[0]
    if not any(dim in entry.dims for entry in first.arrays.values()):
        names = sorted({name for entry in first.arrays.values() for name in entry.dims if name})
        raise errors.make(
            "not-found", f"{first.source} has no dimension {dim!r}", f"it has {', '.join(names) or 'none'}"
        )
    result = ArrayMap(first.source, dict(first.groups), {}, [note for each in maps for note in each.dropped])
    for each in maps[1:]:
        _same_arrays(first, each)
    for path in first.arrays:
        entries = [each.arrays[path] for each in maps]
        sources = [each.source for each in maps]
        if dim in entries[0].dims:
            result.add(_joined(entries, sources, dim))
        else:
            for entry, source in zip(entries[1:], sources[1:], strict=True):
                _equal(entries[0], entry, sources[0], source, dim)
            result.add(entries[0])
    return result


def _same_arrays(first: ArrayMap, other: ArrayMap) -> None:
    for here, there in ((first, other), (other, first)):
        missing = sorted(set(here.arrays) - set(there.arrays))
        if missing:
            raise errors.make(
                "mismatch",
                f"{there.source} has no array {missing[0]}, which {here.source} has ({len(missing)} such)",
                "link files of one kind together, the others on their own",
            )


def _joined(entries: list[ArrayEntry], sources: list[str], dim: str) -> ArrayEntry:
    first = entries[0]
    axis = first.dims.index(dim)
    dtype = _common_dtype(entries, sources)
    parts: list[Part] = []
    start = 0
    why: list[str] = []
    for entry, source in zip(entries, sources, strict=True):
        _fits(first, entry, axis, sources[0], source)
        times = _meaning(first, entry, sources[0], source)
        read, reason = _reader(entry, dtype, times), _unlinkable(first, entry, dtype, times)
        if reason and entry.shape[axis]:
            why.append(reason)
        parts.append(Part(entry, read, not reason, start))
        start += entry.shape[axis]
    whole = replace(
        first,
        shape=(*first.shape[:axis], start, *first.shape[axis + 1 :]),
        dtype=dtype,
        data_type=first.data_type if dtype == first.dtype else data_type(dtype),
        codecs=first.codecs if dtype == first.dtype else copy_codecs(dtype),
        unlimited=tuple(sorted({*first.unlimited, axis})),
    )
    reason = join(parts, axis, whole)
    whole.held = partial(_held, parts, axis, whole)
    whole.note = reason or _note(whole, first, why, len(parts))
    return whole


def _held(parts: list[Part], axis: int, whole: ArrayEntry) -> Held | None:
    """The chunks of the parts, where these have one grid and show the same where they have none."""
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
    return None if unit is None else Held(whole.shape, unit, np.concatenate(chunks))


def _note(whole: ArrayEntry, first: ArrayEntry, why: list[str], count: int) -> str:
    reasons = sorted(set(why))
    if whole.links is None:
        return "; ".join(reasons) or first.note
    if reasons:
        return f"{len(why)} of {count} files are copied: {'; '.join(reasons)}"
    if whole.native:
        return f"{len(whole.native)} chunks that files cut off are copied"
    return first.note


def _reader(entry: ArrayEntry, dtype: np.dtype, times: Conversion | None) -> Reader:
    if entry.read is None:
        raise errors.make("unsupported", f"{entry.path} can't be read", "open it with a source that can read")
    if times is None and entry.dtype == dtype:
        return entry.read
    fill = fill_of_attribute(entry.attrs.get("_FillValue"), entry.dtype)
    return Converted(entry.read, dtype, times, fill)


def _unlinkable(first: ArrayEntry, entry: ArrayEntry, dtype: np.dtype, times: Conversion | None) -> str:
    if entry.links is None:
        return entry.note or "not linked"
    if times is not None:
        return f"times converted from {entry.attrs.get('units')!r} to {first.attrs.get('units')!r}"
    if entry.dtype != dtype:
        return f"{entry.dtype} converted to {dtype}"
    if not decodes_alike(first.codecs, entry.codecs):
        return "stored with other codecs than the first file"
    if entry.fill_value != first.fill_value:
        return "another fill value for chunks that are not there"
    return ""


def _common_dtype(entries: list[ArrayEntry], sources: list[str]) -> np.dtype:
    """The dtype that holds every file's values exactly."""
    first = entries[0]
    result = first.dtype
    for entry, source in zip(entries, sources, strict=True):
        if entry.dtype == result:
            continue
        both = {entry.dtype.kind, result.kind}
        exact = both <= set("iuf") or both == {"S"}
        wider = np.result_type(entry.dtype, result) if exact else result
        # NumPy calls 64-bit integer → float64 safe; it rounds above 2**53.
        integers = [t for t in (entry.dtype, result) if t.kind in "iu"]
        rounds = wider.kind == "f" and any(t.itemsize * 8 > np.finfo(wider).nmant for t in integers)
        if not exact or rounds:
            raise errors.make(
                "mismatch",
                f"{entry.path}: {entry.dtype} in {source}, {first.dtype} in {sources[0]}",
                "no type holds both exactly: link them separately",
            )
        result = wider
    return result


def _fits(first: ArrayEntry, entry: ArrayEntry, axis: int, one: str, two: str) -> None:
    def others(shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return shape[:axis] + shape[axis + 1 :]

    if first.dims != entry.dims or others(first.shape) != others(entry.shape):
        raise errors.make(
            "mismatch",
            f"{first.path}: {_spelled(entry)} in {two}, {_spelled(first)} in {one}",
            "only the dimension that is joined may differ in length",
        )


def _spelled(entry: ArrayEntry) -> str:
    return "(" + ", ".join(f"{name}={n}" for name, n in zip(entry.dims, entry.shape, strict=True)) + ")"


def _meaning(first: ArrayEntry, entry: ArrayEntry, one: str, two: str) -> Conversion | None:
    """None where stored values mean the same; how to convert times; or an error that names what differs."""
    differing = [name for name in _MEANING if first.attrs.get(name) != entry.attrs.get(name)]
    if not differing:
        return None
    name = differing[0]
    ours, theirs = first.attrs.get(name), entry.attrs.get(name)
    plain = "scale_factor" not in entry.attrs and "add_offset" not in entry.attrs
    if differing == ["units"] and is_time(ours) and is_time(theirs) and plain and entry.dtype.kind in "iuf":
        times = conversion(str(theirs), str(ours), str(first.attrs.get("calendar", "standard")))
        if times is not None:
            return times
    raise errors.make(
        "mismatch",
        f"{first.path}: {name} is {theirs!r} in {two}, {ours!r} in {one}",
        "values would be silently wrong: link these files separately, or pack them with the same encoding",
    )


def _equal(first: ArrayEntry, entry: ArrayEntry, one: str, two: str, dim: str) -> None:
    """Arrays without the joined dimension have to be the same everywhere."""
    if first.shape != entry.shape or first.dtype != entry.dtype:
        raise errors.make(
            "mismatch",
            f"{first.path}: {entry.dtype} {_spelled(entry)} in {two}, "
            f"{first.dtype} {_spelled(first)} in {one}",
            f"it has no dimension {dim!r}, so it has to be the same in all files",
        )
    _meaning_equal(first, entry, one, two)
    if first.read is None or entry.read is None:
        return
    for region in _blocks(first):
        ours, theirs = first.read(region), entry.read(region)
        same = (
            ours.tobytes() == theirs.tobytes() if ours.dtype != object else bool(np.array_equal(ours, theirs))
        )
        if not same and not (ours.dtype.kind in "fc" and np.array_equal(ours, theirs, equal_nan=True)):
            raise errors.make(
                "mismatch",
                f"{first.path} has no dimension {dim!r} and differs between {one} and {two}",
                "join along another dimension, or link the files separately",
            )


def _meaning_equal(first: ArrayEntry, entry: ArrayEntry, one: str, two: str) -> None:
    for name in _MEANING:
        ours, theirs = first.attrs.get(name), entry.attrs.get(name)
        if ours != theirs:
            raise errors.make(
                "mismatch",
                f"{first.path}: {name} is {theirs!r} in {two}, {ours!r} in {one}",
                "link these files separately",
            )


def _blocks(entry: ArrayEntry) -> list[Region]:
    """The whole array in blocks along its first axis, so that comparing stays small."""
    if not entry.shape or prod(entry.shape) == 0:
        return [tuple(slice(0, n) for n in entry.shape)]
    row = max(prod(entry.shape[1:]) * entry.dtype.itemsize, 1)
    rows = max(_COMPARE // row, 1)
    rest = tuple(slice(0, n) for n in entry.shape[1:])
    return [(slice(low, min(low + rows, entry.shape[0])), *rest) for low in range(0, entry.shape[0], rows)]
