"""Serve a reference file as a store to zarr-python, which reads what can't be linked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from functools import lru_cache
from typing import Any

from zarr.core.buffer import Buffer, default_buffer_prototype
from zarr.storage import MemoryStore

from icecore import errors
from icecore.sources.files.byte_source import open_bytes
from icecore.sources.files.identity import Identity, is_remote
from icecore.sources.files.open_files import shared
from icecore.sources.kerchunk.chunk_table import Table, located, numbers
from icecore.sources.kerchunk.reference_file import Refs, read
from icecore.sources.kerchunk.target_files import Targets
from icecore.sources.zarr import store


class References(MutableMapping[str, Buffer]):
    """Keys and values of the store: metadata, and chunks of the arrays in ``tables``, fetched on demand.

    Only metadata keys are listed.
    """

    def __init__(self, refs: Refs) -> None:
        self.refs = refs
        self.tables: dict[str, tuple[Table, Callable[[str], int | None]]] = {}

    def __getitem__(self, key: str) -> Buffer:
        make = default_buffer_prototype().buffer.from_bytes
        if key in self.refs.metadata:
            return make(self.refs.metadata[key])
        path = key.rpartition("/")[0]
        while path and path not in self.tables:
            path = path.rpartition("/")[0]
        table, number = self.tables[path]
        chunk = number(key[len(path) :].lstrip("/"))
        if chunk is not None and chunk in table.inline:
            return make(table.inline[chunk])
        place = None if chunk is None else table.find(chunk)
        if place is None:
            raise KeyError(key)
        return make(_fetch(*place))

    def __iter__(self) -> Iterator[str]:
        return iter(self.refs.metadata)

    def __len__(self) -> int:
        return len(self.refs.metadata)

    def __setitem__(self, key: str, value: Buffer) -> None:
        raise TypeError("read only")

    def __delitem__(self, key: str) -> None:
        raise TypeError("read only")


class ReferenceStore(MemoryStore):
    """Read-only store over a reference file.

    Attributes:
        nodes: path → zarr-python's group or array, or the error that opening it raised.
        tables: path → locations of the chunks of an array.
        unused: path → names of references that match no chunk.
    """

    def __init__(self, source: str, read: Callable[[str], Refs] = read) -> None:
        refs = read(source)
        references = References(refs)
        super().__init__(references, read_only=True)
        self.nodes: dict[str, Any] = {}
        self.tables: dict[str, Table] = {}
        self.unused: dict[str, list[str]] = {}
        targets = Targets(source)
        for path in refs.nodes:
            if path in refs.refused:
                self.nodes[path] = refs.refused[path]
                continue
            try:
                node = self.nodes[path] = store.node_at(self, path, use_consolidated=False)
                if hasattr(node, "shape"):
                    number, grid = numbers(node)
                    columns = refs.columns(path, grid, number)
                    self.unused[path] = columns.unused
                    name = f"{source}:/{path}"
                    table = located(name, columns, targets.find(name, columns.addresses))
                    self.tables[path], references.tables[path] = table, (table, number)
            except Exception as error:  # zarr-python raises anything on invalid metadata
                self.nodes[path] = error
        for path, chunks in refs.chunks.items():
            if path not in self.tables and not isinstance(self.nodes.get(path), Exception):
                self.unused[path] = [name for name, _ in chunks]


def _fetch(name: str, known: Identity, offset: int, length: int) -> bytes:
    """Return a byte range of a file after checking its identity."""
    if is_remote(name):
        with shared(name, known, open_bytes) as data:
            return _range(data, name, known, offset, length)
    data = open_bytes(name)
    try:
        return _range(data, name, known, offset, length)
    finally:
        data.close()


def _range(data: Any, name: str, known: Identity, offset: int, length: int) -> bytes:
    if data.identity != known:
        message = f"{name} changed: {known.size} bytes then, {data.identity.size} now"
        raise errors.make("source-changed", message, "write the references anew, and index them again")
    return bytes(data.read_at(offset, length))


@lru_cache(maxsize=8)
def opened(source: str, _stamp: int) -> ReferenceStore:
    """Return the store of a reference file, cached per ``_stamp``, with its files as they were then.

    Raises:
        Error: ``corrupt`` if it is invalid, ``unsupported`` for formulas.
    """
    return ReferenceStore(source)
