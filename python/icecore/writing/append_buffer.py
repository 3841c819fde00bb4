"""Buffer of appended rows, until they fill whole shards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Tail:
    """Rows since the last boundary between shards: stored ones and waiting ones.

    A commit writes the unfinished shards as they are; the version then is complete in itself. The rows stay
    here, so that the next commit can write the shards fuller (to new objects: old versions keep theirs)
    without reading them back.
    """

    def __init__(self, start: int, rows: np.ndarray, capacity: int, aligned: bool) -> None:
        """
        Args:
            start: the array's row that the first of ``rows`` is.
            rows: stored rows.
            capacity: rows up to the next boundary, or as many as fit in memory.
            aligned: whether ``start`` is a boundary. If not, shards are read, patched and written again.
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
        """Index after the last row."""
        return self.start + self._filled

    @property
    def waiting(self) -> bool:
        """Whether there are rows to write."""
        return self._filled > self._stored

    @property
    def fresh(self) -> int:
        """Number of rows to write."""
        return self._filled - self._stored

    @property
    def nbytes(self) -> int:
        """Bytes of the rows, stored ones included."""
        return self.rows.nbytes

    @property
    def holds_all(self) -> bool:
        """Whether all rows of the array are here."""
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
        """All rows."""
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
        length: rows that the array has.
        row: shape of a row.
        unit: rows of a shard.
        dtype: of the elements.
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
