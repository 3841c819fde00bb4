"""xarray objects as a source: CF-encoded as ``to_zarr`` does, read region by region."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from xarray import conventions

from icecore import errors
from icecore.repository.json_attributes import attribute_type, fill_attribute, group_attributes, to_json
from icecore.repository.typed_attributes import storable
from icecore.repository.zarr_dtypes import copy_codecs, data_type, fill_json
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, default_chunks
from icecore.sources.memory.packed_range import checked
from icecore.sources.memory.region_reader import RegionReader, chunk_grid

#: bytes of a dask chunk of a variable that is in a file
_CHUNK = "16MiB"


def open(item: xr.Dataset | xr.DataArray | xr.DataTree, name: str) -> ArrayMap:
    """Index an xarray object; groups of a DataTree become groups.

    Raises:
        Error: ``invalid`` for a DataArray without a name, a MultiIndex, or attributes that can't be stored;
            ``dtype`` for objects that are not strings.
    """
    result = ArrayMap(name)
    if isinstance(item, xr.DataTree):
        for node in item.subtree:
            _add(result, node.path.rstrip("/"), node.to_dataset(inherit=False))
    else:
        _add(result, "", _dataset(item) if isinstance(item, xr.DataArray) else item)
    return result


def _dataset(array: xr.DataArray) -> xr.Dataset:
    if not isinstance(array.name, str):
        message = f"a DataArray needs a string for a name (got {array.name!r})"
        raise errors.make("invalid", message, "name it: array.rename('t2m')")
    return array.coords.to_dataset() if array.name in array.coords else array.to_dataset()


def _add(result: ArrayMap, group: str, dataset: xr.Dataset) -> None:
    variables, attrs = conventions.encode_dataset_coordinates(dataset)
    storable(attrs, group or "/")
    result.groups[group or "/"] = group_attributes(attrs)
    unlimited = set(dataset.encoding.get("unlimited_dims", ()))
    for name, variable in variables.items():
        if not isinstance(name, str):
            message = f"names of variables are strings (got {name!r})"
            raise errors.make("invalid", message, "rename it: dataset.rename({…})")
        result.add(_entry(f"{group}/{name}", variable, unlimited))


def _encoded(path: str, variable: xr.Variable) -> xr.Variable:
    """The variable as CF stores it; data of files and of dask stay lazy."""
    if not variable._in_memory and variable.chunks is None:
        # Encoding would load all of it.
        variable = variable.chunk(variable.encoding.get("preferred_chunks") or _CHUNK)
    if variable.dtype.kind == "b":
        return variable
    if variable.dtype.kind == "O" and variable.chunks is None:
        missing = np.count_nonzero(variable.isnull().to_numpy())
        if missing:
            message = f"{path}: {missing:,} of its objects are missing, for which strings have no value"
            raise errors.make("dtype", message, "fill them: dataset.fillna({'name': ''})")
    variable = checked(variable, variable.encoding, path)
    try:
        return conventions.encode_cf_variable(variable, name=path.rsplit("/", 1)[-1])
    except (NotImplementedError, ValueError, TypeError) as error:
        raise errors.make("invalid", f"{path} can't be encoded: {error}", "see its encoding") from error


def _entry(path: str, variable: xr.Variable, unlimited: set[Any]) -> ArrayEntry:
    encoded = _encoded(path, variable)
    dtype = np.dtype("O") if encoded.dtype.kind in "OT" else encoded.dtype.newbyteorder("=")
    attrs = dict(encoded.attrs)
    fill = attrs.pop("_FillValue", None)
    storable(attrs, path)
    types = {name: kind for name, value in attrs.items() if (kind := attribute_type(value))}
    stored = {name: to_json(value) for name, value in attrs.items()}
    text = None
    if fill is not None and (form := fill_attribute(fill, dtype)) is not None:
        stored["_FillValue"] = form
    elif fill is not None:
        text = fill.decode() if isinstance(fill, bytes) else str(fill)
    data = encoded.data if encoded.chunks is not None else encoded.to_numpy()
    return ArrayEntry(
        path=path,
        shape=tuple(encoded.shape),
        dims=tuple(map(str, encoded.dims)),
        data_type=data_type(dtype),
        dtype=dtype,
        chunks=chunk_grid(data) or default_chunks(encoded.shape, max(dtype.itemsize, 1)),
        codecs=copy_codecs(dtype),
        fill_value=fill_json(fill, dtype),
        attrs=stored,
        read=RegionReader(path, data, dtype),
        unlimited=tuple(i for i, dim in enumerate(encoded.dims) if dim in unlimited),
        note="in memory",
        attr_types=types,
        text_fill=text,
    )
