"""Serve a reference file as a store to zarr-python, which reads what can't be linked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any
from urllib.parse import urljoin

from zarr.core.buffer import Buffer, default_buffer_prototype
from zarr.storage import MemoryStore

from icecore import errors
from icecore.repository.address import canonical
from icecore.sources.files.byte_source import open_bytes
from icecore.sources.files.identity import Identity, identity, is_remote, local_path
from icecore.sources.files.object_stores import encoded, grant, is_object
from icecore.sources.files.open_files import shared
from icecore.sources.kerchunk.chunk_table import located
from icecore.sources.kerchunk.reference_file import Refs, read
from icecore.sources.zarr import store
from icecore.sources.zarr.chunk_table import Table, numbers


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


# Locate the files that references name, and record their identities.

#: number of concurrent requests
_ASKED = 16


class Targets:
    """The files that a reference file names; each is looked up once."""

    def __init__(self, source: str) -> None:
        self._source = source.rstrip("/")
        self._known: dict[str, tuple[str, Identity] | errors.Error] = {}

    def find(self, name: str, addresses: Iterable[str]) -> list[tuple[str, Identity]]:
        """Return path or URL and identity of the file at each address, for the array ``name``.

        Raises:
            Error: ``source-missing`` if one is missing, ``unsupported`` for a store other than http(s), s3
                and local files, ``invalid`` if an address matches two files.
        """
        wanted = list(addresses)
        new = [address for address in dict.fromkeys(wanted) if address not in self._known]
        if any("://" in address for address in new) or is_remote(self._source):
            with ThreadPoolExecutor(_ASKED) as pool:
                self._known.update(zip(new, pool.map(self._look, new), strict=True))
        else:
            self._known.update({address: self._look(address) for address in new})
        found = []
        for address in wanted:
            item = self._known[address]
            if isinstance(item, errors.Error):
                message = f"{name}: chunks of it lie in {address!r}: {item.message}"
                raise errors.make(item.kind, message, item.hint)
            found.append(item)
        return found

    def _look(self, address: str) -> tuple[str, Identity] | errors.Error:
        try:
            place = self._place(address)
            grant(place, self._source)
            return place, identity(place)
        except errors.Error as error:
            return error

    def _place(self, address: str) -> str:
        if is_remote(address := canonical(address)):
            return local_path(address)
        scheme, is_url, rest = address.partition("://")
        if is_url and scheme not in ("file", "local"):
            message = f"files can't be linked or packed from {scheme}://"
            hint = (
                "write the references with addresses on http(s)://, s3://, gs:// or az://, or paths of copies"
            )
            raise errors.make("unsupported", message, hint)
        if is_remote(self._source):
            if is_url or os.path.isabs(address):
                message = "a file of this machine, named by a server"
                raise errors.make("permission", message, "download the reference file, and look at it")
            if is_object(self._source):  # urljoin knows the schemes of the web only
                return f"{self._source.rsplit('/', 1)[0]}/{encoded(address)}"
            return urljoin(self._source, address)
        if is_url:  # fsspec does not unescape, VirtualiZarr escapes
            return rest if os.path.exists(rest) else local_path(f"file://{rest}")
        return address if os.path.isabs(address) else self._relative(address)

    def _relative(self, address: str) -> str:
        """Resolve an address relative to the reference file's directory, or (as in fsspec) the working
        directory.
        """
        beside = os.path.join(os.path.dirname(os.path.abspath(self._source)), address)
        here = os.path.abspath(address)
        if not os.path.exists(here):
            if not os.path.exists(beside):
                hint = "run icecore in the folder that its paths are relative to, or write absolute paths"
                raise errors.make("source-missing", f"no file at {beside} or {here}", hint)
            return beside
        if os.path.exists(beside) and not os.path.samefile(beside, here):
            message = f"it may be {beside} or {here}"
            raise errors.make("invalid", message, "link it from its own folder, or write absolute paths")
        return here
