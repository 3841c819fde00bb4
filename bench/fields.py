"""The array of the sharded workload: a smooth field with noise, (240, 35, 138, 195) float32, 904 MB.

Rounded to 16 bits of mantissa, which makes it about half its size under zstd 3 and a third under
shuffle + zstd 3. A quick run has 48 time steps.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from typing import Any

import child
import numpy as np
from tracks import cut

VERSION = "1"
SHARD = (16, 35, 138, 195)
INNER = {"1.3 MB": (16, 7, 46, 65), "144 kB": (8, 5, 23, 39)}
CODECS: dict[str, dict[str, Any]] = {
    "zstd": {"name": "zstd", "configuration": {"level": 3, "checksum": False}},
    "blosc": {
        "name": "blosc",
        "configuration": {"cname": "zstd", "clevel": 3, "shuffle": "shuffle", "typesize": 4, "blocksize": 0},
    },
}
Box = tuple[slice | int, ...]


def shape(quick: bool) -> tuple[int, int, int, int]:
    return (48 if quick else 240, 35, 138, 195)


def touch(quick: bool) -> None:
    """Touch as much memory as the whole array takes."""
    child.touch(4e-6 * math.prod(shape(quick)))


def waves(first: int, seed: int, noise: float) -> np.ndarray:
    """Sixteen time steps from `first` on, float32: waves, a gradient, noise in all bits."""
    t, z, y, x = np.meshgrid(*(np.arange(n) for n in SHARD), indexing="ij", sparse=True)
    t = t + first
    smooth = 8 * np.sin(x / 17 + t / 5) * np.cos(y / 13) + 3 * np.sin(t / 24 * 2 * np.pi)
    rough = np.random.default_rng((seed, first)).standard_normal(SHARD, dtype="f4") * np.float32(noise)
    return (280 - 2 * z + smooth).astype("f4") + rough


def slab(first: int) -> np.ndarray:
    """Sixteen time steps from `first` on: a row of shards, rounded to 16 bits."""
    return cut(waves(first, 7, 0.3), 16)


def whole(quick: bool) -> np.ndarray:
    """The array."""
    out = np.empty(shape(quick), "f4")
    for first in range(0, len(out), SHARD[0]):
        out[first : first + SHARD[0]] = slab(first)
    return out


def box(random: np.random.Generator, of: tuple[int, ...], share: float) -> Box:
    """A random box with that share of the array's elements: the same share of each axis."""
    lengths = [max(1, round(n * share ** (1 / len(of)))) for n in of]
    starts = [int(random.integers(0, n - length + 1)) for n, length in zip(of, lengths, strict=True)]
    return tuple(slice(a, a + n) for a, n in zip(starts, lengths, strict=True))


def series(random: np.random.Generator, of: tuple[int, ...]) -> Box:
    """All times at one random point."""
    return (slice(None), *(int(random.integers(0, n)) for n in of[1:]))


def queries(quick: bool, rep: int) -> Iterator[tuple[str, Box]]:
    """Label and selection of all that one repetition asks: the same of every side, other boxes each time."""
    of = shape(quick)
    random = np.random.default_rng((11, rep))
    count = 8 if quick else 24
    yield from (("1 % box", box(random, of, 0.01)) for _ in range(count))
    yield from (("series", series(random, of)) for _ in range(count))
    yield from (("10 % box", box(random, of, 0.1)) for _ in range(3))
    yield "scan", (slice(None),) * 4


def checksums(values: Any, quick: bool, reps: int) -> dict[str, int]:
    """One checksum per repetition and label, chained over its queries."""
    crc: dict[str, int] = {}
    for rep in range(reps):
        for label, selection in queries(quick, rep):
            key = f"{label} #{rep}"
            crc[key] = zlib.crc32(np.ascontiguousarray(values[selection]), crc.get(key, 0))
    return crc
