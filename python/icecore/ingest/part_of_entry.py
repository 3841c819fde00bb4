"""Part of a source's array: only the references that some boxes of it need, for a task on another machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from icecore.sources.mapping.array_map import ArrayEntry, Links

#: start and shape of a box
Box = tuple[Sequence[int], Sequence[int]]


def part_of(entry: ArrayEntry, boxes: Sequence[Box]) -> ArrayEntry:
    """Return the entry with only the chunks that overlap the boxes; other entries keep their reader."""
    if entry.links is None or not entry.shape:
        return replace(entry, held=None, renulled=None, check=_nothing)
    wanted = _chunks(entry, boxes)
    native = {flat: chunk for flat, chunk in entry.native.items() if _has(wanted, flat)}
    links = _links(entry.links, wanted)
    read = entry.read if native or not len(links) else None
    return replace(entry, links=links, native=native, read=read, held=None, renulled=None, check=_nothing)


def _nothing() -> None:
    return None


def _has(chunks: np.ndarray, flat: int) -> bool:
    at = int(np.searchsorted(chunks, flat))
    return at < len(chunks) and int(chunks[at]) == flat


def _chunks(entry: ArrayEntry, boxes: Sequence[Box]) -> np.ndarray:
    """Return the sorted flat numbers of the chunks that overlap the boxes."""
    found = []
    for start, extent in boxes:
        flat = np.zeros(1, "u8")
        for axis, (first, length, count) in enumerate(zip(start, extent, entry.grid, strict=True)):
            low, high = _span(entry.chunks[axis], first, first + length)
            along = np.arange(low, high, dtype="u8")
            flat = (flat[:, None] * np.uint64(count) + along).reshape(-1)
        found.append(flat)
    return np.unique(np.concatenate(found)) if found else np.empty(0, "u8")


def _span(lengths: int | Sequence[int], start: int, stop: int) -> tuple[int, int]:
    """Return the first chunk of an axis that overlaps [start, stop), and the one after the last."""
    if isinstance(lengths, int):
        return start // lengths, -(-stop // lengths)
    ends = np.cumsum(lengths)
    return int(np.searchsorted(ends, start, "right")), int(np.searchsorted(ends, stop, "left")) + 1


def _links(links: Links, wanted: np.ndarray) -> Links:
    here = np.flatnonzero(np.isin(links.chunks, wanted))
    used, url_ids = np.unique(links.url_ids[here], return_inverse=True)
    return Links(
        [links.urls[i] for i in used],
        links.sizes[used],
        links.mtimes_ns[used],
        [links.etags[i] for i in used],
        url_ids.astype("u4"),
        links.chunks[here],
        links.offsets[here],
        links.lengths[here],
    )
