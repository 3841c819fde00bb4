"""Append times to a stored time axis whose dtype or units are too coarse for them.

New times are converted to the stored dtype and units if that is exact. Otherwise the stored times, which are
few, are written again with the new ones: in finer units, or in a wider dtype. They mean the same times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from icecore import errors
from icecore.repository.json_attributes import fill_attribute
from icecore.repository.zarr_dtypes import copy_codecs, data_type, fill_json
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Note, Reader, Region, blocks
from icecore.sources.mapping.cf_compare import LIMITS, Sourced, sourced
from icecore.sources.mapping.time_units import NAT, Conversion, between, finer, is_time, spans_or_times

#: attributes of times that are packed or limited: their numbers can't be converted one by one
_FIXED = (*LIMITS, "scale_factor", "add_offset", "_Unsigned")
#: largest array of times that is written again, in bytes
_MOST = 256 << 20


@dataclass(frozen=True)
class Moved:
    """Reader of times in another dtype and other units; both must hold them exactly.

    ``marks`` and NaN are missing times; they become ``null``, and not-a-time in int64.
    """

    read: Reader
    dtype: np.dtype
    move: Conversion
    marks: np.ndarray
    null: Any
    name: str

    def __call__(self, region: Region) -> np.ndarray:
        values = self.read(region)
        made = moved(values, self)
        if made is None:
            what = f"{self.name}: its times are not exact in {self.dtype}"
            raise errors.make("mismatch", what, "store them as float64 or in finer units")
        return made


def moved(values: np.ndarray, to: Moved) -> np.ndarray | None:
    """Return times in another dtype and units; None if it can't hold them exactly."""
    missing = np.isin(values, to.marks) if len(to.marks) else np.zeros(values.shape, bool)
    missing |= values == NAT if values.dtype == np.int64 else np.isnan(values)
    null = to.null if to.null is not None else NAT if to.dtype == np.int64 else np.nan  # NaN: has none
    if missing.any() and to.dtype.kind != "f" and null != null:
        return None
    wide = np.where(missing, values.dtype.type(0), values)
    is_whole = wide.dtype.kind in "iu" or bool(np.all(np.isfinite(wide) & (np.rint(wide) == wide)))
    if to.dtype.kind != "f" or is_whole:
        whole = wide.astype("i8") if is_whole and np.all(np.abs(wide.astype("f8")) < 2.0**63) else None
        try:
            ticks = to.move.apply(whole) if whole is not None else None
        except errors.Error:
            ticks = None
        found = None if ticks is None else _exact(ticks, to.dtype)
        if found is None and to.dtype != np.float64:
            return None
    else:
        found = None
    if found is None:  # float64 is rounded to the nearest time, float32 must be exact
        try:
            found = to.move.apply(wide.astype("f8")).astype(to.dtype)
            if to.dtype != np.float64 and (found != to.move.apply(wide.astype("f8"))).any():
                return None
        except errors.Error:
            return None
    if (~missing & (found == null)).any():
        return None  # a time that would count as missing
    if missing.any():
        found[missing] = null
    return found


def _exact(ticks: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    with np.errstate(all="ignore"):
        found = ticks.astype(dtype)
    return found if np.array_equal(found.astype(object), ticks.astype(object)) else None


def adapt(stored: ArrayMap, maps: Sequence[ArrayMap], concat: str) -> Iterator[Note]:
    """Make the times of ``maps`` appendable to those of ``stored``, which has all of the stored rows.

    Entries of both are replaced. A stored array that has to be written again gets ``rewritten``, and a note
    reports it.
    """
    members = sourced([stored, *maps])
    for family in _families(members[0], concat):
        new = [
            (each, members[i + 1][path])
            for i, each in enumerate(maps)
            for path in family
            if path in each.arrays
        ]
        first = members[0][family[0]]
        if not new or any(map(packing, (first, *(array for _, array in new)))):
            continue
        if all(_is_plain(members[0][array.entry.path], array) for _, array in new):
            continue  # the join converts them
        units = str(first.attrs["units"])
        if _fit(members[0], new, units, {path: members[0][path].entry.dtype for path in family}):
            continue
        yield from _write_again(stored, members[0], family, new, units)


def packing(array: Sourced) -> bool:
    """Whether times are packed or limited by attributes in their own units."""
    return any(name in array.attrs for name in _FIXED)


def _families(members: dict[str, Sourced], concat: str) -> Iterator[list[str]]:
    """Yield the paths of times along ``concat``: a coordinate, and its bounds without own units."""
    own = [path for path, array in members.items() if "units" in array.entry.attrs]
    for path in own:
        array = members[path]
        if (
            concat not in array.entry.dims
            or not spans_or_times(array.attrs)
            or array.entry.dtype.kind not in "if"
        ):
            continue
        bounds = (array.attrs.get(name) for name in ("bounds", "climatology"))
        beside = [f"{path.rsplit('/', 1)[0]}/{name}" for name in bounds if isinstance(name, str)]
        yield [path, *(each for each in beside if each in members and each not in own)]


def _is_plain(stored: Sourced, new: Sourced) -> bool:
    """Whether joining converts the new times exactly without looking at them."""
    move = between(new.attrs, stored.attrs)
    if move is None:
        return True  # the join reports it
    if stored.entry.dtype != new.entry.dtype or stored.said("_FillValue") != new.said("_FillValue"):
        return False
    is_whole = move.factor.denominator == 1 and move.shift.denominator == 1
    is_exact = is_whole or stored.entry.dtype == np.float64
    return move == Conversion.none() or (is_exact and is_time(stored.attrs["units"]))


def _fit(
    members: dict[str, Sourced], new: list[tuple[ArrayMap, Sourced]], units: str, dtypes: dict[str, np.dtype]
) -> bool:
    """Replace the new entries by ones in the stored dtype and units, if that is exact for all of them."""
    made = []
    for each, array in new:
        entry = in_units(array, members[array.entry.path], units, dtypes[array.entry.path])
        if entry is None:
            return False
        made.append((each, entry))
    for each, entry in made:
        each.arrays[entry.path] = entry
    return True


def in_units(array: Sourced, like: Sourced, units: str, dtype: np.dtype) -> ArrayEntry | None:
    """Return an array's times in other units and another dtype; None if these can't hold them exactly."""
    entry = array.entry
    move = between(array.attrs, {**like.attrs, "units": units})
    if move is None or entry.read is None:
        return None
    given = like.explicit_marks
    null = None if not len(given) else dtype.type(given[0])
    read = Moved(entry.read, dtype, move, array.explicit_marks, null, array.name)
    for region in blocks(entry.shape, entry.dtype.itemsize):
        if moved(entry.read(region), read) is None:
            return None
    attrs = {key: value for key, value in entry.attrs.items() if key not in ("_FillValue", "missing_value")}
    kept: dict[str, Any] = {
        key: like.entry.attrs[key] for key in ("_FillValue", "missing_value") if key in like.entry.attrs
    }
    if "_FillValue" in kept and null is not None:
        kept["_FillValue"] = fill_attribute(null, dtype)
    if "units" in attrs:
        kept["units"] = units
    return replace(
        entry,
        dtype=dtype,
        data_type=data_type(dtype),
        codecs=copy_codecs(dtype),
        fill_value=fill_json(null, dtype),
        attrs={**attrs, **kept},
        links=None,
        native={},
        held=None,
        read=read,
        note=f"times converted to {dtype} {units!r}",
    )


def _write_again(
    stored: ArrayMap,
    members: dict[str, Sourced],
    family: list[str],
    new: list[tuple[ArrayMap, Sourced]],
    units: str,
) -> Iterator[Note]:
    """Find the coarsest units and dtype that hold the stored and the new times, and use them for both."""
    if any(members[path].entry.nbytes > _MOST for path in family):
        return
    for tried in (units, *finer(units)):
        for wide in (False, True):
            dtypes = {path: _dtype(members[path].entry.dtype, wide) for path in family}
            olds = [in_units(members[path], members[path], tried, dtypes[path]) for path in family]
            if None in olds or not _fit(members, new, tried, dtypes):
                continue
            for old in olds:
                assert old is not None
                stored.arrays[old.path] = replace(old, rewritten=True)
            label = dtypes[family[0]]
            old_label = members[family[0]].entry.dtype
            said = f"new times don't fit {old_label} {units!r}: stored again as {label} {tried!r}"
            yield Note(family[0], "rewritten", said)
            return


def _dtype(dtype: np.dtype, wide: bool) -> np.dtype:
    return dtype if not wide else np.dtype("f8" if dtype.kind == "f" else "i8")
