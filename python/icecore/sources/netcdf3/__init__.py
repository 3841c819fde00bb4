"""netCDF-3 files (classic, 64-bit offset, 64-bit data), linked in place: raw big-endian elements."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from icecore.repository.json_attributes import (
    attribute_type,
    fill_attribute,
    group_attributes,
    marker_type,
    text_fill,
    to_json,
)
from icecore.repository.zarr_dtypes import bytes_codec, copy_codecs, data_type, fill_json
from icecore.sources.files.byte_source import open_bytes
from icecore.sources.files.identity import Identity, identity, unchanged
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Links, Note, default_chunks
from icecore.sources.mapping.contiguous import Located, contiguous, grid_of, split
from icecore.sources.mapping.netcdf_fill import default_fill
from icecore.sources.mapping.raw_read import RawReader
from icecore.sources.netcdf3.header import Header, Variable, read_header

_SMALL_RECORD = 4096
_SMALL = 16 << 20


def open(source: str) -> ArrayMap:
    """Index a netCDF-3 file (path or http(s) URL): only its header is read.

    Raises:
        Error: ``corrupt`` if the header is inconsistent or the file is truncated; ``source-changed``.
    """
    before = identity(source)
    data = open_bytes(source)
    try:
        header = read_header(data, source)
    finally:
        data.close()
    result = ArrayMap(source)
    result.groups["/"] = group_attributes(header.attrs)
    for item in header.variables:
        if item.name in ("", ".", "..", "zarr.json") or "/" in item.name or f"/{item.name}" in result.arrays:
            result.dropped.append(
                Note(f"/{item.name}", "name", "Zarr can't hold a node of this name, or it is there twice")
            )
            continue
        result.add(_entry(source, before, header, item, result.dropped))
    unchanged(source, before)
    return result


def _entry(source: str, ident: Identity, header: Header, item: Variable, notes: list[Note]) -> ArrayEntry:
    dtype = item.dtype.newbyteorder("=")
    interleaved = item.record and header.record_bytes != item.row_bytes
    reader = RawReader(
        source, ident, item.begin, item.shape, item.dtype, dtype, header.record_bytes if interleaved else 0
    )
    attrs, types = _attrs(item, dtype, notes)
    fill = np.asarray(item.attrs.get("_FillValue", default_fill(dtype)))
    entry = ArrayEntry(
        path=f"/{item.name}",
        shape=item.shape,
        dims=tuple(header.dims[index][0] for index in item.dims),
        data_type=data_type(dtype),
        dtype=dtype,
        chunks=default_chunks(item.shape, dtype.itemsize),
        codecs=copy_codecs(dtype),
        fill_value=fill_json(_fits(fill, dtype), dtype),
        attrs=attrs,
        read=reader,
        unlimited=(0,) if item.record else (),
        attr_types=types,
        text_fill=text_fill(item.attrs.get("_FillValue"), dtype),
    )
    if not item.shape:
        entry.note = "a single value"
        return entry
    if interleaved and item.row_bytes < _SMALL_RECORD and prod(item.shape) * dtype.itemsize <= _SMALL:
        entry.note = f"only {item.row_bytes} bytes in each record: one copy is read at once"
        return entry
    located = (
        _records(header, item)
        if interleaved
        else contiguous(item.begin, item.shape, dtype.itemsize, ident.size - item.begin)
    )
    entry.chunks = located.chunk
    entry.codecs = [bytes_codec(dtype, big=True)]
    entry.links = Links.one_file(ident, located.chunks, located.offsets, located.lengths)
    entry.native = entry.copied(located.copied)
    return entry


def _records(header: Header, item: Variable) -> Located:
    """Return the chunks of a record variable among others: one or several per record."""
    row = item.shape[1:]
    inner = contiguous(0, row, item.dtype.itemsize, item.row_bytes)
    count = header.records
    per_row = prod(grid_of(row, inner.chunk))
    records = np.arange(count, dtype="u8")[:, None]
    chunks = records * np.uint64(per_row) + inner.chunks[None, :]
    offsets = records * np.uint64(header.record_bytes) + inner.offsets[None, :] + np.uint64(item.begin)
    lengths = np.broadcast_to(inner.lengths[None, :], chunks.shape)
    copied = records * np.uint64(per_row) + inner.copied[None, :]
    return Located(
        (1, *split(row, item.dtype.itemsize)),
        chunks.reshape(-1),
        offsets.reshape(-1),
        lengths.reshape(-1),
        copied.reshape(-1),
    )


def _attrs(item: Variable, dtype: np.dtype, notes: list[Note]) -> tuple[dict[str, Any], dict[str, str]]:
    attrs: dict[str, Any] = {}
    types: dict[str, str] = {}
    for name, value in item.attrs.items():
        if name == "_FillValue":
            told = value
            value = fill_attribute(told, dtype)
            if value is None:
                if text_fill(told, dtype) is None:
                    what = "_FillValue is kept as the array's fill value only"
                    notes.append(Note(f"/{item.name}", "attribute", what))
                continue
            kind = marker_type(name, told, dtype)
        else:
            kind = attribute_type(value) or marker_type(name, value, dtype)
        if kind is not None:
            types[name] = kind
        attrs[name] = to_json(value)
    return attrs, types


def _fits(value: np.ndarray, dtype: np.dtype) -> Any:
    """Return the fill value as an element of ``dtype``; None if that is impossible."""
    try:
        if dtype.kind == "S":
            return str(value).encode("latin-1", "replace")[:1] if value.dtype.kind == "U" else None
        return value.reshape(-1)[0].astype(dtype)
    except (ValueError, TypeError, IndexError, AttributeError, OverflowError):
        return None
