"""Zarr v2 arrays of bytes of any length whose fill value is 0: zarr-python 2 wrote them, 3 refuses them."""

from __future__ import annotations

import json
from typing import Any

from zarr.storage import LocalStore, WrapperStore

_METADATA = ".zarray"


class Refilled(WrapperStore[Any]):
    """A store in which the fill value of such arrays is what 0 stood for: no bytes."""

    def __init__(self, store: Any) -> None:
        super().__init__(LocalStore(store, read_only=True) if isinstance(store, str) else store)

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        """What the store has, or an array's metadata put right."""
        found = await super().get(key, prototype, byte_range)
        if found is None or key.rpartition("/")[2] != _METADATA:
            return found
        return prototype.buffer.from_bytes(_refilled(found.to_bytes()))


def _refilled(text: bytes) -> bytes:
    metadata = json.loads(text)
    filters = metadata.get("filters") or []
    of_bytes = any(isinstance(each, dict) and each.get("id") == "vlen-bytes" for each in filters)
    if not of_bytes or metadata.get("fill_value") != 0:
        return text
    return json.dumps({**metadata, "fill_value": ""}).encode()
