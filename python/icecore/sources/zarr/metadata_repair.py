"""Metadata that zarr-python refuses or reads otherwise than its writer meant, put right before it sees them.

Bytes of any length whose fill value is 0 (zarr-python 2 wrote them, 3 refuses them); characters with a byte
order, as netCDF-C writes them; the codec ``shuffle`` with an odd ``elementsize``: netCDF-C writes 0 for the
size of an element, and a number as text, numcodecs takes 0 for "don't shuffle".
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from zarr.storage import LocalStore, WrapperStore

from icecore import errors

# Settings of the codec ``shuffle`` in Zarr metadata, as their writers define them.

_SHUFFLES = ("shuffle", "numcodecs.shuffle")
_SIZE = "elementsize"
#: what numcodecs takes where a size is absent
_DEFAULT = 4

Json = dict[str, Any]


def is_odd(metadata: Any) -> bool:
    """Whether metadata, as zarr-python read them, have a codec ``shuffle`` without a plain element size."""
    document = metadata.to_dict()
    second = document.get("zarr_format") == 2
    for each in _shuffles(document):
        size = each.get(_SIZE)
        if type(size) is not int or size < 1 or (second and size == _DEFAULT != _itemsize(document)):
            return True
    return False


def _itemsize(document: Json) -> int:
    """Bytes of an element of an array of version 2."""
    given = document.get("dtype")
    fields = (
        [(name, kind, *map(tuple, shape)) for name, kind, *shape in given]
        if isinstance(given, list)
        else given
    )
    return max(np.dtype(fields).itemsize, 1)


def _shuffles(value: Any) -> Iterator[Json]:
    """The configurations of all codecs ``shuffle`` in metadata of either version, in shards too."""
    if isinstance(value, dict):
        if value.get("id") in _SHUFFLES:
            yield value
        elif value.get("name") in _SHUFFLES:
            if not isinstance(value.get("configuration"), dict):
                value["configuration"] = {}
            yield value["configuration"]
        for key in ("filters", "compressor", "codecs", "configuration"):
            yield from _shuffles(value.get(key))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _shuffles(each)


def repair_second(document: Json, is_netcdf: bool) -> None:
    """Write element sizes of ``shuffle`` into metadata of version 2 as their writer meant them.

    Raises:
        Error: ``format`` for one that could mean several things, or nothing.
    """
    for configuration in _shuffles(document):
        given = configuration.get(_SIZE)
        absent = _SIZE not in configuration
        if is_netcdf and (absent or given in (0, "0")) and not isinstance(given, bool):
            configuration[_SIZE] = _itemsize(document)
        elif not absent:  # numcodecs has a default of its own
            configuration[_SIZE] = _size(given)


def repair_third(document: Json) -> None:
    """Write element sizes of ``shuffle`` into metadata of version 3 as numbers.

    Raises:
        Error: ``format`` if a size is not a whole number.
    """
    for configuration in _shuffles(document):
        if configuration.get(_SIZE) is not None:  # else zarr-python takes the size of an element
            configuration[_SIZE] = _size(configuration[_SIZE])


def _size(given: Any) -> int:
    """An element size as a number.

    Raises:
        Error: ``format`` if a size is not a whole number.
    """
    if isinstance(given, str) and given.strip().isdecimal():
        given = int(given)
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if type(given) is int and given > 0:
        return given
    message = f"codec shuffle: elementsize is {json.dumps(given)[:60]}, expected a positive integer"
    hint = "write the size of an element, in bytes, into its metadata"
    if given == 0:
        hint = "0 means the size of an element to netCDF-C, and 'not shuffled' to numcodecs: write what holds"
    raise errors.make("format", message, hint)


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


# What netCDF-C writes beside an array in a Zarr store (NCZarr): its bookkeeping, names of axes and types.

_ARRAY, _TYPES = "_nczarr_array", "_nczarr_attr"
#: the only dimension of a variable without any
_SCALAR = "_scalar_"


def plain(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes without netCDF-C's bookkeeping, which it hides, too."""
    return {name: value for name, value in attrs.items() if not _is_hidden(name)}


def dimensions(attrs: Mapping[str, Any], ndim: int) -> tuple[str, ...] | None:
    """The names of axes that netCDF-C keeps as paths; None if the attributes have none."""
    paths = _said(attrs, _ARRAY).get("dimension_references", _said(attrs, _ARRAY).get("dimrefs"))
    if not isinstance(paths, list) or len(paths) != ndim or not all(isinstance(each, str) for each in paths):
        return None
    return tuple(each.rsplit("/", 1)[-1] for each in paths)


def is_scalar(attrs: Mapping[str, Any], dims: tuple[str | None, ...], shape: tuple[int, ...]) -> bool:
    """Whether an array of one element is a variable without dimensions."""
    return shape == (1,) and (dims == (_SCALAR,) or bool(_said(attrs, _ARRAY).get("scalar")))


def attribute_types(attrs: Mapping[str, Any]) -> dict[str, str]:
    """The dtypes of numeric attributes; JSON has only int64 and float64."""
    types = _said(attrs, _TYPES).get("types")
    found = {}
    for name, code in types.items() if isinstance(types, dict) else ():
        try:
            dtype = np.dtype(code)
        except TypeError:  # netCDF's own, as |J0 of JSON
            continue
        if dtype.kind in "iuf" and name in attrs and name != "_FillValue":
            found[name] = dtype.newbyteorder("<").str
    return found


def _is_hidden(name: str) -> bool:
    return name.lower().startswith("_nczarr_") or name == "_NCProperties"


def _said(attrs: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """One of netCDF-C's own attributes, in the spelling of any version."""
    value = attrs.get(name, attrs.get(name.upper(), {}))
    return value if isinstance(value, dict) else {}
