"""Trends: minimum, maximum, mean, root mean square and count for windows of a time series."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.filesystem.atomic_output import landing
from icecore.repository.time_axis import NS, seconds_text
from icecore.timeseries import sample_blocks
from icecore.timeseries.gps import clock_ns
from icecore.timeseries.sample_times import Times, Uniform, sample_times
from icecore.timeseries.stored_trend import Level, fresh
from icecore.timeseries.window_sums import Sums, joined, reduce

if TYPE_CHECKING:
    from icecore.repository.array import Array


COLUMNS = ("min", "max", "mean", "rms")
#: the finest stored level is used if it has at least the requested number of points divided by this
_FEW = 4


@dataclass(frozen=True)
class Trend:
    """Statistics of windows of equal length.

    Attributes:
        channel: path of the array.
        unit: unit of the samples.
        epoch: clock of the times: ``GPS``, or ``UTC`` (since 1970 without leap seconds, as in CF).
        t0: start of the first window in nanoseconds.
        window: number of samples of a window; 0 if it varies.
        step: length of a window in seconds.
        min, max, mean, rms: float64, shape ``(n,)``; NaN for a window without samples. The rms is not
        relative to the mean.
        count: number of samples that exist and are not NaN, int64, shape ``(n,)``.
        span: requested time range, [start, stop) in nanoseconds.
        source: ``samples``, or the stored windows that were read: ``60s``.
        bytes_read: number of bytes of chunks that were read.
    """

    channel: str
    unit: str
    epoch: str
    t0: int
    window: int
    step: float
    min: np.ndarray
    max: np.ndarray
    mean: np.ndarray
    rms: np.ndarray
    count: np.ndarray
    span: tuple[int, int]
    source: str
    bytes_read: int

    @property
    def times(self) -> np.ndarray:
        """Start times of the windows in seconds, float64."""
        return self.t0 / NS + np.arange(len(self.count)) * self.step

    @property
    def expanded(self) -> tuple[float, float]:
        """Seconds by which the windows start before the requested range and end after it."""
        stop = self.t0 / NS + len(self) * self.step
        return max(self.span[0] - self.t0, 0) / NS, max(stop - self.span[1] / NS, 0.0)

    def __len__(self) -> int:
        return len(self.count)

    def __repr__(self) -> str:
        start = f"{self.epoch} {seconds_text(self.t0)}"
        return f"<icecore.Trend {self.channel}: {len(self)} windows of {self.step:g} s from {start}>"


def trend(array: Array, start: Any = None, stop: Any = None, points: int = 2000) -> Trend:
    """Reduce a time range of an array to at most ``points`` windows.

    Stored windows (`icecore.ingest.write.write_trends`) are read if they are fine enough, otherwise the
    samples. If there are fewer samples than points, each window has one sample.

    Args:
        array: one-dimensional array of real numbers with a time axis.
        start: GPS seconds or UTC; default is the array's start.
        stop: end of the range, exclusive; default is the array's end.
        points: largest number of windows. Windows are never split: ``expanded`` states how far they extend
            beyond the range.

    Raises:
        Error: ``unsupported`` without a time axis or with several axes; ``dtype`` for complex numbers;
            ``invalid`` for ``points`` below 1 or an empty range.
    """
    if points < 1:
        raise errors.make("invalid", f"points: at least 1 is needed (got {points})")
    sample_blocks.check(array)
    times = sample_times(array)
    low, high = times.span
    low = low if start is None else clock_ns(start, times.epoch)
    high = high if stop is None else clock_ns(stop, times.epoch)
    if high <= low:
        raise errors.make("invalid", f"{array.path}: the stretch has no samples", "give the start first")
    level = _choose(fresh(array), high - low, points)
    if level is not None:
        return _stored(array, level, times.epoch, (low, high), points)
    return _from_samples(array, times, (low, high), points)


def _choose(levels: list[Level], span: int, points: int) -> Level | None:
    """Return the coarsest level with enough windows, else the finest if it has a quarter of them, or None."""
    enough = [level for level in levels if span >= points * level.length]
    if enough:
        return enough[-1]
    return next((level for level in levels[:1] if _FEW * span >= points * level.length), None)


def _stored(array: Array, level: Level, epoch: str, span: tuple[int, int], points: int) -> Trend:
    first, last = span[0] // level.length, -(-span[1] // level.length)
    group = max(ceil((last - first) / points), 1)
    count = ceil((last - first) / group)
    last = first + count * group
    bytes_read = array.repo.plan(level.items(first, last)).bytes_fetched
    found = level.sums(array.repo, first, last)
    columns = _columns(replace(found, number=found.number - first).merged(group), 0, count)
    unit, step = str(array.attrs.get("units", "")), group * level.seconds
    source = f"{level.seconds}s"
    start = first * level.length
    return Trend(array.path, unit, epoch, start, 0, float(step), *columns, span, source, bytes_read)


def _from_samples(array: Array, times: Times, span: tuple[int, int], points: int) -> Trend:
    if isinstance(times, Uniform):
        return _of_axis(array, times, span, points)
    length = max(ceil((span[1] - span[0]) / points), 1)
    first, last = times.first_at(span[0]), times.first_at(span[1])
    fetched = _to_fetch(array, times, first, last)
    shifted = times.since(span[0])
    parts = list(sample_blocks.sums(array, shifted, first, last, length))
    columns = _columns(joined(parts).merged(), 0, ceil((span[1] - span[0]) / length))
    unit, step = str(array.attrs.get("units", "")), length / NS
    return Trend(array.path, unit, times.epoch, span[0], 0, step, *columns, span, "samples", fetched)


def _of_axis(array: Array, times: Uniform, span: tuple[int, int], points: int) -> Trend:
    """Reduce uniform samples to windows with a fixed number of samples."""
    axis = times.axis
    first, last = (axis.index_before(time) for time in span)
    if last <= first:
        raise errors.make("invalid", f"{array.path}: the stretch has no samples", "give the start first")
    window = max(ceil((last - first) / points), 1)
    count = ceil((last - first) / window)
    low, high = max(first, 0), min(first + count * window, times.count)
    fetched, parts = _to_fetch(array, times, low, high), []
    for begin, end in sample_blocks.blocks(array, times, low, high):
        numbers = np.arange((begin - first) // window, (end - 1 - first) // window + 1)
        starts = np.maximum(numbers * window + first - begin, 0)
        parts.append(reduce(sample_blocks.samples(array, times, begin, end), numbers, starts))
    columns = _columns(joined(parts).merged(), 0, count)
    unit, step, t0 = str(array.attrs.get("units", "")), float(window * axis.step), axis.time(first)
    return Trend(array.path, unit, times.epoch, t0, window, step, *columns, span, "samples", fetched)


def _to_fetch(array: Array, times: Times, first: int, last: int) -> int:
    """Return the number of bytes of chunks that reading the samples will fetch."""
    parts = sample_blocks.blocks(array, times, first, last)
    return sum(array.plan(slice(low, high)).bytes_fetched for low, high in parts)


def _columns(
    found: Sums, first: int, last: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return min, max, mean, rms and count of the windows [first, last), including those without samples."""
    place = found.number - first
    columns = [np.full(last - first, np.nan) for _ in COLUMNS]
    count = np.zeros(last - first, "i8")
    count[place] = found.count
    with np.errstate(invalid="ignore", divide="ignore"):
        mean, rms = found.total / found.count, np.sqrt(found.squares / found.count)
    none = found.count == 0
    ends = np.where(none, np.nan, found.low), np.where(none, np.nan, found.high)
    for column, values in zip(columns, (*ends, mean, rms), strict=True):
        column[place] = values
    low, high, means, squares = columns
    return low, high, means, squares, count


# Output of a trend as a figure (envelope of minimum and maximum, mean) or as CSV.


def write(found: Trend, path: str) -> None:
    """Write a trend to a .png or .csv file.

    Raises:
        Error: ``unsupported`` for another suffix or if Pillow is not installed; ``io``.
    """
    suffix = path.lower().rsplit(".", 1)[-1]
    if suffix == "png":
        draw(found, path)
    elif suffix == "csv":
        table = np.column_stack([found.times, found.min, found.max, found.mean, found.rms, found.count])
        with landing(path) as place:
            np.savetxt(
                place,
                table,
                "%.17g",
                ",",
                header=f"{found.epoch.lower()},min,max,mean,rms,count",
                comments="",
            )
    else:
        raise errors.make("unsupported", f"can't write a trend to {path}", "name it something.png or .csv")


def draw(found: Trend, path: str) -> None:
    """Draw the envelope and the mean; windows without samples are gaps."""
    from icecore.timeseries import trend_picture

    with landing(path) as place:
        trend_picture.draw(found, place)
