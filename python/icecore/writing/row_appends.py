"""Appending rows: they wait in memory until they fill whole shards."""

from __future__ import annotations

import json
from functools import partial
from math import prod

import numpy as np

from icecore import errors
from icecore.layout import layout
from icecore.repository.nodes import Node
from icecore.writing.append_buffer import Tail, tail
from icecore.writing.region_writes import RegionWrites
from icecore.writing.synchronized import in_turn


class RowAppends(RegionWrites):
    """The part of an :class:`ArrayWriter` that adds rows at the end."""

    def _add(self, rows: np.ndarray) -> None:
        while len(rows):
            if self._tail is None:
                if len(rows) >= self.unit[0] and self._stored[0] % self.unit[0] == 0:
                    rows = rows[self._write_whole(rows) :]
                    continue
                self._tail = self._open_tail()
            rows = rows[self._tail.take(rows) :]
            if self._tail.full and not self._lengthen():
                self._write_tail()

    @in_turn
    def finish(self) -> None:
        """Write the rows that still wait."""
        if self._tail is not None and self._tail.waiting:
            self._write_tail()

    def shorten(self, is_last: bool) -> None:
        """Before a commit: shorter shards, where those there are suit it badly. An array that was left alone
        stays as it is: others may have changed it.
        """
        if self._suiting is not None and self._tail is not None and self._seen == self._writer._history.count:
            self._regrid(self._suiting.shorter(self._tail, self.unit[0], is_last))

    def _lengthen(self) -> bool:
        """Longer shards where that suits the rows that come; whether there is room for more of them now."""
        if self._suiting is None or self._tail is None:
            return False
        return self._regrid(self._suiting.longer(self._tail, self.unit[0]))

    def _regrid(self, where: layout.Layout | None) -> bool:
        """Make the array anew, with all its rows, which wait here."""
        if where is None or self._tail is None or self._bare:
            return False
        anew = partial(self._anew, where, self._tail.rows)
        with self._whole(anew):
            if self._stored[0]:
                anew()
            else:  # nothing is there that has its place in the old grid
                self._update(layout.regridded(self._document, where))
                self._refilled(where, self._tail.rows)
        return True

    def _anew(self, where: layout.Layout, rows: np.ndarray) -> None:
        native = self._writer._native
        self._document = layout.regridded(self._document, where)
        if native.exists(self.path):
            native.delete(self.path)
        native.add_array(self.path, json.dumps(self._document, allow_nan=False, separators=(",", ":")))
        self._refilled(where, rows)

    def _refilled(self, where: layout.Layout, rows: np.ndarray) -> None:
        self._stored, self.unit, self._tail = (0, *self._stored[1:]), where.unit, None
        if self._adapting is not None:
            self._adapting.regridded(Node(self.path, True, json.dumps(self._document)))
        self._add(rows)

    def _misfit(self, given: tuple[int, ...]) -> errors.Error:
        row = ", ".join(map(str, self._stored[1:]))
        hint = f"append {self._stored[1:]} or (n{', ' if row else ''}{row})" if self._stored else ""
        return errors.make("mismatch", f"rows of shape {given} for {self.path} of shape {self.shape}", hint)

    def _settle(self) -> None:
        """Write the rows that wait and forget them: what they lie in is about to be changed."""
        self._writer._open()
        self._writer._mend()
        self._fresh()
        self.finish()
        self._tail = None

    def _open_tail(self) -> Tail:
        def read(first: int, last: int) -> np.ndarray:
            return self._writer._pending().array(self.path).read((slice(first, last),))

        memory = self._writer._shares.tail(len(self._writer._arrays))
        # A shard has to be held in any case, to be encoded: the only array may as well gather it.
        shard = prod(self.unit) * max(self.dtype.itemsize, 1) if len(self._writer._arrays) == 1 else 0
        whole = max(memory, shard)
        return tail(self._stored[0], self._stored[1:], self.unit[0], self.dtype, memory, whole, read)

    def _write_whole(self, rows: np.ndarray) -> int:
        """Write the rows that fill whole shards; return how many."""
        count = len(rows) // self.unit[0] * self.unit[0]
        before = self._stored
        # What is broken off leaves the rows so far, and no others.
        with self._whole(partial(self._resize, before, surely=True)):
            self._resize((before[0] + count, *before[1:]))
            self.write((before[0], *[0] * (len(before) - 1)), rows[:count])
        return count

    def _write_tail(self) -> None:
        """Only when all is done do the rows count as written: what Ctrl-C broke off is done again."""
        tail = self._tail
        assert tail is not None
        self._resize((tail.stop, *self._stored[1:]))
        self.write((tail.start, *[0] * (len(self._stored) - 1)), tail.rows, owned=True)
        tail.written()
        if tail.full or not tail.aligned:
            self._tail = None
