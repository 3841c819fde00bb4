"""Trends: minimum, maximum, mean, root mean square and count of whole windows of a time series."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.repository.time_axis import NS, TimeAxis
from icecore.timeseries.stretch import axis_of, indexes

if TYPE_CHECKING:
    from icecore.repository.array import Array

#: samples that are read at once
_BLOCK = 1 << 22
COLUMNS = ("min", "max", "mean", "rms")


@dataclass(frozen=True)
class Trend:
    """Windows of equal length.

    Attributes:
        channel: the array's path.
        unit: of the samples.
        t0: GPS nanoseconds of the first window's start.
        window: samples of a window.
        step: seconds of a window.
        min, max, mean, rms: float64, shape ``(n,)``; NaN where a window has no sample. The rms is not about
            the mean.
        count: samples that exist and are not NaN, int64, shape ``(n,)``.
    """

    channel: str
    unit: str
    t0: int
    window: int
    step: float
    min: np.ndarray
    max: np.ndarray
    mean: np.ndarray
    rms: np.ndarray
    count: np.ndarray

    @property
    def times(self) -> np.ndarray:
        """GPS seconds of the windows' starts, float64."""
        return self.t0 / NS + np.arange(len(self.count)) * self.step

    def __len__(self) -> int:
        return len(self.count)

    def __repr__(self) -> str:
        return (
            f"<icecore.Trend {self.channel}: {len(self)} windows of {self.step:g} s from {self.t0 / NS:.9f}>"
        )


def trend(array: Array, start: Any = None, stop: Any = None, points: int = 2000) -> Trend:
    """Reduce a stretch of an array to at most ``points`` windows; one sample each where there are fewer.

    Args:
        array: real numbers with a time axis.
        start: GPS seconds or UTC; the array's start if omitted.
        stop: not included; the array's end if omitted.
        points: windows at most. Windows are whole: the answer's span may be longer than the stretch by part
            of one.

    Raises:
        Error: ``unsupported`` without a time axis; ``dtype`` for complex numbers; ``invalid``.
    """
    if points < 1:
        raise errors.make("invalid", f"points: at least 1 is needed (got {points})")
    if array.dtype.kind not in "iuf":
        raise errors.make("dtype", f"{array.path}: trends need real numbers (got {array.dtype})")
    axis = axis_of(array)
    first = 0 if start is None else indexes(axis, start, start)[0]
    last = array.shape[0] if stop is None else indexes(axis, stop, stop)[0]
    if last <= first:
        raise errors.make("invalid", f"{array.path}: the stretch has no samples", "give the start first")
    window = max(ceil((last - first) / points), 1)
    count = ceil((last - first) / window)
    parts = [_windows(array, axis, *block, window) for block in _blocks(first, count, window)]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    unit = str(array.attrs.get("units", ""))
    return Trend(array.path, unit, axis.time(first), window, float(window * axis.step), *columns)


def _blocks(first: int, count: int, window: int) -> list[tuple[int, int]]:
    """Starts and numbers of windows that are read together."""
    each = max(_BLOCK // window, 1)
    return [(first + low * window, min(each, count - low)) for low in range(0, count, each)]


def _windows(array: Array, axis: TimeAxis, start: int, count: int, window: int) -> tuple[np.ndarray, ...]:
    """min, max, mean, rms and count of ``count`` windows from sample ``start``."""
    samples = np.full(count * window, np.nan)
    low, high = max(start, 0), min(start + count * window, array.shape[0])
    for begin, end in axis.segments:
        one, two = max(axis.index(begin), low), min(axis.index(end), high)
        if one < two:
            samples[one - start : two - start] = array[one:two]
    values = samples.reshape(count, window)
    there = ~np.isnan(values)
    number = there.sum(axis=1)
    zero = np.where(there, values, 0.0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        mean = zero.sum(axis=1) / number
        rms = np.sqrt((zero * zero).sum(axis=1) / number)
    least = np.where(there, values, np.inf).min(axis=1)
    most = np.where(there, values, -np.inf).max(axis=1)
    none = number == 0
    return np.where(none, np.nan, least), np.where(none, np.nan, most), mean, rms, number.astype("i8")
