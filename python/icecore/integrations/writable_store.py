"""Zarr store over an open writer: data that zarr-python writes becomes part of the writer's commit.

zarr-python encodes chunks with its declared codecs; they are decoded here and written through icecore's
pipeline. For arrays with zarr-python's default codecs, codecs are chosen by measurement.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import numpy as np
from zarr import config
from zarr.abc.store import ByteRequest
from zarr.core.array import AsyncArray
from zarr.core.buffer import default_buffer_prototype
from zarr.core.metadata.v3 import ArrayV3Metadata
from zarr.storage import MemoryStore

from icecore import errors
from icecore.codecs.spec import with_checksum
from icecore.integrations.zarr_view import DecodedView, _cut
from icecore.repository.nodes import OURS, Node
from icecore.writing.synchronized import in_turn

if TYPE_CHECKING:
    from zarr.core.buffer import Buffer, BufferPrototype

    from icecore.repository.repo import Repo
    from icecore.writing.writer import Writer


# Encode and decode a single chunk with zarr-python, in memory.


async def decoded(document: dict[str, Any], data: bytes) -> np.ndarray:
    """Return the elements of a whole chunk of an array with this metadata document."""
    array, store, key = await _single(document)
    await store.set(key, default_buffer_prototype().buffer.from_bytes(data))
    return np.asarray(await array.getitem(...))


async def encoded(document: dict[str, Any], block: np.ndarray) -> bytes:
    """Return the bytes of a whole chunk."""
    array, store, key = await _single(document)
    with config.set({"array.write_empty_chunks": True}):
        await array.setitem(..., block)
    found = await store.get(key, default_buffer_prototype())
    assert found is not None
    return found.to_bytes()


async def _single(document: dict[str, Any]) -> tuple[Any, MemoryStore, str]:
    """Return an array of a single chunk, its store, and the chunk's key."""
    import json

    shape = document["chunk_grid"]["configuration"]["chunk_shape"]
    made, store = {**document, "shape": list(shape), "attributes": {}}, MemoryStore()
    await store.set("zarr.json", default_buffer_prototype().buffer.from_bytes(json.dumps(made).encode()))
    with config.set({"array.write_empty_chunks": True}):
        array: Any = await AsyncArray.open(store, zarr_format=3)
    return array, store, "/".join(["c", *["0"] * len(shape)])


#: zarr-python's default codec: the caller chose none
_DEFAULT = {"name": "zstd", "configuration": {"level": 0, "checksum": False}}


class WritableStore(DecodedView):
    """Store for ``dataset.to_zarr(writer.store())``; nothing is committed before the writer commits."""

    supports_writes = True
    supports_deletes = True

    def __init__(self, writer: Writer, read_only: bool = False) -> None:
        super().__init__(read_only=read_only)
        self._writer, self._turn = writer, writer._turn
        #: metadata documents that zarr-python wrote, by path; it encodes chunks accordingly
        self._declared: dict[str, dict[str, Any]] = {}
        self._rooted = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WritableStore) and other._writer is self._writer

    def __hash__(self) -> int:
        return hash(id(self._writer))

    def __repr__(self) -> str:
        return f"WritableStore({self._writer!r})"

    @property
    def supports_consolidated_metadata(self) -> bool:
        """Return False: the repository's metadata is already consolidated."""
        return False

    def with_read_only(self, read_only: bool = False) -> WritableStore:
        """Return the same store with or without write access."""
        made = WritableStore(self._writer, read_only)
        made._declared, made._rooted = self._declared, self._rooted
        return made

    @in_turn
    def _find(self, key: str) -> tuple[Node, tuple[int, ...] | None] | None:
        return super()._find(key)

    @property
    def _repo(self) -> Repo:
        return self._writer._view()

    @property
    def _visible(self) -> dict[str, Node]:
        nodes = {node.path: node for node in self._repo._visible()}
        if not self._rooted and len(nodes) == 1 and not nodes["/"].attrs:
            return {}  # a new repository: mode "w-" makes its root
        return nodes

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the bytes of a key, encoded as zarr-python declared them, or None."""
        found = await asyncio.to_thread(self._find, key)
        if found is None:
            return None
        node, index = found
        document = self._plain(node)
        if index is None:
            data = json.dumps(document).encode()
        else:
            block = await asyncio.to_thread(self._block, node, index)
            data = await encoded(document, block)
        return prototype.buffer.from_bytes(_cut(data, byte_range))

    async def exists(self, key: str) -> bool:
        """Whether a key exists."""
        return await asyncio.to_thread(self._find, key) is not None

    async def set(self, key: str, value: Buffer) -> None:
        """Write a metadata document or a chunk."""
        self._check_writable()
        data = value.to_bytes()
        path, _, name = f"/{key}".rpartition("/")
        if name == "zarr.json":
            await asyncio.to_thread(self._describe, path or "/", json.loads(data))
            return
        found = await asyncio.to_thread(self._find, key)
        if found is None or (index := found[1]) is None:
            raise errors.make("not-found", f"{key} is not a chunk of an array", "create the array first")
        node = found[0]
        block = await decoded(self._plain(node), data)
        await asyncio.to_thread(self._write, node, index, block)

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        """Write a key that does not exist yet."""
        if not await self.exists(key):
            await self.set(key, value)

    async def delete(self, key: str) -> None:
        """Delete a node through its document; a deleted chunk gets the fill value."""
        self._check_writable()
        found = await asyncio.to_thread(self._find, key)
        if found is None:
            return
        node, index = found
        if index is None:
            await self.delete_dir(node.path.strip("/"))
            return
        array = self._repo._array(node.path)
        fill = np.full(self._grid(node), array.fill_value, array.dtype)
        await asyncio.to_thread(self._write, node, index, fill)

    async def delete_dir(self, prefix: str) -> None:
        """Delete a node and everything below it; the root itself is kept."""
        self._check_writable()
        await asyncio.to_thread(self._delete, "/" + prefix.strip("/"))

    async def clear(self) -> None:
        """Delete all nodes."""
        await self.delete_dir("")

    @in_turn
    def _delete(self, path: str) -> None:
        if path == "/":
            for node in self._repo._visible():
                if node.path.count("/") == 1 and node.path != "/":
                    self._delete(node.path)
            return
        self._declared = {
            known: d for known, d in self._declared.items() if not f"{known}/".startswith(f"{path}/")
        }
        if self._writer._native.exists(path):
            self._writer.delete(path)

    @in_turn
    def _describe(self, path: str, document: dict[str, Any]) -> None:
        attrs = {name: value for name, value in document.get("attributes", {}).items() if name != OURS}
        self._rooted = True
        if document["node_type"] == "group":
            if path != "/" or attrs:  # the root already exists
                self._writer.group(path, attrs)
            return
        stored = self._writer._native.document(path)
        if stored is None:
            self._create(path, document, attrs)
            return
        node = Node(path, True, stored)
        if path in self._declared:
            self._declared[path] = document
        if tuple(document["shape"]) != node.shape:
            self._writer[path].resize(document["shape"])
        if attrs != node.attrs:
            self._writer.attrs(path, attrs)

    def _create(self, path: str, document: dict[str, Any], attrs: dict[str, Any]) -> None:
        described = ArrayV3Metadata.from_dict(dict(document))
        unit, codecs = tuple(document["chunk_grid"]["configuration"]["chunk_shape"]), document["codecs"]
        chunk = None if unit else ()
        if codecs[0]["name"] == "sharding_indexed":
            chunk = tuple(codecs[0]["configuration"]["chunk_shape"])
            codecs = codecs[0]["configuration"]["codecs"]
        is_default = len(codecs) == 2 and codecs[1] == _DEFAULT
        dtype = described.data_type.to_native_dtype()
        unit = tuple(max(n, 1) for n in unit)
        self._writer.array(
            path,
            dtype,
            document["shape"],
            document.get("dimension_names"),
            chunk if chunk is not None else unit,
            unit,
            "auto" if is_default else with_checksum(codecs),
            described.fill_value,
            attrs,
        )
        self._declared[path] = document

    def _plain(self, node: Node) -> dict[str, Any]:
        declared = self._declared.get(node.path)
        if declared is None:
            return super()._plain(node)
        return {**declared, "shape": list(node.shape), "attributes": node.attrs}

    def _grid(self, node: Node) -> tuple[int, ...]:
        """Return the shard shape, so that each chunk that zarr-python writes is encoded once."""
        return node.grid[1] or super()._grid(node)

    @in_turn
    def _block(self, node: Node, index: tuple[int, ...]) -> np.ndarray:
        return super()._block(node, index)

    @in_turn
    def _write(self, node: Node, index: tuple[int, ...], block: np.ndarray) -> None:
        region = self._region(node, index)
        self._writer[node.path][region] = block[tuple(slice(0, r.stop - r.start) for r in region)]
