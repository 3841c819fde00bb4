"""Encode and decode a single chunk with zarr-python, in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from zarr import config
from zarr.core.array import AsyncArray
from zarr.core.buffer import default_buffer_prototype
from zarr.storage import MemoryStore


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
