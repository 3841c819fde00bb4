"""Splitting of a box of whole shards into boxes that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod


def halved(
    low: tuple[int, ...], high: tuple[int, ...], unit: tuple[int, ...], itemsize: int, most: int
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Halve a box of whole shards along an axis until it has ``most`` bytes or is a single shard."""
    counts = [-(-(b - a) // u) for a, b, u in zip(low, high, unit, strict=True)]
    if prod(b - a for a, b in zip(low, high, strict=True)) * itemsize <= most or all(n == 1 for n in counts):
        yield low, high
        return
    axis = next(i for i, n in enumerate(counts) if n > 1)
    middle = low[axis] + counts[axis] // 2 * unit[axis]
    yield from halved(
        low, tuple(middle if i == axis else b for i, b in enumerate(high)), unit, itemsize, most
    )
    yield from halved(
        tuple(middle if i == axis else a for i, a in enumerate(low)), high, unit, itemsize, most
    )
