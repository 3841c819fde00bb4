"""Convert times to matplotlib's dates: days since 1970 in the Gregorian calendar."""

from __future__ import annotations

from typing import Any

import numpy as np

from icecore.repository.array import Array
from icecore.sources.mapping.time_units import conversion, is_time

_SINCE = "days since 1970-01-01"
#: first and last date of matplotlib, and the date since which ``standard`` is the Gregorian calendar
_FIRST, _LAST, _GREGORIAN = (
    float(np.datetime64(day, "D").astype("i8")) for day in ("0001-01-01", "9999-12-31", "1582-10-15")
)
#: margin of an axis, relative to its range
_MARGIN = 0.06
#: shortest range in days (a hundredth of a second) that float days since 1970 can resolve
_LEAST = 0.01 / 86400


def as_dates(array: Array, raw: np.ndarray, values: np.ndarray) -> np.ndarray | None:
    """Return an array's elements as days since 1970: float64, NaN for missing values.

    Returns None if they are not times, or if matplotlib's dates can't represent them: other calendars, years
    out of range, very short ranges.

    Args:
        array: array with its units.
        raw: stored elements.
        values: the same elements as numbers in their units, NaN for missing values.
    """
    calendar = str(array.attrs.get("calendar") or "standard").lower()
    if raw.dtype.kind == "M":
        if np.datetime_data(raw.dtype)[0] in ("Y", "M"):
            raw = raw.astype("M8[D]")
        unit, count = np.datetime_data(raw.dtype)
        tick: Any = unit
        days = raw.astype("i8") * (np.timedelta64(count, tick) / np.timedelta64(1, "D"))
        days[np.isnat(raw)] = np.nan
        calendar = "proleptic_gregorian"
    elif is_time(array.attrs.get("units")):
        found = conversion(array.attrs["units"], _SINCE, calendar)
        if found is None:
            return None
        days = values * float(found.factor) + float(found.shift)
    else:
        return None
    known = days[np.isfinite(days)]
    if not known.size or calendar not in ("standard", "gregorian", "none", "proleptic_gregorian"):
        return None
    first, last = known.min(), known.max()
    margin = (last - first) * _MARGIN + 1
    earliest = _FIRST if calendar == "proleptic_gregorian" else _GREGORIAN
    fits = earliest < first - margin and last + margin < _LAST
    return days if fits and (last - first >= _LEAST or last == first) else None


def elapsed(raw: np.ndarray) -> tuple[np.ndarray, str]:
    """Convert datetime64 (relative to the first) or timedelta64 to float64, NaN for not-a-time, and units."""
    unit, count = np.datetime_data(raw.dtype)
    there = raw[~np.isnat(raw)]
    start = there.min() if raw.dtype.kind == "M" and there.size else None
    values = (raw if start is None else raw - start).astype("i8").astype("f8") * count
    values[np.isnat(raw)] = np.nan
    return values, unit if start is None else f"{unit} since {start}"


def on_axis(axis: Any) -> None:
    """Format days since 1970 as dates on a matplotlib axis."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator()
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))
