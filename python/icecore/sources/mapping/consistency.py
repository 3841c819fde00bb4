"""Check that arrays without the joined dimension are equal in all files."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from icecore import errors
from icecore.sources.files.open_files import keep_open
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, DamagedSource, Note, Region, blocks
from icecore.sources.mapping.cf_compare import BOUNDS, Sourced, beside, same

#: cached bytes of the first file
_REMEMBERED = 64 << 20


@dataclass
class Rounding:
    """Accepted differences of coordinates.

    Attributes:
        coordinates: paths of the arrays that are coordinates.
        limit: the largest accepted difference, in their units; None: they must be equal.
        found: path → the first array and its differences from those of other files.
    """

    coordinates: set[str]
    limit: float | None = None
    found: dict[str, tuple[Sourced, list[float]]] = field(default_factory=dict)

    def accepts(self, first: Sourced, other: Sourced) -> bool:
        """Whether two arrays may differ by rounding errors."""
        is_coordinate = self.limit is not None and first.entry.path in self.coordinates
        return is_coordinate and comparable(first.entry, other.entry)

    def add(self, first: Sourced, difference: float) -> None:
        """Record an accepted difference."""
        self.found.setdefault(first.entry.path, (first, []))[1].append(difference)

    def results(self) -> Iterator[tuple[ArrayEntry, Note]]:
        """Yield the coordinates that differ, with attributes that record it, and a note on each."""
        assert self.limit is not None
        for path, (first, differences) in self.found.items():
            entry = first.entry
            attrs = recorded(entry, self.limit, max(differences))
            said = described(entry, self.limit, differences, first.source)
            yield replace(entry, attrs=attrs), Note(path, "tolerance", said)


def alike(arrays: list[list[Sourced]], dim: str | None, rounding: Rounding) -> None:
    """Compare each list's first array with the others, file by file, so that each file is opened only once.

    ``dim`` is the dimension that is joined, None if nothing is joined.

    Raises:
        Error: ``mismatch`` if dtype, shape, meaning or a value differs; ``invalid`` for a tolerance that is
            not below half of a coordinate's smallest step.
    """
    by_file: dict[str, list[tuple[Sourced, Sourced]]] = {}
    for first, *others in arrays:
        for other in others:
            by_file.setdefault(other.source, []).append((first, other))
    known = _Known()
    with keep_open():
        for pairs in by_file.values():
            for first, other in pairs:
                if rounding.accepts(first, other):
                    _nearly_equal(first, other, dim, known, rounding)
                else:
                    _equal(first, other, dim, known, rounding)


class _Known:
    """Cached blocks of first arrays, which are compared with the blocks of every other file."""

    def __init__(self) -> None:
        self.blocks: dict[tuple[str, str, int], np.ndarray] = {}
        self.bytes = 0

    def read(self, array: Sourced, at: int, region: Region) -> np.ndarray:
        key = (array.source, array.entry.path, at)
        block = self.blocks.get(key)
        if block is None:
            block = _read(array, region)
            if block.dtype != object and self.bytes + block.nbytes <= _REMEMBERED:
                self.blocks[key] = block
                self.bytes += block.nbytes
        return block


def _nearly_equal(first: Sourced, other: Sourced, dim: str | None, known: _Known, rounding: Rounding) -> None:
    """Compare coordinates, which may differ by ``rounding``."""
    same(first, other)
    limit, largest = rounding.limit or 0.0, _difference(first, other, known)
    if largest > limit:
        raise _differs(first, other, dim, f" by up to {largest:.6g}, more than the tolerance of {limit:g}")
    if not largest:
        return
    step = smallest_step(first.entry)
    if limit >= step / 2:
        message = (
            f"{first.entry.path} has steps of {step:g}: a tolerance of {limit:g} would mix its values up"
        )
        raise errors.make("invalid", message, f"give a tolerance below {step / 2:g}")
    rounding.add(first, largest)


def _difference(first: Sourced, other: Sourced, known: _Known) -> float:
    return largest_difference(
        first.entry, lambda at, region: known.read(first, at, region), lambda _, region: _read(other, region)
    )


def _differs(first: Sourced, other: Sourced, dim: str | None, how: str = "", hint: str = "") -> errors.Error:
    lacks = "" if dim is None else f"has no dimension {dim!r} and "
    apart = "keep the files in groups of their own"
    return errors.make(
        "mismatch",
        f"{first.entry.path} {lacks}differs between {first.source} and {other.source}{how}",
        hint or (apart if dim is None else f"join along another dimension, or {apart}"),
    )


def _both(ours: np.ndarray, theirs: np.ndarray, region: Region) -> str:
    """Return the first values that differ, and where: ``: 0.0 and 50.0 at [2]``."""
    with np.errstate(invalid="ignore"):
        unlike = ours != theirs
    if ours.dtype.kind in "fcmM":
        unlike &= ~(np.isnat if ours.dtype.kind in "mM" else np.isnan)(ours) | ~(
            np.isnat if ours.dtype.kind in "mM" else np.isnan
        )(theirs)
    if np.shape(unlike) != ours.shape or not unlike.any():
        return ""
    at = np.unravel_index(int(np.argmax(unlike)), ours.shape)
    place = ", ".join(str(part.start + i) for part, i in zip(region, at, strict=True))
    return f": {ours[at]} and {theirs[at]}" + (f" at [{place}]" if place else "")


def _equal(first: Sourced, other: Sourced, dim: str | None, known: _Known, rounding: Rounding) -> None:
    one, two = first.entry, other.entry
    if one.shape != two.shape or one.dtype != two.dtype:
        raise errors.make(
            "mismatch",
            f"{one.path}: {two.dtype} {other.spelled()} in {other.source}, "
            f"{one.dtype} {first.spelled()} in {first.source}",
            "keep the files in groups of their own"
            if dim is None
            else f"it has no dimension {dim!r}, so it has to be the same in all files",
        )
    same(first, other)
    if one.read is None or two.read is None:
        return
    for at, region in enumerate(blocks(one.shape, one.dtype.itemsize)):
        ours, theirs = known.read(first, at, region), _read(other, region)
        equal = (
            ours.tobytes() == theirs.tobytes() if ours.dtype != object else bool(np.array_equal(ours, theirs))
        )
        if not equal and not (ours.dtype.kind in "fc" and np.array_equal(ours, theirs, equal_nan=True)):
            if one.path not in rounding.coordinates or not comparable(one, two):
                raise _differs(first, other, dim, _both(ours, theirs, region))
            raise _differs(
                first,
                other,
                dim,
                f" by up to {_difference(first, other, known):.6g}{_both(ours, theirs, region)}",
                "if that is rounding, state the accepted difference: --coord-tolerance",
            )


def _read(array: Sourced, region: Region) -> np.ndarray:
    assert array.entry.read is not None
    try:
        return array.entry.read(region)
    except errors.Error as error:
        if error.kind == "corrupt":
            raise DamagedSource.of(array.source, error) from error
        raise


# Coordinates that differ by rounding between joined files: find and compare them.

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


def shared(arrays: ArrayMap) -> set[str]:
    """Return the paths of arrays that give other arrays their meaning: coordinates, bounds, grid mappings."""
    named = (entry.attrs.get("grid_mapping") for entry in arrays.arrays.values())
    words = {word.strip(":") for text in named if isinstance(text, str) for word in text.split()}
    maps = {path for path in arrays.arrays if path.rsplit("/", 1)[-1] in words}
    return coordinates([arrays]) | maps


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
