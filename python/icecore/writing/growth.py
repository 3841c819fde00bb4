"""Growth of an array by small appends: its rows get chunks of their own, and nothing is written again."""

from __future__ import annotations

import json
from functools import partial
from math import prod

import numpy as np

from icecore.layout import layout
from icecore.repository.nodes import Node
from icecore.writing.region_writes import RegionWrites
from icecore.writing.row_grid import RowGrid, unit_of

#: bytes of stored rows, and of a shard's index, that an append may write again
_AGAIN = 4 << 10
#: an append may also write again this part (1/4) of what it adds
_PART = 4
#: largest size of rows (bytes) that are merged into longer chunks
_MERGED = 64 << 20
#: largest number of chunks that get references of their own when an array begins to grow by chunks
_REFERENCES = 1 << 20


class Growth(RegionWrites):
    """Part of :class:`ArrayWriter` that lets an array grow without writing its last shard again."""

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
