"""Writing of boxes of an array: the engine only receives whole shards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from numbers import Integral
from typing import Any, cast

import numpy as np

from icecore import errors
from icecore.layout import layout
from icecore.repository.selection import is_int
from icecore.writing.open_array import OpenArray
from icecore.writing.row_grid import RowGrid
from icecore.writing.synchronized import in_turn


class RegionWrites(OpenArray):
    """Part of :class:`ArrayWriter` that writes boxes and changes the shape."""

    def write(self, start: tuple[int, ...], values: np.ndarray, owned: bool = False) -> None:
        """Write the box that begins at ``start``.

        The caller may change ``values`` afterwards, unless they are ``owned``: these are copied only if
        necessary, and must not change before the commit.
        """
        values = self._elements(values)

        def part(region: Any) -> np.ndarray:
            return values[(..., *region)]  # an array, also for a single string

        self.write_from(start, values.shape, part, owned)

    @in_turn
    def write_from(
        self,
        start: tuple[int, ...],
        shape: tuple[int, ...],
        read: Callable[[tuple[slice, ...]], np.ndarray],
        owned: bool = True,
    ) -> None:
        """Write the box of ``shape`` that begins at ``start``; ``read`` returns parts of it, relative
        to ``start``.
        """
        self._writer._open()
        if 0 in shape:
            return
        self._check()
        self._adapt(start, shape, read)
        for low, high in self._blocks(start, shape):
            inner = tuple(
                slice(max(a, s), min(b, s + n)) for a, b, s, n in zip(low, high, start, shape, strict=True)
            )
            part = read(tuple(slice(i.start - s, i.stop - s) for i, s in zip(inner, start, strict=True)))
            if part.shape == tuple(b - a for a, b in zip(low, high, strict=True)):
                contiguous = np.asarray if owned else np.array  # np.array copies
                self._writer._native.write(self.path, low, contiguous(part, self.dtype, order="C"))
            else:
                self._patch(low, high, inner, part)

    @in_turn
    def write_strided(self, places: Sequence[range], values: np.ndarray) -> None:
        """Write elements at regular distances; ``places`` are their indexes along each axis.

        Shards without such an element are not read.
        """
        self._writer._open()
        if 0 in values.shape:
            return
        self._check()
        start = tuple(axis.start for axis in places)
        self._adapt(start, values.shape, lambda region: values[cast(Any, (..., *region))])
        for low, high in self._blocks(start, tuple(axis[-1] + 1 - axis.start for axis in places)):
            spans = [_inside(*each) for each in zip(places, low, high, strict=True)]
            if any(first >= last for first, last in spans):
                continue
            block = self._block(low, high)
            target = tuple(
                slice(axis[first] - a, axis[last - 1] - a + 1, axis.step)
                for axis, (first, last), a in zip(places, spans, low, strict=True)
            )
            block[target] = values[tuple(slice(*span) for span in spans)]
            self._writer._native.write(self.path, low, block)

    def _patch(
        self, low: tuple[int, ...], high: tuple[int, ...], inner: tuple[slice, ...], part: np.ndarray
    ) -> None:
        block = self._block(low, high)
        block[tuple(slice(i.start - a, i.stop - a) for i, a in zip(inner, low, strict=True))] = part
        self._writer._native.write(self.path, low, block)

    def _block(self, low: tuple[int, ...], high: tuple[int, ...]) -> np.ndarray:
        """Read the stored box from ``low`` to ``high``. Rows after ``old_rows`` are about to be written."""
        begins = self._tail is not None and low[0] == self._rows.floor(self._tail.start)
        if self.old_rows is not None and begins and low[0] + len(self.old_rows) <= high[0]:
            block = np.empty([b - a for a, b in zip(low, high, strict=True)], self.dtype)
            inside = tuple(slice(a, b) for a, b in zip(low[1:], high[1:], strict=True))
            block[: len(self.old_rows)] = self.old_rows[(slice(None), *inside)]
            return block
        old = self._writer._pending().array(self.path)
        region = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
        # Allocate here: blocks from the pool of results would add to the writer's memory.
        own = (
            None
            if self.dtype.kind in "OT"
            else np.empty([b - a for a, b in zip(low, high, strict=True)], self.dtype)
        )
        return old.read(region, out=own)

    def _blocks(
        self, start: tuple[int, ...], shape: tuple[int, ...]
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Return boxes of whole shards, clipped to the array, that cover a region: large ones inside, single
        shards at its border.
        """
        axes = [self._rows, *map(RowGrid, self.unit[1:])][: len(start)]
        low = tuple(axis.floor(s) for axis, s in zip(axes, start, strict=True))
        high = tuple(
            min(axis.ceil(s + n), full)
            for axis, s, n, full in zip(axes, start, shape, self._stored, strict=True)
        )
        yield from halved(low, high, axes, max(self.dtype.itemsize, 1), self._writer._shares.box)

    def _refill(self, before: tuple[int, ...]) -> None:
        """Write the fill value over old chunks that extend into the new part of the array.

        Such chunks were cut off since the last commit, or were left there by another program.
        """
        found = self._writer._pending().array(self.path).held()
        if found is None and self._rows.is_listed:  # any chunk may be stored
            found = (
                [*self.unit],
                np.arange(self._rows.count(self._stored[0]) * self._chunks_per_row(), dtype=np.uint64),
            )
        fill = self._writer._view()._array(self.path).fill_value
        for start, extent in exposed(found[1], self.unit, self._rows, before, self._stored) if found else ():
            part = self._block(start, tuple(a + n for a, n in zip(start, extent, strict=True)))
            fresh = np.full_like(part, fill)
            if not same(part, fresh):
                self.write(start, fresh)

    def _chunks_per_row(self) -> int:
        """Return the number of chunks with the same place along the first axis."""
        return prod(-(-n // u) for n, u in zip(self._stored[1:], self.unit[1:], strict=True))

    def _drop_chunks(self, kept: int) -> None:
        """Remove the references after the first ``kept`` chunks along the first axis.

        If the array grows again, other lengths may be listed there.
        """
        count, others = self._rows.count(self._stored[0]), self._chunks_per_row()
        if kept < count:
            self._writer._native.flush()
            self._writer._native.unset(self.path, range(kept * others, count * others))

    def _possible(self, shape: Sequence[int] | int) -> tuple[int, ...]:
        lengths: Any = (shape,) if isinstance(shape, Integral) else shape
        wanted: list[Any] = list(lengths) if np.ndim(lengths) == 1 else []
        if len(wanted) != len(self._stored) or not all(is_int(n) and 0 <= n < 1 << 63 for n in wanted):
            message = f"{self.path} has shape {self._stored} and can't become {shape!r:.60}"
            raise errors.make("invalid", message, "a length for each axis: (0, 138)")
        return tuple(map(int, wanted))

    def _resize(self, shape: tuple[int, ...], surely: bool = False) -> None:
        """Change the shape; if ``surely``, even if the recorded shape may be wrong after an interruption."""
        shape = self._possible(shape)
        if surely or shape != self._stored:
            self._check()
            if not is_longer(self._stored, shape):
                self._writer._native.flush()  # queued chunks have numbers of the old grid
            if shape and self._rows.is_listed:
                rows = self._rows.resized(shape[0])
                self._drop_chunks(rows.count(shape[0]))
                self._rows = rows
                self._document = layout.with_rows(self._document, self._rows.runs)
            self._update({**self._document, "shape": list(shape)})
            self._stored = shape


def _inside(axis: range, low: int, high: int) -> tuple[int, int]:
    """Return the numbers of the first index in ``low … high`` and of the one after the last."""
    first, last = (-(-(edge - axis.start) // axis.step) for edge in (low, high))
    return max(first, 0), min(last, len(axis))


# Splitting of a box of whole shards into boxes that fit into memory.


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


# Regions to rewrite when an array changes its shape: removed elements must not reappear.

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
