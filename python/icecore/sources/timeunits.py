"""Exact conversion between CF time units: "hours since 1950-01-01" to "days since 1900-01-01"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np

from icecore import errors

# Seconds in each unit; months and years have no fixed length.
_SECONDS = {
    "day": Fraction(86400),
    "d": Fraction(86400),
    "hour": Fraction(3600),
    "hr": Fraction(3600),
    "h": Fraction(3600),
    "minute": Fraction(60),
    "min": Fraction(60),
    "second": Fraction(1),
    "sec": Fraction(1),
    "s": Fraction(1),
    "millisecond": Fraction(1, 10**3),
    "millisec": Fraction(1, 10**3),
    "msec": Fraction(1, 10**3),
    "ms": Fraction(1, 10**3),
    "microsecond": Fraction(1, 10**6),
    "nanosecond": Fraction(1, 10**9),
}
_GREGORIAN = datetime(1582, 10, 15, tzinfo=UTC)
_MIXED = ("standard", "gregorian", "none", "")
_SINCE = re.compile(r"^\s*(\w+)\s+since\s+(.+?)\s*$", re.IGNORECASE)
_DATE = re.compile(
    r"^(\d{1,4})-(\d{1,2})-(\d{1,2})"  # date
    r"(?:[T ]+(\d{1,2}):(\d{1,2})(?::(\d{1,2})(\.\d+)?)?)?"  # time
    r"\s*(Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?$",  # zone
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Conversion:
    """``new = old * factor + shift``, both exact."""

    factor: Fraction
    shift: Fraction

    def apply(self, values: np.ndarray, fill: Any = None) -> np.ndarray:
        """Convert values (elements equal to ``fill`` stay), in their own dtype.

        Raises:
            Error: ``mismatch`` where an integer has no integer counterpart in the new units.
        """
        kept = None if fill is None else values == np.asarray(fill).astype(values.dtype)
        if values.dtype.kind in "iu":
            new = self._integers(values, kept)
        else:
            wide = values.astype("f8")
            # Numerator first, so that 24 times 1/24 is exactly 1.
            new = (
                wide * float(self.factor.numerator) / float(self.factor.denominator) + float(self.shift)
            ).astype(values.dtype)
        return new if kept is None else np.where(kept, values, new).astype(values.dtype)

    def _integers(self, values: np.ndarray, kept: np.ndarray | None) -> np.ndarray:
        common = self.factor.denominator * self.shift.denominator
        scale, shift = int(self.factor * common), int(self.shift * common)
        limits = np.iinfo(values.dtype)
        out = np.zeros(values.shape, values.dtype)
        for index, value in np.ndenumerate(values):
            if kept is not None and kept[index]:
                continue
            new, rest = divmod(int(value) * scale + shift, common)
            if rest or not limits.min <= new <= limits.max:
                what = f"time {int(value)} has no {values.dtype} counterpart in the first file's units"
                raise errors.make("mismatch", what, "link these files separately")
            out[index] = new
        return out


def is_time(units: Any) -> bool:
    """Whether units are a time since a date."""
    return isinstance(units, str) and _SINCE.match(units) is not None


def conversion(old: str, new: str, calendar: str = "standard") -> Conversion | None:
    """How to get from one time unit to another; None where units or dates can't be understood exactly."""
    one, two = _parse(old), _parse(new)
    if one is None or two is None:
        return None
    gap = _gap(one[1], two[1], calendar)
    if gap is None:
        return None
    return Conversion(one[0] / two[0], gap / two[0])


def _parse(units: str) -> tuple[Fraction, re.Match[str]] | None:
    found = _SINCE.match(units)
    if found is None:
        return None
    name = found.group(1).lower()
    seconds = _SECONDS.get(name) or _SECONDS.get(name.removesuffix("s"))
    date = _DATE.match(found.group(2))
    return None if seconds is None or date is None else (seconds, date)


def _gap(one: re.Match[str], two: re.Match[str], calendar: str) -> Fraction | None:
    """Seconds from date ``two`` to date ``one``."""
    fraction = (
        Fraction(one.group(7) or 0) - Fraction(two.group(7) or 0) + _zone(two.group(8)) - _zone(one.group(8))
    )
    calendar = calendar.lower()
    try:
        if calendar in (*_MIXED, "proleptic_gregorian"):
            dates = [datetime(*_fields(match), tzinfo=UTC) for match in (one, two)]
            if calendar == "proleptic_gregorian" or min(dates) >= _GREGORIAN:
                return _whole(dates[0] - dates[1]) + fraction
        import cftime

        first, second = (
            cftime.datetime(*_fields(match), calendar=calendar or "standard") for match in (one, two)
        )
        return _whole(first - second) + fraction
    except (ValueError, OverflowError, ImportError):
        return None


def _fields(match: re.Match[str]) -> tuple[int, int, int, int, int, int]:
    year, month, day, hour, minute, second = (int(match.group(i) or 0) for i in range(1, 7))
    return year, month, day, hour, minute, second


def _whole(gap: timedelta) -> Fraction:
    return Fraction(gap.days * 86400 + gap.seconds) + Fraction(gap.microseconds, 10**6)


def _zone(text: str | None) -> Fraction:
    """Seconds east of Greenwich."""
    if text is None or text.upper() in ("Z", "UTC", "GMT"):
        return Fraction(0)
    sign = -1 if text[0] == "-" else 1
    hours, _, minutes = text[1:].partition(":")
    if not minutes and len(hours) > 2:
        hours, minutes = hours[:-2], hours[-2:]
    return Fraction(sign * (int(hours) * 3600 + int(minutes or 0) * 60))
