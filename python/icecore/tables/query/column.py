"""A column of a table, as the engine takes it: its array, its nulls, its unit of time, its items."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from icecore.repository.missing_values import nulls
from icecore.sources.mapping.time_units import conversion, is_time

if TYPE_CHECKING:
    from icecore import _icecore
    from icecore.repository.array import Array

#: values of a row, at most: a map's rows are no rows of a table
_WIDEST = 4096
#: CF's names of the calendar that the times of a clause are in
_CALENDARS = ("standard", "gregorian", "proleptic_gregorian", "none", "")
_ARROW_TIMES = ("W", "D", "h", "m", "s", "ms", "us", "ns")


def fits(array: Array) -> str:
    """Why an array can't be a column; empty where it can."""
    if array.ndim not in (1, 2):
        return f"it has {array.ndim} dimensions"
    if array.ndim == 2 and not 1 <= array.shape[1] <= _WIDEST:
        return f"it has {array.shape[1]:,} values a row, 1 to {_WIDEST:,} make a column"
    kind = array.dtype.kind
    if array._node.dtype_label == "string" or kind in "biufSU":
        return ""
    if kind in "mM":
        unit = np.datetime_data(array.dtype)[0]
        return "" if unit in _ARROW_TIMES else f"Arrow has no unit of time {unit}"
    return f"its type is {array._node.dtype_label}"


def width(array: Array) -> int | None:
    """Values of a row; None where it is one, and no list."""
    return array.shape[1] if array.ndim == 2 else None


def items(name: str, array: Array) -> list[str]:
    """What the single values of a row are called: ``spectrum[0]``, ``spectrum[1]``, …"""
    return [f"{name}[{i}]" for i in range(width(array) or 0)]


def column(
    name: str, array: Array, item: int | None = None
) -> tuple[str, _icecore.Array, list[bytes], tuple[float, float] | None, int | None]:
    """What the engine's table takes; with ``item`` only that value of each row."""
    return name, array._native, nulls(array), _epoch(array), item


def no_epoch(array: Array) -> str:
    """What to do where a column counts time, but can't be compared with times; empty for any other column."""
    units = array.attrs.get("units")
    if array.dtype.kind not in "iuf" or not is_time(units) or _epoch(array) is not None:
        return ""
    calendar = str(array.attrs.get("calendar", "standard")).lower()
    why = f"are in the calendar {calendar}" if calendar not in _CALENDARS else "can't be told from its units"
    return f"its times {why}: compare it with numbers of {units}"


def _epoch(array: Array) -> tuple[float, float] | None:
    """Nanoseconds of one stored unit, and of a stored zero since 1970, of numbers that count time."""
    attrs = array.attrs
    units, calendar = attrs.get("units"), attrs.get("calendar", "standard")
    if array.dtype.kind not in "iuf" or not isinstance(units, str) or not is_time(units):
        return None
    if str(calendar).lower() not in _CALENDARS:  # a clause's time would be another day there
        return None
    seconds = conversion(units, "seconds since 1970-01-01", str(calendar))
    packed = [attrs.get("scale_factor", 1), attrs.get("add_offset", 0)]
    if seconds is None or not all(isinstance(n, (int, float)) and isfinite(n) for n in packed):
        return None
    scale, offset = map(Fraction, packed)
    if scale <= 0:
        return None
    return float(seconds.factor * scale * 10**9), float((seconds.factor * offset + seconds.shift) * 10**9)
