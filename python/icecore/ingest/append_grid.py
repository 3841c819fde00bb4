"""Chunk grid of a linked array after more linked chunks were appended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icecore.ingest.placement import Step
from icecore.repository.nodes import Node
from icecore.sources.mapping.array_map import ArrayEntry, chunk_grid
from icecore.writing.row_grid import lengths_of


@dataclass(frozen=True)
class AppendGrid:
    """Grid of an array after appending.

    Attributes:
        document: the ``chunk_grid`` of its metadata.
        counts: number of chunks along each axis.
        first: number of the first new chunk along the joined axis.
        border: the last stored rows (first, last + 1) along that axis whose chunk is cut to their length, so
            that they must be written again; None if there are none.
    """

    document: dict[str, Any]
    counts: tuple[int, ...]
    first: int
    border: tuple[int, int] | None

    @property
    def is_regular(self) -> bool:
        """Whether all chunks have one shape."""
        return self.document["name"] == "regular"

    def numbers(self, chunks: np.ndarray, grid: Sequence[int], axis: int) -> np.ndarray:
        """Return the numbers in this grid of chunks of the new part, which has a ``grid`` of its own."""
        index = list(np.unravel_index(np.asarray(chunks, "i8"), tuple(grid)))
        index[axis] = index[axis] + self.first
        return np.ascontiguousarray(np.ravel_multi_index(tuple(index), self.counts), "u8")


def append_grid(step: Step) -> AppendGrid | str:
    """Return the grid of the stored array with the new part's chunks, or why they don't fit."""
    entry, old, axis = step.entry, step.old, step.axis
    assert old is not None
    stored, new = _axes(old), _entry_axes(entry)
    if stored is None or any(
        i != axis and not np.array_equal(a, b) for i, (a, b) in enumerate(zip(stored, new, strict=True))
    ):
        return f"chunks of {_label(new, axis)}, in the repository of {_label(stored, axis)}"
    kept, border = _cut(stored[axis], step.start)
    lengths = np.concatenate([kept, new[axis]])
    is_regular = len(np.unique(lengths)) <= 1 and border is None
    axes = [lengths if i == axis else each for i, each in enumerate(stored)]
    chunks: Any = tuple(int(each[0]) if len(each) else 1 for each in axes)
    grid = chunk_grid(chunks if is_regular else [each.tolist() for each in axes])
    return AppendGrid(grid, tuple(len(each) for each in axes), len(kept), border)


def _cut(lengths: np.ndarray, rows: int) -> tuple[np.ndarray, tuple[int, int] | None]:
    """Return the chunk lengths of the first ``rows`` rows, and the rows of a chunk that is cut."""
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    last = int(np.searchsorted(bounds, rows))
    if bounds[last] == rows:
        return lengths[:last], None
    first = int(bounds[last - 1])
    return np.append(lengths[: last - 1], rows - first), (first, rows)


def _axes(node: Node) -> list[np.ndarray] | None:
    """Return the chunk lengths along each axis of a stored array; None if it has shards."""
    configuration: Mapping[str, Any] = node.document["chunk_grid"]["configuration"]
    if node.grid[1] is not None:
        return None
    if (shapes := configuration.get("chunk_shapes")) is not None:
        axes = [lengths_of(axis) if isinstance(axis, list) else None for axis in shapes]
        return [
            _regular(n, int(shapes[i])) if a is None else a
            for i, (n, a) in enumerate(zip(node.shape, axes, strict=True))
        ]
    return [_regular(n, c) for n, c in zip(node.shape, configuration["chunk_shape"], strict=True)]


def _entry_axes(entry: ArrayEntry) -> list[np.ndarray]:
    if isinstance(entry.chunks, tuple):
        return [_regular(n, c) for n, c in zip(entry.shape, entry.chunks, strict=True)]
    return [np.asarray(axis, "i8") for axis in entry.chunks]


def _regular(length: int, chunk: int) -> np.ndarray:
    return np.full(-(-length // chunk), chunk, "i8")


def _label(axes: list[np.ndarray] | None, axis: int) -> str:
    if axes is None:
        return "shards"
    lengths = [int(each[0]) if len(each) else 0 for each in axes]
    return f"{tuple(lengths)}" if len(np.unique(axes[axis])) <= 1 else f"different lengths along axis {axis}"
