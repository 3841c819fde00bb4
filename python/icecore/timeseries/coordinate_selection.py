"""Selections of the command line by coordinate: ``lat=45.0, time=2020-01-01..2020-01-31``.

Both ends of a range belong to it, and a date means all of its day, month or year, as in xarray.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.display import text
from icecore.export.decoded import decoded
from icecore.repository.cf_coordinates import along
from icecore.repository.selection import by_name, parse
from icecore.timeseries.gps import clock_ns, without_offset

if TYPE_CHECKING:
    from icecore.repository.array import Array

_PLACES = re.compile(r"\[.*\]|[-+]?\d*(:[-+]?\d*){1,2}")
_INTEGER = re.compile(r"[-+]?\d+")
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d(:\d\d(:\d\d(\.\d{1,9})?)?)?)?)?)?")
#: units of NumPy's times, from the longest; calendars have the first three
_UNITS = ("Y", "M", "D", "h", "m", "s", "ms", "us", "ns")
_LENGTHS = {"D": 86_400 * 10**9, "h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3}


@dataclass(frozen=True)
class _Named:
    """One part of a selection: a dimension and what is selected along it."""

    dim: str
    value: str

    @property
    def is_coordinate(self) -> bool:
        """Whether only a coordinate can be meant."""
        places = not self.value or _PLACES.fullmatch(self.value) or _INTEGER.fullmatch(self.value)
        return ".." in self.value or not places


def by_coordinate(
    array: Array, sel: str | None, known: dict[Any, Any] | None = None, together: str | None = None
) -> tuple[Any, ...] | None:
    """Return the index of a selection by coordinates; None if it only has places.

    A selection is by coordinates if one of its parts is: a range with ``..``, a number with a decimal point,
    a date, or text. Then whole numbers are coordinates too, where the dimension has some. ``0:10`` always
    means places.

    Args:
        array: the array; the coordinate of a dimension is the array of its name beside it or above.
        sel: the text of the selection.
        known: indexes that were found before; arrays of a group share coordinates.
        together: the selection of several arrays that ``sel`` is a part of.

    Raises:
        Error: ``selection`` for an unknown dimension, a dimension without a coordinate, a value that the
            coordinate doesn't have, and for text that the coordinate's type doesn't have; ``unsupported``
            for times in a calendar other than UTC's.
    """
    parts = list(_parts(sel or ""))
    if not any(part.is_coordinate for part in _parts(together or sel or "")):
        return None
    known = {} if known is None else known
    index: list[Any] = [slice(None)] * array.ndim
    for part in parts:
        by_name({part.dim: 0}, array.dims)  # raises for an unknown dimension
        place = array.dims.index(part.dim)
        coordinate = along(array, place)
        if _PLACES.fullmatch(part.value) or (coordinate is None and not part.is_coordinate):
            index[place] = parse(f"{part.dim}={part.value}", array.dims)[place]
            continue
        if coordinate is None:
            message = f"{array.path}: dimension {part.dim!r} has no coordinate to find {part.value} in"
            raise errors.make("selection", message, f"select by place: {part.dim}=0:10")
        if (coordinate.path, part) not in known:
            known[coordinate.path, part] = _index(coordinate, part)
        index[place] = known[coordinate.path, part]
    return tuple(index)


def _parts(sel: str) -> Iterator[_Named]:
    """Yield the named parts; nothing if one has no name."""
    parts = [part.partition("=") for part in re.split(r",(?![^\[]*\])", sel) if part.strip()]
    if all(equals for _, equals, _ in parts):
        yield from (_Named(dim.strip(), value.strip()) for dim, _, value in parts)


def _index(coordinate: Array, part: _Named) -> Any:
    values = decoded(coordinate, coordinate.read())
    first, dots, last = part.value.partition("..")
    kind = values.dtype.kind
    if kind == "M":
        low, high, one = _times(coordinate, values, first.strip(), last.strip() if dots else None)
    elif kind in "iufb":
        low, high, one = _numbers(coordinate, values, first.strip(), last.strip() if dots else None)
    elif kind in "SUO":
        low, high, one = _texts(first.strip(), last.strip() if dots else None, values)
    else:
        raise errors.make(
            "selection", f"{coordinate.path}: {coordinate.dtype} can't be compared", "use places"
        )
    inside = np.ones(len(values), bool)
    if low is not None:
        inside &= values >= low
    if high is not None:
        inside &= values <= high
    found = np.flatnonzero(inside)
    if not len(found):
        raise _absent(coordinate, part, values)
    if one and len(found) == 1:
        return int(found[0])
    first_, last_ = int(found[0]), int(found[-1])
    return slice(first_, last_ + 1) if last_ - first_ + 1 == len(found) else found.tolist()


def _numbers(coordinate: Array, values: np.ndarray, first: str, last: str | None) -> tuple[Any, Any, bool]:
    """Return the least and the greatest value, and whether a single one is meant."""

    def number(given: str) -> Any:
        try:
            value: Any = int(given) if _INTEGER.fullmatch(given) else float(given)
        except ValueError:
            message = f"{coordinate.path} holds numbers (got {given!r})"
            raise errors.make("selection", message, "lat=45.0, or lat=30..60") from None
        return values.dtype.type(value) if values.dtype.kind == "f" else value

    low = number(first) if first else None
    if last is None:
        return low, low, True
    high = number(last) if last else None
    if low is not None and high is not None and low > high:
        low, high = high, low  # the order of a descending coordinate
    return low, high, False


def _texts(first: str, last: str | None, values: np.ndarray) -> tuple[Any, Any, bool]:
    def stored(given: str) -> Any:
        return given.encode() if values.dtype.kind == "S" else given

    if last is None:
        return stored(first), stored(first), True
    return stored(first) if first else None, stored(last) if last else None, False


def _times(coordinate: Array, values: np.ndarray, first: str, last: str | None) -> tuple[Any, Any, bool]:
    """Return the first and the last moment; a date means the whole of its day, month or year."""
    spans = [_span(coordinate, given) if given else None for given in (first, last or "")]
    if last is not None and all(spans):
        spans.sort(key=lambda span: span[0] if span is not None else 0)
    low = None if spans[0] is None else np.datetime64(spans[0][0], "ns")
    end = spans[0] if last is None else spans[1]
    high = None if end is None else np.datetime64(end[1] - 1, "ns")
    one = last is None and end is not None and _UNITS.index(end[2]) >= _UNITS.index(_resolution(values))
    return low, high, one


def _span(coordinate: Array, given: str) -> tuple[int, int, str]:
    """Return the first nanosecond of a time, the one after its last, and its unit."""
    local, offset = without_offset(given)
    if _DATE.fullmatch(local) is None:
        if not re.fullmatch(r"\d{5,}(\.\d+)?", given):
            message = f"{coordinate.path} holds times (got {given!r})"
            raise errors.make("selection", message, "2020-01, 2020-01-31 or 2020-01-31T06:30")
        start = clock_ns(given, "UTC")  # GPS seconds
        return start, start + 1, "ns"
    try:
        time = np.datetime64(local.replace(" ", "T"))
    except ValueError:
        raise errors.make("selection", f"{given!r} is not a date", "2020-01-31") from None
    low, high = (moment.astype("M8[ns]").astype("i8") for moment in (time, time + 1))
    return int(low) - offset, int(high) - offset, str(np.datetime_data(time.dtype)[0])


def _resolution(values: np.ndarray) -> str:
    """Return the longest unit in which all times are whole."""
    times = values[~np.isnat(values)].astype("i8")
    return next((unit for unit, length in _LENGTHS.items() if not (times % length).any()), "ns")


def _absent(coordinate: Array, part: _Named, values: np.ndarray) -> errors.Error:
    """Return the error for values that a coordinate doesn't have; the hint has the nearest, or the ends."""
    message = f"{coordinate.path} has no value {part.value}"
    real: Sequence[Any] = values[~np.isnat(values)] if values.dtype.kind == "M" else values
    if values.dtype.kind in "iuf":
        real = values[np.isfinite(values)] if values.dtype.kind == "f" else values
        if len(real) and ".." not in part.value:
            nearest = real[int(np.argmin(np.abs(np.asarray(real, "f8") - float(part.value))))]
            return errors.make("selection", message, f"the nearest is {part.dim}={nearest}")
    if not len(real):
        return errors.make("selection", f"{message}: it is empty", "select by place")
    ends = (min(real), max(real))
    return errors.make("selection", message, f"it has {text.shorten(f'{ends[0]}..{ends[1]}', 80)}")
