"""Variables of a group for xarray: read lazily through icecore, decoded by xarray."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import AbstractDataStore
from xarray.core import indexing

from icecore.integrations.lazy_array import LazyArray
from icecore.repository.array import Array
from icecore.repository.cf_coordinates import BOUNDS, names, near
from icecore.repository.dimension_names import Known, dimension_names
from icecore.repository.group import Group
from icecore.repository.time_axis import TimeAxis
from icecore.repository.typed_attributes import marker, typed

#: units of latitude and longitude
_DEGREES = re.compile("degrees?_?(north|east|N|E)")


class XarrayStore(AbstractDataStore):
    """Variables, attributes and dimensions of one group, in the form that xarray's decoders expect."""

    def __init__(self, group: Group, rtol: float | None, known: Known | None = None) -> None:
        """``known`` caches the dimensions of parent groups when all groups of a tree are opened."""
        self._group = group
        self._rtol = rtol
        self._names = dimension_names(group, known)
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
        lazy = LazyArray(array, rtol)
        if rtol is not None and bound and array.dtype.kind == "f":
            marks = {key: attrs[key] for key in ("_FillValue", "missing_value") if key in attrs}
            attrs |= {key: np.asarray(value, array.dtype)[()] for key, value in marks.items()}
            lazy.doubtful = _doubtful(array, list(marks.values()), bound)
        return xr.Variable(dims, indexing.LazilyIndexedArray(lazy), attrs, encoding)


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
    below = [node for node in group.repo._below(group.path) if node.is_array and node.parent != group.path]
    for array in (Array(group.repo, node) for node in below):
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
