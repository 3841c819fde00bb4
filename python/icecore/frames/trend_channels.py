"""Trends of channels as channels of trend frames: ``X.min``, ``.max``, ``.mean``, ``.rms`` and ``.n``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from icecore.export import gwf
from icecore.frames.plan import Series
from icecore.repository.channel_names import LETTERS, STATISTICS
from icecore.repository.time_axis import NS
from icecore.timeseries import sample_blocks
from icecore.timeseries.sample_times import sample_times
from icecore.timeseries.stored_trend import fresh
from icecore.timeseries.window_sums import Sums, joined

#: trend → length of a file in seconds
LENGTHS = {"second": 3600, "minute": 86400}


class Trends:
    """Windows of a second or a minute of channels of real numbers.

    Args:
        series: channels; those with complex numbers or samples further apart than a window are left out.
        trend: ``second`` or ``minute``.
    """

    def __init__(self, series: Sequence[Series], trend: str) -> None:
        self.seconds = LETTERS[trend[0]]
        self._series = [
            each for each in series if each.array.dtype.kind in "iuf" and each.axis.step <= self.seconds
        ]
        self.names = [f"{each.name}.{statistic}" for each in self._series for statistic in STATISTICS]

    def frames(self, length: int, begin: int | None, end: int | None) -> Iterator[tuple[int, int]]:
        """Yield frames of ``length`` nanoseconds in which at least one channel has samples; the first and the
        last are cut to whole windows with samples.
        """
        window = self.seconds * NS
        segments = sorted(span for each in self._series for span in each.axis.segments)
        done = None
        for low, high in segments:
            low = low if begin is None else max(low, begin)
            high = high if end is None else min(high, end)
            if low >= high:
                continue
            for number in range(low // length, -(-high // length)):
                if done is None or number > done:
                    yield self._cut(segments, number * length, (number + 1) * length, window, begin, end)
                    done = number

    @staticmethod
    def _cut(
        segments: Sequence[tuple[int, int]],
        start: int,
        stop: int,
        window: int,
        begin: int | None,
        end: int | None,
    ) -> tuple[int, int]:
        inside = [(low, high) for low, high in segments if low < stop and high > start]
        first = max(min(low for low, _ in inside), start, start if begin is None else begin)
        last = min(max(high for _, high in inside), stop, stop if end is None else end)
        return first // window * window, -(-last // window) * window

    def channels(self, start: int, stop: int) -> Iterator[list[gwf.Channel]]:
        """Yield the trends of each channel in a frame; NaN and 0 samples where it has none."""
        window = self.seconds * NS
        low, high = start // window, stop // window
        for each in self._series:
            sums = _sums(each, low, high, self.seconds)
            yield _channels(each, sums, low, high, self.seconds)


def _sums(series: Series, low: int, high: int, seconds: int) -> Sums:
    array = series.array
    for level in fresh(array):
        if level.seconds == seconds:
            return level.sums(array.repo, low, high)
    times, window = sample_times(array), seconds * NS
    first, last = times.first_at(low * window), times.first_at(high * window)
    parts = sample_blocks.sums(array, times, first, last, window) if first < last else ()
    return joined(list(parts)).merged()


def _channels(series: Series, sums: Sums, low: int, high: int, seconds: int) -> list[gwf.Channel]:
    there = sums.count > 0
    at, count = (sums.number - low)[there], sums.count[there]
    values = {
        "min": sums.low[there],
        "max": sums.high[there],
        "mean": sums.total[there] / count,
        "rms": np.sqrt(sums.squares[there] / count),
    }
    unit = gwf.unit_of(series.array.attrs)
    made = []
    for statistic in STATISTICS:
        column = np.zeros(high - low, "i4") if statistic == "n" else np.full(high - low, np.nan)
        column[at] = count if statistic == "n" else values[statistic]
        vector = gwf.Vector(
            f"{series.name}.{statistic}", column, float(seconds), "" if statistic == "n" else unit
        )
        made.append(gwf.Channel(vector))
    return made
