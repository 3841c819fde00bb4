"""Frames of a reframe: spans of time in which the same channels have samples."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from icecore import errors
from icecore.export.gwf import name_of
from icecore.repository.array import Array
from icecore.repository.cf_coordinates import names
from icecore.repository.time_axis import NS, TimeAxis, seconds_text

#: nanoseconds between edges that are one: times of different rates are rounded differently
_NEAR = 2


@dataclass(frozen=True)
class Series:
    """A channel: its array and axis, and the arrays of its auxiliary vectors."""

    name: str
    array: Array
    axis: TimeAxis
    aux: Sequence[tuple[str, Array, TimeAxis]] = ()

    def range(self, start: int, stop: int) -> tuple[int, int]:
        """Return the samples [first, last) whose times are in a span."""
        return self.axis.first_at(start), self.axis.first_at(stop)


@dataclass(frozen=True)
class Span:
    """A frame: GPS nanoseconds, and the channels that have samples in all of it."""

    start: int
    stop: int
    series: Sequence[Series]


@dataclass
class _Edges:
    """Starts and stops of the segments of a series."""

    series: Series
    starts: list[int] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)

    def covers(self, start: int, stop: int) -> bool:
        at = bisect_right(self.starts, start + _NEAR) - 1
        return at >= 0 and self.stops[at] + _NEAR >= stop


def with_auxiliary(arrays: Sequence[tuple[Array, TimeAxis]]) -> list[Series]:
    """Return the channels of arrays; auxiliary vectors belong to the channel that names them."""
    known = {array.path: (array, axis) for array, axis in arrays}
    owned: set[str] = set()
    found: list[Series] = []
    for array, axis in arrays:
        group, name = array.path.rsplit("/", 1)[0], name_of(array)
        paths = [f"{group}/{each}" for each in names(array.attrs, "ancillary_variables")]
        beside = [known[path] for path in paths if path in known]
        # A mask of its own is a channel, not a vector of the channels that name it.
        parts = [(name_of(a), a, x) for a, x in beside if name_of(a).startswith(f"{name}.")]
        owned.update(part[1].path for part in parts)
        found.append(Series(name, array, axis, [(said[len(name) + 1 :], a, x) for said, a, x in parts]))
    return [series for series in found if series.array.path not in owned]


def spans(series: Sequence[Series], length: int, begin: int | None, end: int | None) -> Iterator[Span]:
    """Yield the frames of channels: they end at multiples of ``length`` nanoseconds, and where a channel
    begins or ends.

    Raises:
        Error: ``invalid`` for a channel whose samples don't fit the frames, and for two of one name.
    """
    every = [_edges(each, begin, end) for each in series]
    cuts = _merged([edge for each in every for edge in (*each.starts, *each.stops)])
    if not cuts:
        return
    for low, high in pairwise(cuts):
        at = low
        while at < high:
            stop = min((at // length + 1) * length, high)
            here = [each.series for each in every if each.covers(at, stop)]
            if here:
                _check_names(here)
                having = [each for each in here if _fits(each, at, stop, length)]
                if having:
                    yield Span(at, stop, having)
            at = stop


def _edges(series: Series, begin: int | None, end: int | None) -> _Edges:
    found = _Edges(series)
    for start, stop in series.axis.segments:
        low = start if begin is None else max(start, begin)
        high = stop if end is None else min(stop, end)
        if low < high:
            found.starts.append(low)
            found.stops.append(high)
    return found


def _merged(edges: Sequence[int]) -> list[int]:
    """Return sorted edges; of those next to each other one of whole seconds, else the first."""
    found: list[int] = []
    for edge in sorted(set(edges)):
        if found and edge - found[-1] <= _NEAR:
            found[-1] = edge if edge % NS == 0 else found[-1]
        else:
            found.append(edge)
    return found


def _fits(series: Series, start: int, stop: int, length: int) -> bool:
    """Whether a channel has samples in a span. Their number times their distance must be its length."""
    first, last = series.range(start, stop)
    covered = round((last - first) * series.axis.step * NS)
    if abs(covered - (stop - start)) <= _NEAR + 1:
        return first < last
    step = float(series.axis.step)
    span = f"GPS {seconds_text(start)}..{seconds_text(stop)}"
    message = f"{series.name} has a sample every {step:g} s, which does not fit a frame of "
    message += f"{(stop - start) / NS:g} s ({span})"
    fits = (length / NS / step).is_integer()
    hint = "leave the channel out: --exclude" if fits else "name another length, such as --seconds "
    raise errors.make(
        "invalid", message, hint if fits else f"{hint}{_longer(step, length / NS):g}, or --exclude it"
    )


def _longer(step: float, seconds: float) -> float:
    """Return a length near ``seconds`` that is a multiple of ``step``."""
    return max(round(seconds / step), 1) * step


def _check_names(here: Sequence[Series]) -> None:
    known: dict[str, Series] = {}
    for each in here:
        if each.name in known:
            message = f"{known[each.name].array.path} and {each.array.path} are both the channel {each.name}"
            raise errors.make("invalid", message, "leave one out: --exclude PATH")
        known[each.name] = each


def places(series: Sequence[Series]) -> tuple[int, int]:
    """Return start and stop of all samples in nanoseconds."""
    segments = [each.axis.segments for each in series if each.axis.segments]
    return min(s[0][0] for s in segments), max(s[-1][1] for s in segments)


def overlaps(segments: Sequence[tuple[int, int]], start: int, stop: int) -> bool:
    """Whether a span has samples of sorted segments."""
    at = bisect_left(segments, stop, key=lambda span: span[0]) - 1
    return at >= 0 and segments[at][1] > start
