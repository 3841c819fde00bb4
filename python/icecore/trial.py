"""Layouts tried out: a part of an array is packed in several ways into memory, and random reads are timed."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from icecore import _icecore, codecspec, layout
from icecore.access import Query
from icecore.array import Array
from icecore.repo import create
from icecore.sources.arraymap import ArrayEntry, Reader

#: bytes of the part that is packed
_PART = 64 << 20
#: The planner's unknown is what a chunk costs beside its bytes. Three prices, as bounds on a chunk's bytes:
#: cheap requests (memory, a local disk), the planner's own, and dear ones (small reads are rare).
_BOUNDS = ((16 << 10, 128 << 10), (64 << 10, 1 << 20), (512 << 10, 4 << 20))
#: reads of each pattern, and seconds that they may take with one layout
_READS, _SECONDS = 30, 1.0


def fastest(entry: ArrayEntry, read: Reader, reads: Sequence[Query], codec: codecspec.Spec) -> layout.Layout:
    """The layout, of the best ones at three prices of a chunk, whose random reads take the least time.

    Arrays of more than 64 MB are tried on a box of them with about their proportions.
    """
    source = entry.chunks if isinstance(entry.chunks, tuple) else None
    itemsize = layout.itemsize(entry.dtype)
    planned = [
        layout.plan(entry.shape, itemsize, source_chunk=source, reads=reads, inner_bytes=bounds)
        for bounds in _BOUNDS
    ]
    candidates = list(dict.fromkeys(planned))
    if len(candidates) == 1 or not all(entry.shape):
        return candidates[0]
    data = read(tuple(slice(0, n) for n in part(entry.shape, itemsize)))
    cap = _icecore.cache_info()["cap"]
    _icecore.set_cache_bytes(0)
    try:
        return min(candidates, key=lambda candidate: expected(entry, data, candidate, reads, codec))
    finally:
        _icecore.set_cache_bytes(cap)


def part(shape: Sequence[int], itemsize: int) -> list[int]:
    """``shape`` with its longest axes halved until it is small enough."""
    lengths = list(shape)
    while np.prod(lengths, dtype=float) * itemsize > _PART:
        axis = int(np.argmax(lengths))
        lengths[axis] = -(-lengths[axis] // 2)
    return lengths


def expected(
    entry: ArrayEntry, data: np.ndarray, where: layout.Layout, reads: Sequence[Query], codec: codecspec.Spec
) -> float:
    """Seconds of a read, on average over the patterns."""
    repo = create("memory://")
    with repo.writer() as writer:
        array = writer.array(
            "/x", entry.dtype, data.shape, chunks=where.chunk, shards=where.shard, codec=codec
        )
        array[...] = data
    stored = repo.at("main").arrays["/x"]
    stored.read((slice(0, 1),) * data.ndim)
    random = np.random.default_rng(0)
    return sum(query.probability * _seconds(stored, query, random, _SECONDS / len(reads)) for query in reads)


def _seconds(array: Array, query: Query, random: np.random.Generator, limit: float) -> float:
    began, done = time.perf_counter(), 0
    while done < _READS and (done < 3 or time.perf_counter() - began < limit):
        array.read(query.within(array.shape).place(array.shape, random))
        done += 1
    return (time.perf_counter() - began) / done
