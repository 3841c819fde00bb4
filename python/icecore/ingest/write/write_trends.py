"""Write stored trends, and update them when their arrays change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.codecs import spec
from icecore.layout import layout
from icecore.repository import channel_names
from icecore.repository.nodes import Node
from icecore.repository.repo import Repo
from icecore.repository.time_axis import KEY, NS, TimeAxis
from icecore.repository.typed_attributes import dump
from icecore.repository.zarr_dtypes import data_type, fill_json
from icecore.tables.summaries.write import write_for
from icecore.timeseries import sample_blocks
from icecore.timeseries.sample_times import Times, is_time, sample_times
from icecore.timeseries.stored_trend import WINDOWS, Level, levels, wanted
from icecore.timeseries.window_sums import Sums, joined, parse_windows
from icecore.writing.array_writer import ArrayWriter

if TYPE_CHECKING:
    from icecore.ingest.options import IngestOptions
    from icecore.ingest.plan.assembly import Step
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
        if not writer._native.exists(channel_names.top(path)) or writer._native.document(path) is None:
            continue
        view = writer._view() if view is None else view
        if lengths := wanted(view, path):
            try:
                array = view._array(path)
                sample_blocks.check(array)
                _write(writer, array, sample_times(array), lengths, row)
            except errors.Error:
                writer.delete(channel_names.top(path))


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
    top = channel_names.top(array.path)
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


# Writer of one level of a stored trend: merges windows in ascending order and stores the complete ones.

#: windows per chunk
_CHUNK = 16_384
#: windows per read
_READ = 1 << 20
#: CF's cell methods of the statistics (1.12, appendix E)
_METHODS = {"min": "minimum", "max": "maximum", "mean": "mean", "rms": "root_mean_square"}


class LevelWriter:
    """Accepts sums of windows in ascending order and stores complete windows.

    Attributes:
        length: length of a window, in nanoseconds.
        first: number of the level's first window, counted from the epoch.
        begin: number of the first window to write; earlier windows are kept.
    """

    def __init__(
        self, writer: Writer, array: Array, times: Times, seconds: int, finer: LevelWriter | None
    ) -> None:
        self._writer, self._array, self._times = writer, array, times
        self._seconds, self._finer = seconds, finer
        self._ratio = seconds // finer._seconds if finer is not None else 1
        self.length = seconds * NS
        low, high = times.span
        self.first = self.begin = low // self.length
        self._count = (high - 1) // self.length + 1 - self.first
        self._path = channel_names.level(array.path, seconds)
        self._known: Level | None = None
        self._open, self._done = joined([]), joined([])
        self._arrays: dict[str, ArrayWriter] = {}

    def start(self, known: Level | None, time: int) -> None:
        """Create the level's arrays, or keep the ``known`` windows that end before ``time`` (nanoseconds)."""
        if known is not None and known.first != self.first:
            self._writer.delete(known.path)
            known = None
        self._known = known
        if known is None:
            self._writer._parents(f"{self._path}/n")
        else:
            self.begin = max(min(time // self.length, known.first + known.count), self.first)
        for name in channel_names.STATISTICS:
            self._arrays[name] = self._made(name) if known is None else self._grown(name)

    def _made(self, name: str) -> ArrayWriter:
        dtype = self._dtype(name)
        kind, where = data_type(dtype), layout.Layout((_CHUNK,), None)
        codecs = spec.resolve("default", kind, dtype, where.chunk)
        fill = fill_json(0 if name == "n" else np.nan, dtype)
        path = f"{self._path}/{name}"
        document = layout.document(
            (self._count,), kind, fill, where, codecs, ("time",), self._attributes(name), None
        )
        self._writer._native.add_array(path, document)
        return ArrayWriter(self._writer, Node(path, True, document), dtype)

    def _grown(self, name: str) -> ArrayWriter:
        path = f"{self._path}/{name}"
        array = ArrayWriter(self._writer, self._array.repo._nodes[path], self._dtype(name))
        array.resize((self.begin - self.first,))
        array.resize((self._count,))
        self._writer._native.set_attrs(path, dump(self._attributes(name)))
        array.reread()
        return array

    def _dtype(self, name: str) -> np.dtype[Any]:
        scaled = {"scale_factor", "add_offset"} & self._array.attrs.keys()
        same = self._array.dtype == np.float32 and not scaled
        return np.dtype("u4" if name == "n" else "f4" if same and name in ("min", "max") else "f8")

    def _attributes(self, name: str) -> dict[str, Any]:
        attrs, start = self._array.attrs, self.first * self.length
        span = (start, start + self._count * self.length)
        axis = TimeAxis(start, Fraction(self._seconds), (span,), self._times.epoch)
        found: dict[str, Any] = {"channel": f"{attrs.get('channel', self._array.path)}.{name}"}
        if "units" in attrs and name != "n":
            found["units"] = attrs["units"]
        if name in _METHODS:
            found["cell_methods"] = f"time: {_METHODS[name]}"
        return {**found, KEY: axis.attribute()}

    def seeds(self) -> Iterator[Sums]:
        """Yield the kept windows of the finer level that are part of windows to be written."""
        finer = self._finer
        if finer is None or finer._known is None:
            return
        for at in range(self.begin * self._ratio, finer.begin, _READ):
            yield finer._known.sums(self._array.repo, at, min(at + _READ, finer.begin))

    def take(self, part: Sums) -> Sums:
        """Add windows of the finer level, or samples; return the complete windows of this level."""
        both = joined([self._open, part.merged(self._ratio)]).merged()
        done, self._open = both.part(slice(0, -1)), both.part(slice(-1, None))
        self._store(done)
        return done

    def flush(self) -> Sums:
        """Return the last window, complete or not."""
        done, self._open = self._open, joined([])
        self._store(done)
        return done

    def close(self) -> None:
        """Store the pending windows, and record the number of samples that the level covers."""
        self._write(len(self._done))
        stated = {"window": self._seconds, "rows": self._times.count}
        self._writer._native.set_attrs(self._path, dump({}, {"trend": stated}))

    def _store(self, done: Sums) -> None:
        self._done = joined([self._done, done])
        while len(self._done):
            chunk = (self._done.number - self.first) // _CHUNK
            behind = int(np.searchsorted(chunk, chunk[0], "right"))
            if behind == len(chunk):
                return
            self._write(behind)

    def _write(self, count: int) -> None:
        """Write the first ``count`` pending windows, which are in one chunk."""
        part, self._done = self._done.part(slice(0, count)), self._done.part(slice(count, None))
        part = part.part(slice(int(np.searchsorted(part.number, self.begin)), None))
        if not len(part):
            return
        at = int(part.number[0])
        place = part.number - at
        with np.errstate(invalid="ignore", divide="ignore"):
            mean, rms = part.total / part.count, np.sqrt(part.squares / part.count)
        none = part.count == 0
        ends = np.where(none, np.nan, part.low), np.where(none, np.nan, part.high)
        columns = (*ends, mean, rms, part.count)
        for (name, array), column in zip(self._arrays.items(), columns, strict=True):
            dense = np.full(int(place[-1]) + 1, 0 if name == "n" else np.nan, array.dtype)
            dense[place] = column
            array.write((at - self.first,), dense)


# Write summaries of arrays: trends of time series, zones of other columns.


def summarize(writer: Writer, steps: Sequence[Step], options: IngestOptions, packed: bool = False) -> None:
    """Write the summaries that ``options`` request.

    Args:
        writer: writer that contains the arrays.
        steps: the arrays.
        options: ``summaries`` and ``windows``.
        packed: whether channels get trends by default, if the trends are short compared with the samples.
    """
    windows = parse_windows(options.windows)
    if not packed and options.summaries:
        write_for(writer, [step.path for step in steps if KEY not in step.entry.attrs])
    if windows == () or not (options.summaries or windows or packed):
        return
    every = options.summaries or windows is not None
    paths = [step.path for step in steps if every or KEY in step.entry.attrs]
    if paths:
        write(writer, paths, windows, every)
