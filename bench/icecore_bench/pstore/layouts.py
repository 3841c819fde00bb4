"""Tables 3 and 4, figures 6 to 8: chunk sizes, and one level of chunks compared with two."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import icecore
import numpy as np
from icecore.display import figures

from icecore_bench.pstore import field
from icecore_bench.study import Outcome, Table

Query = tuple[slice | int, ...]
#: chunks of 7 kB to 60 MB of the generated field, all in shards of the same shape
_CHUNKS = [(2, 1, 23, 39), (4, 5, 23, 39), (8, 7, 46, 39), (16, 7, 46, 65), (16, 35, 69, 65), field.SHARD]
_QUERIES = 40
_SHARES = (0.0001, 0.001, 0.01, 0.1)


def measure(folder: Path, two_level: icecore.Array, work: Path, say: Callable[[str], None]) -> Outcome:
    """Measure random slices and boxes in several layouts of the same field."""
    sizes, one_level = _sizes(two_level, work, say)
    say("one level of chunks against two")
    levels = Table(
        "Table 4: one level of chunks (60 MB) against two (1.3 MB in 60 MB), random boxes",
        ["share of the field", "one level, ms", "two levels, ms", "times faster"],
    )
    for share in _SHARES:
        one, two = (clock(array, list(boxes(array.shape, share))) * 1e3 for array in (one_level, two_level))
        levels.rows.append([share, one, two, one / two])
    outcome = Outcome("layouts", [sizes, levels])
    outcome.figures = _figures(folder, sizes, levels)
    return outcome


def _sizes(two_level: icecore.Array, work: Path, say: Callable[[str], None]) -> tuple[Table, icecore.Array]:
    """Measure each size of chunks; return the table and the array whose chunks are whole shards."""
    heads = ["chunk", "kB", "ratio", "ms a slice"]
    table = Table("Table 3: size of chunks, slices of one index along a random axis", heads)
    array = two_level
    for number, chunk in enumerate(_CHUNKS):
        say(f"chunks of {chunk}")
        array = two_level
        if chunk != field.CHUNK:
            path = work / f"chunk{number}.icecore"
            array = field.write(path, field.plain(), chunk, field.SHARD, two_level.shape[0])
        shown, kb = "x".join(map(str, chunk)), np.prod(chunk) * 4 / 1e3
        milliseconds = clock(array, list(slices(array.shape))) * 1e3
        table.rows.append([shown, kb, array.nbytes / array.nbytes_stored, milliseconds])
    return table, array


def _figures(folder: Path, sizes: Table, levels: Table) -> list[str]:
    kb = [float(row[1]) for row in sizes.rows]
    return [
        figures.lines(
            folder / "pstore-6.png",
            "Figure 6: ratio against the size of a chunk",
            ("kB of a chunk", "ratio"),
            {"shuffle + zstd": (kb, [row[2] for row in sizes.rows])},
            "x",
        ),
        figures.lines(
            folder / "pstore-7.png",
            "Figure 7: random slices against the size of a chunk",
            ("kB of a chunk", "ms a slice"),
            {"icecore": (kb, [row[3] for row in sizes.rows])},
            "xy",
        ),
        figures.lines(
            folder / "pstore-8.png",
            "Figure 8: one level of chunks against two",
            ("share of the field that is read", "ms a query"),
            {
                "one level": (list(_SHARES), [row[1] for row in levels.rows]),
                "icecore, two levels": (list(_SHARES), [row[2] for row in levels.rows]),
            },
            "xy",
        ),
    ]


def slices(shape: Sequence[int], seed: int = 1) -> Iterator[Query]:
    """Yield slices: one index along a random axis, all of another axis, a quarter of the others."""
    random = np.random.default_rng(seed)
    for _ in range(_QUERIES):
        fixed, whole = random.permutation(4)[:2]
        query: list[slice | int] = []
        for axis, length in enumerate(shape):
            if axis == fixed:
                query.append(int(random.integers(length)))
                continue
            extent = length if axis == whole else length // 4
            first = int(random.integers(length - extent + 1))
            query.append(slice(first, first + extent))
        yield tuple(query)


def boxes(shape: Sequence[int], share: float, seed: int = 2) -> Iterator[Query]:
    """Yield random boxes with this share of the field, with equal shares along all axes."""
    random = np.random.default_rng(seed)
    for _ in range(_QUERIES if share < 0.05 else 8):
        query: list[slice | int] = []
        for length in shape:
            extent = max(1, round(length * share**0.25))
            first = int(random.integers(length - extent + 1))
            query.append(slice(first, first + extent))
        yield tuple(query)


def clock(array: icecore.Array, queries: Sequence[Query]) -> float:
    """Return the median time of a query in seconds, with a warm page cache."""
    seconds = []
    for query in queries:
        began = time.perf_counter()
        array[query]
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)
