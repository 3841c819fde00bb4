"""Write a selection as HDF5 or netCDF-4 (HDF5 with dimension scales), with attributes and coordinates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import h5py
import numpy as np

from icecore import errors
from icecore.export.decoded import ENCODING
from icecore.filesystem.atomic_output import room
from icecore.repository.array import Array
from icecore.repository.cf_coordinates import companions
from icecore.repository.selection import kept_axes, per_axis
from icecore.repository.time_axis import KEY, TimeAxis
from icecore.repository.typed_attributes import marker, typed
from icecore.sources.mapping.time_units import is_time

#: bytes of a file besides its data, with attributes and small coordinates
_OVERHEAD = 1 << 16
#: attributes that the libraries of HDF5 and netCDF write themselves
OWN = (
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "CLASS",
    "NAME",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
    "_NCProperties",
)
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable. {:10d}"


def write(
    array: Array,
    sel: tuple[Any, ...],
    data: np.ndarray,
    path: str,
    netcdf: bool,
    is_decoded: bool = False,
) -> None:
    """Write ``data``, the selection ``sel`` of ``array``, and the matching part of its coordinates.

    The attributes of decoded data don't describe how values were stored.

    A time axis becomes that of the selection; it is left out if the selected samples have none.
    """
    axes = kept_axes(sel, array.ndim, data.ndim)
    beside = _beside(array, sel, axes, netcdf)
    room(path, data.nbytes + sum(values.nbytes for _, _, values in beside) + _OVERHEAD)
    names = [_name(array, axis, i) for i, axis in enumerate(axes)]
    with h5py.File(path, "w", track_order=True) as file:
        for key, value in typed(array.repo[array._node.parent]._node).items():
            set_attribute(file, key, value)
        lengths = dict(zip(names, data.shape, strict=True))
        for _, dims, values in beside:
            lengths |= dict(zip(dims, values.shape, strict=True))
        scales = {dims[0]: (each, values) for each, dims, values in beside if dims == (each.name,)}
        for i, (name, length) in enumerate(lengths.items()):
            if name in scales:
                dataset = _dataset(file, name, scales[name][1], scales[name][0], netcdf)
                dataset.make_scale(name)
            elif name != array.name or array.ndim != 1:
                dataset = file.create_dataset(name, (length,), ">f4")
                dataset.make_scale(NO_VARIABLE.format(length))
            if netcdf and name in file:
                file[name].attrs["_Netcdf4Dimid"] = np.int32(i)
        target = array.name if array.name not in file else f"{array.name}_values"
        without = ENCODING if is_decoded and not is_time(array.attrs.get("units")) else ()
        dataset = _dataset(file, target, data, array, netcdf, without)
        _time_axis(dataset, array, sel)
        if names == [target]:
            dataset.make_scale(target)
            if netcdf:
                dataset.attrs["_Netcdf4Dimid"] = np.int32(0)
        else:
            _attach(file, dataset, names)
        for each, dims, values in beside:
            if each.name not in file:
                _attach(file, _dataset(file, each.name, values, each, netcdf), dims)
        listed = dataset.attrs.get("coordinates", "")
        # The coordinate of a removed axis belongs to the array only if `coordinates` lists it.
        lost = [each.name for each, dims, _ in beside if not dims and each.ndim]
        if isinstance(listed, str) and not set(lost) <= set(listed.split()):
            dataset.attrs["coordinates"] = " ".join(dict.fromkeys([*listed.split(), *lost]))


def _time_axis(dataset: h5py.Dataset, array: Array, sel: tuple[Any, ...]) -> None:
    axis = TimeAxis.of(array.attrs)
    if axis is None:
        return
    index = per_axis(sel, array.ndim)[0]
    part = axis.part(index, array.shape[0]) if isinstance(index, slice | range) else None
    if part is None:
        del dataset.attrs[KEY]
    else:
        set_attribute(dataset, KEY, part.attribute())


def _attach(file: h5py.File, dataset: h5py.Dataset, names: Sequence[str]) -> None:
    for i, name in enumerate(names):
        dataset.dims[i].attach_scale(file[name])


def _name(array: Array, axis: int | None, i: int) -> str:
    dim = array.dims[axis] if axis is not None else None
    repeated = dim is not None and array.dims.count(dim) > 1
    return dim if dim is not None and not repeated else f"dim_{i}"


def _beside(
    array: Array, sel: tuple[Any, ...], axes: list[int | None], netcdf: bool
) -> list[tuple[Array, tuple[str, ...], np.ndarray]]:
    """Return the coordinate arrays with their remaining dimensions and values."""
    found = []
    for each, cut in companions(array, sel):
        if (netcdf and not is_netcdf(each.dtype)) or (each.ndim and None in axes):
            continue
        if any(isinstance(item, range) for item in cut):
            message = f"{each.path} has no values outside {array.path}, which is padded there"
            raise errors.make("unsupported", message, "-o out.npy, or --gaps ignore")
        values = each.read(cut)
        dims = tuple(
            str(each.dims[axis]) for axis in kept_axes(cut, each.ndim, values.ndim) if axis is not None
        )
        found.append((each, dims, values))
    return found


def _dataset(
    file: h5py.File,
    name: str,
    data: np.ndarray,
    source: Array,
    netcdf: bool,
    without: tuple[str, ...] = (),
) -> h5py.Dataset:
    data, extra = storable(source, data, netcdf)
    kept = {key: value for key, value in typed(source._node).items() if key not in without}
    attrs, kwargs = described(source, kept, data.dtype)
    try:
        dataset = file.create_dataset(name, data=data, track_order=True, **kwargs)
    except TypeError as error:
        message = f"{source.path}: HDF5 can't hold {source.dtype}: {error}"
        raise errors.make("dtype", message, "-o out.npy") from error
    for key, value in {**attrs, **extra}.items():
        if key not in OWN:
            set_attribute(dataset, key, value)
    return dataset


def described(
    source: Array, attrs: dict[str, Any], dtype: np.dtype[Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the attributes of a dataset of ``dtype``, and h5py's options for its type and fill value."""
    attrs = dict(attrs)
    if "flag_values" in source._node.ours.get("enum", ()) and "flag_values" in attrs:
        attrs["flag_values"] = np.array(attrs["flag_values"], source.dtype)  # CF: the variable's dtype
    options: dict[str, Any] = {"dtype": h5py.string_dtype()} if dtype.kind == "O" else {}
    if "_FillValue" in attrs:
        value = marker(source._node, "_FillValue", attrs["_FillValue"], source.dtype)
        if isinstance(value, source.dtype.type) and dtype.kind in "iufb":
            options["fillvalue"] = value
            attrs["_FillValue"] = np.array([value], dtype)
        elif isinstance(value, np.generic) or source.dtype.kind not in "iub":
            attrs["_FillValue"] = value  # of another type than the array's it stays what it was
    return attrs, options


def storable(source: Array, data: np.ndarray, netcdf: bool) -> tuple[np.ndarray, dict[str, Any]]:
    """Convert data for HDF5; also return the attributes that describe the conversion."""
    kind = data.dtype.kind
    if kind in "mM":
        unit = np.datetime_data(data.dtype)[0]
        names = {"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds"}
        names |= {"m": "minutes", "h": "hours", "D": "days"}
        if unit not in names:
            data, unit = data.astype(f"{kind}8[s]"), "s"
        since = " since 1970-01-01" if kind == "M" else ""
        step = np.datetime_data(data.dtype)[1]
        return data.astype(f"{kind}8[{unit}]").view("i8") if step != 1 else data.view("i8"), {
            "units": names[unit] + since
        }
    if kind == "U":
        return data.astype("O"), {}
    if kind == "b" and netcdf:
        return data.astype("i1"), {"dtype": "bool"}
    if data.dtype.names is not None and not netcdf:
        return records(data), {}
    if netcdf and not is_netcdf(data.dtype):
        raise errors.make("dtype", f"{source.path}: netCDF-4 can't hold {data.dtype}", "-o out.h5 or out.npy")
    return data, {}


def is_netcdf(dtype: np.dtype[Any]) -> bool:
    return dtype.kind not in "cV" and not (dtype.itemsize == 2 and dtype.kind == "f")


def set_attribute(target: h5py.Group | h5py.Dataset, key: str, value: Any) -> None:
    if isinstance(value, list):
        value = _array(value)
    if isinstance(value, (dict, list)) or value is None:
        value = json.dumps(value)
    target.attrs[key] = value


def _array(value: list[Any]) -> Any:
    """Convert a list to an array of numbers or strings; other and ragged lists are returned unchanged."""
    if value and all(isinstance(item, str) for item in value):
        return np.array(value, "O")
    try:
        array = np.array(value) if value else np.empty(0)
    except ValueError:  # lists of different lengths
        return value
    return value if array.dtype.kind in "OU" else array


# Records in HDF5 types: fixed-size Unicode fields become variable-length strings.


def records(data: np.ndarray) -> np.ndarray:
    """Return records with Unicode fields as variable-length strings; ``data`` itself if it has none."""
    wanted = _stored(data.dtype)
    if wanted == data.dtype:
        return data
    made = np.empty(data.shape, wanted)
    _copy(data, made)
    return made


def _stored(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return np.dtype((_stored(base), shape))
    if dtype.names is not None:
        return np.dtype([(name, _stored(dtype[name])) for name in dtype.names]) if _has_text(dtype) else dtype
    return h5py.string_dtype() if dtype.kind == "U" else dtype


def _has_text(dtype: np.dtype[Any]) -> bool:
    fields = [dtype[name].base for name in dtype.names or ()]
    return any(field.kind == "U" or _has_text(field) for field in fields)


def _copy(source: np.ndarray, target: np.ndarray) -> None:
    for name in source.dtype.names or ():
        if source[name].dtype.names is not None:
            _copy(source[name], target[name])
        else:
            target[name] = source[name].astype(target[name].dtype)
