"""An array's new shape: what is cut off is gone, and what comes back holds the fill value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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


class Cut:
    """What was cut off since the last commit, whose chunks come back where the array grows over them."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, int]] = []

    def shortened(self, old: Shape, new: Shape) -> None:
        """Remember it: axis, and how far it reached."""
        self._parts += [(axis, a) for axis, (a, b) in enumerate(zip(old, new, strict=True)) if b < a]

    def regrown(self, old: Shape, new: Shape) -> Iterator[Box]:
        """The boxes in which old chunks may lie."""
        for axis, end in self._parts:
            if (stop := min(end, new[axis])) > old[axis]:
                yield _slab(new, axis, old[axis], stop)


def _slab(shape: Shape, axis: int, start: int, stop: int) -> Box:
    low = tuple(start if i == axis else 0 for i in range(len(shape)))
    return low, tuple(stop - start if i == axis else n for i, n in enumerate(shape))
