"""Chunks of an array that lie in linked files, and the parts of the array that each file holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from icecore.repository.array import Array
from icecore.repository.results import _Value


@dataclass(frozen=True)
class LinkTable:
    """The linked chunks of an array, one item of each column per chunk.

    Attributes:
        edges: for each axis, where its chunks begin, and the end of the last one.
        urls: the linked files.
        identities: of each file size, modification time (ns; -1: unknown) and ETag; None if not recorded.
        files: number of the chunk's file.
        chunks: flat index in C order over the grid of chunks (of shards, if the array has some).
        offsets, lengths: byte range in the file.
    """

    edges: tuple[np.ndarray, ...]
    urls: list[str]
    identities: list[tuple[int, int, str | None] | None]
    files: np.ndarray
    chunks: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, array: Array) -> LinkTable:
        """Return the linked chunks of an array; without rows if it has none."""
        found, files, *columns = array._native.links()
        unit = array._native.shards or array._native.chunks
        edges = tuple(_edges(size, n) for size, n in zip(unit, array.shape, strict=True))
        return cls(edges, [url for url, _ in found], [known for _, known in found], files, *columns)

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of chunks along each axis."""
        return tuple(len(edge) - 1 for edge in self.edges)

    @property
    def places(self) -> np.ndarray:
        """Index of each chunk along each axis, of shape (chunks, axes)."""
        return places(self.chunks, self.counts)

    def parts(self, path: str) -> Iterator[tuple[str, Part]]:
        """Yield each file with the part of the array ``path`` that its chunks cover."""
        index = self.places
        for number, url in enumerate(self.urls):
            mine = self.files == number
            low, high = index[mine].min(0), index[mine].max(0)
            box = [
                (int(edge[first]), int(edge[last + 1]))
                for edge, first, last in zip(self.edges, low, high, strict=True)
            ]
            chunks = int(mine.sum())
            is_all = prod((high - low + 1).tolist()) == chunks
            yield url, Part(path, chunks, int(self.lengths[mine].sum()), box, is_all)


@dataclass(frozen=True)
class Part(_Value):
    """Chunks of one array in one file.

    Attributes:
        array: path of the array.
        chunks: number of chunks.
        bytes: their size in the file.
        box: first element and the end along each axis of the smallest box that holds the chunks.
        is_all: whether the file holds all chunks of the box.
    """

    array: str
    chunks: int
    bytes: int
    box: list[tuple[int, int]]
    is_all: bool


@dataclass(frozen=True)
class LinkedFile(_Value):
    """A linked file, with the parts of all arrays that lie in it."""

    url: str
    chunks: int
    bytes: int
    parts: list[Part]


def linked_files(arrays: Iterable[Array]) -> list[LinkedFile]:
    """Return the files that arrays are linked to, sorted by address.

    Example:
        >>> import icecore
        >>> linked_files(icecore.create("memory://").arrays.values())
        []
    """
    found: dict[str, list[Part]] = {}
    for array in arrays:
        for url, part in LinkTable.of(array).parts(array.path):
            found.setdefault(url, []).append(part)
    return [
        LinkedFile(url, sum(part.chunks for part in parts), sum(part.bytes for part in parts), parts)
        for url, parts in sorted(found.items())
    ]


def places(chunks: np.ndarray, counts: tuple[int, ...]) -> np.ndarray:
    """Return the index along each axis of flat chunk numbers, of shape (chunks, axes)."""
    if not counts:
        return np.zeros((len(chunks), 0), "i8")
    return np.stack(np.unravel_index(chunks.astype("i8"), counts), 1)


def _edges(size: Any, length: int) -> np.ndarray:
    """Return where the chunks of an axis begin, and its end: chunks of one size, or a list of sizes."""
    if isinstance(size, (list, tuple)):
        return np.minimum(np.concatenate([[0], np.cumsum(size)]), length)
    return np.minimum(np.arange(0, length + size, size) if length else np.zeros(1, "i8"), length)
