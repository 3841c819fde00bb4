"""Convert an array to a column for the engine: its nulls, unit of time and items."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from icecore.repository.missing_values import nulls
from icecore.sources.mapping.time_units import conversion, is_time

if TYPE_CHECKING:
    from icecore import _icecore
    from icecore.repository.array import Array


#: largest number of items per row; the rows of a map are not rows of a table
_WIDEST = 4096
#: CF's names of the Gregorian calendar, which times in clauses use
_CALENDARS = ("standard", "gregorian", "proleptic_gregorian", "none", "")
_PLAIN = {"string", "bool", *(f"{kind}{8 * size}" for kind in ("int", "uint") for size in (1, 2, 4, 8))}
_PLAIN |= {"float16", "float32", "float64"}
_ARROW_TIMES = ("W", "D", "h", "m", "s", "ms", "us", "ns")


def fits(array: Array) -> str:
    """Return the reason why an array can't be a column; empty if it can."""
    shape = array.shape
    if len(shape) not in (1, 2):
        return f"it has {len(shape)} dimensions"
    if len(shape) == 2 and not 1 <= shape[1] <= _WIDEST:
        return f"it has {shape[1]:,} values per row (a column has 1 to {_WIDEST:,})"
    if array._node.dtype_label in _PLAIN:  # without opening the array: a table may have thousands
        return ""
    kind = array.dtype.kind
    if kind in "biufSU":
        return ""
    if kind in "mM":
        unit = np.datetime_data(array.dtype)[0]
        return "" if unit in _ARROW_TIMES else f"Arrow does not support the time unit {unit}"
    return f"its type is {array._node.dtype_label}"


def width(array: Array) -> int | None:
    """Return the number of items per row; None if the column is not a list."""
    return array.shape[1] if array.ndim == 2 else None


def items(name: str, array: Array) -> list[str]:
    """Return the names of the items: ``spectrum[0]``, ``spectrum[1]``, …"""
    return [f"{name}[{i}]" for i in range(width(array) or 0)]


def column(
    name: str, array: Array, item: int | None = None
) -> tuple[str, _icecore.Array, list[bytes], tuple[float, float] | None, int | None]:
    """Return the column for the engine; with ``item`` only that item of each row."""
    return name, array._native, nulls(array), _epoch(array), item


def no_epoch(array: Array) -> str:
    """Return a hint for a column with units of time that can't be compared with times, or an empty string."""
    units = array.attrs.get("units")
    if array.dtype.kind not in "iuf" or not is_time(units) or _epoch(array) is not None:
        return ""
    calendar = str(array.attrs.get("calendar", "standard")).lower()
    why = f"use the calendar {calendar}" if calendar not in _CALENDARS else "can't be derived from its units"
    return f"its times {why}: compare it with numbers of {units}"


def _epoch(array: Array) -> tuple[float, float] | None:
    """Return the length of one stored unit and the epoch since 1970, both in ns, for columns of time."""
    attrs = array.attrs
    units, calendar = attrs.get("units"), attrs.get("calendar", "standard")
    if array.dtype.kind not in "iuf" or not isinstance(units, str) or not is_time(units):
        return None
    if str(calendar).lower() not in _CALENDARS:  # dates of other calendars are different days
        return None
    seconds = conversion(units, "seconds since 1970-01-01", str(calendar))
    packed = [attrs.get("scale_factor", 1), attrs.get("add_offset", 0)]
    if seconds is None or not all(isinstance(n, (int, float)) and isfinite(n) for n in packed):
        return None
    scale, offset = map(Fraction, packed)
    if scale <= 0:
        return None
    return float(seconds.factor * scale * 10**9), float((seconds.factor * offset + seconds.shift) * 10**9)


# Parse lists of column names; names with special characters are in double quotes, as in where-clauses.

#: a quoted name, optionally followed by the index of an item
_NAME = re.compile(
    r'(?<![^:,\s])"((?:[^"]|"")*)"(?=(?:\[\d+\])?\s*(?:[:,]|$)|(?:\[\d+\])?\s+by\s)', re.IGNORECASE
)
_HIDDEN = re.compile("\0([0-9]+)\0")


def hidden(text: str) -> tuple[str, Callable[[str], str]]:
    """Replace quoted names by placeholders; also return a function that restores them without quotes."""
    names: list[str] = []

    def hide(found: re.Match[str]) -> str:
        names.append(found[1].replace('""', '"'))
        return f"\0{len(names) - 1}\0"

    return _NAME.sub(hide, text), lambda part: _HIDDEN.sub(lambda found: names[int(found[1])], part)


def split(text: str) -> list[str]:
    """Split a list of names such as ``a, "b, too", c[3]``."""
    plain, shown = hidden(text)
    return [shown(part.strip()) for part in plain.split(",") if part.strip()]


def parts(text: str, separator: str = ",") -> list[str]:
    """Split a text at a separator outside of parentheses and quotes; empty parts are left out."""
    found, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        else:
            depth += {"(": 1, ")": -1}.get(character, 0)
        if character == separator and depth <= 0 and not quote:
            found.append("")
        else:
            found[-1] += character
    return [part.strip() for part in found if part.strip()]


def quoted(name: str) -> str:
    """Return a name in double quotes, as where-clauses take it."""
    return '"' + name.replace('"', '""') + '"'
