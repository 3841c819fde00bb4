"""Write time series as frame files: longer, compressed, with a table of contents and checksums."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.display import text
from icecore.display.progress import ProgressCall
from icecore.display.progress_bar import reported
from icecore.export import gwf
from icecore.filesystem.atomic_output import folder
from icecore.frames import plan
from icecore.frames.trend_channels import LENGTHS, Trends
from icecore.ingest.link import link
from icecore.ingest.plan.repository_source import is_repository
from icecore.repository.nodes import HIDDEN
from icecore.repository.open import create, open
from icecore.repository.repo import Repo
from icecore.repository.time_axis import NS, TimeAxis
from icecore.timeseries.gps import gps_ns

if TYPE_CHECKING:
    from icecore.repository.array import Array

#: most bytes of samples that are held at once, but for one vector
BATCH = 64 << 20
#: names of files by LIGO's convention (T010150)
_NAMED = re.compile(r"^[A-Z]+-(?P<description>[A-Za-z0-9_+#]+)-\d+-\d+\.gwf$")
_TREND_NAMES = {"second": "T", "minute": "M"}
#: low byte of FrVect's ``compress`` → word
_MODES = {0: "raw", 1: "gzip", 3: "diff-gzip", 5: "zero-suppress", 8: "zero-suppress", 10: "zero-suppress"}


@dataclass
class Reframed:
    """The outcome of a reframe.

    Attributes:
        files: the written files, in the order of their times.
        channels: number of channels.
        samples: bytes of their samples.
        bytes: bytes of the files.
        modes: number of vectors with each compression.
        skipped: paths of arrays that are not channels, and why.
    """

    files: list[str] = field(default_factory=list)
    channels: int = 0
    samples: int = 0
    bytes: int = 0
    modes: Counter[str] = field(default_factory=Counter)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def __str__(self) -> str:
        modes = ", ".join(f"{count} {name}" for name, count in self.modes.most_common())
        ratio = self.samples / self.bytes if self.bytes else 0
        said = f"{text.plural(len(self.files), 'file')} of {text.plural(self.channels, 'channel')}: "
        said += f"{text.size(self.samples)} of samples in {text.size(self.bytes)} ({ratio:.2f} times smaller)"
        return said + (f"; {modes}" if modes else "")


def reframe(
    sources: Any,
    output: str | os.PathLike[str],
    seconds: float | None = None,
    compress: str = "best",
    *,
    channels: Sequence[str] | str | None = None,
    exclude: Sequence[str] | str | None = None,
    start: Any = None,
    stop: Any = None,
    trend: str | None = None,
    description: str | None = None,
    replace: bool = False,
    storage: dict[str, str] | None = None,
    progress: bool | ProgressCall = False,
) -> Reframed:
    """Write the channels of sources as frame files (GWF version 8) of one frame each.

    Frames begin at multiples of their length in GPS seconds, and end where a channel begins or ends: no file
    has samples that its source has not. The samples are stored bit for bit.

    Args:
        sources: frame files, directories, globs or other sources of :func:`icecore.link`; or one repository.
        output: directory of the files, which is created. They are named by LIGO's convention,
            ``H-DESCRIPTION-GPS-SECONDS.gwf``, and appear when they are complete.
        seconds: length of a frame; 128 by default, of trends an hour (``second``) or a day (``minute``).
        compress: ``raw``, ``gzip``, ``diff-gzip``, ``zero-suppress``, or ``best``: the smallest of all for
            each vector. What a mode can't hold or enlarges is stored with gzip or raw.
        channels: shell patterns of channel names (``H1:*STRAIN``) or of paths; all by default.
        exclude: shell patterns of channels to leave out.
        start: GPS seconds or UTC; the first sample by default.
        stop: end, not included.
        trend: ``second`` or ``minute``: write trends (``X.min``, ``.max``, ``.mean``, ``.rms``, ``.n``)
            instead of samples, from stored trends if there are some.
        description: second part of the names; that of the sources' names by default, else ``ICECORE``.
        replace: overwrite existing files.
        storage: options of the repository's or the sources' object store.
        progress: true for a bar; or a function that is called with (file, finished bytes, all bytes).

    Returns:
        The files and their sizes.

    Raises:
        Error: ``invalid`` for channels whose samples don't fit the frames, duplicate names, and names that
            the format can't hold; ``not-found`` if no channel matches; ``exists`` for existing files; ``io``.

    Example:
        >>> import icecore
        >>> t0 = 10**18
        >>> axis = {"epoch": "GPS", "t0_ns": t0, "step": [1, 4], "segments": [[t0, t0 + 2 * 10**9]]}
        >>> repo = icecore.create("memory://")
        >>> with repo.writer() as w:  # 2 s at 4 Hz, as linked frames have them
        ...     w.array("/H1/X", "f4", (8,), ("time",), attrs={"icecore_time": axis})[...] = range(8)
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [file[-26:] for file in icecore.reframe(repo.at("main"), folder, seconds=64).files]
        ['H-ICECORE-1000000000-2.gwf']
    """
    if trend is not None and trend not in LENGTHS:
        raise errors.make("invalid", f"trend: {' or '.join(LENGTHS)} (got {trend!r})")
    length = seconds if seconds is not None else LENGTHS[trend] if trend else 128
    if not 0 < length <= 10**7 or length * NS != round(length * NS):
        raise errors.make("invalid", f"seconds: more than 0, with at most nine decimals (got {length})")
    repo = _opened(sources, storage)
    result = Reframed()
    series = _chosen(repo, _words(channels), _words(exclude), result)
    result.channels = len(series)
    span = None if start is None else gps_ns(start), None if stop is None else gps_ns(stop)
    name = description or _described(sources, trend)
    with folder(os.fspath(output)), reported(progress, "reframe") as call:
        job = _Job(repo, os.fspath(output), round(length * NS), compress, name, replace, result, call)
        job.total = _total(series, span)
        if trend is not None:
            job.write_trends(Trends(series, trend), span)
        else:
            job.write(series, span)
    return result


def _words(given: Sequence[str] | str | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or [])


def _opened(sources: Any, storage: dict[str, str] | None) -> Repo:
    if isinstance(sources, Repo):
        return sources
    if isinstance(sources, (list, tuple)) and len(sources) == 1:
        return _opened(sources[0], storage)
    if isinstance(sources, (str, os.PathLike)) and is_repository(os.fspath(sources)):
        return open(os.fspath(sources), storage=storage)
    repo = create("memory://", storage=storage)
    link(sources, repo)
    return repo.at("main")


def _described(sources: Any, trend: str | None) -> str:
    """The description of the first source that is named by the convention."""
    first = sources[0] if isinstance(sources, (list, tuple)) and sources else sources
    if trend is None and isinstance(first, (str, os.PathLike)):
        path = os.fspath(first)
        names = sorted(os.listdir(path))[:64] if os.path.isdir(path) else [os.path.basename(path)]
        for found in map(_NAMED.match, names):
            if found:
                return found["description"]
    return f"ICECORE_{_TREND_NAMES[trend]}" if trend else "ICECORE"


def _chosen(repo: Repo, channels: list[str], exclude: list[str], result: Reframed) -> list[plan.Series]:
    arrays: list[tuple[Array, TimeAxis]] = []
    for path, array in repo.arrays.items():
        if any(part in HIDDEN for part in path.split("/")):
            continue
        names = (gwf.name_of(array), path)
        if (channels and not _matches(names, channels)) or _matches(names, exclude):
            continue
        try:
            arrays.append((array, gwf.check(array)))
        except errors.Error as error:
            result.skipped.append((path, error.message))
    found = plan.with_auxiliary(arrays)
    if not found:
        wanted = f" that match {', '.join(channels)}" if channels else ""
        hint = "see the channels: icecore ls SOURCE"
        raise errors.make("not-found", f"no channels{wanted} with a time axis in GPS", hint)
    return sorted(found, key=lambda s: (gwf.kind_of(s.array, bool(s.aux)) != "adc", s.name))


def _matches(names: Sequence[str], patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _total(series: Sequence[plan.Series], span: tuple[int | None, int | None]) -> int:
    total = 0
    for each in series:
        for low, high in each.axis.segments:
            low = low if span[0] is None else max(low, span[0])
            high = high if span[1] is None else min(high, span[1])
            total += max(each.axis.index(high) - each.axis.index(low), 0) * each.array.dtype.itemsize
    return total


@dataclass
class _Job:
    repo: Repo
    output: str
    length: int
    compress: str
    description: str
    replace: bool
    result: Reframed
    progress: ProgressCall | None
    total: int = 0

    def write(self, series: Sequence[plan.Series], span: tuple[int | None, int | None]) -> None:
        """Write all frames."""
        for each in plan.spans(series, self.length, *span):
            kinds = Counter(gwf.kind_of(s.array, bool(s.aux)) for s in each.series)
            names = [s.name for s in each.series]
            self._file(each.start, each.stop, names, kinds, self._channels(each))
        if not self.result.files:
            raise errors.make("not-found", "no channel has samples in the stretch", "see `icecore info`")

    def write_trends(self, trends: Trends, span: tuple[int | None, int | None]) -> None:
        """Write the trends of all channels."""
        for start, stop in trends.frames(self.length, *span):
            kinds = Counter({"proc": len(trends.names)})
            self._file(start, stop, trends.names, kinds, trends.channels(start, stop))
        if not self.result.files:
            raise errors.make("not-found", "no channel has samples in the stretch", "see `icecore info`")

    def _file(
        self,
        start: int,
        stop: int,
        names: Sequence[str],
        kinds: Counter[str],
        batches: Iterator[list[gwf.Channel]],
    ) -> None:
        path = os.path.join(self.output, gwf.file_name(names, self.description, start, stop))
        if os.path.exists(path) and not self.replace:
            raise errors.make(
                "exists", f"{path} exists", "--replace overwrites it, or name another directory"
            )
        comment = f"reframed to {self.length / NS:g} s, {self.compress}"
        with gwf.frame(path, start, stop, kinds, self.compress, comment) as file:
            for batch in batches:
                for code, _ in file.add(batch):
                    self.result.modes[_MODES.get(code & 0xFF, str(code & 0xFF))] += 1
                self.result.samples += sum(each.data.samples.nbytes for each in batch)
                if self.progress is not None:
                    self.progress(path, min(self.result.samples, self.total), self.total)
        self.result.files.append(path)
        self.result.bytes += file.size

    def _channels(self, span: plan.Span) -> Iterator[list[gwf.Channel]]:
        """Yield the channels of a frame in batches whose samples take about :data:`BATCH` bytes."""
        batch: list[plan.Series] = []
        size = 0
        for each in span.series:
            first, last = each.range(span.start, span.stop)
            nbytes = (last - first) * each.array.dtype.itemsize
            if batch and size + nbytes > BATCH:
                yield self._read(batch, span)
                batch, size = [], 0
            batch.append(each)
            size += nbytes
        if batch:
            yield self._read(batch, span)

    def _read(self, batch: Sequence[plan.Series], span: plan.Span) -> list[gwf.Channel]:
        ranges = {s.array.path: s.range(span.start, span.stop) for s in batch}
        for s in batch:
            for _, array, axis in s.aux:
                ranges[array.path] = axis.first_at(span.start), axis.first_at(span.stop)
        found = self.repo.read({path: slice(low, high) for path, (low, high) in ranges.items()})
        made = []
        for s in batch:
            aux = [
                gwf.Vector(name, found[array.path], float(axis.step), gwf.unit_of(array.attrs))
                for name, array, axis in s.aux
                if len(found[array.path])
            ]
            first = ranges[s.array.path][0]
            kind = gwf.kind_of(s.array, bool(s.aux))
            made.append(gwf.channel(s.array, s.axis, found[s.array.path], first, span.start, kind, aux))
        return made
