"""Index frame files on all cores: channels and the locations of their vectors."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import lru_cache, partial
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from icecore import errors
from icecore.cluster.tasks import Cluster
from icecore.repository.zarr_dtypes import fill_json
from icecore.sources.files.byte_source import for_parser
from icecore.sources.files.identity import Identity, identity

#: number of files indexed between two progress reports
_BATCH = 64
#: relative error of a step that a writer computed from an integer rate
_EXACT = 1e-12
#: largest denominator of a step that is not one of an integer rate
_SIMPLE = 1 << 20


class Facts(NamedTuple):
    """The meaning of a channel's numbers, as one frame states it.

    ``slope`` and ``bias`` of an ADC channel; ``shift`` (Hz) and ``phase`` (radians) of a signal that the
    samples were mixed with. Numbers that are not finite are text, as in JSON attributes.
    """

    unit: str = ""
    slope: float | str = 1.0
    bias: float | str = 0.0
    shift: float | str = 0.0
    phase: float | str = 0.0


@dataclass(slots=True)
class Piece:
    """A channel's data in one frame: times in GPS nanoseconds, ``step`` in seconds, bytes in the file.

    Not frozen, because an archive has a hundred million of them and frozen instances take longer to make.
    """

    start: int
    step: float
    series: int
    dtype: str
    count: int
    dims: int
    offset: int
    length: int
    compress: int
    invalid: int
    facts: Facts


class FrameChannel(NamedTuple):
    """A channel of a file: ``kind`` is ``adc``, ``proc`` or ``sim``, or of a vector beside the data of the
    channel ``of``: ``aux`` or ``vect``.
    """

    name: str
    kind: str
    pieces: list[Piece]
    of: str


@dataclass
class FrameFile:
    """Index of one file; ``others`` are class and name of structures with data that are not read."""

    path: str
    identity: Identity
    version: int
    from_toc: bool
    frames: list[tuple[int, int]]
    channels: list[FrameChannel]
    events: list[tuple[str, int]] = field(default_factory=list)
    others: list[tuple[str, str]] = field(default_factory=list)
    problems: list[tuple[str, str, int, str]] = field(default_factory=list)


@lru_cache(1024)
def exact_step(step: float) -> Fraction:
    """Return the seconds between samples as a fraction: ``1/rate`` if the rate is an integer, else the
    simplest fraction with the same float64.
    """
    rate = 1 / step
    whole = round(rate)
    if whole and abs(rate - whole) < _EXACT * rate:
        return Fraction(1, whole)
    simple = Fraction(step).limit_denominator(_SIMPLE)
    return simple if float(simple) == step else Fraction(step)


def scan(
    paths: Sequence[str],
    frames: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
    cluster: Cluster | None = None,
) -> list[FrameFile | errors.Error]:
    """Index files, in order.

    Args:
        paths: paths or URLs of files.
        frames: number of frames per file in which channels are searched; 0 means all.
        progress: called with (file, bytes of the indexed files, bytes of all files).
        cluster: index the files on its workers.

    Returns:
        For each file its index, or the error that reading it raised.
    """
    found: list[FrameFile | errors.Error] = []
    sizes = [os.path.getsize(path) if os.path.isfile(path) else 0 for path in paths] if progress else []
    size = _BATCH if cluster is None else max(min(len(paths) // (4 * cluster.threads), _BATCH), 1)
    batches = [paths[low : low + size] for low in range(0, len(paths), size)]
    work = partial(_batch, frames=frames)
    results = (work(batch) for batch in batches)
    if cluster is not None:
        results = (result() for _, result in cluster.in_order(work, batches))
    for batch, indexed in zip(batches, results, strict=True):
        found += indexed
        if progress is not None:
            progress(batch[-1], sum(sizes[: len(found)]), sum(sizes))
    return found


def _batch(paths: Sequence[str], frames: int) -> list[FrameFile | errors.Error]:
    from icecore import _icecore

    before = [_identity(path) for path in paths]
    sources = [
        path if isinstance(known, errors.Error) else for_parser(path)
        for path, known in zip(paths, before, strict=True)
    ]
    indexed = _icecore.gwf_index(sources, frames, os.cpu_count() or 1)
    return [_file(*each) for each in zip(paths, before, indexed, strict=True)]


def _identity(path: str) -> Identity | errors.Error:
    try:
        return identity(path)
    except errors.Error as error:
        return error


def _file(path: str, known: Identity | errors.Error, indexed: Any) -> FrameFile | errors.Error:
    if isinstance(known, errors.Error):
        return known
    if isinstance(indexed, tuple):
        kind, message, hint = indexed
        return errors.make(kind, message if path in message else f"{path}: {message}", hint)
    channels = [
        FrameChannel(
            name, kind, [Piece(*(*what, *place, _facts(facts))) for what, place, facts in pieces], of
        )
        for name, kind, pieces, of in indexed["channels"]
    ]
    return FrameFile(
        path,
        known,
        indexed["version"],
        indexed["from_toc"],
        indexed["frames"],
        channels,
        indexed["events"],
        indexed["others"],
        indexed["problems"],
    )


@lru_cache(4096)
def _facts(stated: tuple[str, float, float, float, float]) -> Facts:
    """Return one object for all pieces with these facts, which makes comparing them fast."""
    unit, *numbers = stated
    return Facts(
        unit, *(number if isfinite(number) else fill_json(number, np.dtype("f8")) for number in numbers)
    )


# List the channels of frame files for ``icecore ls``; only one frame per file is read.

_NS = 1_000_000_000


@dataclass(frozen=True)
class ChannelRow:
    """One channel: ``rate`` in Hz, ``start`` and ``stop`` in GPS seconds (of the frames)."""

    channel: str
    rate: float
    dtype: str
    unit: str
    start: float
    stop: float
    kind: str

    def as_dict(self) -> dict[str, Any]:
        """The row as plain values."""
        return asdict(self)


def list_channels(path: str, find: str | None = None) -> tuple[FrameFile, list[ChannelRow]]:
    """Return the channels of a frame file whose names match the shell pattern ``find``, sorted by name.

    Raises:
        Error: ``format``, ``corrupt``, ``source-missing``; ``not-found`` if no channel matches.
    """
    file = scan([path], frames=1)[0]
    if isinstance(file, errors.Error):
        raise file
    start, stop = (time / _NS for time in frame_span(file.frames))
    rows = []
    for name, kind, pieces, _ in file.channels:
        if pieces and (find is None or fnmatchcase(name, find)):
            piece = pieces[0]
            rate = float(1 / exact_step(piece.step))
            rows.append(ChannelRow(name, rate, piece.dtype, piece.facts.unit, start, stop, kind))
    if find is not None and not rows:
        hint = f"it has {len(file.channels)} channels; quote the pattern: --find 'H1:*STRAIN*'"
        raise errors.make("not-found", f"no channel of {path} matches {find}", hint)
    return file, sorted(rows, key=lambda row: row.channel)


def frame_span(frames: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return start and end of a file's frames in GPS nanoseconds."""
    if not frames:
        return 0, 0
    return min(start for start, _ in frames), max(start + length for start, length in frames)
