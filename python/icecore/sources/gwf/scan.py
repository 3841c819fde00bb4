"""Index frame files on all cores: channels and the locations of their vectors."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from icecore import errors
from icecore.cluster.tasks import Cluster
from icecore.sources.files.identity import Identity, identity

#: number of files indexed between two progress reports
_BATCH = 64
_EXACT = 1e-9


@dataclass(slots=True)
class Piece:
    """A channel's data in one frame: times in GPS nanoseconds, ``step`` in seconds, bytes in the file.

    Not frozen, because an archive has a hundred million of them and frozen instances take longer to make.
    """

    start: int
    step: float
    unit: str
    series: int
    dtype: str
    count: int
    dims: int
    offset: int
    length: int
    compress: int
    invalid: int
    slope: float
    bias: float
    masked: bool


@dataclass
class FrameFile:
    """Index of one file."""

    path: str
    identity: Identity
    version: int
    from_toc: bool
    frames: list[tuple[int, int]]
    channels: list[tuple[str, str, list[Piece]]]
    events: list[tuple[str, int]] = field(default_factory=list)
    problems: list[tuple[str, str, int, str]] = field(default_factory=list)


@lru_cache(1024)
def exact_step(step: float) -> Fraction:
    """Return the seconds between samples as a fraction: ``1/rate`` if the rate is an integer."""
    rate = 1 / step
    whole = round(rate)
    if whole and abs(rate - whole) < _EXACT * rate:
        return Fraction(1, whole)
    return Fraction(step)


def scan(
    paths: Sequence[str],
    frames: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
    cluster: Cluster | None = None,
) -> list[FrameFile | errors.Error]:
    """Index files, in order.

    Args:
        paths: paths of local files.
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
    indexed = _icecore.gwf_index(list(paths), frames, os.cpu_count() or 1)
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
        (name, kind, [Piece(*what, *place) for what, place in pieces])
        for name, kind, pieces in indexed["channels"]
    ]
    return FrameFile(
        path,
        known,
        indexed["version"],
        indexed["from_toc"],
        indexed["frames"],
        channels,
        indexed["events"],
        indexed["problems"],
    )
