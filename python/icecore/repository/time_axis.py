"""Uniform time axis of an array: start in integer nanoseconds, step as a fraction, segments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

#: attribute that holds the axis
KEY = "icecore_time"
NS = 1_000_000_000
#: nanoseconds by which a time may lie before the sample it means: half of what GPS seconds in float64 resolve
_ROUNDED = Fraction(120)
#: clocks of an axis: GPS (since 1980-01-06, with leap seconds), or UTC as CF counts it (since 1970-01-01,
#: without leap seconds)
GPS, UTC = "GPS", "UTC"


def seconds_text(time: int) -> str:
    """Return nanoseconds as seconds with all nine decimals, which float64 can't hold.

    Example:
        >>> seconds_text(1_400_000_000_123_456_789)
        '1400000000.123456789'
    """
    sign, whole = ("-", -time) if time < 0 else ("", time)
    return f"{sign}{whole // NS}.{whole % NS:09d}"


@dataclass(frozen=True)
class TimeAxis:
    """``t0`` of the first sample, ``step`` (seconds), ``segments`` [start, stop) that have samples; times are
    nanoseconds of the clock ``epoch``.
    """

    t0: int
    step: Fraction
    segments: tuple[tuple[int, int], ...]
    epoch: str = GPS

    @classmethod
    def of(cls, attrs: Mapping[str, Any]) -> TimeAxis | None:
        """The axis that attributes describe; None if they describe none."""
        stored = attrs.get(KEY)
        if not isinstance(stored, Mapping):
            return None
        numerator, denominator = stored["step"]
        segments = tuple((int(a), int(b)) for a, b in stored.get("segments", ()))
        epoch = UTC if stored.get("epoch") == UTC else GPS
        return cls(int(stored["t0_ns"]), Fraction(numerator, denominator), segments, epoch)

    def attribute(self) -> dict[str, Any]:
        """The axis as the attribute ``icecore_time``."""
        step = [self.step.numerator, self.step.denominator]
        segments = [list(span) for span in self.segments]
        return {"epoch": self.epoch, "t0_ns": self.t0, "step": step, "segments": segments}

    def part(self, index: slice | range, count: int) -> TimeAxis | None:
        """The axis of a selection from ``count`` samples; a range may lie outside. None if reversed."""
        found = range(*index.indices(count)) if isinstance(index, slice) else index
        if found.step < 1:
            return None
        axis = TimeAxis(self.time(found.start), self.step * found.step, (), self.epoch)
        runs = [
            tuple(min(max(-((found.start - self.index(edge)) // found.step), 0), len(found)) for edge in span)
            for span in self.segments
        ]
        spans = tuple((axis.time(low), axis.time(high)) for low, high in runs if low < high)
        return replace(axis, segments=spans)

    @property
    def rate(self) -> float:
        """Samples a second."""
        return float(1 / self.step)

    def time(self, index: int) -> int:
        """Nanoseconds of a sample."""
        return self.t0 + round(index * self.step * NS)

    def times(self, index: np.ndarray) -> np.ndarray:
        """Nanoseconds of many samples (int64), rounded like :meth:`time`."""
        import numpy as np

        over, under = self.step.numerator * NS, self.step.denominator
        if over * under >= 1 << 62:  # products overflow int64
            return np.array([self.time(int(i)) for i in index.flat], "i8").reshape(index.shape)
        turns, rest = np.divmod(index, under)
        whole, part = np.divmod(rest * over, under)
        up = (2 * part > under) | ((2 * part == under) & (whole % 2 == 1))
        found: np.ndarray = self.t0 + turns * over + whole + up
        return found

    def index(self, time: int) -> int:
        """The sample nearest to ``time`` (nanoseconds); may lie outside the array."""
        return round(Fraction(time - self.t0, NS) / self.step)

    def index_before(self, time: int) -> int:
        """The last sample at or before ``time`` (nanoseconds), as gwpy crops; may lie outside the array."""
        near = max(min(_ROUNDED, self.step * NS / 100), Fraction(1, 2))
        return floor((time - self.t0 + near) / (self.step * NS))

    def first_at(self, time: int) -> int:
        """The first sample at or after ``time`` (nanoseconds, as :meth:`time` rounds them)."""
        # time(i) >= time  <=>  t0 + i * step * NS >= time - 1/2, up to the rounding of ties
        over = (2 * (time - self.t0) - 1) * self.step.denominator
        return -(-over // (2 * NS * self.step.numerator))
