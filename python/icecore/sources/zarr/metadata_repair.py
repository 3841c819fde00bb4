"""Metadata that zarr-python refuses or reads otherwise than its writer meant, put right before it sees them.

Bytes of any length whose fill value is 0 (zarr-python 2 wrote them, 3 refuses them); characters with a byte
order, as netCDF-C writes them; the codec ``shuffle`` with an odd ``elementsize``: netCDF-C writes 0 for the
size of an element, and a number as text, numcodecs takes 0 for "don't shuffle".
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from zarr.storage import LocalStore, WrapperStore

from icecore.sources.zarr.codec_settings import Json, repair_second, repair_third

_SECOND, _THIRD, _ATTRIBUTES = ".zarray", "zarr.json", ".zattrs"
_TEXT = re.compile("[<>|]S[0-9]+")
#: attributes by which netCDF-C marks what it writes, in lower case
_NETCDF = ("_nczarr_", "_ncproperties")


class Repaired(WrapperStore[Any]):
    """A store whose metadata say what their writer meant."""

    def __init__(self, store: Any) -> None:
        super().__init__(LocalStore(store, read_only=True) if isinstance(store, str) else store)

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        """What the store has, or an array's metadata put right."""
        found = await super().get(key, prototype, byte_range)
        folder, _, name = key.rpartition("/")
        if found is None or name not in (_SECOND, _THIRD):
            return found
        try:
            document = json.loads(found.to_bytes())
        except ValueError:  # zarr-python names it
            return found
        if not isinstance(document, dict):
            return found
        if name == _SECOND:
            _refill(document)
            is_netcdf = await self._is_netcdf(folder, prototype)
            _characters(document, is_netcdf)
            repair_second(document, is_netcdf)
        else:
            repair_third(document)
        return prototype.buffer.from_bytes(json.dumps(document).encode())

    async def _is_netcdf(self, folder: str, prototype: Any) -> bool:
        """Whether the array, or the store, has attributes that only netCDF-C writes."""
        for key in {f"{folder}/{_ATTRIBUTES}".lstrip("/"), _ATTRIBUTES}:
            found = await super().get(key, prototype)
            if found is not None and any(mark in found.to_bytes().lower() for mark in map(_quoted, _NETCDF)):
                return True
        return False


def _quoted(mark: str) -> bytes:
    return f'"{mark}'.encode()


def _characters(document: Json, is_netcdf: bool) -> None:
    """Texts of fixed size with a byte order, which netCDF-C gives characters, and their fill value as it is
    where Zarr has base64.
    """
    dtype, fill = document.get("dtype"), document.get("fill_value")
    if not isinstance(dtype, str) or not _TEXT.fullmatch(dtype):
        return
    document["dtype"] = f"|{dtype[1:]}"
    if is_netcdf and isinstance(fill, str):
        document["fill_value"] = base64.standard_b64encode(fill.encode()).decode()


def _refill(document: Json) -> None:
    """The fill value of bytes of any length: the meaning of 0: no bytes."""
    filters = document.get("filters") or []
    of_bytes = any(isinstance(each, dict) and each.get("id") == "vlen-bytes" for each in filters)
    if of_bytes and document.get("fill_value") == 0 and not isinstance(document["fill_value"], bool):
        document["fill_value"] = ""
