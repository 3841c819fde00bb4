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
from icecore.writing.region_writes import RegionWrites
from icecore.writing.row_grid import RowGrid, unit_of
from icecore.writing.synchronized import in_turn

#: bytes of stored rows, and of a shard's index, that an append may write again
_AGAIN = 4 << 10
#: an append may also write again this part (1/4) of what it adds
_PART = 4
#: largest size of rows (bytes) that are merged into longer chunks
_MERGED = 64 << 20
#: size of rows (bytes) that are gathered for an array that grows by chunks
_GATHERED = 32 << 20
#: largest number of chunks that get references of their own when an array begins to grow by chunks
_REFERENCES = 1 << 20


class RowAppends(RegionWrites):
    """Part of :class:`ArrayWriter` that appends rows."""

    # Growth without writing the last shard again: the new rows get chunks of their own.

    @property
    def _row_bytes(self) -> int:
        return max(prod(self._stored[1:]) * max(self.dtype.itemsize, 1), 1)

    def _writes_again(self, fresh: int | None = None) -> bool:
        """Whether it costs too much to write ``fresh`` more rows (None: unknown) into the last shard."""
        if self._rows.is_listed or not self._stored:
            return False
        old = self._stored[0] - self._rows.floor(self._stored[0])
        if not old or not self._may_list():
            return False
        cost = old * self._row_bytes + self._index_bytes()
        return cost > max(_AGAIN, 0 if fresh is None else fresh * self._row_bytes // _PART)

    def _index_bytes(self) -> int:
        chunk, shard = self._node().grid
        if chunk is None or shard is None:
            return 0
        return 16 * prod(s // c for s, c in zip(shard, chunk, strict=True))

    def _may_list(self) -> bool:
        """Whether the chunks may get different lengths: not in arrays for all Zarr readers, and not if shards
        were given.
        """
        node = self._node()
        chunk, shard = node.grid
        if chunk is None or node.ours.get("growth") == layout.REGULAR or 0 in self._stored[1:]:
            return False
        chunks = prod(-(-n // c) for n, c in zip(self._stored, chunk, strict=True))
        if shard is not None and self._is_linked is None:
            self._is_linked = self._writer._view()._array(self.path).linked
        return chunks <= _REFERENCES and not (shard is not None and self._is_linked)

    def _node(self) -> Node:
        return Node(self.path, True, json.dumps(self._document))

    def _list_chunks(self, rows: np.ndarray | None = None) -> None:
        """Give each chunk a reference of its own, instead of each shard, so that chunks of any length can
        follow. Only the last chunk is written again, at the length of its rows.

        ``rows`` are the last stored rows, if they are in memory.
        """
        self._check()
        chunk, _ = self._node().grid
        assert chunk is not None
        stored = self._stored[0]
        first = stored // chunk[0] * chunk[0]
        if rows is not None and len(rows) >= stored - first:
            last = rows[len(rows) - (stored - first) :].copy()
        else:
            last = self._writer._pending().array(self.path).read((slice(first, stored),))
        document = layout.by_chunks(self._document, chunk)
        anew = partial(self._listed, document, chunk, first, last)
        with self._whole(anew):
            anew()

    def _listed(
        self, document: dict[str, object], chunk: tuple[int, ...], first: int, last: np.ndarray
    ) -> None:
        native = self._writer._native
        text = json.dumps(document, allow_nan=False, separators=(",", ":"))
        if self._node().grid[1] is None:
            native.flush()
            native.update_array(self.path, text)
        elif json.loads(native.document(self.path) or "{}").get("chunk_grid") != document["chunk_grid"]:
            native.unshard(self.path, text)
        self._document = document
        self._regrid_rows()
        if len(last):
            self.write((first, *[0] * (len(chunk) - 1)), last)

    def _regrid_rows(self) -> None:
        """Adopt the chunk grid of the metadata document."""
        node = self._node()
        unit = unit_of(node)
        assert unit is not None
        self.unit, self._rows = unit, RowGrid.of(self._document, unit[0])
        if self._adapting is not None:
            self._adapting.regridded(node)

    def _merge_short(self) -> None:
        """Merge chunks at the end that are shorter than usual, if there are many."""
        most = min(_MERGED, max(self._writer._shares.box, self.unit[0] * self._row_bytes))
        found = self._rows.merged(self._stored[0], max(most // self._row_bytes, 1))
        if found is None:
            return
        rows, first = found
        last = self._writer._pending().array(self.path).read((slice(first, self._stored[0]),))
        anew = partial(self._merge, rows, first, last)
        with self._whole(anew):
            anew()

    def _merge(self, rows: RowGrid, first: int, last: np.ndarray) -> None:
        self._writer._native.flush()  # queued chunks have numbers of the old grid
        self._drop_chunks(rows.count(self._stored[0]))
        self._rows = rows
        self._update(layout.with_rows(self._document, rows.runs))
        self.write((first, *[0] * (len(self._stored) - 1)), last)

    @property
    def is_listed(self) -> bool:
        """Whether chunks may have any length along the first axis."""
        return self._rows.is_listed

    @property
    def first_again(self) -> int:
        """The first stored row that an append writes again; the end of the array if there is none."""
        return self._stored[0] if self._rows.is_listed else self._rows.floor(self._stored[0])

    def grow_by_chunks(self) -> None:
        """Prepare the array for rows that are encoded chunk by chunk, behind all stored ones."""
        if self._writes_again():
            self._list_chunks()
        if self._rows.is_listed:
            self._merge_short()
            if self._rows.ceil(self._stored[0]) > self._stored[0]:  # it was cut inside a chunk
                first = self._rows.floor(self._stored[0])
                last = self._writer._pending().array(self.path).read((slice(first, self._stored[0]),))
                self._merge(self._rows.cut(self._stored[0]), first, last)

    def _prepare(self, rows: int) -> None:
        """Prepare the array for ``rows`` more rows, which are written afterwards."""
        if self._writes_again(rows):
            self._list_chunks()
        if self._rows.is_listed:
            self._merge_short()

    # Rows that wait in memory.

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
