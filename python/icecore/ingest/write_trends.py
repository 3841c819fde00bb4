"""Write stored trends, and update them when their arrays change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from icecore import errors
from icecore.ingest.level_writer import LevelWriter
from icecore.repository import trend_names
from icecore.repository.repo import Repo
from icecore.repository.time_axis import KEY, NS
from icecore.repository.typed_attributes import dump
from icecore.timeseries import sample_blocks
from icecore.timeseries.sample_times import Times, is_time, sample_times
from icecore.timeseries.stored_trend import WINDOWS, levels, wanted
from icecore.timeseries.window_sums import Sums

if TYPE_CHECKING:
    from icecore.repository.array import Array
    from icecore.writing.writer import Writer

#: smallest number of sample bytes per window for which trends are stored by default (a window takes 36 bytes)
_WORTH = 2048


def write(
    target: Writer | Repo, paths: Iterable[str], windows: Sequence[int] | None = None, every: bool = True
) -> list[str]:
    """Write the trends of arrays.

    Args:
        target: a writer, which commits the trends with its data; or a repository, which gets a separate
            commit (open it again to use the trends).
        paths: paths of the arrays; those that are not one-dimensional real numbers with a time axis are
            skipped.
        windows: lengths of the windows in seconds; by default the stored ones, else 1, 60 and 3600.
        every: without ``windows``: also store windows that are hardly smaller than their samples.

    Returns:
        The paths of the arrays that have trends now.
    """
    if isinstance(target, Repo):
        with target.writer(message="trends") as own:
            return write(own, paths, windows, every)
    writer = target
    for unfinished in list(writer._arrays.values()):
        unfinished.finish()
    view, done = writer._view(), []
    for path in paths:
        array = view._array(path)
        if _fits(array):
            times = sample_times(array)
            lengths = tuple(windows or ()) or wanted(view, path) or _default(array, times, every)
            if lengths:
                _write(writer, array, times, lengths, writer._touched().pop(path, 0))
                done.append(path)
    return done


def renew(writer: Writer, touched: Mapping[str, int]) -> None:
    """Update the trends of changed arrays before a commit.

    Trends that can't be updated are deleted; queries then use the samples.

    Args:
        writer: the writer that is about to commit.
        touched: maps each path to its first changed sample.
    """
    view = None
    for path, row in touched.items():
        if not writer._native.exists(trend_names.top(path)) or writer._native.document(path) is None:
            continue
        view = writer._view() if view is None else view
        if lengths := wanted(view, path):
            try:
                array = view._array(path)
                sample_blocks.check(array)
                _write(writer, array, sample_times(array), lengths, row)
            except errors.Error:
                writer.delete(trend_names.top(path))


def _fits(array: Array) -> bool:
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        return False
    if KEY in array.attrs:
        return True
    if is_time(array):
        return False
    try:
        sample_times(array)
    except errors.Error:
        return False
    return True


def _default(array: Array, times: Times, every: bool) -> tuple[int, ...]:
    low, high = times.span
    step = (high - low) / max(times.count, 1) / NS
    least = 1 if every else _WORTH / array.dtype.itemsize
    return tuple(seconds for seconds in WINDOWS if step and seconds / step > least)


def _write(writer: Writer, array: Array, times: Times, lengths: Sequence[int], row: int) -> None:
    """Write all levels from the first changed sample on."""
    top = trend_names.top(array.path)
    known = {level.seconds: level for level in levels(array.repo, array.path)}
    if not writer._native.exists(top):
        writer._parents(top)
        writer._native.add_group(top, "{}")
    writer._native.set_attrs(top, dump({}, {"trend": {"windows": list(lengths)}}))
    chosen = [n for i, n in enumerate(lengths) if i == 0 or _spans_two(times, n)]
    for stale in (level for seconds, level in known.items() if seconds not in chosen):
        writer.delete(stale.path)
    if not times.count:
        return
    row = min(row, times.count - 1, *(level.rows for level in known.values()))
    begin, plan = times.time(row), list[LevelWriter]()
    for seconds in chosen:
        plan.append(LevelWriter(writer, array, times, seconds, plan[-1] if plan else None))
        plan[-1].start(known.get(seconds), begin)
    first = times.first_at(plan[0].begin * plan[0].length)
    _pour(plan, sample_blocks.sums(array, times, first, times.count, plan[0].length))
    for level in plan:
        level.close()


def _spans_two(times: Times, seconds: int) -> bool:
    low, high = times.span
    return high - low >= 2 * seconds * NS


def _pour(plan: Sequence[LevelWriter], parts: Iterator[Sums]) -> None:
    """Pass windows from level to level, beginning with the kept windows that coarser levels need."""
    for i in reversed(range(len(plan))):
        for part in plan[i].seeds():
            _pass(plan[i:], part)
    for part in parts:
        _pass(plan, part)
    for i, level in enumerate(plan):
        _pass(plan[i + 1 :], level.flush())


def _pass(plan: Sequence[LevelWriter], part: Sums) -> None:
    for level in plan:
        part = level.take(part)
