"""A column of a table, as the engine takes it: its array, its nulls, its unit of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import attributes
from icecore.sources.timeunits import conversion, is_time

if TYPE_CHECKING:
    from icecore import _icecore
    from icecore.array import Array

_NULLS = ("_FillValue", "missing_value")
_ARROW_TIMES = ("W", "D", "h", "m", "s", "ms", "us", "ns")


def fits(array: Array) -> str:
    """Why an array can't be a column; empty where it can."""
    if array.ndim != 1:
        return f"it has {array.ndim} dimensions"
    kind = array.dtype.kind
    if array._node.dtype_label == "string" or kind in "biufSU":
        return ""
    if kind in "mM":
        unit = np.datetime_data(array.dtype)[0]
        return "" if unit in _ARROW_TIMES else f"Arrow has no unit of time {unit}"
    return f"its type is {array._node.dtype_label}"


def column(name: str, array: Array) -> tuple[str, _icecore.Array, list[bytes], tuple[float, float] | None]:
    """What the engine's table takes."""
    return name, array._native, nulls(array), _epoch(array)


def nulls(array: Array) -> list[bytes]:
    """The elements that stand for null by the array's attributes, as bytes in native order."""
    found: list[bytes] = []
    if array.dtype.kind not in "biufSU":
        return found
    attrs = array.attrs
    for value in (attrs[key] for key in _NULLS if key in attrs):
        for item in value if isinstance(value, (list, tuple)) else [value]:
            element = _element(attributes.fill(item, array.dtype), array.dtype)
            if element is not None and element not in found:
                found.append(element)
    return found


def _element(value: Any, dtype: np.dtype[Any]) -> bytes | None:
    try:
        made = np.array(value, dtype)
    except (TypeError, ValueError, OverflowError):
        return None
    return made.tobytes() if made.shape == () else None


def _epoch(array: Array) -> tuple[float, float] | None:
    """Nanoseconds of one unit, and of zero since 1970, of numbers that count time."""
    units, calendar = array.attrs.get("units"), array.attrs.get("calendar", "standard")
    if array.dtype.kind not in "iuf" or not isinstance(units, str) or not is_time(units):
        return None
    seconds = conversion(units, "seconds since 1970-01-01", str(calendar))
    if seconds is None:
        return None
    return float(seconds.factor * 10**9), float(seconds.shift * 10**9)
