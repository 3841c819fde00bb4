"""Conversion of times (numbers, text, dates of any library) to integer nanoseconds of GPS or UTC."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Rational
from typing import Any, NoReturn

import numpy as np

from icecore import errors
from icecore.repository.leap_seconds import gps_of_utc
from icecore.repository.time_axis import GPS, NS

Gps = int | float | str | Decimal | datetime

_HINT = "GPS seconds, or UTC as 2015-09-14T09:50:29"
#: seconds whose nanoseconds fit into 64 bits
_MOST = (1 << 63) // NS
#: units of NumPy below nanoseconds, which are cut
_FINER = ("ps", "fs", "as")
#: calendars with the same dates as UTC
_CALENDARS = ("standard", "gregorian", "proleptic_gregorian", "")
#: an ISO text with its offset from UTC
_OFFSET = re.compile(r"(?P<local>.*\d)\s*(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d)?")


def gps_ns(time: Any) -> int:
    """Return the GPS nanoseconds of a time.

    Args:
        time: GPS seconds (int, float, Decimal, Fraction, LIGOTimeGPS, or text: ``"1126259446.5"``), or UTC:
            ISO text (``"2015-09-14T09:50:29"``, also with an offset), a date or datetime, a pandas Timestamp,
            ``numpy.datetime64`` of any unit, an astropy Time. Leap seconds of text come from astropy.

    Raises:
        Error: ``invalid`` if it is not a time; ``unsupported`` for UTC text if astropy is not installed.

    Example:
        >>> gps_ns("1126259446.5")
        1126259446500000000
    """
    if hasattr(time, "gpsSeconds"):  # LIGOTimeGPS
        return int(time.gpsSeconds) * NS + int(time.gpsNanoSeconds)
    if _is_astropy(time):
        return _since_gps_0(time)
    calendar = _calendar(time)
    if calendar is not None:
        return int(gps_of_utc(np.array([calendar]))[0])
    seconds = _number(time)
    return _utc(str(time)) if seconds is None else seconds


def _number(time: Any) -> int | None:
    """Return the nanoseconds of a number of seconds; None for text that is not one.

    Raises:
        Error: ``invalid`` for another type, NaN, and numbers that nanoseconds of 64 bits don't hold.
    """
    if hasattr(time, "item"):  # a number of NumPy, also as an array
        time = time.item() if getattr(time, "size", 1) == 1 else _refuse(time)
    if isinstance(time, Rational) and not isinstance(time, bool):
        seconds = Fraction(time)
    elif isinstance(time, (str, float, Decimal)):
        try:
            found = Decimal(time if not isinstance(time, float) else repr(time))
        except InvalidOperation:
            return None
        if not found.is_finite():
            _refuse(time)
        seconds = Fraction(found)
    else:
        _refuse(time)
    if abs(seconds) > _MOST:
        raise errors.make("invalid", f"{time} is not a time", f"{_HINT}; divide nanoseconds by 1e9")
    return round(seconds * NS)


def _refuse(time: Any) -> NoReturn:
    raise errors.make("invalid", f"{time!r} ({type(time).__name__}) is not a time", _HINT)


def _calendar(time: Any) -> int | None:
    """Return the nanoseconds since 1970 of a date in UTC; None for anything but dates.

    Raises:
        Error: ``invalid`` for NaT, durations, and dates that nanoseconds of 64 bits don't hold.
    """
    if getattr(getattr(time, "dtype", None), "kind", "") in ("M", "m"):  # of NumPy, also inside of xarray
        values = np.asarray(time).reshape(-1)
        time = values[0] if len(values) == 1 else _refuse(time)
    elif hasattr(time, "to_datetime64"):  # pandas, whose strftime has no nanoseconds
        time = time.to_datetime64()
    if hasattr(time, "isoformat") and getattr(time, "calendar", None) in _CALENDARS:  # cftime
        time = np.datetime64(time.isoformat(), "ns")
    if isinstance(time, datetime):
        time = np.datetime64((time.astimezone(UTC) if time.tzinfo else time).replace(tzinfo=None), "us")
    elif isinstance(time, date):
        time = np.datetime64(time, "D")
    if isinstance(time, (timedelta, np.timedelta64)):
        raise errors.make("invalid", f"{time!r} is a duration, not a time", _HINT)
    if not isinstance(time, np.datetime64):
        return None
    unit, count = np.datetime_data(time.dtype)
    if np.isnat(time) or unit == "generic":
        raise errors.make("invalid", f"{time} is not a time", _HINT)
    try:
        fine = time.astype("M8[ns]")
        fits = unit in _FINER or fine.astype(f"M8[{count}{unit}]") == time
    except OverflowError:  # newer NumPy raises it, older wraps around
        fits = False
    if not fits:
        raise errors.make("invalid", f"{time}: times before 1678 or after 2262 don't fit nanoseconds", _HINT)
    return int(fine.astype("i8"))


def _is_astropy(time: Any) -> bool:
    return all(hasattr(time, name) for name in ("jd1", "jd2", "tai", "scale"))


def _since_gps_0(time: Any) -> int:
    """Return the nanoseconds from GPS 0 to an astropy Time, exactly to its two parts of a Julian date."""
    if getattr(time, "shape", ()) not in ((), (1,)):
        raise errors.make("invalid", f"{time} is not one time", _HINT)
    since = time.tai - _astropy_time("an astropy Time")("1980-01-06", scale="utc").tai
    days, part = (float(np.ravel(each)[0]) for each in (since.jd1, since.jd2))
    if not np.isfinite(days + part):
        raise errors.make("invalid", f"{time} is not a time", _HINT)
    return round(days * 86400) * NS + round(part * 86400 * NS)


def _astropy_time(what: str) -> Any:
    try:
        from astropy.time import Time
    except ModuleNotFoundError:
        raise errors.needs("gw", f"{what} needs astropy", "give GPS seconds") from None
    return Time


def _utc(text: str) -> int:
    local, offset = without_offset(text)
    astropy = _astropy_time(f"UTC ({text})")
    try:
        since = _since_gps_0(astropy(local, scale="utc"))
    except ValueError as error:
        raise errors.make("invalid", f"{text!r} is not a time", _HINT) from error
    return since - offset


def without_offset(text: str) -> tuple[str, int]:
    """Split ISO text into its time and its offset from UTC in nanoseconds."""
    plain = text.strip()
    plain = plain[:-1] if plain[-1:] in ("Z", "z") else plain
    clock = plain.find(":")
    found = _OFFSET.fullmatch(plain) if clock >= 0 else None
    if found is None or found.start("sign") < clock:
        return plain, 0
    minutes = 60 * int(found["hours"]) + int(found["minutes"] or 0)
    return found["local"], (-1 if found["sign"] == "-" else 1) * minutes * 60 * NS


def clock_ns(time: Any, epoch: str) -> int:
    """Return the nanoseconds of a time on the clock of an axis: GPS, or UTC since 1970 without leap seconds.

    Args:
        time: time as for :func:`gps_ns`; numbers are GPS seconds for both clocks.
        epoch: ``GPS`` or ``UTC``.

    Raises:
        Error: errors of :func:`gps_ns`.

    Example:
        >>> clock_ns("1970-01-02", "UTC")
        86400000000000
    """
    if epoch == GPS:
        return gps_ns(time)
    calendar = _calendar(time)
    if calendar is not None:
        return calendar
    if isinstance(time, str) and _number(time) is None:
        return _calendar_ns(time)
    since = gps_ns(time)
    astropy = _astropy_time(f"GPS {time} on an axis in UTC")
    date = str(astropy(since // NS, format="gps").utc.isot)[:19]
    leap = date.endswith(":60")  # CF has no leap seconds: count it as the next second
    return _calendar_ns(date[:-2] + "59" if leap else date) + leap * NS + since % NS


def _calendar_ns(text: str) -> int:
    local, offset = without_offset(text)
    try:
        found = np.datetime64(local, "ns")
    except ValueError as error:
        hint = "UTC as 2015-09-14T09:50:29, or GPS seconds"
        raise errors.make("invalid", f"{text!r} is not a time", hint) from error
    return int(found.astype("i8")) - offset
