"""Zarr v2 and v3, folders and zip archives, through zarr-python (the ``zarr`` extra): copied, not linked."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np

from icecore import errors
from icecore.sources.arraymap import ArrayEntry, ArrayMap, Note, Region, default_chunks
from icecore.sources.attributes import fill_attribute, to_json
from icecore.sources.dtypes import ZSTD, copy_codecs, data_type, fill_json

_STAMPS = count()
_DIMENSIONS = "_ARRAY_DIMENSIONS"


def open(source: str) -> ArrayMap:
    """Index a Zarr folder or zip archive: every group and array below it.

    Raises:
        Error: ``unsupported`` without zarr-python; ``corrupt`` where zarr-python can't make sense of it.
    """
    zarr = _zarr()
    try:
        root = _root(source)
        members = list(root.members(max_depth=None)) if isinstance(root, zarr.Group) else []
    except Exception as error:  # zarr-python and its codecs raise anything on a broken store
        raise _broken(source, error) from error
    stamp = next(_STAMPS)
    result = ArrayMap(source)
    result.groups["/"] = to_json(dict(root.attrs)) if isinstance(root, zarr.Group) else {}
    if isinstance(root, zarr.Array):
        members = [(source.rstrip("/").rsplit("/", 1)[-1].removesuffix(".zip").removesuffix(".zarr"), root)]
    for name, node in sorted(members, key=lambda item: item[0]):
        if isinstance(node, zarr.Group):
            result.groups[f"/{name}"] = to_json(dict(node.attrs))
            continue
        try:
            reader = ZarrReader(source, "" if node is root else name, stamp, _dtype(node))
            result.add(_entry(f"/{name}", node, reader))
        except errors.Error as error:
            result.dropped.append(Note(f"/{name}", "unsupported", error.message))
    return result


def _dtype(array: Any) -> np.dtype:
    return np.dtype(object) if array.dtype.kind in "OT" else np.dtype(array.dtype).newbyteorder("=")


def _entry(path: str, array: Any, reader: ZarrReader) -> ArrayEntry:
    metadata = array.metadata
    attrs = dict(array.attrs)
    declared = metadata.to_dict().get("data_type")
    if metadata.zarr_format == 2:
        dims = tuple(attrs.pop(_DIMENSIONS, (None,) * array.ndim))
        kind = None
        # In version 2 xarray keeps _FillValue in the array's fill value.
        if array.fill_value is not None and "_FillValue" not in attrs:
            value = fill_attribute(array.fill_value, np.dtype(array.dtype))
            attrs.update({} if value is None else {"_FillValue": value})
    else:
        dims = tuple(metadata.dimension_names or (None,) * array.ndim)
        kind = declared
    dtype = reader.dtype
    binary = kind == "variable_length_bytes"
    return ArrayEntry(
        path=path,
        shape=tuple(int(n) for n in array.shape),
        dims=dims if len(dims) == array.ndim else (None,) * array.ndim,
        data_type="variable_length_bytes" if binary else data_type(dtype),
        dtype=dtype,
        chunks=_chunks(array),
        codecs=[{"name": "vlen-bytes", "configuration": {}}, dict(ZSTD)] if binary else copy_codecs(dtype),
        fill_value="" if binary else fill_json(array.fill_value, dtype),
        attrs=to_json(attrs),
        read=reader,
        note="already Zarr: pack it, or open it as it is",
    )


def _chunks(array: Any) -> tuple[int, ...]:
    try:
        chunks = tuple(int(n) for n in (array.shards or array.chunks))
    except NotImplementedError:  # a rectilinear grid
        return default_chunks(array.shape, array.dtype.itemsize)
    return tuple(max(n, 1) for n in chunks)


@dataclass(frozen=True)
class ZarrReader:
    """Reads regions of one array of a store through zarr-python; ``stamp`` tells apart the times at which the
    store was indexed, as it may have been written anew since.
    """

    source: str
    path: str
    stamp: int
    dtype: np.dtype

    def __call__(self, region: Region) -> np.ndarray:
        """The elements of ``region``, C-contiguous, in native byte order."""
        try:
            values = np.asarray(_array(self.source, self.path, self.stamp)[region])
            return np.ascontiguousarray(values.astype(self.dtype, copy=False)).reshape(
                [s.stop - s.start for s in region]
            )
        except Exception as error:  # zarr-python and its codecs raise anything on a broken store
            raise _broken(f"{self.source}:{self.path}", error) from error


@lru_cache(maxsize=64)
def _array(source: str, path: str, _stamp: int) -> Any:
    node = _root(source)
    return node[path] if path else node


def _root(source: str) -> Any:
    zarr = _zarr()
    store = zarr.storage.ZipStore(source, mode="r") if os.path.isfile(source) else source
    return zarr.open(store, mode="r")


def _zarr() -> Any:
    try:
        import zarr
    except ModuleNotFoundError as error:
        raise errors.make(
            "unsupported", "Zarr stores need the package zarr", "pip install 'icecore[zarr]'"
        ) from error
    zarr.config.set({"array.rectilinear_chunks": True})
    return zarr


def _broken(name: str, error: Exception) -> errors.Error:
    reason = " ".join(str(error).split()) or type(error).__name__
    return errors.make(
        "corrupt", f"{name}: zarr-python can't read it: {reason}", "open it with zarr.open to see more"
    )
