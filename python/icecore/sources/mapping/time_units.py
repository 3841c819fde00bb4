"""Exact conversion between CF time units: "hours since 1950-01-01" to "days since 1900-01-01"."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
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
#: steps of times that :func:`finer` proposes
_STEPS = {
    f"{name}s": _SECONDS[name]
    for name in ("day", "hour", "minute", "second", "millisecond", "microsecond", "nanosecond")
}
#: not-a-time: xarray and NumPy store it in int64 without an attribute that names it
NAT = np.iinfo("i8").min
# All integers up to this one are exact in float64.
_EXACT = 1 << 53
_GREGORIAN = datetime(1582, 10, 15, tzinfo=UTC)
_MIXED = ("standard", "gregorian", "none", "")
_SINCE = re.compile(r"(\w+)\s+since\s+(\S.*)", re.IGNORECASE)
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

    @classmethod
    def none(cls) -> Conversion:
        """Return the conversion that changes nothing."""
        return cls(Fraction(1), Fraction(0))

    def apply(self, values: np.ndarray, fill: Any = None, name: str = "") -> np.ndarray:
        """Convert values in their own dtype; ``fill``, NaN, infinities and not-a-time of int64 are kept.

        Integers stay integers and float32 values must be exact, otherwise an error is raised. float64 values
        are rounded to the nearest exact result.

        Args:
            values: integers or floats.
            fill: number (or numbers) that marks a missing time.
            name: name of the array, for errors.

        Raises:
            Error: ``mismatch`` if a time can't be represented in its dtype in the new units.
        """
        flat = values.reshape(-1)
        moving = flat != NAT if values.dtype == np.int64 else np.isfinite(flat)
        if fill is not None:
            moving &= ~np.isin(flat, np.atleast_1d(fill).astype(values.dtype))
        new, old = flat.copy(), flat[moving]
        if len(old):
            exact, bad = self._integers(old) if values.dtype.kind in "iu" else self._floats(old)
            if bad.any():
                raise _no_counterpart(old[bad][0], name)
            new[moving] = exact
        return new.reshape(values.shape)

    @property
    def _terms(self) -> tuple[int, int, int]:
        """``new = (old * scale + shift) / common``, all integers."""
        common = self.factor.denominator * self.shift.denominator
        return int(self.factor * common), int(self.shift * common), common

    def _integers(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the new values, and which of them do not fit the dtype."""
        scale, shift, common = self._terms
        most = max(abs(int(values.min())), abs(int(values.max())))
        wide = values.astype("i8" if max(most * abs(scale) + abs(shift), common) < 1 << 63 else object)
        wide = wide * scale + shift
        new, rest = wide // common, wide % common
        limits = np.iinfo(values.dtype)
        return new, ((rest != 0) | (new < limits.min) | (new > limits.max)).astype(bool)

    def _floats(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the float64 values nearest to the new ones, and which of them the dtype can't represent."""
        scale, shift, common = self._terms
        wide = values.astype("f8")
        # Integers up to 2**53 are exact, so that only the division rounds.
        whole = np.abs(wide) * abs(scale) + abs(shift) <= _EXACT
        whole &= (np.rint(wide) == wide) & (common <= _EXACT)
        new = (wide * float(scale) + float(shift)) / float(common)
        for i in np.flatnonzero(~whole):
            over, under = float(wide[i]).as_integer_ratio()
            new[i] = _nearest(over * scale + shift * under, common * under)
        with np.errstate(all="ignore"):
            return new, new.astype(values.dtype) != new


def _nearest(over: int, under: int) -> float:
    """Return the float64 nearest to a fraction; NaN if it is too large."""
    try:
        return over / under
    except OverflowError:
        return math.nan


def _no_counterpart(value: Any, name: str) -> errors.Error:
    what = f"{name}: time" if name else "time"
    return errors.make(
        "mismatch",
        f"{what} {value} has no {value.dtype} counterpart in the first file's units",
        "keep these files in groups of their own, or store their times as float64 or in finer units",
    )


def spans_or_times(attrs: Mapping[str, Any]) -> bool:
    """Whether attributes describe times since a date, or durations as xarray stores them."""
    return is_time(attrs.get("units")) or str(attrs.get("dtype", "")).startswith("timedelta64")


def is_time(units: Any) -> bool:
    """Whether units are a time since a reference date."""
    return isinstance(units, str) and _SINCE.fullmatch(units.strip()) is not None


def conversion(old: str, new: str, calendar: str = "standard") -> Conversion | None:
    """Return the conversion between two time units; None if it is not exactly defined."""
    one, two = _parse(old), _parse(new)
    if one is None or two is None:
        return None
    gap = _gap(one[1], two[1], calendar)
    if gap is None:
        return None
    return Conversion(one[0] / two[0], gap / two[0])


def between(old: Mapping[str, Any], new: Mapping[str, Any]) -> Conversion | None:
    """Return the conversion between the units of two arrays of times, or of two arrays of durations.

    The attributes are those of the arrays; a calendar of only one of them is that of both. None if the
    conversion is not exactly defined.
    """
    ours, theirs = str(old.get("units")), str(new.get("units"))
    if ours == theirs:
        return Conversion.none()
    if is_time(ours):
        return conversion(ours, theirs, str(new.get("calendar", old.get("calendar", "standard"))))
    one, two = _seconds(ours), _seconds(theirs)
    return None if one is None or two is None else Conversion(one / two, Fraction(0))


def finer(units: str) -> list[str]:
    """Return the same units with shorter steps, longest first: hours, minutes, … for ``days since``."""
    found = _SINCE.match(units)
    step = _seconds(units if found is None else found.group(1))
    rest = "" if found is None else f" since {found.group(2)}"
    return [f"{name}{rest}" for name, seconds in _STEPS.items() if step is not None and seconds < step]


def _seconds(word: str) -> Fraction | None:
    name = word.strip().lower()
    return _SECONDS.get(name) or _SECONDS.get(name.removesuffix("s"))


def _parse(units: str) -> tuple[Fraction, re.Match[str]] | None:
    found = _SINCE.fullmatch(units.strip())
    if found is None:
        return None
    seconds = _seconds(found.group(1))
    date = _DATE.match(found.group(2))
    return None if seconds is None or date is None else (seconds, date)


def _gap(one: re.Match[str], two: re.Match[str], calendar: str) -> Fraction | None:
    """Return the seconds from date ``two`` to date ``one``."""
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
    """Return the offset of a time zone in seconds east of Greenwich."""
    if text is None or text.upper() in ("Z", "UTC", "GMT"):
        return Fraction(0)
    sign = -1 if text[0] == "-" else 1
    hours, _, minutes = text[1:].partition(":")
    if not minutes and len(hours) > 2:
        hours, minutes = hours[:-2], hours[-2:]
    return Fraction(sign * (int(hours) * 3600 + int(minutes or 0) * 60))
