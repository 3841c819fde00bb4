"""Picture of a trend, drawn with Pillow: starting matplotlib takes several times longer than the rest."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.repository.leap_seconds import gps_of_utc, utc_of_gps
from icecore.repository.time_axis import GPS, NS, seconds_text

if TYPE_CHECKING:
    from icecore.timeseries.trend import Trend

#: size in pixels, and the drawing's, which is reduced for smooth edges
WIDTH, HEIGHT, OVER = 1040, 650, 2
_LEFT, _RIGHT, _TOP, _BOTTOM = 92, 24, 46, 62
_FONT, _SMALL = 15, 13
_INK, _GRID, _MEAN, _ENVELOPE = "#222222", "#dddddd", "#1f77b4", "#c9dcec"
#: distances of dates on the axis in seconds; longer ones are months
_STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(60, 120, 300, 600, 900, 1800),
    *(3600, 7200, 10800, 21600, 43200),
    *(86400, 2 * 86400, 5 * 86400, 10 * 86400),
)
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600)
_MOST_TICKS = 9


def draw(found: Trend, path: str) -> None:
    """Draw envelope and mean of a trend as PNG; windows without samples are gaps.

    Raises:
        Error: ``unsupported`` if Pillow is not installed.
    """
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ModuleNotFoundError:
        raise errors.needs("plot", "figures need Pillow") from None
    image = Image.new("RGB", (WIDTH * OVER, HEIGHT * OVER), "white")
    fonts = {size: ImageFont.load_default(size * OVER) for size in (_FONT, _SMALL)}
    _Plot(found, ImageDraw.Draw(image), fonts).draw()
    image.resize((WIDTH, HEIGHT), Image.Resampling.BOX).save(path, format="png", compress_level=3)


class _Plot:
    """A trend, and the pixels of its values."""

    def __init__(self, found: Trend, pen: Any, fonts: dict[int, Any]) -> None:
        self.found, self.pen, self.fonts = found, pen, fonts
        low = found.mean if found.window == 1 else found.min
        high = found.mean if found.window == 1 else found.max
        self.low, self.high = _limits(low, high)
        self.length = max(len(found), 1) * found.step

    def x(self, seconds: Any) -> Any:
        """Return the pixel of seconds since the start."""
        return OVER * (_LEFT + (WIDTH - _LEFT - _RIGHT) * seconds / self.length)

    def y(self, value: Any) -> Any:
        """Return the pixel of a value."""
        share = (value - self.low) / (self.high - self.low)
        return OVER * (HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * share)

    def draw(self) -> None:
        """Draw everything."""
        left, right = self.x(0.0), self.x(self.length)
        top, bottom = OVER * _TOP, OVER * (HEIGHT - _BOTTOM)
        for value in _round_numbers(self.low, self.high):
            self.pen.line([(left, self.y(value)), (right, self.y(value))], _GRID, OVER)
            shown = _number(value, self.high - self.low)
            self._text((left - 8 * OVER, self.y(value)), shown, _SMALL, "rm")
        for seconds, label in self._times():
            self.pen.line([(self.x(seconds), top), (self.x(seconds), bottom)], _GRID, OVER)
            self._text((self.x(seconds), bottom + 6 * OVER), label, _SMALL, "ma")
        self._values()
        self.pen.rectangle([left, top, right, bottom], None, _INK, OVER)
        self._text((left, 12 * OVER), self._title(), _FONT, "la")
        self._text((right, bottom + 30 * OVER), self._start(), _SMALL, "ra")
        self._legend(left, bottom + 30 * OVER)

    def _values(self) -> None:
        times = (np.arange(len(self.found)) + (0 if self.found.window == 1 else 0.5)) * self.found.step
        for part in _runs(self.found.count > 0):
            at = self.x(times[part])
            if self.found.window != 1:
                half = max(self.x(self.found.step) - self.x(0.0), OVER) / 2
                edges = np.concatenate([at[:1] - half, at, at[-1:] + half])
                ends = [self.y(np.concatenate([v[:1], v, v[-1:]])) for v in self._ends(part)]
                there = np.concatenate([np.stack([edges, ends[0]], 1), np.stack([edges, ends[1]], 1)[::-1]])
                self.pen.polygon([tuple(point) for point in there.tolist()], _ENVELOPE)
            points = np.stack([at, self.y(np.clip(self.found.mean[part], self.low, self.high))], 1).tolist()
            if len(points) == 1:
                [(x, y)] = points
                self.pen.ellipse([x - 2 * OVER, y - 2 * OVER, x + 2 * OVER, y + 2 * OVER], _MEAN)
            else:
                self.pen.line([tuple(point) for point in points], _MEAN, OVER, joint="curve")

    def _ends(self, part: slice) -> Iterator[np.ndarray]:
        for values in (self.found.min, self.found.max):
            yield np.clip(values[part], self.low, self.high)

    def _legend(self, left: float, top: float) -> None:
        self.pen.line([(left, top + 8 * OVER), (left + 24 * OVER, top + 8 * OVER)], _MEAN, 2 * OVER)
        if self.found.window == 1:
            self._text((left + 30 * OVER, top), "samples", _SMALL, "la")
            return
        self._text((left + 30 * OVER, top), "mean", _SMALL, "la")
        self.pen.rectangle([left + 84 * OVER, top + 2 * OVER, left + 108 * OVER, top + 14 * OVER], _ENVELOPE)
        self._text((left + 114 * OVER, top), "minimum to maximum", _SMALL, "la")

    def _title(self) -> str:
        unit = f"  ({self.found.unit})" if self.found.unit else ""
        return f"{self.found.channel}{unit}"

    def _start(self) -> str:
        date = np.datetime64(_utc(self.found.epoch, self.found.t0), "ns").astype("M8[s]")
        gps = f" = GPS {_short(self.found.t0)}" if self.found.epoch == GPS else ""
        return f"from {str(date).replace('T', ' ')} UTC{gps}"

    def _times(self) -> list[tuple[float, str]]:
        """Return seconds since the start and labels: dates, or seconds for spans of a few of them."""
        if self.length < 4:
            return [(value, f"{value:g} s") for value in _round_numbers(0.0, self.length)]
        low = _utc(self.found.epoch, self.found.t0)
        high = _utc(self.found.epoch, self.found.t0 + round(self.length * NS))
        dates, style = _dates(low, high)
        if self.found.epoch == GPS:
            since = gps_of_utc(dates.astype("M8[ns]").astype("i8")) - self.found.t0
        else:
            since = dates.astype("M8[ns]").astype("i8") - self.found.t0
        pairs = zip((since / NS).tolist(), dates, strict=True)
        return [(at, style(date)) for at, date in pairs if 0 <= at <= self.length]

    def _text(self, at: tuple[float, float], text: str, size: int, anchor: str) -> None:
        self.pen.text(at, text, fill=_INK, font=self.fonts[size], anchor=anchor)


def _utc(epoch: str, time: int) -> int:
    return int(utc_of_gps(np.array([time]))[0]) if epoch == GPS else time


def _short(time: int) -> str:
    return seconds_text(time).rstrip("0").rstrip(".")


def _limits(low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """Return the range of an axis, with a margin."""
    finite = [values[np.isfinite(values)] for values in (low, high)]
    if not all(part.size for part in finite):
        return 0.0, 1.0
    least, most = float(finite[0].min()), float(finite[1].max())
    with np.errstate(over="ignore"):
        margin = 0.05 * (most - least)
    if not isfinite(margin):
        message = f"values from {least:.4g} to {most:.4g} are too large for an axis"
        raise errors.make("unsupported", message, "-o trend.csv")
    if margin <= 8 * np.spacing(max(abs(least), abs(most))):
        margin = max(abs(most) * 0.05, 1e-300) if most else 1.0
    return least - margin, most + margin


def _round_numbers(low: float, high: float) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten in a range."""
    rough = (high - low) / 7
    power = 10.0 ** floor(log10(rough))
    step = next(power * n for n in (1, 2, 5, 10) if power * n >= rough)
    return [n * step for n in range(ceil(low / step), floor(high / step) + 1)]


def _number(value: float, span: float) -> str:
    """Return a label with the digits that tell neighbours apart."""
    if abs(value) < span * 1e-9:
        return "0"
    largest = max(abs(value), span)
    if span >= 1e-3 and largest < 1e6:
        return f"{value:.{max(0, -floor(log10(span / 7)))}f}"
    return f"{value:.{min(max(2, ceil(log10(largest / span)) + 3), 12)}g}"


def _runs(there: np.ndarray) -> list[slice]:
    edges = np.diff(there.astype("i1"), prepend=0, append=0)
    starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return [slice(int(a), int(b)) for a, b in zip(starts, stops, strict=True)]


def _dates(low: int, high: int) -> tuple[np.ndarray, Any]:
    """Return at most :data:`_MOST_TICKS` dates in a span of UTC nanoseconds, and how to print one."""
    seconds = (high - low) / NS
    for step in _STEPS:
        if seconds / step <= _MOST_TICKS:
            first, last = -(-low // (step * NS)), high // (step * NS)
            dates = (np.arange(first, last + 1) * step).astype("M8[s]")
            return dates, _clock if step < 86400 else _day
    begin = np.datetime64(low, "ns").astype("M8[M]").astype("i8")
    end = np.datetime64(high, "ns").astype("M8[M]").astype("i8")
    months = next((n for n in _MONTHS if (end - begin) / n <= _MOST_TICKS), _MONTHS[-1])
    dates = np.arange(-(-begin // months) * months, end + 1, months).astype("M8[M]")
    return dates, (lambda date: str(date.astype("M8[Y]"))) if months % 12 == 0 else str


def _clock(date: np.datetime64) -> str:
    text = str(date)[11:]
    if text == "00:00:00":
        return _day(date)
    return text.removesuffix(":00")


def _day(date: np.datetime64) -> str:
    return str(date)[:10]
