"""Splitting of a box of whole shards into boxes that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from icecore.writing.row_grid import RowGrid


def halved(
    low: tuple[int, ...], high: tuple[int, ...], axes: Sequence[RowGrid], itemsize: int, most: int
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Halve a box of whole shards along an axis until it has ``most`` bytes or is a single shard."""
    is_small = prod(b - a for a, b in zip(low, high, strict=True)) * itemsize <= most
    middles = (axis.middle(a, b) for axis, a, b in zip(axes, low, high, strict=True))
    axis, middle = next(((i, at) for i, at in enumerate(middles) if at is not None), (0, None))
    if is_small or middle is None:
        yield low, high
        return
    yield from halved(
        low, tuple(middle if i == axis else b for i, b in enumerate(high)), axes, itemsize, most
    )
    yield from halved(
        tuple(middle if i == axis else a for i, a in enumerate(low)), high, axes, itemsize, most
    )
