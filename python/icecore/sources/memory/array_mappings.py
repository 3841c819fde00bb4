"""A mapping of arrays as a source: ``{"t": array, "group/x": array, "group": {"y": array}}``.

Arrays are NumPy arrays, or lazy ones with ``shape``, ``dtype`` and slicing (dask, h5py, Zarr).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from icecore import errors
from icecore.repository.zarr_dtypes import copy_codecs, data_type, fill_json, pack, packed_struct, subarrays
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Region, default_chunks


def open(arrays: Mapping[Any, Any], name: str) -> ArrayMap:
    """Index a mapping of arrays.

    Raises:
        Error: ``invalid`` for names that are not strings, or masked arrays; ``dtype`` for arrays of objects
            that are not strings.
    """
    result = ArrayMap(name)
    for path, value in _flat(arrays, ""):
        result.add(entry(path, value))
    return result


def _flat(arrays: Mapping[Any, Any], above: str) -> Iterator[tuple[str, Any]]:
    for key, value in arrays.items():
        if not isinstance(key, str) or not key.strip("/"):
            hint = "name each array: {'t': array, 'group/x': array}"
            raise errors.make("invalid", f"names of arrays are non-empty strings (got {key!r})", hint)
        path = f"{above}/{key.strip('/')}"
        if isinstance(value, Mapping):
            yield from _flat(value, path)
        else:
            yield path, value


def entry(path: str, value: Any) -> ArrayEntry:
    """An array without dimension names, read region by region."""
    if np.ma.isMaskedArray(value) and np.ma.is_masked(value):
        hint = "fill it (array.filled(value)), or pack an xarray.Dataset with encoding _FillValue"
        raise errors.make("invalid", f"{path}: masked elements have no value to store", hint)
    if not all(hasattr(value, part) for part in ("shape", "dtype", "__getitem__")):
        value = np.asarray(value)
    stored = np.dtype(value.dtype)
    dtype = np.dtype("O") if stored.kind == "T" else stored.newbyteorder("=")
    try:
        dtype = packed_struct(stored) if stored.names is not None else dtype
    except TypeError as error:
        raise errors.make("dtype", f"{path}: {error}", "give records fields of fixed size") from error
    shape = tuple(int(n) for n in value.shape)

    def convert(data: np.ndarray) -> np.ndarray:
        return pack(data, dtype) if stored.names is not None else data

    return ArrayEntry(
        path=path,
        shape=shape,
        dims=(None,) * len(shape),
        data_type=data_type(dtype),
        dtype=dtype,
        chunks=chunk_grid(value) or default_chunks(shape, max(dtype.itemsize, 1)),
        codecs=copy_codecs(dtype),
        fill_value=fill_json(None, dtype),
        read=RegionReader(path, value, dtype, convert),
        note="in memory",
        subarrays=subarrays(stored),
    )


# Read regions of in-memory and lazy arrays; dask computes only the chunks of a region.


@dataclass(frozen=True)
class RegionReader:
    """Reads an array with ``shape``, ``dtype`` and slicing.

    Attributes:
        path: of the array, for errors.
        array: sliced with one ``slice`` an axis.
        dtype: of what is returned, in native byte order; ``object`` for strings.
        convert: applied to each region before its dtype is checked.
    """

    path: str
    array: Any
    dtype: np.dtype
    convert: Callable[[np.ndarray], np.ndarray] = np.asarray

    def __call__(self, region: Region) -> np.ndarray:
        """The elements of a region, C-contiguous.

        Raises:
            Error: ``dtype`` for an object that is not a string.
        """
        data = self.convert(np.asarray(self.array[region]))
        if self.dtype.kind == "O":
            data = data.astype(object)
            wrong = [type(item).__name__ for item in data.ravel() if not isinstance(item, str)]
            if wrong:
                message = f"{self.path}: objects can't be stored, only strings (got {wrong[0]})"
                raise errors.make("dtype", message, "convert it to numbers or strings, and fill missing ones")
        return np.asarray(data, self.dtype, order="C")


def chunk_grid(array: Any) -> tuple[int, ...] | None:
    """The regular chunk shape of a dask array; None for any other array, or other chunks."""
    chunks = getattr(array, "chunks", None)
    if not chunks or not all(isinstance(axis, tuple) and axis for axis in chunks):
        return None
    regular = all(len(set(axis[:-1])) <= 1 and axis[-1] <= axis[0] for axis in chunks)
    return tuple(max(int(axis[0]), 1) for axis in chunks) if regular else None
