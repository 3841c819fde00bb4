"""Appending of rows, which wait in memory until they fill whole shards."""

from __future__ import annotations

import json
from functools import partial
from math import prod

import numpy as np

from icecore import errors
from icecore.layout import layout
from icecore.repository.nodes import Node
from icecore.writing.append_buffer import Tail, tail
from icecore.writing.growth import Growth
from icecore.writing.row_grid import RowGrid
from icecore.writing.synchronized import in_turn

#: size of rows (bytes) that are gathered for an array that grows by chunks
_GATHERED = 32 << 20


class RowAppends(Growth):
    """Part of :class:`ArrayWriter` that appends rows."""

    def _add(self, rows: np.ndarray) -> None:
        while len(rows):
            if self._tail is None:
                if len(rows) >= self.unit[0] and self._rows.ceil(self._stored[0]) == self._stored[0]:
                    rows = rows[self._write_whole(rows) :]
                    continue
                self._tail = self._open_tail()
            rows = rows[self._tail.take(rows) :]
            if self._tail.full:
                self._write_tail()

    @in_turn
    def finish(self) -> None:
        """Write the rows that wait in memory."""
        try:
            if self._tail is not None and self._tail.waiting:
                self._write_tail()
        finally:
            self.old_rows = None

    @property
    def border(self) -> tuple[int, int] | None:
        """Stored rows (first, last + 1) that :meth:`finish` reads, because their shard is written again."""
        if self._tail is None or not self._tail.waiting or self._tail.aligned or self.dtype.kind in "OT":
            return None
        if self._writes_again(self._tail.fresh):
            return None
        first = self._rows.floor(self._tail.start)
        return (first, self._tail.start) if first < self._tail.start else None

    @property
    def border_bytes(self) -> int:
        """Size of the rows of :attr:`border`."""
        found = self.border
        row = prod(self._stored[1:]) * max(self.dtype.itemsize, 1)
        return 0 if found is None else (found[1] - found[0]) * row

    def shorten(self) -> None:
        """Give a small array shorter shards before the writer's last commit.

        An array that this writer has not used since its last commit is unchanged, because others may have
        changed it.
        """
        is_used = self._seen == self._writer._history.count and not self._rows.is_listed
        if self._replan is not None and self._tail is not None and is_used:
            self._regrid(self._replan.shorter(self._tail, self.unit[0]))

    def _regrid(self, where: layout.Layout | None) -> None:
        """Replace the array by one with another layout; all of its rows are in memory."""
        if where is None or self._tail is None or self._bare:
            return
        anew = partial(self._anew, where, self._tail.rows)
        with self._whole(anew):
            if self._stored[0]:
                anew()
            else:  # no chunk of the old grid is stored
                self._update(layout.regridded(self._document, where))
                self._refilled(where, self._tail.rows)

    def _anew(self, where: layout.Layout, rows: np.ndarray) -> None:
        native = self._writer._native
        self._document = layout.regridded(self._document, where)
        if native.exists(self.path):
            native.delete(self.path)
        native.add_array(self.path, json.dumps(self._document, allow_nan=False, separators=(",", ":")))
        self._refilled(where, rows)

    def _refilled(self, where: layout.Layout, rows: np.ndarray) -> None:
        self._stored, self.unit, self._tail = (0, *self._stored[1:]), where.unit, None
        self._rows = RowGrid(where.unit[0])
        if self._adapting is not None:
            self._adapting.regridded(Node(self.path, True, json.dumps(self._document)))
        self._add(rows)

    def _misfit(self, given: tuple[int, ...]) -> errors.Error:
        row = ", ".join(map(str, self._stored[1:]))
        hint = f"append {self._stored[1:]} or (n{', ' if row else ''}{row})" if self._stored else ""
        return errors.make("mismatch", f"rows of shape {given} for {self.path} of shape {self.shape}", hint)

    def _settle(self) -> None:
        """Write the waiting rows and drop the buffer, because their shard is about to change."""
        self._writer._open()
        self._writer._mend()
        self._fresh()
        self.finish()
        self._tail = None

    def _open_tail(self) -> Tail:
        def read(first: int, last: int) -> np.ndarray:
            return self._writer._pending().array(self.path).read((slice(first, last),))

        memory = self._writer._shares.tail(len(self._writer._arrays))
        # Encoding needs a whole shard in memory in any case, so the only array may gather one.
        shard = prod(self.unit) * max(self.dtype.itemsize, 1) if len(self._writer._arrays) == 1 else 0
        whole = max(memory, shard)
        if self._rows.is_listed or self._writes_again():
            return self._new_rows(memory, whole)
        return tail(self._stored[0], self._stored[1:], self.unit[0], self.dtype, memory, whole, read)

    def _new_rows(self, memory: int, whole: int) -> Tail:
        """Return a buffer that begins at the end of the array: no stored row is written again. If a chunk is
        larger than ``whole``, shorter ones are written.
        """
        start, unit = self._stored[0], self.unit[0]
        if not self._rows.is_listed:  # the rest of the shard
            capacity = min(self._rows.floor(start) + unit - start, max(memory // self._row_bytes, 1))
        elif self._rows.ceil(start) > start:
            capacity = self._rows.ceil(start) - start
        elif unit * self._row_bytes <= whole:
            capacity = max(min(memory, _GATHERED) // (unit * self._row_bytes), 1) * unit
        else:
            capacity = max(memory // self._row_bytes, 1)
        aligned = self._rows.is_listed and self._rows.ceil(start) == start
        return Tail(start, np.empty((0, *self._stored[1:]), self.dtype), capacity, aligned)

    def _write_whole(self, rows: np.ndarray) -> int:
        """Write the rows that fill whole shards; return how many."""
        count = len(rows) // self.unit[0] * self.unit[0]
        before = self._stored
        # After an interruption, only the earlier rows remain.
        with self._whole(partial(self._resize, before, surely=True)):
            self._resize((before[0] + count, *before[1:]))
            self.write((before[0], *[0] * (len(before) - 1)), rows[:count])
        return count

    def _write_tail(self) -> None:
        """Write the waiting rows. They are marked as written at the end, so an interruption only means that
        they are written again.
        """
        tail = self._tail
        assert tail is not None
        rows, start = tail.rows, tail.start
        if self._stored[0] == tail.stop - tail.fresh:  # not yet, unless it was interrupted
            if self._writes_again(tail.fresh):
                self._list_chunks(rows[: -tail.fresh])
            elif self._rows.is_listed:
                self._merge_short()
        if self._rows.is_listed:
            rows, start = rows[len(rows) - tail.fresh :], tail.stop - tail.fresh
        self._resize((tail.stop, *self._stored[1:]))
        self.write((start, *[0] * (len(self._stored) - 1)), rows, owned=True)
        tail.written()
        if tail.full or not tail.aligned or self._rows.is_listed:
            self._tail = None
