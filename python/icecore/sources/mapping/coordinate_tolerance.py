"""Coordinates that differ by rounding between joined files: find and compare them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from icecore import errors
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Region, blocks
from icecore.sources.mapping.cf_compare import BOUNDS, beside

#: attributes of a joined coordinate: the accepted and the largest difference, in its units
LIMIT, LARGEST = "coord_tolerance", "coord_difference"
#: units of latitude and longitude (CF 1.12, 4.1 and 4.2)
_DEGREES = re.compile(r"degrees?_?(north|east|N|E)")
Read = Callable[[int, Region], np.ndarray]


def check(tolerance: float | None, compares: bool) -> None:
    """Reject a tolerance that nothing can use; ``compares``: whether coordinates may be compared at all.

    Raises:
        Error: ``invalid`` if it is negative, infinite or not a number, or if nothing is compared.
    """
    if tolerance is None:
        return
    if (
        isinstance(tolerance, bool)
        or not isinstance(tolerance, (int, float))
        or not 0 <= tolerance < math.inf
    ):
        message = f"coord_tolerance must be a finite number of at least 0 (got {tolerance!r})"
        raise errors.make("invalid", message, "give it in the units of the coordinates: 1e-6")
    if not compares:
        message = "coord_tolerance compares coordinates of files that are joined or share a group"
        raise errors.make("invalid", message, "name the dimension to join along: --concat time")


def coordinates(maps: Iterable[ArrayMap]) -> set[str]:
    """Return the paths of coordinates and their bounds.

    Coordinates are named like their dimension or by an attribute ``coordinates``, have an attribute ``axis``,
    or are latitudes or longitudes by their units (CF 1.12, chapters 4 and 5).
    """
    found: set[str] = set()
    for each in maps:
        own = {path for path, entry in each.arrays.items() if _is_coordinate(path, entry)}
        for path, entry in each.arrays.items():
            own.update(_named(each, path, entry.attrs.get("coordinates")))
        for path in own & each.arrays.keys():
            for name in BOUNDS:
                found.update(_named(each, path, each.arrays[path].attrs.get(name)))
        found |= own
    return found


def _is_coordinate(path: str, entry: ArrayEntry) -> bool:
    is_index = len(entry.dims) == 1 and entry.dims[0] == path.rsplit("/", 1)[-1]
    units = entry.attrs.get("units")
    return (
        is_index
        or "axis" in entry.attrs
        or (isinstance(units, str) and _DEGREES.fullmatch(units) is not None)
    )


def _named(each: ArrayMap, path: str, names: object) -> Iterator[str]:
    for name in names.split() if isinstance(names, str) else ():
        yield beside(path, name, each)


def comparable(one: ArrayEntry, other: ArrayEntry) -> bool:
    """Whether two coordinates are numbers of the same shape."""
    return one.shape == other.shape and {one.dtype.kind, other.dtype.kind} <= set("iuf")


def largest_difference(entry: ArrayEntry, ours: Read, theirs: Read) -> float:
    """Return the largest difference of two arrays like ``entry``; infinite if only one of them is NaN."""
    largest = 0.0
    for at, region in enumerate(blocks(entry.shape, entry.dtype.itemsize)):
        one, other = (read(at, region).astype("f8") for read in (ours, theirs))
        with np.errstate(invalid="ignore"):
            away = np.where((one == other) | (np.isnan(one) & np.isnan(other)), 0.0, np.abs(one - other))
        if away.size:
            largest = max(largest, math.inf if np.isnan(away).any() else float(away.max()))
    return largest


def smallest_step(entry: ArrayEntry) -> float:
    """Return the smallest difference of neighbouring values of a 1-D coordinate; infinite for others."""
    if len(entry.shape) != 1 or entry.shape[0] < 2 or entry.read is None:
        return math.inf
    steps = np.abs(np.diff(entry.read((slice(0, entry.shape[0]),)).astype("f8")))
    steps = steps[steps > 0]
    return float(steps.min()) if steps.size else math.inf


def recorded(entry: ArrayEntry, limit: float, largest: float) -> dict[str, object]:
    """Return the attributes of a joined coordinate, with the accepted and the largest difference."""
    return {**entry.attrs, LIMIT: float(limit), LARGEST: largest}


def described(entry: ArrayEntry, limit: float, differences: Sequence[float], first: str) -> str:
    """Return the note on a joined coordinate."""
    units = entry.attrs.get("units")
    unit = f" {units}" if isinstance(units, str) and units else ""
    files = f"{len(differences)} file" + ("s" if len(differences) > 1 else "")
    return (
        f"differs in {files} by up to {max(differences):.6g}{unit} (coord_tolerance {limit:g}); "
        f"the values of {first} are used"
    )
