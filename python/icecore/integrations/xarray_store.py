"""Variables of a group for xarray: read lazily through icecore, decoded by xarray."""

from __future__ import annotations

import re
from collections.abc import Container
from itertools import count
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import AbstractDataStore, BackendArray
from xarray.core import indexing

from icecore.repository.array import Array
from icecore.repository.cf_coordinates import BOUNDS, names, near
from icecore.repository.group import Group
from icecore.repository.precision import precision
from icecore.repository.time_axis import TimeAxis
from icecore.repository.typed_attributes import marker, typed

#: the units of latitudes and longitudes
_DEGREES = re.compile("degrees?_?(north|east|N|E)")
_TEXT = np.dtype("O", metadata={"element_type": str})


class XarrayStore(AbstractDataStore):
    """One group's variables, attributes and dimensions, as xarray's decoders take them."""

    def __init__(self, group: Group, rtol: float | None) -> None:
        self._group = group
        self._rtol = rtol
        self._names = _dimension_names(group)
        self._exact = set() if rtol is None else _axes(group)

    def get_variables(self) -> dict[str, xr.Variable]:
        """The arrays, lazily."""
        return {name: self._variable(name, array) for name, array in self._group.arrays.items()}

    def get_attrs(self) -> dict[str, Any]:
        """The group's attributes."""
        return typed(self._group._node)

    def get_dimensions(self) -> dict[str, int]:
        """dimension → length."""
        arrays = self._group.arrays.items()
        return {dim: n for name, a in arrays for dim, n in zip(self._names[name], a.shape, strict=True)}

    def time_axes(self, names: Container[Any]) -> dict[str, TimeAxis]:
        """dimension → the time axis (``icecore_time``) that all of these arrays along it share."""
        found: dict[str, set[TimeAxis]] = {}
        for name, array in self._group.arrays.items():
            axis = TimeAxis.of(array._node.attrs) if name in names and array.ndim else None
            if axis is not None:
                plain = TimeAxis(axis.t0, axis.step, (), axis.epoch)
                found.setdefault(self._names[name][0], set()).add(plain)
        return {dim: axes.pop() for dim, axes in found.items() if len(axes) == 1}

    def get_encoding(self) -> dict[str, Any]:
        """The dimensions that can grow, and where the data comes from."""
        grow = {
            self._names[name][axis]
            for name, array in self._group.arrays.items()
            for axis in array._node.ours.get("unlimited", ())
            if axis < array.ndim
        }
        return {"unlimited_dims": grow, "source": self._group.repo.url}

    def _variable(self, name: str, array: Array) -> xr.Variable:
        dims = self._names[name]
        attrs = typed(array._node)
        if "_FillValue" in attrs:
            attrs["_FillValue"] = marker(array._node, "_FillValue", attrs["_FillValue"], array.dtype)
        for value in array._node.ours.get("enum", ()):
            attrs.pop(value, None)  # what the source says in its type, and xarray's netCDF backends don't
        unit = array._native.shards or array._native.chunks
        encoding: dict[str, Any] = {
            "chunks": array.chunks,
            "shards": array.shards,
            "preferred_chunks": {
                dim: _clipped(size, n) if isinstance(size, list) else min(size, max(n, 1))
                for dim, size, n in zip(dims, unit, array.shape, strict=True)
            },
            "source": array.repo.url,
        }
        if "least_significant_digit" in attrs:
            # As xarray's netCDF backends: a hint to writers.
            encoding["least_significant_digit"] = attrs.pop("least_significant_digit")
        if array.dtype.kind not in "OUmM":
            # Not for text of any length: with `str` here, as from netCDF's backends, xarray reads it at once.
            # Not for times and text of fixed size either: netCDF has neither, xarray encodes them anew.
            encoding["dtype"] = array.dtype
        # With an offset the error of a stored number does not bound that of the decoded one.
        exact = name in self._exact or bool(np.any(attrs.get("add_offset", 0)))
        rtol = self._rtol if array.dtype.kind in "fc" and not exact else None
        if rtol is not None:
            bound = array.bound(rtol=rtol)
            attrs["rtol_bound"] = bound  # true of copies too, as encoding is not
        lazy = _Lazy(array, rtol)
        if rtol is not None and bound and array.dtype.kind == "f":
            marks = {key: attrs[key] for key in ("_FillValue", "missing_value") if key in attrs}
            attrs |= {key: np.asarray(value, array.dtype)[()] for key, value in marks.items()}
            lazy.doubtful = _doubtful(array, list(marks.values()), bound)
        return xr.Variable(dims, indexing.LazilyIndexedArray(lazy), attrs, encoding)


class _Lazy(BackendArray):
    """An array that xarray indexes and icecore reads; pickled, it opens its snapshot again."""

    def __init__(self, array: Array, rtol: float | None) -> None:
        self._array = array
        self._precision = precision(rtol)
        #: values that may be rounded to or from a missing value: they are read exactly
        self.doubtful = np.empty(0, array.dtype) if rtol is not None else None
        self.shape = array.shape
        self.dtype = _TEXT if array._node.dtype_label == "string" else array.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        if isinstance(key, (indexing.BasicIndexer, indexing.OuterIndexer)):
            return self._read(key.tuple)  # xarray's adapter fails on empty slices with a negative step
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> np.ndarray:
        found = self._array._read(key, None, True, self._precision)
        if self.doubtful is not None and self.doubtful.size:
            doubt = np.isin(found, self.doubtful)
            if doubt.any():
                found[doubt] = self._array._read(key, None, True, None)[doubt]
        return found


def _clipped(sizes: list[int], length: int) -> tuple[int, ...]:
    """Chunk lengths of an axis; the last chunk may extend beyond the array."""
    edges = np.minimum(np.cumsum(sizes), length)
    return tuple(np.diff(edges, prepend=0).tolist())


def _axes(group: Group) -> set[str]:
    """The variables that say where data are: coordinates of dimensions, those that variables name here or in
    groups below, times, latitudes and longitudes, and the bounds of all these.
    """
    arrays = group.arrays
    found = set(names(group.attrs, "coordinates"))
    for name, array in arrays.items():
        found |= set(names(array.attrs, "coordinates", "grid_mapping"))
        if array.dims == (name,) or _is_place(array):
            found.add(name)
    inside = group.path.rstrip("/") + "/"
    below = [path for path in group.repo.arrays if path.startswith(inside) and "/" in path[len(inside) :]]
    for array in (group.repo.arrays[path] for path in below):
        for name in names(array.attrs, "coordinates", "grid_mapping"):
            if name in arrays and (meant := near(array, name)) and meant.path == arrays[name].path:
                found.add(name)
    for name in found & arrays.keys():
        found |= set(names(arrays[name].attrs, *BOUNDS))
    return found


def _is_place(array: Array) -> bool:
    """Whether an array holds times, latitudes or longitudes by its attributes (CF 1.12, chapter 4)."""
    units, kind = (str(array.attrs.get(key, "")) for key in ("units", "standard_name"))
    return " since " in units or bool(_DEGREES.fullmatch(units)) or kind in ("latitude", "longitude", "time")


def _doubtful(array: Array, marks: list[Any], bound: float) -> np.ndarray:
    """What a read within ``bound`` gives for these values, where others are read as the same: normal numbers
    lose the bits below the planes that are read, and get the pattern of the codec in their place. The array's
    own fill value is exact, so others meet it only where it has that very pattern.
    """
    given = np.concatenate([np.ravel(np.asarray(mark, array.dtype)) for mark in [*marks, array.fill_value]])
    middle = all(codec.get("configuration", {}).get("fill") != "zero" for codec in array.codecs)
    missing = round(np.log2(bound)) + np.finfo(array.dtype).nmant + int(middle)
    bits = given.view(f"u{given.dtype.itemsize}")
    low = bits.dtype.type((1 << missing) - 1)
    pattern = (bits & ~low) | bits.dtype.type(1 << (missing - 1) if middle else 0)
    coarse = pattern.view(given.dtype)
    normal = np.isfinite(given) & (np.abs(given) >= np.finfo(given.dtype).tiny)
    return coarse[normal & ((given != array.fill_value) | (coarse == given))]


def _dimension_names(group: Group) -> dict[str, tuple[str, ...]]:
    """array → its dimension names; axes without one share ``phony_dim_N`` by length, as in netCDF-4's own
    library. Numbers count up from those of the groups above, which a tree's groups have to agree with.
    """
    arrays = group.arrays
    if all(dim is not None for array in arrays.values() for dim in array.dims):
        return {name: tuple(map(str, array.dims)) for name, array in arrays.items()}
    taken = {dim for array in arrays.values() for dim in array.dims} | _above(group)
    free = (name for name in map("phony_dim_{}".format, count()) if name not in taken)
    phony: dict[tuple[int, int], str] = {}
    names = {}
    for name, array in arrays.items():
        dims: list[str] = []
        for dim, length in zip(array.dims, array.shape, strict=True):
            if dim is None:
                # The same length twice in one array makes two dimensions.
                again = sum(known in dims for (n, _), known in phony.items() if n == length)
                if (length, again) not in phony:
                    phony[length, again] = next(free)
                dim = phony[length, again]
            dims.append(dim)
        names[name] = tuple(dims)
    return names


def _above(group: Group) -> set[str]:
    """The dimensions of all groups above one."""
    if group.path == "/":
        return set()
    parent = Group(group.repo, group.repo._nodes[group._node.parent])
    return _above(parent) | {dim for dims in _dimension_names(parent).values() for dim in dims}
