"""Restore packed tables of binary records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import _icecore, errors
from icecore.tables.text.binary_records import BinaryFormat

if TYPE_CHECKING:
    from icecore.repository.repo import Repo

#: number of rows that are read at once
_WINDOW = 1 << 16


def printed(
    repo: Repo, path: str, table: dict[str, Any], source: dict[str, Any], fmt: dict[str, Any], stored: bytes
) -> Iterator[list[bytes]]:
    """Yield a source's records block by block; ``stored`` are its escapes, which contain the residues.

    Raises:
        Error: ``corrupt`` if columns and residue don't match.
    """
    window = _Window(repo, path, table, source)
    records = BinaryFormat(fmt)
    row, at = source["rows"][0], 0
    while at < len(stored):
        rows, used = _icecore.read_escapes(stored, at)
        if row + rows > source["rows"][1]:
            raise errors.make("corrupt", f"the escapes of {source['name']} count more rows than it has")
        yield records.print(window.columns(row, row + rows), stored[at : at + used])
        row, at = row + rows, at + used


class _Window:
    """Rows of all columns of a source, read several chunks at a time."""

    def __init__(self, repo: Repo, path: str, table: dict[str, Any], source: dict[str, Any]) -> None:
        self._repo, self._end = repo, source["rows"][1]
        self._paths = [f"{path}/{name}" for name in table["columns"]]
        self._start = self._stop = 0
        self._data: list[np.ndarray] = []
        #: buffers for reuse: allocating new memory costs as much as decoding into it
        self._room: list[np.ndarray] = []

    def columns(self, start: int, stop: int) -> list[np.ndarray]:
        """Return rows of every column."""
        if not self._data or start < self._start or stop > self._stop:
            self._load(start, stop)
        part = slice(start - self._start, stop - self._start)
        return [data[part] for data in self._data]

    def _load(self, start: int, stop: int) -> None:
        # Read up to the end of a chunk, so that only chunks with a block boundary inside are decoded twice.
        until = min(-(-max(stop, start + 1) // _WINDOW) * _WINDOW, self._end)
        count = until - start
        if not self._room or len(self._room[0]) < count:
            arrays = [self._repo._array(path) for path in self._paths]
            self._room = [np.empty((count, *a.shape[1:]), a.dtype) for a in arrays]
        self._data = [room[:count] for room in self._room]
        places = dict(zip(self._paths, self._data, strict=True))
        self._repo.read({path: slice(start, until) for path in self._paths}, places)
        self._start, self._stop = start, until
