"""Samples of a time range, and the segments in which an array has samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.repository.time_axis import TimeAxis, seconds_text
from icecore.timeseries.flags import Valid, valid_runs
from icecore.timeseries.gps import clock_ns
from icecore.timeseries.sample_times import Listed, sample_times

if TYPE_CHECKING:
    import numpy as np

    from icecore.repository.array import Array

GAPS = ("raise", "pad", "ignore")


def axis_of(array: Array) -> TimeAxis:
    """Return the uniform time axis of an array.

    Raises:
        Error: ``unsupported`` for an array without a uniform time axis.
    """
    times = sample_times(array)
    if isinstance(times, Listed):
        message = f"the times of {array.path} are not equally spaced"
        raise errors.make(
            "unsupported", message, "array.between(…, gaps='ignore') reads the samples there are"
        )
    return times.axis


def segments(array: Array) -> list[tuple[int, int]]:
    """Return the spans [start, stop) in which ``array`` has samples, in nanoseconds of its clock."""
    return list(axis_of(array).segments)


def indexes(axis: TimeAxis, start: Any, stop: Any) -> tuple[int, int]:
    """Return the samples [first, last) of a time range; a start between samples is rounded down, as in gwpy.

    Raises:
        Error: ``invalid`` if ``stop`` is before ``start``.
    """
    low, high = _span(start, stop, axis.epoch)
    return axis.index_before(low), axis.index_before(high)


def _span(start: Any, stop: Any, epoch: str) -> tuple[int, int]:
    low, high = clock_ns(start, epoch), clock_ns(stop, epoch)
    if high < low:
        message = (
            f"the stretch ends ({epoch} {seconds_text(high)}) before it begins ({epoch} {seconds_text(low)})"
        )
        raise errors.make("invalid", message, "give the start first")
    return low, high


@dataclass(frozen=True)
class Stretch:
    """The samples [first, last) of a request, the runs of them that exist and are valid, and the fill of the
    others; without a fill the runs are joined.
    """

    first: int
    last: int
    runs: list[tuple[int, int]]
    fill: Any = None

    def index(self, array: Array) -> Any:
        """The samples along the first axis: a slice, a range that begins or ends outside, or an array."""
        import numpy as np

        if self.fill is not None:
            inside = self.first >= 0 and self.last <= array.shape[0]
            return slice(self.first, self.last) if inside else range(self.first, self.last)
        if len(self.runs) < 2:
            return slice(*(self.runs or [(0, 0)])[0])
        return np.concatenate([np.arange(low, high) for low, high in self.runs])

    def read(self, array: Array, **precision: Any) -> np.ndarray:
        """Read the samples; ``precision`` as in :meth:`icecore.Array.read`."""
        import numpy as np

        if self.fill is None:
            parts = [array.read(slice(low, high), **precision) for low, high in self.runs or [(0, 0)]]
            return np.concatenate(parts) if len(parts) > 1 else parts[0]
        out = np.full((self.last - self.first, *array.shape[1:]), self.fill, array.dtype)
        for low, high in self.runs:
            out[low - self.first : high - self.first] = array.read(slice(low, high), **precision)
        return out


def locate(array: Array, start: Any, stop: Any, gaps: str = "raise", valid: Valid | None = None) -> Stretch:
    """Find the samples of a stretch; arguments and errors as in :func:`between`."""
    import numpy as np

    if gaps not in GAPS:
        raise errors.make("invalid", f"gaps: {', '.join(GAPS)} (got {gaps!r})")
    times = sample_times(array)
    if isinstance(times, Listed) and gaps == "ignore" and valid is None:
        low, high = (times.first_at(time) for time in _span(start, stop, times.epoch))
        return Stretch(low, high, [(low, high)])
    if gaps == "raise":
        first, last = complete(array, start, stop, valid)
        return Stretch(first, last, [(first, last)])
    axis = axis_of(array)
    first, last = indexes(axis, start, stop)
    runs = _runs(array, axis, first, last, valid)
    if gaps == "ignore":
        return Stretch(first, last, runs)
    if valid is not None and array.dtype.kind not in "fc":
        message = f"{array.path}: {array.dtype} has no value for samples that are not valid"
        raise errors.make("dtype", message, "gaps='ignore' leaves them out")
    return Stretch(first, last, runs, array.fill_value if valid is None else array.dtype.type(np.nan))


def between(
    array: Array, start: Any, stop: Any, gaps: str = "raise", valid: Valid | None = None
) -> np.ndarray:
    """Read the samples from ``start`` to ``stop``.

    Args:
        array: array whose first axis has times: ``icecore_time``, or a CF coordinate.
        start: GPS seconds or UTC (:func:`icecore.timeseries.gps.gps_ns`).
        stop: end of the range, exclusive.
        gaps: where samples are missing in the stretch, also at its ends: ``raise``; ``pad`` with the array's
            fill value (NaN of floats); ``ignore``: return the samples that exist, one behind the other.
        valid: names of flags that have to be set (:mod:`icecore.timeseries.flags`); other samples are
            treated as missing.

    Returns:
        Samples, shape ``(n,)`` or ``(n, …)``; ``n`` is the stretch times the rate unless ``gaps="ignore"``.

    Raises:
        Error: ``selection`` where samples are missing and ``gaps="raise"``; ``unsupported`` for an array
            without a time axis, or with irregular times unless ``gaps="ignore"``; ``not-found`` for a flag;
            ``dtype`` for ``gaps="pad"`` with ``valid`` of integers; ``invalid``.
    """
    return locate(array, start, stop, gaps, valid).read(array)


def _runs(array: Array, axis: TimeAxis, first: int, last: int, valid: Valid | None) -> list[tuple[int, int]]:
    """Return the parts of the samples [first, last) that exist and are valid."""
    every = ((axis.index(low), axis.index(high)) for low, high in axis.segments)
    found = [(max(low, first), min(high, last)) for low, high in every if max(low, first) < min(high, last)]
    return found if valid is None else valid_runs(array, axis, found, valid)


def complete(array: Array, start: Any, stop: Any, valid: Valid | None = None) -> tuple[int, int]:
    """Return the samples [first, last) of a time range without gaps.

    Raises:
        Error: ``selection`` if samples are missing or not valid.
    """
    axis = axis_of(array)
    first, last = indexes(axis, start, stop)
    missing, at = [], first
    for low, high in [*_runs(array, axis, first, last, valid), (last, last)]:
        if low > at:
            missing.append((at, low))
        at = high
    if not missing:
        return first, last
    spans = [f"{seconds_text(axis.time(low))}..{seconds_text(axis.time(high))}" for low, high in missing[:3]]
    more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
    ends = (axis.segments[0][0], axis.segments[-1][1]) if axis.segments else (axis.t0, axis.t0)
    have = f"the array spans {axis.epoch} {seconds_text(ends[0])}..{seconds_text(ends[1])}"
    hint = f"gaps='pad' (--gaps pad) fills them, 'ignore' leaves them out; {have}"
    what = "no samples" if valid is None else "no valid samples"
    message = f"{array.path}: {what} at {axis.epoch} {', '.join(spans)}{more}"
    raise errors.make("selection", message, hint)
