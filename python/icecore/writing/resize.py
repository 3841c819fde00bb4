"""Regions to rewrite when an array changes its shape: removed elements must not reappear."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from icecore.writing.row_grid import RowGrid

Shape = tuple[int, ...]
#: first element and number of elements along each axis
Box = tuple[Shape, Shape]


def is_longer(old: Sequence[int], new: Sequence[int]) -> bool:
    """Return whether an array only grows along its first axis, so that its chunks keep their numbers."""
    return not old or (new[0] >= old[0] and tuple(new[1:]) == tuple(old[1:]))


def edges(old: Shape, new: Shape, axes: Sequence[RowGrid]) -> Iterator[Box]:
    """Yield parts of the last shards of shortened axes, which still hold removed elements."""
    for axis, (before, now, grid) in enumerate(zip(old, new, axes, strict=True)):
        first = grid.floor(now)
        if first < now < before:
            yield _slab(new, axis, first, now)


def exposed(flat: np.ndarray, unit: Shape, rows: RowGrid, old: Shape, new: Shape) -> Iterator[Box]:
    """Yield parts of stored shards (by flat number, in C order) in the new region of an array: one for each
    shard and each axis that became longer.
    """
    counts = [-(-n // u) for n, u in zip(new, unit, strict=True)]
    counts[0] = rows.count(new[0])
    index = np.unravel_index(flat.astype(np.int64), counts)
    spans = np.array([rows.span(int(i)) for i in index[0]], np.int64).reshape(-1, 2)
    low, high = (
        np.stack([spans[:, end], *((i + end) * u for i, u in zip(index[1:], unit[1:], strict=True))], -1)
        for end in (0, 1)
    )
    for axis, (before, now) in enumerate(zip(old, new, strict=True)):
        reaching = high[:, axis] > before if now > before else np.zeros(len(low), bool)
        for start, stop in zip(low[reaching].tolist(), high[reaching].tolist(), strict=True):
            start[axis] = max(start[axis], before)
            yield tuple(start), tuple(min(b, n) - a for a, b, n in zip(start, stop, new, strict=True))


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two arrays are equal bit for bit."""
    return np.array_equal(one, other) if one.dtype.hasobject else one.tobytes() == other.tobytes()


def _slab(shape: Shape, axis: int, start: int, stop: int) -> Box:
    low = tuple(start if i == axis else 0 for i in range(len(shape)))
    return low, tuple(stop - start if i == axis else n for i, n in enumerate(shape))
