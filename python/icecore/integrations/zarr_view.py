"""The repository as decoded Zarr: icecore decodes each chunk, zarr-python receives plain bytes."""

from __future__ import annotations

import asyncio
import builtins
import json
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from itertools import chain, product
from typing import TYPE_CHECKING, Any

import numpy as np
from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest

from icecore import errors
from icecore.repository.nodes import Node
from icecore.repository.zarr_dtypes import bytes_codec
from icecore.sources.mapping.array_map import default_chunks

if TYPE_CHECKING:
    from zarr.core.buffer import Buffer, BufferPrototype

    from icecore.repository.repo import Repo


class DecodedView(Store):
    """Keys of a repository as Zarr: every array has only the codec ``bytes`` (``vlen-utf8`` for strings), in
    icecore's chunks. Subclasses say which version is shown.
    """

    supports_writes = False
    supports_deletes = False
    supports_listing = True

    @property
    @abstractmethod
    def _repo(self) -> Repo:
        """The version that is shown."""

    @property
    @abstractmethod
    def _visible(self) -> Mapping[str, Node]:
        """path → node."""

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the bytes of a key, or None."""
        data = await asyncio.to_thread(self._bytes, key)
        return None if data is None else prototype.buffer.from_bytes(_cut(data, byte_range))

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> builtins.list[Buffer | None]:
        """Return the bytes of several keys."""
        return list(await asyncio.gather(*(self.get(key, prototype, part) for key, part in key_ranges)))

    async def exists(self, key: str) -> bool:
        """Whether a key exists."""
        return self._find(key) is not None

    async def list(self) -> AsyncIterator[str]:
        """Every key: metadata documents, and all chunks of the arrays, whether or not they were written."""
        for key in self._keys(""):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """The keys below ``prefix``: zarr-python asks for those of one node, and the keys of its neighbour
        may begin with the same letters.
        """
        for key in self._keys(_folder(prefix)):
            yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """The names directly below ``prefix``."""
        below = _folder(prefix)
        names = {key[len(below) :].split("/")[0] for key in self._keys(below, inside=True)}
        for name in sorted(names):
            yield name

    async def set(self, key: str, value: Buffer) -> None:
        """Refused."""
        raise errors.make("read-only", "this store only reads", "write with repo.writer()")

    async def delete(self, key: str) -> None:
        """Refused."""
        raise errors.make("read-only", "this store only reads", "write with repo.writer()")

    def _keys(self, prefix: str, inside: bool = False) -> Iterator[str]:
        """The keys that begin with ``prefix``; ``inside``: chunks only of the array that it lies in."""
        for path, node in self._visible.items():
            top = f"{path.strip('/')}/".lstrip("/")
            if not top.startswith(prefix) and not prefix.startswith(top):
                continue
            names: Iterable[str] = ["zarr.json"]
            if node.is_array and (not inside or prefix.startswith(top)):
                chunks = product(*map(range, self._counts(node)))
                names = chain(names, ("/".join(["c", *map(str, index)]) for index in chunks))
            yield from (key for key in (top + name for name in names) if key.startswith(prefix))

    def _find(self, key: str) -> tuple[Node, tuple[int, ...] | None] | None:
        """The node that a key belongs to, and which of its chunks it is of (None: of its metadata)."""
        if key.startswith("/"):
            return None
        path, _, name = f"/{key}".rpartition("/")
        if name == "zarr.json":
            node = self._visible.get(path or "/")
            return None if node is None else (node, None)
        head, middle, tail = f"/{key}/".rpartition("/c/")
        node = self._visible.get(head or "/") if middle else None
        if node is None or not node.is_array:
            return None
        parts, counts = tail.split("/")[:-1], self._counts(node)
        index = tuple(int(part) for part in parts if part.isdecimal())
        if [str(i) for i in index] != parts or len(index) != len(counts):
            return None
        return (node, index) if all(i < n for i, n in zip(index, counts, strict=True)) else None

    def _bytes(self, key: str) -> bytes | None:
        found = self._find(key)
        if found is None:
            return None
        node, index = found
        return json.dumps(self._plain(node)).encode() if index is None else self._chunk(node, index)

    def _plain(self, node: Node) -> dict[str, Any]:
        if not node.is_array:
            return {"zarr_format": 3, "node_type": "group", "attributes": node.attrs}
        document = {**node.document, "attributes": node.attrs, "codecs": [self._codec(node)]}
        document["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": list(self._grid(node))}}
        return document

    def _grid(self, node: Node) -> tuple[int, ...]:
        """The chunks that zarr-python sees; made up where the stored ones differ in shape."""
        return node.grid[0] or default_chunks(node.shape, self._repo._array(node.path).dtype.itemsize)

    def _counts(self, node: Node) -> tuple[int, ...]:
        """The number of chunks along each axis."""
        return tuple(-(-n // c) for n, c in zip(node.shape, self._grid(node), strict=True))

    def _codec(self, node: Node) -> dict[str, Any]:
        if node.dtype_label == "variable_length_bytes":
            return {"name": "vlen-bytes"}
        return bytes_codec(self._repo._array(node.path).dtype)

    def _chunk(self, node: Node, index: tuple[int, ...]) -> bytes:
        block = self._block(node, index)
        return vlen(block) if block.dtype.kind == "O" else block.tobytes()

    def _region(self, node: Node, index: tuple[int, ...]) -> tuple[slice, ...]:
        lengths = zip(index, self._grid(node), node.shape, strict=True)
        return tuple(slice(i * c, min((i + 1) * c, n)) for i, c, n in lengths)

    def _block(self, node: Node, index: tuple[int, ...]) -> np.ndarray:
        """Return a chunk, padded with the fill value."""
        array, grid = self._repo._array(node.path), self._grid(node)
        block = np.asarray(array.read(self._region(node, index)))
        if block.shape == tuple(grid):
            return block
        whole = np.full(grid, array.fill_value, array.dtype)
        whole[tuple(slice(0, n) for n in block.shape)] = block
        return whole


class DecodedStore(DecodedView):
    """Read-only store over one version."""

    def __init__(self, repo: Repo) -> None:
        super().__init__(read_only=True)
        self._version = repo
        self._shown = {node.path: node for node in repo._visible()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DecodedStore) and other._key == self._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"DecodedStore({self._repo.url}@{self._repo.ref})"

    @property
    def _key(self) -> tuple[str, str]:
        return self._repo.url, self._repo.snapshot_id

    @property
    def _repo(self) -> Repo:
        return self._version

    @property
    def _visible(self) -> Mapping[str, Node]:
        return self._shown


def _folder(prefix: str) -> str:
    """A prefix as the beginning of the keys inside: with a ``/`` at its end, or empty."""
    return f"{prefix.strip('/')}/".lstrip("/")


def vlen(block: np.ndarray) -> bytes:
    """The ``vlen-utf8`` layout: number of elements, then each one's length and bytes (u32, little-endian)."""
    items = [item.encode() if isinstance(item, str) else bytes(item) for item in block.ravel()]
    parts = [len(items).to_bytes(4, "little")]
    for item in items:
        parts += [len(item).to_bytes(4, "little"), item]
    return b"".join(parts)


def _cut(data: bytes, part: ByteRequest | None) -> bytes:
    if isinstance(part, RangeByteRequest):
        return data[part.start : part.end]
    if isinstance(part, OffsetByteRequest):
        return data[part.offset :]
    if isinstance(part, SuffixByteRequest):
        return data[-part.suffix :] if part.suffix else b""
    if part is None:
        return data
    raise errors.make(
        "invalid", f"{part!r} names no part of a value", "a ByteRequest of zarr.abc.store, or None"
    )
