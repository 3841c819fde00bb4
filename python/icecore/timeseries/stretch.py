"""Samples of a stretch of time, and what exists of it."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.repository.time_axis import NS, TimeAxis
from icecore.timeseries.gps import gps_ns

if TYPE_CHECKING:
    import numpy as np

    from icecore.repository.array import Array

GAPS = ("raise", "pad", "ignore")
#: part of a sample up to which a time rounded to nanoseconds is that of the sample
_ROUNDED = Fraction(1, 1000)


def axis_of(array: Array) -> TimeAxis:
    """The time axis of an array.

    Raises:
        Error: ``unsupported`` for an array without one.
    """
    axis = TimeAxis.of(array.attrs)
    if axis is None:
        hint = "arrays of frame files have one; select others by index or through xarray"
        raise errors.make("unsupported", f"{array.path} has no time axis", hint)
    return axis


def segments(array: Array) -> list[tuple[int, int]]:
    """The spans [start, stop) of GPS nanoseconds in which ``array`` has samples."""
    return list(axis_of(array).segments)


def indexes(axis: TimeAxis, start: Any, stop: Any) -> tuple[int, int]:
    """The samples [first, last) of a stretch; a start between two samples takes the one before, as gwpy does.

    Raises:
        Error: ``invalid`` where ``stop`` is before ``start``.
    """
    low, high = gps_ns(start), gps_ns(stop)
    if high < low:
        message = f"the stretch ends (GPS {high / NS:.9f}) before it begins (GPS {low / NS:.9f})"
        raise errors.make("invalid", message, "give the start first")
    first, last = (floor(Fraction(t - axis.t0, NS) / axis.step + _ROUNDED) for t in (low, high))
    return first, last


def between(array: Array, start: Any, stop: Any, gaps: str = "raise") -> np.ndarray:
    """Read the samples from ``start`` to ``stop``.

    Args:
        array: with a time axis.
        start: GPS seconds or UTC (:func:`icecore.timeseries.gps.gps_ns`).
        stop: the end, not included.
        gaps: where samples are missing in the stretch, also at its ends: ``raise``; ``pad`` with the array's
            fill value (NaN of floats); ``ignore``: return the samples that exist, one behind the other.

    Returns:
        Samples, shape ``(n,)``; ``n`` is the stretch times the rate unless ``gaps="ignore"``.

    Raises:
        Error: ``selection`` where samples are missing and ``gaps="raise"``; ``unsupported`` for an array
            without a time axis; ``invalid``.
    """
    import numpy as np

    if gaps not in GAPS:
        raise errors.make("invalid", f"gaps: {', '.join(GAPS)} (got {gaps!r})")
    if gaps == "raise":
        first, last = complete(array, start, stop)
        return array[first:last]
    axis = axis_of(array)
    first, last = indexes(axis, start, stop)
    runs = _runs(axis, first, last)
    if gaps == "ignore":
        parts = [array[low:high] for low, high in runs]
        return np.concatenate(parts) if parts else np.empty(0, array.dtype)
    out = np.full(last - first, array.fill_value, array.dtype)
    for low, high in runs:
        out[low - first : high - first] = array[low:high]
    return out


def _runs(axis: TimeAxis, first: int, last: int) -> list[tuple[int, int]]:
    """The parts of the samples [first, last) that exist."""
    every = ((axis.index(low), axis.index(high)) for low, high in axis.segments)
    return [(max(low, first), min(high, last)) for low, high in every if max(low, first) < min(high, last)]


def complete(array: Array, start: Any, stop: Any) -> tuple[int, int]:
    """The samples [first, last) of a stretch without gaps.

    Raises:
        Error: ``selection`` where samples are missing.
    """
    axis = axis_of(array)
    first, last = indexes(axis, start, stop)
    missing, at = [], first
    for low, high in [*_runs(axis, first, last), (last, last)]:
        if low > at:
            missing.append((at, low))
        at = high
    if not missing:
        return first, last
    spans = [f"{axis.time(low) / NS:.9f}..{axis.time(high) / NS:.9f}" for low, high in missing[:3]]
    more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
    have = f"the array spans GPS {axis.segments[0][0] / NS:.9f}..{axis.segments[-1][1] / NS:.9f}"
    hint = f"gaps='pad' fills them, gaps='ignore' leaves them out; {have}"
    raise errors.make("selection", f"{array.path}: no samples at GPS {', '.join(spans)}{more}", hint)
