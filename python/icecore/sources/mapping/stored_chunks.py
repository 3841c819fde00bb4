"""Chunks of an array that a source stores; all others hold the fill value and are not read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

#: chunks that samples are drawn from
_SAMPLED = 4096
#: places in chunks that are drawn from: steps of the golden ratio spread evenly, however many there are
_STEP = 0.6180339887498949


@dataclass(frozen=True)
class Held:
    """Chunks of a regular grid over an array that hold something.

    Attributes:
        shape: of the array, in elements.
        chunk: of a chunk, in elements.
        chunks: flat numbers (u64, C order over the grid) of those that there are.
    """

    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    chunks: np.ndarray

    @property
    def full(self) -> bool:
        """Whether all chunks are there."""
        return len(self.chunks) >= prod(self._counts)

    @property
    def _counts(self) -> tuple[int, ...]:
        return tuple(-(-n // c) for n, c in zip(self.shape, self.chunk, strict=True))

    def boxes(
        self,
        shape: Sequence[int],
        unit: Sequence[int],
        source: Sequence[int] | None,
        itemsize: int,
        budget: int,
        origin: Sequence[int] | None = None,
    ) -> list[tuple[list[int], list[int]]]:
        """Start and shape of the boxes that an array of ``shape``, in which this one begins at ``origin``, is
        packed in: those of the whole walk (``_icecore.gather_regions``) that hold something.
        """
        from icecore import _icecore

        there = list(origin or (0,) * len(self.shape)), list(self.shape), list(self.chunk)
        chunks = np.ascontiguousarray(self.chunks, "u8")
        return _icecore.gather_regions(shape, unit, source, itemsize, budget, (*there, chunks))

    def moved(self, axis: int, by: int, shape: tuple[int, ...]) -> np.ndarray:
        """The numbers of the chunks in the grid of a larger array, ``by`` chunks further along an axis."""
        index = self._index(self.chunks)
        index[axis] = index[axis] + np.uint64(by)
        flat = np.zeros(len(self.chunks), "u8")
        for at, n, c in zip(index, shape, self.chunk, strict=True):
            flat = flat * np.uint64(-(-n // c)) + at
        return flat

    def _index(self, chunks: np.ndarray) -> list[np.ndarray]:
        """Flat numbers → the numbers along each axis; NumPy's own counts no further than 2**63 elements."""
        rest, columns = np.asarray(chunks, "u8"), []
        for count in reversed(self._counts):
            columns.append(rest % np.uint64(count))
            rest = rest // np.uint64(count)
        return columns[::-1]

    def places(self, chunk: Sequence[int]) -> np.ndarray:
        """Chunks of another grid over the same array that hold something: all, or some from all over where
        there are many. A row of indexes each, in C order.
        """
        count = min(len(self.chunks), _SAMPLED)
        picked = np.linspace(0, len(self.chunks) - 1, count).astype("i8") if count else np.empty(0, "i8")
        index = self._index(np.sort(np.asarray(self.chunks, "u8"))[picked])
        columns = []
        for axis, (n, length) in enumerate(zip(self.shape, self.chunk, strict=True)):
            start = index[axis] * np.uint64(length)
            inside = np.minimum(np.uint64(n) - start, np.uint64(length)) - np.uint64(1)
            part = np.arange(1, count + 1) * _STEP * (axis + 1) % 1
            columns.append((start + (inside * part).astype("u8")) // np.uint64(chunk[axis]))
        return np.unique(np.stack(columns, axis=1), axis=0)
