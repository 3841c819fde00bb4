"""Sample times of an array: from ``icecore_time``, or from the CF coordinate of its first axis."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from icecore import errors
from icecore.export.decoded import dates
from icecore.repository import channel_names
from icecore.repository.cf_coordinates import along
from icecore.repository.time_axis import NS, UTC, TimeAxis

if TYPE_CHECKING:
    from icecore.repository.array import Array


@dataclass(frozen=True)
class Uniform:
    """Samples on a :class:`TimeAxis`; samples outside its segments do not exist."""

    axis: TimeAxis
    count: int

    @property
    def epoch(self) -> str:
        """Clock of the times: ``GPS`` or ``UTC``."""
        return self.axis.epoch

    @property
    def span(self) -> tuple[int, int]:
        """Start of the first sample and end of the last, in nanoseconds."""
        return self.axis.t0, self.axis.time(self.count)

    def time(self, index: int) -> int:
        """Return the time of a sample in nanoseconds."""
        return self.axis.time(index)

    def first_at(self, time: int) -> int:
        """Return the index of the first sample at or after ``time``, within the array."""
        return min(max(self.axis.first_at(time), 0), self.count)

    def windows(self, first: int, last: int, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the windows of the samples [first, last): their numbers, and the first sample of each,
        relative to ``first``. Windows have ``length`` nanoseconds and are counted from the epoch.
        """
        low, high = self.axis.time(first) // length, self.axis.time(last - 1) // length
        numbers = range(low + 1, high + 1)
        edges = [0, *(self.axis.first_at(number * length) - first for number in numbers)]
        starts = np.array(edges, "i8")
        has = np.diff(starts, append=last - first) > 0  # windows shorter than a step may be empty
        return np.arange(low, high + 1)[has], starts[has]

    def runs(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the parts of [first, last) that have samples."""
        spans = self.axis.segments
        at = max(bisect_right(spans, self.axis.time(first), key=lambda span: span[0]) - 1, 0)
        found = []
        for begin, end in spans[at:]:
            low, high = max(self.axis.index(begin), first), min(self.axis.index(end), last)
            if self.axis.index(begin) >= last:
                break
            if low < high:
                found.append((low, high))
        return found


@dataclass(frozen=True)
class Listed:
    """Samples at ascending ``times`` (int64 nanoseconds, UTC)."""

    times: np.ndarray
    epoch: str = UTC

    @property
    def count(self) -> int:
        """Number of samples."""
        return len(self.times)

    @property
    def span(self) -> tuple[int, int]:
        """Time of the first sample, and one nanosecond after the last."""
        return (int(self.times[0]), int(self.times[-1]) + 1) if self.count else (0, 0)

    def time(self, index: int) -> int:
        """Return the time of a sample in nanoseconds."""
        return int(self.times[index])

    def first_at(self, time: int) -> int:
        """Return the index of the first sample at or after ``time``."""
        return int(np.searchsorted(self.times, time, "left"))

    def since(self, start: int) -> Listed:
        """Return the same times relative to ``start``."""
        return Listed(self.times - start, self.epoch)

    def windows(self, first: int, last: int, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Return windows; see :meth:`Uniform.windows`."""
        numbers = self.times[first:last] // length
        starts = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1))
        return numbers[starts], starts

    def runs(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return ranges with samples; see :meth:`Uniform.runs`."""
        return [(first, last)] if first < last else []


Times = Uniform | Listed


def sample_times(array: Array) -> Times:
    """Return the times of the samples along the first axis.

    Raises:
        Error: ``unsupported`` for an array without a time axis, for times that do not ascend, and for a
            calendar other than UTC's.
    """
    axis = TimeAxis.of(array.attrs)
    if axis is not None:
        channel = channel_names.channel_of(array.path)
        of = array.repo.get(channel) if channel is not None else None
        axis = axis if of is None else replace(axis, segments=_with_samples(of, axis))
        return Uniform(axis, array.shape[0])
    coordinate = along(array, 0) if array.ndim else None
    if coordinate is None or not is_time(coordinate):
        hint = "channels of frame files and arrays with a CF time coordinate have one; index others by number"
        raise errors.make("unsupported", f"{array.path} has no time axis", hint)
    times = _nanoseconds(coordinate)
    steps = np.diff(times)
    if (steps <= 0).any():
        message = f"{coordinate.path}: times must ascend to be searched"
        raise errors.make("unsupported", message, "select by index, or sort the samples")
    if len(steps) and (steps == steps[0]).all():
        return _uniform(times, int(steps[0]))
    return Listed(times)


def _with_samples(channel: Array, windows: TimeAxis) -> tuple[tuple[int, int], ...]:
    """Return the spans of a stored trend's windows in which its channel has samples."""
    times = sample_times(channel)
    length = round(windows.step * NS)
    if isinstance(times, Uniform) and times.axis.step <= windows.step:
        axis = times.axis
        last = (axis.time(axis.index(high) - 1) for _, high in axis.segments)
        spans = [
            (low // length, end // length + 1) for (low, _), end in zip(axis.segments, last, strict=True)
        ]
    else:  # a window may have no sample
        numbers = {
            times.time(i) // length for low, high in times.runs(0, times.count) for i in range(low, high)
        }
        spans = [(number, number + 1) for number in sorted(numbers)]
    joined: list[tuple[int, int]] = []
    for low, high in spans:
        if joined and joined[-1][1] >= low:
            joined[-1] = joined[-1][0], max(high, joined[-1][1])
        else:
            joined.append((low, high))
    return tuple((low * length, high * length) for low, high in joined)


def _uniform(times: np.ndarray, step: int) -> Uniform:
    start, count = int(times[0]), len(times)
    axis = TimeAxis(start, Fraction(step, NS), ((start, start + count * step),), UTC)
    return Uniform(axis, count)


def is_time(coordinate: Array) -> bool:
    """Return whether a coordinate holds times: a NumPy time type, or CF units."""
    return coordinate.dtype.kind == "M" or " since " in str(coordinate.attrs.get("units", ""))


def _nanoseconds(coordinate: Array) -> np.ndarray:
    values = coordinate.read()
    times = values.astype("M8[ns]") if values.dtype.kind == "M" else dates(coordinate, values)
    if np.isnat(times).any():
        raise errors.make("unsupported", f"{coordinate.path} has missing times", "select by index")
    return times.astype("i8")
