"""Variables of a group for xarray: read lazily through icecore, decoded by xarray."""

from __future__ import annotations

import re
from collections.abc import Container
from itertools import count
from typing import Any, cast

import numpy as np
import xarray as xr
from xarray.backends import AbstractDataStore, BackendArray
from xarray.core import indexing

from icecore.repository.array import Array
from icecore.repository.array_request import precision
from icecore.repository.cf_coordinates import BOUNDS, names, near
from icecore.repository.group import Group
from icecore.repository.time_axis import TimeAxis
from icecore.repository.typed_attributes import marker, typed

#: units of latitude and longitude
_DEGREES = re.compile("degrees?_?(north|east|N|E)")
_TEXT = np.dtype("O", metadata={"element_type": str})
#: path of a group → array → dimension names
Known = dict[str, dict[str, tuple[str, ...]]]


class XarrayStore(AbstractDataStore):
    """Variables, attributes and dimensions of one group, in the form that xarray's decoders expect."""

    def __init__(self, group: Group, rtol: float | None, known: Known | None = None) -> None:
        """``known`` caches the dimensions of parent groups when all groups of a tree are opened."""
        self._group = group
        self._rtol = rtol
        self._names = _dimension_names(group, {} if known is None else known)
        self._exact = set() if rtol is None else _axes(group)

    def get_variables(self) -> dict[str, xr.Variable]:
        """Return the arrays as lazy variables."""
        return {name: self._variable(name, array) for name, array in self._group.arrays.items()}

    def get_attrs(self) -> dict[str, Any]:
        """Return the group's attributes."""
        return typed(self._group._node)

    def get_dimensions(self) -> dict[str, int]:
        """Return dimension → length."""
        arrays = self._group.arrays.items()
        return {dim: n for name, a in arrays for dim, n in zip(self._names[name], a.shape, strict=True)}

    def time_axes(self, names: Container[Any]) -> dict[str, TimeAxis]:
        """Return dimension → the time axis (``icecore_time``) that all of these arrays along it share."""
        found: dict[str, set[TimeAxis]] = {}
        for name, array in self._group.arrays.items():
            axis = TimeAxis.of(array._node.attrs) if name in names and array.ndim else None
            if axis is not None:
                plain = TimeAxis(axis.t0, axis.step, (), axis.epoch)
                found.setdefault(self._names[name][0], set()).add(plain)
        return {dim: axes.pop() for dim, axes in found.items() if len(axes) == 1}

    def get_encoding(self) -> dict[str, Any]:
        """Return the unlimited dimensions and the source of the data."""
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
            # As in xarray's netCDF backends: a hint for writers.
            encoding["least_significant_digit"] = attrs.pop("least_significant_digit")
        if array.dtype.kind not in "OUmM":
            # Not for variable-length strings: with dtype ``str`` xarray would load them immediately.
            # Not for times and fixed-size strings either: netCDF has neither, so xarray encodes them itself.
            encoding["dtype"] = array.dtype
        # With an offset, the error of stored numbers does not bound the error of decoded ones.
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
    """An array that xarray indexes and icecore reads; unpickling reopens its snapshot."""

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
    """Return the variables that locate data: coordinates, times, latitudes, longitudes, and their bounds.

    Coordinates include those that attributes name, here or in subgroups.
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
    """Return the values that a read within ``bound`` could confuse with these missing values.

    The read replaces the bits below the fetched planes by the codec's pattern, so other values may become
    equal to a rounded missing value. The array's own fill value is read exactly; only that very pattern
    collides with it.
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


def _dimension_names(group: Group, known: Known) -> dict[str, tuple[str, ...]]:
    """Return array → dimension names; unnamed axes get ``phony_dim_N`` by length, as in netCDF-4.

    Numbers continue after those of the parent groups, because the groups of a tree must agree.
    """
    if group.path not in known:
        known[group.path] = _named(group, known)
    return known[group.path]


def _named(group: Group, known: Known) -> dict[str, tuple[str, ...]]:
    arrays = group.arrays
    if all(dim is not None for array in arrays.values() for dim in array.dims):
        return {name: tuple(map(str, array.dims)) for name, array in arrays.items()}
    taken = {dim for array in arrays.values() for dim in array.dims} | _above(group, known)
    free = (name for name in map("phony_dim_{}".format, count()) if name not in taken)
    phony: dict[tuple[int, int], str] = {}
    names = {}
    for name, array in arrays.items():
        dims: list[str] = []
        for dim, length in zip(array.dims, array.shape, strict=True):
            if dim is None:
                # The same length twice in one array gives two dimensions.
                again = sum(known in dims for (n, _), known in phony.items() if n == length)
                if (length, again) not in phony:
                    phony[length, again] = next(free)
                dim = phony[length, again]
            dims.append(dim)
        names[name] = tuple(dims)
    return names


def _above(group: Group, known: Known) -> set[str]:
    """Return the dimensions of all parent groups."""
    if group.path == "/":
        return set()
    parent = cast("Group", group.repo[group._node.parent])
    return _above(parent, known) | {dim for dims in _dimension_names(parent, known).values() for dim in dims}
