"""Conversion between GPS and UTC in integer nanoseconds, with the leap seconds of IERS Bulletin C."""

from __future__ import annotations

import numpy as np

from icecore.repository.time_axis import NS

#: UTC dates from which GPS - UTC is one second longer than before
_DATES = (
    "1981-07-01", "1982-07-01", "1983-07-01", "1985-07-01", "1988-01-01", "1990-01-01", "1991-01-01",
    "1992-07-01", "1993-07-01", "1994-07-01", "1996-01-01", "1997-07-01", "1999-01-01", "2006-01-01",
    "2009-01-01", "2012-07-01", "2015-07-01", "2017-01-01",
)  # fmt: skip
#: nanoseconds from 1970 to GPS 0
_GPS_0 = int(np.datetime64("1980-01-06", "ns").astype("i8"))
_SINCE_1970 = np.array(_DATES, "M8[ns]").astype("i8")
#: GPS nanoseconds at these dates
_STARTS = _SINCE_1970 - _GPS_0 + np.arange(1, len(_DATES) + 1) * NS


def utc_of_gps(gps: np.ndarray) -> np.ndarray:
    """Convert GPS to UTC: int64 nanoseconds since 1970 without leap seconds, as in ``datetime64``.

    ``datetime64`` has no leap seconds: times within one become the last nanosecond of the second before.

    Args:
        gps: times in GPS nanoseconds, int64.
    """
    offset = np.searchsorted(_STARTS, gps, "right")
    utc = gps + _GPS_0 - offset * NS
    following = np.append(_SINCE_1970, np.iinfo("i8").max)[offset]
    return np.minimum(utc, following - 1)


def gps_of_utc(utc: np.ndarray) -> np.ndarray:
    """Convert UTC (int64 nanoseconds since 1970, as in ``datetime64``) to GPS nanoseconds."""
    return utc - _GPS_0 + np.searchsorted(_SINCE_1970, utc, "right") * NS


def tai_minus_utc(gps: int) -> int:
    """Return TAI - UTC in seconds at a GPS time in nanoseconds, as frame files state it.

    Example:
        >>> tai_minus_utc(1_187_008_882_000_000_000)
        37
    """
    return 19 + int(np.searchsorted(_STARTS, gps, "right"))
