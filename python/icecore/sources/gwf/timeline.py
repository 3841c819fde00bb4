"""Assemble pieces of one channel from many files into arrays on a uniform time axis."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from icecore.repository.time_axis import NS, seconds_text
from icecore.sources.gwf.scan import Facts, FrameFile, Piece, exact_step

#: a start that is off the grid by no more than this fraction (1/100) of the sample distance, and by no more
#: than these nanoseconds (2⁻¹⁸ s, gwpy's tolerance of contiguous series), is moved onto it
SMALL, MOVED = 100, 3814


@dataclass(slots=True)
class Placed:
    """A piece, its file, the index of its first sample in the array, and the number of samples at its start
    that an earlier piece has.
    """

    index: int
    file: FrameFile
    piece: Piece
    skip: int = 0

    @property
    def count(self) -> int:
        """Number of samples that the array has from the piece."""
        return self.piece.count - self.skip

    @property
    def stop(self) -> int:
        """Index after its last sample."""
        return self.index + self.piece.count - self.skip


@dataclass
class Timeline:
    """Samples of one channel with one dtype, step and meaning: ``t0`` in GPS nanoseconds, ``step`` in
    seconds.

    ``moved`` holds the distances (ns) of the pieces that were off the grid by more than their rounding.
    """

    t0: int
    step: Fraction
    dtype: str
    facts: Facts
    pieces: list[Placed] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)

    @property
    def stop(self) -> int:
        """Number of samples of the whole array, gaps included."""
        return self.pieces[-1].stop if self.pieces else 0

    def time(self, index: int) -> int:
        """Return the GPS time of a sample in nanoseconds."""
        return self.t0 + round(index * self.step * NS)

    def position(self, start: int) -> tuple[int, int] | None:
        """Return the index of the sample at ``start`` (ns) and its distance from it (ns); None if ``start``
        is between two samples.
        """
        unit = self.step.numerator * NS  # in units of 1/denominator nanoseconds, because Fractions are slow
        index, beyond = divmod((start - self.t0) * self.step.denominator, unit)
        if 2 * beyond > unit:
            index, beyond = index + 1, unit - beyond
        if beyond == 0:
            return index, 0
        off = abs(self.time(index) - start)
        near = off <= 1 or (off <= MOVED and beyond * SMALL <= unit)
        return (index, off) if near else None

    def segments(self) -> list[list[int]]:
        """Return the spans [start, stop] in GPS nanoseconds that have samples."""
        runs: list[list[int]] = []
        for placed in self.pieces:
            if runs and runs[-1][1] == placed.index:
                runs[-1][1] = placed.stop
            else:
                runs.append([placed.index, placed.stop])
        return [[self.time(low), self.time(high)] for low, high in runs]

    def chunks(self) -> tuple[tuple[int, ...] | list[list[int]], list[int]]:
        """Return the chunk grid and the chunk number of each piece.

        The grid is regular if all pieces fit one, otherwise it has a chunk for each gap.
        """
        length = self.pieces[0].count
        if all(p.count == length and p.index % length == 0 for p in self.pieces):
            return (length,), [p.index // length for p in self.pieces]
        lengths: list[int] = []
        numbers = []
        at = 0
        for placed in self.pieces:
            if placed.index > at:
                lengths.append(placed.index - at)
            numbers.append(len(lengths))
            lengths.append(placed.count)
            at = placed.stop
        return [lengths], numbers

    def remarks(self) -> list[str]:
        """Return notes: overlaps, and pieces that were moved onto the grid."""
        if not self.moved:
            return self.notes
        said = f"{len(self.moved)} vectors start up to {max(self.moved)} ns off the samples' grid"
        return [*self.notes, f"{said} and were moved onto it"]


def timelines(pieces: Sequence[tuple[FrameFile, Piece]]) -> list[Timeline]:
    """Return the timelines of one channel, ordered by start.

    A piece with another dtype, step or meaning, or with samples between those of its line, begins a new line.
    Of samples that several pieces have, the first is kept.
    """
    lines: list[Timeline] = []
    alike: dict[tuple[str, int, int, Facts], list[Timeline]] = defaultdict(list)
    for file, piece in sorted(pieces, key=lambda item: item[1].start):
        step = exact_step(piece.step)  # its hash is slow
        among = alike[piece.dtype, step.numerator, step.denominator, piece.facts]
        line, index, off = _place(among, piece)
        if not line.pieces:
            lines.append(line)
        skip = max(min(line.stop - index, piece.count), 0)
        if skip:
            said = f"{file.path}: {skip} samples from GPS {seconds_text(piece.start)} are there already"
            rest = piece.count - skip
            line.notes.append(f"{said}; the file's {rest} others are used" if rest else said)
        if skip < piece.count:
            line.pieces.append(Placed(index + skip, file, piece, skip))
            if off > 1:
                line.moved.append(off)
    return lines


def _place(lines: list[Timeline], piece: Piece) -> tuple[Timeline, int, int]:
    """Return the line that a piece belongs to (a new one if none fits), the index of its first sample, and
    the distance (ns) of that sample from the piece's start.
    """
    for line in reversed(lines):
        found = line.position(piece.start)
        if found is not None:
            return line, *found
    lines.append(Timeline(piece.start, exact_step(piece.step), piece.dtype, piece.facts))
    return lines[-1], 0, 0


def changes(before: Timeline, line: Timeline) -> str:
    """Return what differs between two lines of a channel: ``the unit changed from 'V' to 'A'``."""
    found = []
    if before.dtype != line.dtype:
        found.append(f"the type changed from {before.dtype} to {line.dtype}")
    if before.step != line.step:
        found.append(
            f"the sampling changed from {float(1 / before.step):.10g} Hz to {float(1 / line.step):.10g} Hz"
        )
    for name, old, new in zip(_NAMES, before.facts, line.facts, strict=True):
        if old != new:
            found.append(f"the {name} changed from {old!r} to {new!r}")
    return "; ".join(found) or "the samples lie between those before"


_NAMES = ("unit", "slope", "bias", "frequency shift", "phase")
