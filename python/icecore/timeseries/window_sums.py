"""Window sums: reduce samples to count, sums, minimum and maximum; combine windows to longer ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from icecore import errors


@dataclass(frozen=True)
class Sums:
    """Windows in order of ``number``, with or without samples.

    Attributes:
        number: number of the window, counted from the epoch, int64.
        count: number of samples that exist and are not NaN, int64.
        total: sum of the samples, float64.
        squares: sum of their squares, float64.
        low: minimum, float64; +inf without samples.
        high: maximum, float64; -inf without samples.
    """

    number: np.ndarray
    count: np.ndarray
    total: np.ndarray
    squares: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def __len__(self) -> int:
        return len(self.number)

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        """All columns in the order of the fields."""
        return self.number, self.count, self.total, self.squares, self.low, self.high

    def part(self, which: slice) -> Sums:
        """Return a range of the windows."""
        return Sums(*(column[which] for column in self.columns))

    def merged(self, length: int = 1) -> Sums:
        """Merge windows to ``length`` times their length; windows with the same number become one."""
        if not len(self):
            return self
        number = self.number // length
        starts = np.flatnonzero(np.diff(number, prepend=number[0] - 1))
        return Sums(
            number[starts],
            np.add.reduceat(self.count, starts),
            np.add.reduceat(self.total, starts),
            np.add.reduceat(self.squares, starts),
            np.minimum.reduceat(self.low, starts),
            np.maximum.reduceat(self.high, starts),
        )


def joined(parts: list[Sums]) -> Sums:
    """Concatenate the windows of several parts."""
    columns = [part.columns for part in parts]
    if not columns:
        return Sums(*(np.empty(0, dtype) for dtype in ("i8", "i8", "f8", "f8", "f8", "f8")))
    return Sums(*(np.concatenate(column) for column in zip(*columns, strict=True)))


def reduce(values: np.ndarray, numbers: np.ndarray, starts: np.ndarray) -> Sums:
    """Reduce samples to windows.

    Args:
        values: real samples, shape (n,); NaN doesn't count.
        numbers: numbers of the windows, ascending.
        starts: index of the first sample of each window; the first is 0.
    """
    length = len(values) // len(starts)
    if length * len(starts) == len(values) and (np.diff(starts) == length).all():
        rows = values.reshape(len(starts), length)
        low, high = rows.min(axis=1), rows.max(axis=1)
        if low.dtype.kind != "f" or not np.isnan(low).any():
            wide = rows.astype("f8", copy=False)
            with np.errstate(over="ignore", invalid="ignore"):
                squares = np.einsum("ij,ij->i", wide, wide)
                total = wide.sum(axis=1)
            count = np.full(len(starts), length, "i8")
            return Sums(numbers, count, total, squares, low.astype("f8"), high.astype("f8"))
    return _masked(values.astype("f8"), numbers, starts)


def _masked(values: np.ndarray, numbers: np.ndarray, starts: np.ndarray) -> Sums:
    there = ~np.isnan(values)
    zero = np.where(there, values, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        return Sums(
            numbers,
            np.add.reduceat(there, starts, dtype="i8"),
            np.add.reduceat(zero, starts),
            np.add.reduceat(zero * zero, starts),
            np.minimum.reduceat(np.where(there, values, np.inf), starts),
            np.maximum.reduceat(np.where(there, values, -np.inf), starts),
        )


# Parser of the window lengths of trends.


def parse_windows(text: str | Sequence[int] | None) -> tuple[int, ...] | None:
    """Parse window lengths such as ``"1s,60s"`` to ascending seconds; ``"none"`` is empty, None stays None.

    Raises:
        Error: ``invalid`` unless all are integer seconds and each is a multiple of the one before.
    """
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")] if isinstance(text, str) else list(text)
    if words == ["none"]:
        return ()
    try:
        seconds = sorted({int(word.removesuffix("s")) if isinstance(word, str) else word for word in words})
    except ValueError:
        seconds = [0]
    pairs = pairwise(seconds)
    if min(seconds, default=1) < 1 or any(long % short for short, long in pairs):
        hint = "whole seconds, each a multiple of the one before: 1s,60s,3600s; or none"
        raise errors.make("invalid", f"windows of trends: got {text!r}", hint)
    return tuple(seconds)
