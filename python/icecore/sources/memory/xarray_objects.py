"""xarray objects as a source: CF-encoded as ``to_zarr`` does, read region by region."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from xarray import conventions

from icecore import errors
from icecore.repository.json_attributes import attribute_type, fill_attribute, group_attributes, to_json
from icecore.repository.typed_attributes import storable
from icecore.repository.zarr_dtypes import copy_codecs, data_type, fill_json
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, default_chunks
from icecore.sources.mapping.netcdf_fill import texts_for_null
from icecore.sources.memory.array_mappings import RegionReader, chunk_grid
from icecore.sources.memory.packed_range import checked

_MARKS = ("missing_value", "_FillValue")
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
        result.add(entry(f"{group}/{name}", variable, unlimited))


def encoded(path: str, variable: xr.Variable) -> tuple[xr.Variable, str | None]:
    """Return the variable as CF stores it, and the string that represents missing ones (or None).

    Data of files and of dask stay lazy, except for objects: xarray loads these to find their type.
    """
    if not variable._in_memory and variable.chunks is None:
        # Encoding would load all of it.
        variable = variable.chunk(variable.encoding.get("preferred_chunks") or _CHUNK)
    if variable.dtype.kind == "b" and np.dtype(variable.encoding.get("dtype") or "?").kind == "b":
        return variable, None
    null = None
    if variable.dtype.kind in "OT":
        variable, null = _texts(variable.load() if variable.chunks is None else variable.compute())
    variable = checked(variable, variable.encoding, path)
    try:
        return conventions.encode_cf_variable(variable, name=path.rsplit("/", 1)[-1]), null
    except (NotImplementedError, ValueError, TypeError) as error:
        raise errors.make("invalid", f"{path} can't be encoded: {error}", "see its encoding") from error


def _texts(variable: xr.Variable) -> tuple[xr.Variable, str | None]:
    """Return strings with a value for missing ones, and that value; other objects are returned unchanged."""
    data = variable.to_numpy()
    data = data.astype(object) if data.dtype.kind == "T" else data
    missing = pd.isnull(data)
    held = set(data[~missing].ravel().tolist()) if missing.any() else set()
    is_text = all(isinstance(item, str) for item in held) if held else variable.encoding.get("dtype") is str
    if not missing.any() or not is_text:
        return variable, None
    given = variable.encoding.get("missing_value", variable.encoding.get("_FillValue"))
    named = [given] if isinstance(given, str) else []
    null = next(text for text in (*named, *islice(texts_for_null(), len(held) + 1)) if text not in held)
    kept = {key: value for key, value in variable.encoding.items() if key not in _MARKS}
    return xr.Variable(variable.dims, np.where(missing, null, data), variable.attrs, kept), null


def _renulled(
    entry: ArrayEntry, missing: np.ndarray, null: Any, dtype: np.dtype, merges: bool = False
) -> ArrayEntry | None:
    """Return strings with another one for the missing ones; None if it is one of the strings."""
    assert isinstance(entry.read, RegionReader)
    data = np.asarray(entry.read.array, object)
    if not isinstance(null, str) or (not merges and bool(np.any((data == null) & ~missing))):
        return None
    made = np.where(missing, null, data)
    attrs = {**entry.attrs, "missing_value": null}
    return replace(entry, attrs=attrs, read=RegionReader(entry.path, made, entry.dtype))


def entry(path: str, variable: xr.Variable, unlimited: set[Any]) -> ArrayEntry:
    """Return a variable as a source's array, encoded."""
    stored_form, null = encoded(path, variable)
    dtype = np.dtype("O") if stored_form.dtype.kind in "OT" else stored_form.dtype.newbyteorder("=")
    attrs = dict(stored_form.attrs)
    fill = attrs.pop("_FillValue", None)
    storable(attrs, path)
    types = {name: kind for name, value in attrs.items() if (kind := attribute_type(value))}
    stored = {name: to_json(value) for name, value in attrs.items()}
    text = None
    if fill is not None and (form := fill_attribute(fill, dtype)) is not None:
        stored["_FillValue"] = form
    elif fill is not None:
        text = fill.decode() if isinstance(fill, bytes) else str(fill)
    if null is not None:
        stored["missing_value"] = null
    data = stored_form.data if stored_form.chunks is not None else stored_form.to_numpy()
    made = ArrayEntry(
        path=path,
        shape=tuple(stored_form.shape),
        dims=tuple(map(str, stored_form.dims)),
        data_type=data_type(dtype),
        dtype=dtype,
        chunks=chunk_grid(data) or default_chunks(stored_form.shape, max(dtype.itemsize, 1)),
        codecs=copy_codecs(dtype),
        fill_value=fill_json(fill, dtype),
        attrs=stored,
        read=RegionReader(path, data, dtype),
        unlimited=tuple(i for i, dim in enumerate(stored_form.dims) if dim in unlimited),
        note="in memory",
        attr_types=types,
        text_fill=text,
    )
    if dtype.kind == "O" and stored_form.chunks is None:
        missing = data == null if null is not None else np.zeros(data.shape, bool)
        made.renulled = partial(_renulled, made, missing)
    return made
