"""An array's new shape: what is cut off is gone, and what comes back holds the fill value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Shape = tuple[int, ...]
#: first element and number of elements along each axis
Box = tuple[Shape, Shape]


def is_longer(old: Sequence[int], new: Sequence[int]) -> bool:
    """Whether an array only gets rows at its end: its chunks then keep their numbers."""
    return not old or (new[0] >= old[0] and tuple(new[1:]) == tuple(old[1:]))


def edges(old: Shape, new: Shape, unit: Shape) -> Iterator[Box]:
    """What is left of the shards that shortened axes end in: they still hold what lay behind."""
    for axis, (before, now, step) in enumerate(zip(old, new, unit, strict=True)):
        if now < before and now % step:
            yield _slab(new, axis, now // step * step, now)


def reaching(flat: np.ndarray, unit: Shape, old: Shape, new: Shape) -> Iterator[Box]:
    """Those of the shards (by flat number, in C order) that reach into what is new of an array."""
    counts = tuple(-(-n // u) for n, u in zip(new, unit, strict=True))
    low = np.stack(np.unravel_index(flat.astype(np.int64), counts), axis=-1) * unit
    for first in low[((low + unit > old) & (np.asarray(new) > old)).any(axis=-1)].tolist():
        yield tuple(first), tuple(min(u, n - a) for a, u, n in zip(first, unit, new, strict=True))


def refilled(block: np.ndarray, start: Shape, old: Shape, fill: Any) -> np.ndarray | None:
    """``block``, which begins at ``start``, with the fill value in what is new; None where that is so."""
    kept = tuple(slice(0, max(n - a, 0)) for n, a in zip(old, start, strict=True))
    fresh = np.full_like(block, fill)
    fresh[kept] = block[kept]
    same = np.array_equal(fresh, block) if block.dtype.hasobject else fresh.tobytes() == block.tobytes()
    return None if same else fresh


def _slab(shape: Shape, axis: int, start: int, stop: int) -> Box:
    low = tuple(start if i == axis else 0 for i in range(len(shape)))
    return low, tuple(stop - start if i == axis else n for i, n in enumerate(shape))
