"""Encode the variables of a dataset like the stored arrays that they extend or overwrite."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import xarray as xr

from icecore import errors
from icecore.ingest.destination import destination
from icecore.repository.array import Array
from icecore.repository.group import Group
from icecore.repository.repo import Repo
from icecore.repository.typed_attributes import marker, typed
from icecore.sources.mapping.time_units import spans_or_times
from icecore.sources.memory.packed_range import WHOLE

#: attributes that say how numbers are packed
_PACKING = ("scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned")


def as_dataset(item: xr.Dataset | xr.DataArray) -> xr.Dataset:
    """Return a DataArray as a dataset.

    Raises:
        Error: ``invalid`` for a DataArray without a name.
    """
    if isinstance(item, xr.Dataset):
        return item
    if not isinstance(item.name, str):
        message = f"a DataArray needs a string for a name (got {item.name!r})"
        raise errors.make("invalid", message, "name it: array.rename('t2m')")
    return item.coords.to_dataset() if item.name in item.coords else item.to_dataset()


def stored_arrays(
    into: Repo | str | os.PathLike[str], group: str, storage: Mapping[str, Any] | None
) -> dict[str, Array]:
    """Return the arrays of a group at the tip of the branch; empty if there is no such group."""
    repo = destination(into, storage)
    if repo is None:
        return {}
    found = repo.at(repo.ref).get(group or "/")
    return found.arrays if isinstance(found, Group) else {}


def like_stored(dataset: xr.Dataset, arrays: Mapping[str, Array]) -> xr.Dataset:
    """Return the dataset with the encodings of the stored arrays, by the names of its variables.

    Times keep an encoding that is exact, in the stored calendar; they are converted when they are written.

    Raises:
        Error: ``mismatch`` for dimensions in another order, or a dtype that can't become the stored one.
    """
    found = {name: _encoded(variable, arrays.get(str(name))) for name, variable in dataset.variables.items()}
    made = dataset.assign({name: found[name] for name in dataset.data_vars})
    others = [name for name in dataset.coords if name not in dataset.xindexes]
    made = made.assign_coords({name: found[name] for name in others})
    for name in dataset.xindexes:  # assigning these would make their indexes again
        made[name].encoding = found[name].encoding
    return made


def _encoded(variable: xr.Variable, array: Array | None) -> xr.Variable:
    if array is None or set(_PACKING) & set(variable.attrs):
        return variable  # new, or encoded by the caller
    if tuple(map(str, variable.dims)) != array.dims:
        stored, given = (", ".join(map(str, dims)) for dims in (array.dims, variable.dims))
        message = f"{array.path} has dimensions ({stored}), the dataset has ({given})"
        raise errors.make("mismatch", message, "dataset.transpose(…)")
    made = variable.copy(deep=False)
    made.encoding = {
        key: made.encoding[key] for key in ("chunks", "preferred_chunks") if key in made.encoding
    }
    attrs = typed(array._node)
    if _is_time(variable) or spans_or_times(attrs):
        return _timed(made, array, attrs)
    if array.dtype.kind in "OSU" or variable.dtype.kind in "OSUT":
        return _text(made, array)
    packing = {key: attrs[key] for key in _PACKING if key in attrs}
    if "_FillValue" in packing:
        packing["_FillValue"] = marker(array._node, "_FillValue", packing["_FillValue"], array.dtype)
    if variable.dtype.kind not in "biufc" or (variable.dtype.kind == "c") > (array.dtype.kind == "c"):
        raise _misfit(variable, array)
    made.encoding |= packing | {"dtype": array.dtype, WHOLE: True}
    return made


def _is_time(variable: xr.Variable) -> bool:
    return variable.dtype.kind in "mM"


def _timed(variable: xr.Variable, array: Array, attrs: Mapping[str, Any]) -> xr.Variable:
    if array.dtype.kind in "mM":
        raise _misfit(variable, array)
    if "calendar" in attrs:
        variable.encoding["calendar"] = attrs["calendar"]
    return variable


def _text(variable: xr.Variable, array: Array) -> xr.Variable:
    kinds = variable.dtype.kind, array.dtype.kind
    if kinds[0] not in "OSUT" or kinds[1] not in "OSU":
        raise _misfit(variable, array)
    if kinds[1] == "U" and kinds[0] in "OUT" and variable.chunks is None:
        data = variable.to_numpy().astype("U")
        if data.dtype.itemsize > array.dtype.itemsize:
            longest = max(map(len, data.reshape(-1).tolist()), default=0)
            message = f"{array.path} has strings of {array.dtype.itemsize // 4} characters (got {longest})"
            raise errors.make("mismatch", message, "write it again with longer strings: replace=True")
        return variable.copy(data=data.astype(array.dtype))
    if kinds[1] == "O" and kinds[0] in "US":
        return variable.astype(object) if kinds[0] == "U" else variable
    variable.encoding["dtype"] = str
    return variable


def _misfit(variable: xr.Variable, array: Array) -> errors.Error:
    message = f"{array.path} is {array._node.dtype_label} in the repository, {variable.dtype} in the dataset"
    return errors.make("mismatch", message, f"convert it: dataset.assign({array.name}=…)")
