"""Join files along several dimensions: tiles of a grid, placed by their coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from icecore import errors
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap

#: joins sources along one dimension
Join = Callable[[list[ArrayMap], str], ArrayMap]


def tiled(maps: Sequence[ArrayMap], dims: Sequence[str], join: Join, tolerance: float = 0.0) -> ArrayMap:
    """Join sources along ``dims``; their coordinates of these dimensions say where each belongs.

    Args:
        maps: the sources, in any order.
        dims: the dimensions, outermost first.
        join: joins sources in their order along one dimension.
        tolerance: largest difference of equal coordinates.

    Raises:
        Error: ``not-found`` for a source without such a coordinate; ``mismatch`` if tiles overlap, or if one
            is missing.
    """
    if not dims:
        if len(maps) > 1:
            message = f"{maps[0].source} and {maps[1].source} have the same coordinates"
            raise errors.make("mismatch", message, "name each tile once")
        return maps[0]
    dim, *rest = dims
    rows = _rows(maps, dim, tolerance)
    joined = [tiled(row, rest, join, tolerance) for row in rows]
    lengths = [len(row) for row in rows]
    if rest and len(set(lengths)) > 1:
        short = rows[lengths.index(min(lengths))]
        message = f"{min(lengths)} of {max(lengths)} tiles at {dim} = {_ends(short[0], dim)[0]:.10g}"
        hint = f"name all tiles of the grid; there: {', '.join(each.source for each in short[:3])}"
        raise errors.make("mismatch", message, hint)
    return join(joined, dim)


def _rows(maps: Sequence[ArrayMap], dim: str, tolerance: float) -> list[list[ArrayMap]]:
    """Return the sources by their place along a dimension."""
    ends = {id(each): _ends(each, dim) for each in maps}
    falls = sum((last < first) - (last > first) for first, last in ends.values()) > 0
    sign = -1 if falls else 1
    rows: list[list[ArrayMap]] = []
    for each in sorted(maps, key=lambda each: sign * ends[id(each)][0]):
        if rows and abs(ends[id(rows[-1][0])][0] - ends[id(each)][0]) <= tolerance:
            rows[-1].append(each)
        else:
            rows.append([each])
    for (one, *_), (two, *_) in pairwise(rows):
        if sign * (ends[id(two)][0] - ends[id(one)][1]) <= 0:
            message = (
                f"{two.source} begins at {dim} = {ends[id(two)][0]:.10g}, {one.source} ends at "
                f"{ends[id(one)][1]:.10g}: tiles overlap"
            )
            raise errors.make("mismatch", message, "cut off the rows that tiles have in common")
    return rows


def _ends(arrays: ArrayMap, dim: str) -> tuple[float, float]:
    """Return the first and the last value of the coordinate of a dimension."""
    entry = _coordinate(arrays, dim)
    assert entry.read is not None
    count = entry.shape[0]
    first, last = (entry.read((slice(at, at + 1),)) for at in (0, count - 1))
    return float(first[0]), float(last[0])


def _coordinate(arrays: ArrayMap, dim: str) -> ArrayEntry:
    found = [
        entry
        for entry in arrays.arrays.values()
        if entry.dims == (dim,) and entry.shape[0] and entry.dtype.kind in "iuf" and entry.read is not None
    ]
    named = [entry for entry in found if entry.path.rsplit("/", 1)[-1] == dim]
    if len(named or found) != 1:
        message = f"{arrays.source} has no coordinate {dim}, which would say where the tile belongs"
        raise errors.make("not-found", message, f"join along one dimension: --concat {dim}")
    return (named or found)[0]


def parse(concat: str) -> list[str]:
    """Return the dimensions of ``"lat,lon"``.

    Raises:
        Error: ``invalid`` if one is missing or named twice.
    """
    dims = [dim.strip() for dim in concat.split(",")]
    if not all(dims) or len(set(dims)) < len(dims):
        raise errors.make("invalid", f"concat: {concat!r}", "name each dimension once: --concat lat,lon")
    return dims


def is_several(concat: str | None) -> bool:
    """Whether ``concat`` names several dimensions."""
    return concat is not None and "," in concat
