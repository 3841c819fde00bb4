"""Uniform time axis of an array: GPS start in integer nanoseconds, step as a fraction, segments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

#: attribute that holds the axis
KEY = "icecore_time"
NS = 1_000_000_000


@dataclass(frozen=True)
class TimeAxis:
    """``t0`` (GPS nanoseconds) of the first sample, ``step`` (seconds), ``segments`` [start, stop) in GPS
    nanoseconds that have samples.
    """

    t0: int
    step: Fraction
    segments: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, attrs: Mapping[str, Any]) -> TimeAxis | None:
        """The axis that attributes describe; None where there is none."""
        stored = attrs.get(KEY)
        if not isinstance(stored, Mapping):
            return None
        numerator, denominator = stored["step"]
        segments = tuple((int(a), int(b)) for a, b in stored.get("segments", ()))
        return cls(int(stored["t0_ns"]), Fraction(numerator, denominator), segments)

    @property
    def rate(self) -> float:
        """Samples a second."""
        return float(1 / self.step)

    def time(self, index: int) -> int:
        """GPS nanoseconds of a sample."""
        return self.t0 + round(index * self.step * NS)

    def index(self, time: int) -> int:
        """The sample nearest to ``time`` (GPS nanoseconds); may lie outside the array."""
        return round(Fraction(time - self.t0, NS) / self.step)
