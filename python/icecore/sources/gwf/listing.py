"""List the channels of frame files for ``icecore ls``; only one frame per file is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

from icecore import errors
from icecore.sources.gwf.scan import FrameFile, exact_step, scan

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
