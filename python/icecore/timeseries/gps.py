"""Conversion of times (numbers, text, datetime) to integer nanoseconds of GPS or UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from icecore import errors
from icecore.repository.time_axis import GPS, NS

Gps = int | float | str | Decimal | datetime


def gps_ns(time: Any) -> int:
    """Return the GPS nanoseconds of a time.

    Args:
        time: GPS seconds (int, float, Decimal, LIGOTimeGPS, or text: ``"1126259446.5"``), or UTC: a datetime
            or ISO text (``"2015-09-14T09:50:29"``). Leap seconds come from astropy.

    Raises:
        Error: ``invalid`` if it is not a time; ``unsupported`` for UTC if astropy is not installed.

    Example:
        >>> gps_ns("1126259446.5")
        1126259446500000000
    """
    if hasattr(time, "gpsSeconds"):  # LIGOTimeGPS
        return int(time.gpsSeconds) * NS + int(time.gpsNanoSeconds)
    if isinstance(time, datetime):
        time = (time.astimezone(UTC) if time.tzinfo else time).strftime("%Y-%m-%dT%H:%M:%S.%f")
    if not isinstance(time, str):
        time = repr(time.item() if hasattr(time, "item") else time) if not isinstance(time, Decimal) else time
    try:
        seconds = Decimal(time)
        if seconds.is_finite():
            return int((seconds * NS).to_integral_value())
    except InvalidOperation:
        return _utc(str(time))
    raise errors.make("invalid", f"{time} is not a time", "GPS seconds, or UTC as 2015-09-14T09:50:29")


def _astropy_time(what: str) -> Any:
    try:
        from astropy.time import Time
    except ModuleNotFoundError:
        hint = "give GPS seconds, or pip install astropy"
        raise errors.make("unsupported", f"{what} needs astropy", hint) from None
    return Time


def _utc(text: str) -> int:
    astropy = _astropy_time(f"UTC ({text})")
    try:
        text_utc = text.strip().removesuffix("Z")
        since = astropy(text_utc, scale="utc").tai - astropy("1980-01-06", scale="utc").tai
    except ValueError as error:
        hint = "GPS seconds, or UTC as 2015-09-14T09:50:29"
        raise errors.make("invalid", f"{text!r} is not a time", hint) from error
    return round(since.jd1 * 86400) * NS + round(since.jd2 * 86400 * NS)


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
    if isinstance(time, datetime):
        time = (time.astimezone(UTC) if time.tzinfo else time).isoformat().removesuffix("+00:00")
    if isinstance(time, str) and not _is_number(time):
        return _calendar_ns(time)
    since = gps_ns(time)
    astropy = _astropy_time(f"GPS {time} on an axis in UTC")
    date = str(astropy(since // NS, format="gps").utc.isot)[:19]
    leap = date.endswith(":60")  # CF has no leap seconds: count it as the next second
    return _calendar_ns(date[:-2] + "59" if leap else date) + leap * NS + since % NS


def _is_number(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False


def _calendar_ns(text: str) -> int:
    import numpy as np

    try:
        plain = text.strip().removesuffix("Z")
        if "+" in plain or plain.count("-") > 2:  # a UTC offset
            plain = datetime.fromisoformat(plain).astimezone(UTC).isoformat().removesuffix("+00:00")
        found = np.datetime64(plain, "ns")
    except ValueError as error:
        hint = "UTC as 2015-09-14T09:50:29, or GPS seconds"
        raise errors.make("invalid", f"{text!r} is not a time", hint) from error
    return int(found.astype("i8"))
