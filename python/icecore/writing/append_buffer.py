"""Buffer of appended rows, until they fill whole shards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Tail:
    """Rows after the last shard boundary: stored rows, and rows that wait to be written.

    A commit writes the unfinished shards as they are, so each version is complete. The rows stay in this
    buffer. The next commit can write the shards again with more rows without reading them back. It writes new
    objects; old versions keep theirs.
    """

    def __init__(self, start: int, rows: np.ndarray, capacity: int, aligned: bool) -> None:
        """
        Args:
            start: index in the array of the first of ``rows``.
            rows: stored rows.
            capacity: number of rows up to the next shard boundary, or as many as fit in memory.
            aligned: whether ``start`` is a shard boundary. If not, shards are read, patched and written
                again.
        """
        from icecore import _icecore

        self.start = start
        self.aligned = aligned
        # The pool reuses the memory of encoded rows.
        self._rows = _icecore.empty_array((capacity, *rows.shape[1:]), rows.dtype)
        self._rows[: len(rows)] = rows
        self._filled = self._stored = len(rows)

    @property
    def stop(self) -> int:
        """Index after the last row in the buffer."""
        return self.start + self._filled

    @property
    def waiting(self) -> bool:
        """Whether the buffer has rows to write."""
        return self._filled > self._stored

    @property
    def fresh(self) -> int:
        """Number of rows to write."""
        return self._filled - self._stored

    @property
    def nbytes(self) -> int:
        """Size of all rows in bytes, including stored ones."""
        return self.rows.nbytes

    @property
    def holds_all(self) -> bool:
        """Whether the buffer holds all rows of the array."""
        return self.start == 0 and self.aligned

    @property
    def full(self) -> bool:
        """Whether the buffer is full."""
        return self._filled == len(self._rows)

    def take(self, rows: np.ndarray) -> int:
        """Copy as many rows as fit; return their number."""
        count = min(len(rows), len(self._rows) - self._filled)
        self._rows[self._filled : self._filled + count] = rows[:count]
        self._filled += count
        return count

    @property
    def rows(self) -> np.ndarray:
        """All rows of the buffer, stored and waiting."""
        return self._rows[: self._filled]

    def written(self) -> None:
        """Record that all rows are stored."""
        self._stored = self._filled


def tail(
    length: int,
    row: tuple[int, ...],
    unit: int,
    dtype: np.dtype[Any],
    memory: int,
    whole: int,
    read: Callable[[int, int], np.ndarray],
) -> Tail:
    """Return the buffer of an array of ``length`` rows.

    Args:
        length: number of rows of the array.
        row: shape of a row.
        unit: number of rows of a shard.
        dtype: dtype of the elements.
        memory: largest size of the rows in bytes; if a shard needs more, fewer rows are gathered.
        whole: largest size in bytes of a shard that is gathered completely.
        read: (start, stop) → stored rows.
    """
    size = max(int(np.prod(row, dtype=np.int64)) * max(dtype.itemsize, 1), 1)
    boundary = length // unit * unit
    if unit * size <= whole:
        stored = read(boundary, length) if boundary < length else np.empty((0, *row), dtype)
        return Tail(boundary, stored, unit, aligned=True)
    capacity = min(boundary + unit - length, max(memory // size, 1))
    return Tail(length, np.empty((0, *row), dtype), capacity, aligned=length == boundary)
