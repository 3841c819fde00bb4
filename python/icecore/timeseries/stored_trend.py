"""Stored trends of an array: their levels, and reading their windows (docs/format.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore.repository import channel_names
from icecore.repository.nodes import Node
from icecore.repository.time_axis import NS, TimeAxis
from icecore.timeseries.window_sums import Sums

if TYPE_CHECKING:
    from icecore.repository.array import Array
    from icecore.repository.repo import Repo

#: default lengths of windows in seconds
WINDOWS = (1, 60, 3600)


@dataclass(frozen=True)
class Level:
    """Stored windows of one length.

    Attributes:
        path: path of the group with the arrays ``min``, ``max``, ``mean``, ``rms`` and ``n``.
        seconds: length of a window in seconds.
        first: number of the first window, counted from the epoch.
        count: number of windows.
        rows: number of samples of the array when the windows were written.
    """

    path: str
    seconds: int
    first: int
    count: int
    rows: int

    @property
    def length(self) -> int:
        """Length of a window in nanoseconds."""
        return self.seconds * NS

    def items(self, low: int, high: int) -> dict[str, Any]:
        """Return the argument of :meth:`icecore.Repo.read` for the windows with numbers [low, high)."""
        part = slice(max(low - self.first, 0), max(min(high - self.first, self.count), 0))
        return {f"{self.path}/{name}": part for name in channel_names.STATISTICS}

    def sums(self, repo: Repo, low: int, high: int) -> Sums:
        """Return the windows with numbers [low, high) that have samples."""
        low, high = max(low, self.first), min(high, self.first + self.count)
        least, most, mean, rms, count = repo.read(self.items(low, max(high, low))).values()
        number = np.arange(low, low + len(count))
        there = count > 0
        n = count[there].astype("i8")
        total, squares = mean[there] * n, rms[there] * rms[there] * n
        ends = least[there].astype("f8"), most[there].astype("f8")
        return Sums(number[there], n, total, squares, *ends)


def wanted(repo: Repo, path: str) -> tuple[int, ...]:
    """Return the window lengths in seconds that an array's trends should have; empty without trends."""
    node = repo._nodes.get(channel_names.top(path))
    stated = node.ours.get("trend", {}).get("windows") if node is not None else None
    if not isinstance(stated, list) or not all(isinstance(n, int) and n > 0 for n in stated):
        return ()
    return tuple(stated)


def levels(repo: Repo, path: str) -> list[Level]:
    """Return the stored levels of an array, finest first, including outdated ones."""
    found = (_level(repo, path, seconds) for seconds in wanted(repo, path))
    return [level for level in found if level is not None]


def _level(repo: Repo, path: str, seconds: int) -> Level | None:
    group = channel_names.level(path, seconds)
    nodes = [repo._nodes.get(f"{group}/{name}") for name in channel_names.STATISTICS]
    rows = _rows(repo._nodes.get(group))
    if rows is None or any(node is None for node in nodes):
        return None
    axis = TimeAxis.of(nodes[0].attrs) if nodes[0] is not None else None
    lengths = {node.shape for node in nodes if node is not None}
    if axis is None or axis.step != seconds or len(lengths) != 1:
        return None
    [(count,)] = lengths
    return Level(group, seconds, axis.t0 // (seconds * NS), count, rows)


def _rows(node: Node | None) -> int | None:
    stated = node.ours.get("trend", {}).get("rows") if node is not None else None
    return stated if isinstance(stated, int) else None


def fresh(array: Array) -> list[Level]:
    """Return the levels that include all samples of an array."""
    found = levels(array.repo, array.path)
    return [level for level in found if level.rows == array.shape[0]]
