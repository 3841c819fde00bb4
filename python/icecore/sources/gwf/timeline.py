"""Assemble pieces of one channel from many files into arrays on a uniform time axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from icecore.sources.gwf.scan import FrameFile, Piece, exact_step

_NS = 1_000_000_000
#: rounding to nanoseconds may shift a sample by at most this fraction (1/100) of the sample distance
_ROUNDED = 100


@dataclass(slots=True)
class Placed:
    """A piece, its file, and the index of its first sample in the array."""

    index: int
    file: FrameFile
    piece: Piece


@dataclass
class Timeline:
    """Samples of one channel with one dtype and step: ``t0`` in GPS nanoseconds, ``step`` in seconds."""

    t0: int
    step: Fraction
    dtype: str
    pieces: list[Placed] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def stop(self) -> int:
        """Number of samples of the whole array, gaps included."""
        return self.pieces[-1].index + self.pieces[-1].piece.count if self.pieces else 0

    def time(self, index: int) -> int:
        """Return the GPS time of a sample in nanoseconds."""
        return self.t0 + round(index * self.step * _NS)

    def position(self, start: int) -> int | None:
        """Return the index of the sample at ``start`` (ns); None if it is between two samples."""
        unit = self.step.numerator * _NS  # in units of 1/denominator nanoseconds, because Fractions are slow
        index, beyond = divmod((start - self.t0) * self.step.denominator, unit)
        if 2 * beyond > unit:
            index, beyond = index + 1, unit - beyond
        near = beyond * _ROUNDED <= unit or abs(self.time(index) - start) <= 1
        return index if near else None

    def segments(self) -> list[list[int]]:
        """Return the spans [start, stop] in GPS nanoseconds that have samples."""
        runs: list[list[int]] = []
        for placed in self.pieces:
            low, high = placed.index, placed.index + placed.piece.count
            if runs and runs[-1][1] == low:
                runs[-1][1] = high
            else:
                runs.append([low, high])
        return [[self.time(low), self.time(high)] for low, high in runs]

    def chunks(self) -> tuple[tuple[int, ...] | list[list[int]], list[int]]:
        """Return the chunk grid and the chunk number of each piece.

        The grid is regular if all pieces fit one, otherwise it has a chunk for each gap.
        """
        length = self.pieces[0].piece.count
        if all(p.piece.count == length and p.index % length == 0 for p in self.pieces):
            return (length,), [p.index // length for p in self.pieces]
        lengths: list[int] = []
        numbers = []
        at = 0
        for placed in self.pieces:
            if placed.index > at:
                lengths.append(placed.index - at)
            numbers.append(len(lengths))
            lengths.append(placed.piece.count)
            at = placed.index + placed.piece.count
        return [lengths], numbers


def timelines(pieces: Sequence[tuple[FrameFile, Piece]]) -> list[Timeline]:
    """Return the timelines of one channel, ordered by start.

    A piece with another dtype or step, or with samples between those of its line, begins a new line. If
    pieces overlap, the first one is kept.
    """
    lines: list[Timeline] = []
    for file, piece in sorted(pieces, key=lambda item: item[1].start):
        line, index = _place(lines, piece)
        stop = line.stop
        if index < stop:
            shared = min(stop - index, piece.count)
            lost = piece.count - shared
            said = f"{file.path}: {shared} samples from GPS {piece.start / _NS:.9f} are there already"
            line.notes.append(f"{said}; the file's {lost} others are left out" if lost else said)
        else:
            line.pieces.append(Placed(index, file, piece))
    return lines


def _place(lines: list[Timeline], piece: Piece) -> tuple[Timeline, int]:
    """Return the line that a piece belongs to (a new one if none fits), and the index of its first sample."""
    step = exact_step(piece.step)
    for line in reversed(lines):
        if line.dtype == piece.dtype and line.step == step:
            index = line.position(piece.start)
            if index is not None:
                return line, index
    lines.append(Timeline(piece.start, step, piece.dtype))
    return lines[-1], 0
