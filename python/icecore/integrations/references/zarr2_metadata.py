"""Metadata of Zarr version 2 for arrays of version 3, for readers that know version 2 only."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from icecore.integrations.references.inventory import Item, unsupported
from icecore.repository.array import Array
from icecore.repository.dimension_names import dimension_names
from icecore.repository.group import Group
from icecore.repository.typed_attributes import marker
from icecore.repository.zarr_dtypes import number

#: codecs of numcodecs, by their names in version 2
_NUMCODECS = (
    *("delta", "fixedscaleoffset", "quantize", "astype", "bitround", "packbits", "zlib", "gzip", "zstd"),
    *("lz4", "bz2", "lzma", "blosc", "shuffle", "fletcher32", "crc32", "crc32c", "adler32"),
)
_TEXTS = ("vlen-utf8", "vlen-bytes")
_SHUFFLES = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}
_DIMENSIONS = "_ARRAY_DIMENSIONS"


def linked(item: Item) -> dict[str, Any]:
    """Return the ``.zarray`` document of linked chunks.

    Raises:
        Error: ``unsupported`` for an array that version 2 can't describe.
    """
    array = item.array
    assert array is not None
    if array.shards is not None:
        raise unsupported("Zarr version 2 has no shards")
    order, filters, dtype = _codecs(array)
    return _document(array, array.chunks or (), dtype, order, filters)


def values(array: Array) -> tuple[dict[str, Any], bytes]:
    """Return the ``.zarray`` document of an array in one uncompressed chunk, and the bytes of that chunk."""
    data = array.read()
    chunk = tuple(max(n, 1) for n in array.shape)
    if data.dtype.kind == "O":
        from icecore.integrations.zarr_view import vlen

        name = "vlen-bytes" if array._node.dtype_label == "variable_length_bytes" else "vlen-utf8"
        return _document(array, chunk, "|O", "C", [{"id": name}]), vlen(data)
    return _document(array, chunk, _dtype(data.dtype), "C", []), data.tobytes()


def attributes(item: Item) -> dict[str, Any]:
    """Return the ``.zattrs`` document, with the names of the dimensions as xarray reads them."""
    found = dict(item.document.get("attributes", {}))
    if item.array is None:
        return found
    found.pop("_FillValue", None)  # version 2: the fill value of the array
    parent = item.array.repo[item.node.parent]
    assert isinstance(parent, Group)
    return {**found, _DIMENSIONS: list(dimension_names(parent)[item.node.name])}


def _document(
    array: Array, chunk: tuple[int, ...], dtype: Any, order: str, filters: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "zarr_format": 2,
        "shape": list(array.shape),
        "chunks": list(chunk),
        "dtype": dtype,
        "fill_value": _fill(array),
        "order": order,
        "compressor": None,
        "filters": filters or None,
    }


def _codecs(array: Array) -> tuple[str, list[dict[str, Any]], Any]:
    """Return the order of a chunk's elements, its filters, and the stored dtype."""
    order, filters, dtype = "C", [], _dtype(array.dtype)
    for at, codec in enumerate(array.codecs):
        name, configuration = codec["name"], dict(codec.get("configuration", {}))
        plain = name.removeprefix("numcodecs.")
        if name == "transpose" and at == 0:
            order = _order(configuration["order"], array.ndim)
        elif name == "bytes":
            is_big = configuration.get("endian") == "big"
            if is_big and any(_is_typed(each) for each in filters):
                raise unsupported("Zarr version 2 can't describe its filters of big-endian numbers")
            dtype = _dtype(array.dtype.newbyteorder(">")) if is_big else dtype
        elif name in _TEXTS:
            dtype = "|O"
            filters.append({"id": name})
        elif plain in _NUMCODECS:
            filters.append({"id": plain, **_settings(name, configuration)})
        else:
            raise unsupported(f"Zarr version 2 has no codec {name}")
    return order, filters, dtype


def _settings(name: str, configuration: dict[str, Any]) -> dict[str, Any]:
    """Return a codec's settings as numcodecs names them."""
    if name == "blosc":
        configuration.pop("typesize", None)
        configuration["shuffle"] = _SHUFFLES[configuration.get("shuffle", "noshuffle")]
    if name == "crc32c":
        configuration.setdefault("location", "end")
    return configuration


def _is_typed(filter_: dict[str, Any]) -> bool:
    return bool({"astype", "dtype", "encode_dtype", "decode_dtype"} & filter_.keys())


def _order(axes: Any, ndim: int) -> str:
    orders = {tuple(range(ndim)): "C", tuple(range(ndim))[::-1]: "F", "C": "C", "F": "F"}
    found = orders.get(tuple(axes) if isinstance(axes, list) else axes)
    if found is None:
        raise unsupported(f"Zarr version 2 has no axes in the order {axes}")
    return found


def _dtype(dtype: np.dtype[Any]) -> Any:
    """Return a dtype as version 2 writes it: ``<f4``, or a list of fields."""
    if dtype.names is None:
        return dtype.str
    fields: list[Any] = []
    for name in dtype.names:
        base, shape = dtype[name].subdtype or (dtype[name], ())
        fields.append([name, _dtype(base), *([list(shape)] if shape else [])])
    return fields


def _fill(array: Array) -> Any:
    """Return the fill value; that of the attribute ``_FillValue`` if there is one, which readers mask.

    Raises:
        Error: ``unsupported`` if chunks are missing and the two values differ.
    """
    value, attrs = array.fill_value, array._node.attrs
    if "_FillValue" in attrs:
        marked = np.asarray(marker(array._node, "_FillValue", attrs["_FillValue"], array.dtype))
        own = np.asarray(value)
        same = marked.dtype.kind in "SUO" or np.array_equal(
            marked.astype(own.dtype), own, own.dtype.kind in "fc"
        )
        if array.storage.missing and not same:
            raise unsupported("Zarr version 2 has one fill value for missing chunks and missing values")
        value = marked.astype(array.dtype)[()] if array.dtype.kind != "O" else marked[()]
    elif not array.storage.missing:
        return None  # a fill value would be read as the mark of missing values
    return fill_json(value, array.dtype)


def fill_json(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a fill value in the JSON of version 2."""
    kind = dtype.kind
    if kind == "f":
        return number(float(value))
    if kind == "c":
        return [number(float(value.real)), number(float(value.imag))]
    if kind in "iubmM":
        return np.asarray(value).view("i8").item() if kind in "mM" else value.item()
    if kind in "UO":
        return str(value) if not isinstance(value, bytes) else base64.standard_b64encode(value).decode()
    return base64.standard_b64encode(np.asarray(value, dtype).tobytes()).decode()
