"""Rows for the end of an array: gathered in memory until they fill whole shards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Tail:
    """The rows from the last boundary between shards on: those stored already, those that still wait.

    A commit writes the unfinished shards as they are; the version then is complete in itself. The rows stay
    here, so that the next commit can write the shards fuller (to new objects: old versions keep theirs)
    without reading them back.
    """

    def __init__(self, start: int, rows: np.ndarray, capacity: int, aligned: bool) -> None:
        """
        Args:
            start: the array's row that the first of ``rows`` is.
            rows: stored rows.
            capacity: rows up to the next boundary, or what memory allows.
            aligned: whether ``start`` is a boundary. If not, shards are read, patched and written again.
        """
        from icecore import _icecore

        self.start = start
        self.aligned = aligned
        # Rows that were encoded leave their memory to later ones.
        self._rows = _icecore.empty_array((capacity, *rows.shape[1:]), rows.dtype)
        self._rows[: len(rows)] = rows
        self._filled = self._stored = len(rows)

    @property
    def stop(self) -> int:
        """One behind the last row."""
        return self.start + self._filled

    @property
    def waiting(self) -> bool:
        """Are there rows that were not written yet?"""
        return self._filled > self._stored

    @property
    def fresh(self) -> int:
        """Rows that were not written yet."""
        return self._filled - self._stored

    @property
    def nbytes(self) -> int:
        """Bytes of the rows, stored ones included."""
        return self.rows.nbytes

    @property
    def holds_all(self) -> bool:
        """Are the array's rows all here?"""
        return self.start == 0 and self.aligned

    @property
    def full(self) -> bool:
        """Is there no room for another row?"""
        return self._filled == len(self._rows)

    def take(self, rows: np.ndarray) -> int:
        """Copy as many rows as there is room for; return how many."""
        count = min(len(rows), len(self._rows) - self._filled)
        self._rows[self._filled : self._filled + count] = rows[:count]
        self._filled += count
        return count

    @property
    def rows(self) -> np.ndarray:
        """All rows."""
        return self._rows[: self._filled]

    def written(self) -> None:
        """All rows are stored now."""
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
    """The tail of an array of ``length`` rows.

    Args:
        length: rows that the array has.
        row: shape of a row.
        unit: rows of a shard.
        dtype: of the elements.
        memory: bytes that the rows may take; where the rows of a shard need more, fewer are gathered.
        whole: bytes that all rows of a shard may take.
        read: gives the stored rows from the first to before the second.
    """
    size = max(int(np.prod(row, dtype=np.int64)) * max(dtype.itemsize, 1), 1)
    boundary = length // unit * unit
    if unit * size <= whole:
        stored = read(boundary, length) if boundary < length else np.empty((0, *row), dtype)
        return Tail(boundary, stored, unit, aligned=True)
    capacity = min(boundary + unit - length, max(memory // size, 1))
    return Tail(length, np.empty((0, *row), dtype), capacity, aligned=length == boundary)
