"""Chunks along the first axis of an array: equal ones, or of listed lengths after small appends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from icecore.repository.nodes import Node

#: chunks shorter than usual at the end of an array that are merged into one
_SHORT = 16
#: merged chunks together are at least this many times as long as the longest of them
_TIERS = 8
#: chunks at the end of an array that are considered for merging
_LOOKED_AT = 4096


class RowGrid:
    """Boundaries of the chunks (or shards) along the first axis.

    Appended rows get chunks of their own, so that an append costs what it adds. When many chunks are shorter
    than usual, :meth:`merged` says which of them to merge. They are of similar size then, as the runs of a
    log-structured merge tree, so that each row is written again only a few times.
    """

    def __init__(self, unit: int, lengths: np.ndarray | None = None) -> None:
        """Set up the grid; ``unit`` is the usual length of a chunk, ``lengths`` are listed lengths."""
        self.unit = unit
        self._bounds = None if lengths is None else np.concatenate([[0], np.cumsum(lengths, dtype="i8")])

    @classmethod
    def of(cls, document: Mapping[str, Any], unit: int) -> RowGrid:
        """Return the grid of an array's metadata document."""
        runs = listed(document)
        return cls(unit) if runs is None else cls(unit, lengths_of(runs))

    @property
    def is_listed(self) -> bool:
        """Whether lengths are listed, so that a chunk may have any length."""
        return self._bounds is not None

    def floor(self, row: int) -> int:
        """Return the last boundary at or before ``row``."""
        if self._bounds is None:
            return row // self.unit * self.unit
        return int(self._bounds[np.searchsorted(self._bounds, row, "right") - 1])

    def ceil(self, row: int) -> int:
        """Return the first boundary at or after ``row``; after the last chunk, ``row`` itself."""
        if self._bounds is None:
            return -(-row // self.unit) * self.unit
        at = np.searchsorted(self._bounds, row)
        return int(self._bounds[at]) if at < len(self._bounds) else row

    def count(self, rows: int) -> int:
        """Return the number of chunks of an array of ``rows`` rows."""
        return -(-rows // self.unit) if self._bounds is None else int(np.searchsorted(self._bounds, rows))

    def span(self, number: int) -> tuple[int, int]:
        """Return the first row of a chunk, and the row after its last one."""
        if self._bounds is None:
            return number * self.unit, (number + 1) * self.unit
        return int(self._bounds[number]), int(self._bounds[number + 1])

    def middle(self, low: int, high: int) -> int | None:
        """Return a boundary near the middle between two others; None if there is none between them."""
        if self._bounds is None:
            count = -(-(high - low) // self.unit)
            return low + count // 2 * self.unit if count > 1 else None
        first, last = np.searchsorted(self._bounds, [low, high])
        return int(self._bounds[(first + last) // 2]) if last - first > 1 else None

    def resized(self, rows: int) -> RowGrid:
        """Return the grid of an array of ``rows`` rows: chunks are added at the end, or left out."""
        if self._bounds is None:
            return self
        end = int(self._bounds[-1])
        if rows > end:
            whole, rest = divmod(rows - end, self.unit)
            added = [self.unit] * whole + ([rest] if rest else [])
            return RowGrid(self.unit, np.concatenate([np.diff(self._bounds), added]))
        kept = max(int(np.searchsorted(self._bounds, rows)), 1)
        return RowGrid(self.unit, np.diff(self._bounds)[:kept])

    def cut(self, rows: int) -> RowGrid:
        """Return the listed grid whose last chunk ends after ``rows`` rows."""
        assert self._bounds is not None
        kept = self._bounds[self._bounds < rows]
        return RowGrid(self.unit, np.diff([*kept.tolist(), rows]))

    def merged(self, rows: int, most: int) -> tuple[RowGrid, int] | None:
        """Return the grid after short chunks at the end were merged, and the first row that must be written
        again; None if none are merged.

        Args:
            rows: number of rows of the array.
            most: largest number of rows that are written again.
        """
        if self._bounds is None or rows != self._bounds[-1]:
            return None
        lengths = np.diff(self._bounds[-_LOOKED_AT:])[::-1]
        sums, largest = np.cumsum(lengths), np.maximum.accumulate(lengths)
        short = np.cumsum(lengths < self.unit)
        found = np.flatnonzero((short >= _SHORT) & (_TIERS * largest <= sums) & (sums <= most))
        # a chunk of full length at the beginning of the merged ones would only be copied
        found = found[lengths[found] < self.unit]
        if not len(found):
            return None
        first = rows - int(sums[found[-1]])
        return self.resized(first).resized(rows) if first else RowGrid(self.unit, np.empty(0, "i8")).resized(
            rows
        ), first

    @property
    def lengths(self) -> np.ndarray:
        """The listed lengths."""
        assert self._bounds is not None
        return np.diff(self._bounds)

    @property
    def runs(self) -> list[Any]:
        """The listed lengths as in the metadata: lengths and ``[length, count]`` pairs."""
        lengths = self.lengths
        starts = np.flatnonzero(np.diff(lengths, prepend=-1))
        counts = np.diff(starts, append=len(lengths))
        pairs = zip(lengths[starts].tolist(), counts.tolist(), strict=True)
        return [length if count == 1 else [length, count] for length, count in pairs] or [self.unit]


def listed(document: Mapping[str, Any]) -> list[Any] | None:
    """Return the listed chunk lengths along the first axis; None if the grid is regular, or irregular along
    another axis.
    """
    shapes = document.get("chunk_grid", {}).get("configuration", {}).get("chunk_shapes")
    if not shapes or any(len({*lengths_of(axis).tolist()}) > 1 for axis in shapes[1:]):
        return None
    return list(shapes[0]) if isinstance(shapes[0], list) else [shapes[0]]


def unit_of(node: Node) -> tuple[int, ...] | None:
    """Return the usual shape of the unit that is written at once: the shard or the chunk; None if the grid is
    irregular along other axes than the first.
    """
    chunk, shard = node.grid
    runs = listed(node.document)
    if shard or chunk or runs is None:
        return shard or chunk
    known = node.ours.get("grown", {}).get("chunk")
    if isinstance(known, list) and len(known) == len(node.shape) and all(n > 0 for n in known):
        return tuple(known)
    shapes = node.document["chunk_grid"]["configuration"]["chunk_shapes"]
    return tuple(int(lengths_of(axis).max(initial=1)) for axis in shapes)


def lengths_of(axis: Sequence[Any] | int) -> np.ndarray:
    """Return chunk lengths, from lengths and ``[length, count]`` pairs."""
    if isinstance(axis, int):
        return np.array([axis])
    pairs = [run if isinstance(run, list) else [run, 1] for run in axis]
    lengths, counts = np.array(pairs, "i8").reshape(-1, 2).T
    return np.repeat(lengths, counts)
