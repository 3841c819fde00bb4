"""Layout benchmark: packs a part of an array with several layouts in memory, and times random reads."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from icecore import _icecore
from icecore.codecs import spec
from icecore.layout import layout
from icecore.layout.access_pattern import Query
from icecore.repository import zarr_dtypes
from icecore.repository.array import Array
from icecore.repository.open import create
from icecore.sources.mapping.array_map import ArrayEntry, Reader

#: largest part that is packed, in bytes
_PART = 64 << 20
#: The planner does not know the fixed cost of a chunk. Three assumptions, as bounds on a chunk's bytes: cheap
#: requests (memory, a local disk), the planner's default, and expensive requests (small reads are rare).
_BOUNDS = ((16 << 10, 128 << 10), (64 << 10, 1 << 20), (512 << 10, 4 << 20))
#: number of places to read for each pattern, repetitions, and time limit for one layout in seconds
_READS, _ROUNDS, _SECONDS = 30, 3, 1.0


def fastest(
    entry: ArrayEntry,
    read: Reader,
    reads: Sequence[Query],
    codec: spec.Spec,
    rows: int | None = None,
    memory: int = _PART,
) -> layout.Layout:
    """Return the layout with the fastest random reads among the best layouts for three fixed costs of a
    chunk.

    An array of more than 64 MB or ``memory`` bytes is represented by a box with roughly its proportions. If
    the first axis grows by ``rows`` per commit, the existing data is repeated to represent future rows.
    """
    source = entry.chunks if isinstance(entry.chunks, tuple) else None
    itemsize, most = zarr_dtypes.itemsize(entry.dtype), min(_PART, memory)
    shape = tuple(entry.shape) if rows is None else (0, *entry.shape[1:])
    planned = [
        layout.plan(shape, itemsize, None, None, source, rows, reads, inner_bytes=bounds)
        for bounds in _BOUNDS
    ]
    candidates = list(dict.fromkeys(planned))
    if len(candidates) == 1 or not all(entry.shape):
        return candidates[0]
    data = read(tuple(slice(0, n) for n in part(entry.shape, itemsize, most)))
    if rows is not None:
        count = max(most // max(data[:1].size * itemsize, 1), len(data))
        data = np.resize(data, (count, *data.shape[1:]))
    cap = _icecore.cache_info()["cap"]
    _icecore.set_cache_bytes(0)
    try:
        return min(candidates, key=lambda candidate: expected(entry, data, candidate, reads, codec))
    finally:
        _icecore.set_cache_bytes(cap)


def part(shape: Sequence[int], itemsize: int, most: int = _PART) -> list[int]:
    """Return ``shape`` with its longest axes halved until it has at most ``most`` bytes."""
    lengths = list(shape)
    while max(lengths, default=1) > 1 and np.prod(lengths, dtype=float) * itemsize > most:
        axis = int(np.argmax(lengths))
        lengths[axis] = -(-lengths[axis] // 2)
    return lengths


def expected(
    entry: ArrayEntry, data: np.ndarray, where: layout.Layout, reads: Sequence[Query], codec: spec.Spec
) -> float:
    """Return the mean seconds of a read, weighted by the patterns' probabilities."""
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
    """Return the mean seconds of a read over places; the best time at each place, to exclude other load."""
    places = [query.within(array.shape).place(array.shape, random) for _ in range(_READS)]
    least = np.full(_READS, np.inf)
    began = time.perf_counter()
    for done in range(_READS * _ROUNDS):
        start = time.perf_counter()
        if done >= 3 and start - began >= limit:
            break
        array.read(places[done % _READS])
        least[done % _READS] = min(least[done % _READS], time.perf_counter() - start)
    return float(np.mean(least[np.isfinite(least)]))
