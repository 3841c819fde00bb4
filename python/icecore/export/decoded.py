"""Values as CF's attributes define them: scale and offset applied, missing values as NaN, times as dates."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from icecore import errors
from icecore.repository.array import Array
from icecore.repository.missing_values import missing, nulls
from icecore.repository.time_axis import NS
from icecore.repository.typed_attributes import typed
from icecore.sources.mapping.time_units import conversion, is_time

#: signed dtype → unsigned dtype, for the attribute ``_Unsigned`` (netCDF-3 has only signed integers)
_UNSIGNED = {("i", "true"): "u", ("u", "false"): "i"}
_PACKED = ("scale_factor", "add_offset", "_Unsigned")
#: attributes that describe stored numbers, not decoded ones
ENCODING = (*_PACKED, "_FillValue", "missing_value", "valid_min", "valid_max", "valid_range")
_CALENDARS = ("standard", "gregorian", "proleptic_gregorian", "none", "")
_MICRO = 1_000_000


def decoded(array: Array, raw: np.ndarray) -> np.ndarray:
    """Return stored elements of an array as physical values.

    Args:
        array: its attributes say how values are stored.
        raw: elements as stored.

    Returns:
        Packed numbers, and integers with missing values, as float64 with NaN for missing ones; floats with
        NaN for missing ones; times since a date as ``datetime64[ns]``, not-a-time if missing; other values
        unchanged.

    Raises:
        Error: ``invalid`` if scale or offset is not a number; ``unsupported`` for times in another calendar
            than UTC's, or beyond the years 1678 to 2262.
    """
    if array.dtype.kind not in "iuf":
        return raw
    if is_time(array.attrs.get("units")):
        return dates(array, raw)
    if any(name in array.attrs for name in _PACKED) or (array.dtype.kind in "iu" and nulls(array)):
        return physical(array, raw)
    gone = missing(array, raw)
    return np.where(gone, raw.dtype.type(np.nan), raw) if gone.any() else raw


def changes(array: Array) -> bool:
    """Return whether decoded numbers are others than the stored ones, besides missing values and times."""
    return array.dtype.kind in "iuf" and any(name in array.attrs for name in _PACKED)


def physical(array: Array, raw: np.ndarray) -> np.ndarray:
    """Apply the CF conventions: missing values become NaN; scale and offset.

    Raises:
        Error: ``invalid`` if these attributes are not numbers.
    """
    attrs = typed(array._node)
    kind = _UNSIGNED.get((array.dtype.kind, str(attrs.get("_Unsigned")).lower()))
    values = np.array(raw.view(f"{kind}{array.dtype.itemsize}") if kind else raw, "f8")
    values[missing(array, raw)] = np.nan
    with np.errstate(over="ignore"):
        values *= _number(array, attrs, "scale_factor", 1)
        values += _number(array, attrs, "add_offset", 0)
    return values


def _number(array: Array, attrs: dict[str, Any], name: str, otherwise: float) -> float:
    try:
        return float(np.asarray(attrs.get(name, otherwise)).item())
    except (TypeError, ValueError):
        message = f"{array.path}: the attribute {name} must be a number (got {attrs[name]!r})"
        raise errors.make("invalid", message, "`icecore read` prints the stored numbers") from None


def dates(array: Array, raw: np.ndarray) -> np.ndarray:
    """Return times since a date as ``datetime64[ns]``; fractions are rounded to microseconds.

    Raises:
        Error: ``unsupported`` for another calendar than UTC's, or times that don't fit nanoseconds.
    """
    attrs = array.attrs
    calendar, units = str(attrs.get("calendar", "standard")).lower(), str(attrs.get("units"))
    exact = conversion(units, "seconds since 1970-01-01", calendar) if calendar in _CALENDARS else None
    if exact is None:
        message = f"{array.path}: times in {units!r}, calendar {calendar}, are not UTC"
        raise errors.make("unsupported", message, "select by index, or through xarray")
    gone = missing(array, raw) | ~np.isfinite(raw)
    kept = np.where(gone, raw.dtype.type(0), raw)
    times = scaled_times(kept, exact.factor, exact.shift, array.path).view("M8[ns]")
    times[gone] = np.datetime64("NaT")
    return times


def scaled_times(values: np.ndarray, factor: Fraction, shift: Fraction, path: str) -> np.ndarray:
    """Return ``values * factor + shift`` seconds in nanoseconds. Floating-point times are rounded to
    microseconds, the precision of days in float64.
    """
    per: Any = factor * NS
    if values.dtype.kind in "iu" and per.denominator == 1:
        wide, times = values.astype("i8"), int(per)
    else:
        wide, times = np.rint(values.astype("f8") * float(factor * _MICRO)), 1000
    offset, most = round(shift * NS), 1 << 63
    if len(wide) and max(abs(int(wide.min())), abs(int(wide.max()))) * times + abs(offset) >= most:
        message = f"{path}: times before 1678 or after 2262 don't fit nanoseconds"
        raise errors.make("unsupported", message, "select by index, or through xarray")
    return wide.astype("i8") * times + offset
