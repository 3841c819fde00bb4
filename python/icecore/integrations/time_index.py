"""Lazy time coordinate for xarray: UTC labels computed from the time axis, never stored."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from xarray.core.indexes import CoordinateTransformIndex, PandasIndex
from xarray.core.indexing import IndexSelResult
from xarray.indexes import CoordinateTransform

from icecore.repository.leap_seconds import gps_of_utc, utc_of_gps
from icecore.repository.time_axis import GPS, NS, TimeAxis

_ATTRS = {"standard_name": "time", "axis": "T"}


class TimeTransform(CoordinateTransform):
    """Maps positions on a time axis to UTC ``datetime64[ns]`` and back; samples of a leap second share a
    label.
    """

    def __init__(self, axis: TimeAxis, dim: str, size: int) -> None:
        super().__init__([dim], {dim: size}, np.dtype("M8[ns]"))
        self.axis = axis

    @property
    def dim(self) -> str:
        """Name of the dimension, and of the coordinate."""
        return self.dims[0]

    @property
    def size(self) -> int:
        """Number of samples."""
        return self.dim_size[self.dim]

    def forward(self, dim_positions: dict[str, Any]) -> dict[Hashable, Any]:
        """Return the labels of positions."""
        times = self.axis.times(np.asarray(dim_positions[self.dim]).astype("i8"))
        utc = utc_of_gps(times) if self.axis.epoch == GPS else times
        return {self.dim: utc.view("M8[ns]")}

    def reverse(self, coord_labels: dict[Hashable, Any]) -> dict[str, Any]:
        """Return the positions (float64) of labels."""
        labels = np.asarray(coord_labels[self.dim], "M8[ns]")
        exact = [float(Fraction(time - self.axis.t0, NS) / self.axis.step) for time in self.times(labels)]
        return {self.dim: np.array(exact, "f8").reshape(labels.shape)}

    def times(self, labels: np.ndarray) -> list[int]:
        """Return nanoseconds on the axis' clock."""
        utc = labels.reshape(-1).view("i8")
        found: list[int] = (gps_of_utc(utc) if self.axis.epoch == GPS else utc).tolist()
        return found

    def equals(self, other: CoordinateTransform, **kwargs: Any) -> bool:
        """Whether both transforms give the same labels."""
        same = isinstance(other, TimeTransform) and self.axis == other.axis
        return same and isinstance(other, TimeTransform) and self.size == other.size

    def sliced(self, part: slice) -> TimeTransform | None:
        """Return the transform of a slice; None for a slice with a negative step."""
        kept = range(self.size)[part]
        if kept.step < 0:
            return None
        start = self.axis.time(kept.start)
        if self.axis.time(kept.start) - self.axis.t0 != kept.start * self.axis.step * NS:
            return None  # the start is rounded to nanoseconds: labels behind it would be rounded again
        axis = TimeAxis(start, self.axis.step * kept.step, (), self.axis.epoch)
        return TimeTransform(axis, self.dim, len(kept))


class TimeIndex(CoordinateTransformIndex):
    """Index that selects by time without labels in memory: single times, lists, slices (inclusive)."""

    transform: TimeTransform

    def isel(self, indexers: Mapping[Any, Any]) -> TimeIndex | PandasIndex | None:
        """Return the index of a selection by position; None for a scalar."""
        found = indexers[self.transform.dim]
        if isinstance(found, slice):
            sliced = self.transform.sliced(found)
            if sliced is not None:
                return type(self)(sliced)
            found = np.arange(self.transform.size)[found]
        if np.ndim(found) != 1:
            return None
        values = found.values if isinstance(found, xr.Variable) else np.asarray(found)
        dim = self.transform.dim
        labels = self.transform.forward({dim: np.arange(self.transform.size)[values]})[dim]
        return PandasIndex(pd.DatetimeIndex(labels, name=dim), dim)

    def sel(self, labels: dict[Any, Any], method: Any = None, tolerance: Any = None) -> IndexSelResult:
        """Return the positions of times; without ``method`` a single time must match a sample exactly.

        Raises:
            KeyError: for a time without a sample.
        """
        dim, label = self.transform.dim, labels[self.transform.dim]
        if isinstance(label, slice):
            first = 0 if label.start is None else self._first_at(label.start, 0)
            last = self.transform.size if label.stop is None else self._first_at(label.stop, 1)
            return IndexSelResult({dim: slice(first, last, label.step)})
        values = np.asarray(getattr(label, "values", label))
        times = np.array(values, "M8[ns]")
        found = np.array([self._position(time, method, tolerance) for time in times.reshape(-1)], "i8")
        shaped = found.reshape(times.shape)
        dims = label.dims if isinstance(label, (xr.Variable, xr.DataArray)) else None
        if shaped.ndim == 0:
            return IndexSelResult({dim: int(shaped)})
        return IndexSelResult({dim: xr.Variable(dims, shaped) if dims else shaped})

    def _first_at(self, label: Any, behind: int) -> int:
        """Return the first sample at or after a time, or (``behind`` 1) after it."""
        [time] = self.transform.times(np.array([label], "M8[ns]"))
        return min(max(self.transform.axis.first_at(time + behind), 0), self.transform.size)

    def _position(self, label: np.datetime64, method: Any, tolerance: Any) -> int:
        [time] = self.transform.times(np.array([label], "M8[ns]"))
        axis, size = self.transform.axis, self.transform.size
        after = axis.first_at(time)
        if after < size and axis.time(after) == time and after >= 0:
            return after
        choice = {"ffill": after - 1, "pad": after - 1, "bfill": after, "backfill": after}
        if method == "nearest":
            choice["nearest"] = min(max(axis.index(time), 0), size - 1)
        found = choice.get(method, -1)
        if not 0 <= found < size:
            raise KeyError(f"no sample at {label}; method='nearest' takes the nearest one")
        away = abs(axis.time(found) - time)
        if tolerance is not None and away > int(np.timedelta64(tolerance, "ns").astype("i8")):
            raise KeyError(f"no sample within {tolerance} of {label}")
        return found


def with_times(dataset: xr.Dataset, axes: Mapping[str, TimeAxis]) -> xr.Dataset:
    """Return the dataset with a time coordinate for each dimension in ``axes`` that lacks one."""
    for dim, axis in axes.items():
        if dim in dataset.sizes and dim not in dataset.variables:
            index = TimeIndex(TimeTransform(axis, dim, dataset.sizes[dim]))
            dataset = dataset.assign_coords(xr.Coordinates.from_xindex(index))
            dataset[dim].attrs.update(_ATTRS)
    return dataset
