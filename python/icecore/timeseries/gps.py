"""GPS times as integer nanoseconds, from numbers and from UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from icecore import errors
from icecore.repository.time_axis import NS

Gps = int | float | str | Decimal | datetime


def gps_ns(time: Any) -> int:
    """GPS nanoseconds of a time.

    Args:
        time: GPS seconds (int, float, Decimal, LIGOTimeGPS, or text: ``"1126259446.5"``), or UTC: a
            datetime or ISO text (``"2015-09-14T09:50:29"``), whose leap seconds astropy knows.

    Raises:
        Error: ``invalid`` if it is not a time; ``unsupported`` for UTC without astropy.

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


def _utc(text: str) -> int:
    try:
        from astropy.time import Time
    except ModuleNotFoundError:
        hint = "give GPS seconds, or pip install astropy"
        raise errors.make("unsupported", f"UTC ({text}) needs astropy", hint) from None
    try:
        since = Time(text.strip().removesuffix("Z"), scale="utc").tai - Time("1980-01-06", scale="utc").tai
    except ValueError as error:
        hint = "GPS seconds, or UTC as 2015-09-14T09:50:29"
        raise errors.make("invalid", f"{text!r} is not a time", hint) from error
    return round(since.jd1 * 86400) * NS + round(since.jd2 * 86400 * NS)
