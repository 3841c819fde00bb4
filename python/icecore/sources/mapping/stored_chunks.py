"""Stored chunks of a source's array; all other chunks have the fill value and are not read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

#: largest number of chunks for sampling
_SAMPLED = 4096
#: step between sampled positions in chunks; multiples of the golden ratio are spread evenly
_STEP = 0.6180339887498949


@dataclass(frozen=True)
class StoredChunks:
    """Stored chunks of an array with a regular grid.

    Attributes:
        shape: shape of the array, in elements.
        chunk: shape of a chunk, in elements.
        chunks: flat indices (u64, C order over the grid) of the stored chunks.
    """

    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    chunks: np.ndarray

    @property
    def full(self) -> bool:
        """Whether all chunks are stored."""
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
        """Return start and shape of the boxes of ``_icecore.gather_regions`` with stored chunks.

        ``shape`` is the shape of the target array, in which this array begins at ``origin``.
        """
        from icecore import _icecore

        there = list(origin or (0,) * len(self.shape)), list(self.shape), list(self.chunk)
        chunks = np.ascontiguousarray(self.chunks, "u8")
        return _icecore.gather_regions(shape, unit, source, itemsize, budget, (*there, chunks))

    def moved(self, axis: int, by: int, shape: tuple[int, ...]) -> np.ndarray:
        """Return the chunk numbers in the grid of a larger array, shifted by ``by`` chunks along an axis."""
        index = self._index(self.chunks)
        index[axis] = index[axis] + np.uint64(by)
        flat = np.zeros(len(self.chunks), "u8")
        for at, n, c in zip(index, shape, self.chunk, strict=True):
            flat = flat * np.uint64(-(-n // c)) + at
        return flat

    def _index(self, chunks: np.ndarray) -> list[np.ndarray]:
        """Return indices per axis for flat indices; NumPy's function is limited to 2**63 elements."""
        rest, columns = np.asarray(chunks, "u8"), []
        for count in reversed(self._counts):
            columns.append(rest % np.uint64(count))
            rest = rest // np.uint64(count)
        return columns[::-1]

    def places(self, chunk: Sequence[int]) -> np.ndarray:
        """Return stored chunks of another grid over the same array, one row of indices each, in C order.

        If there are many, an evenly spread selection is returned.
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
