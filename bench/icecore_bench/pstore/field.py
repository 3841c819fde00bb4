"""Measured fields: those of the user and a generated 4-D field of at most 904 MB."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import icecore
import numpy as np
from icecore import errors
from icecore.display import text

#: time, z, y, x of the generated field without a source: 904 MB of float32
SHAPE = (240, 35, 138, 195)
#: its shards (60 MB) and chunks (1.3 MB); 9 does not divide 35
SHARD, CHUNK = (16, 35, 138, 195), (16, 7, 46, 65)
DIMS = ("time", "z", "y", "x")
#: smallest size in bytes of a measured array of the user, and largest number of them
_LEAST, _MOST = 1 << 18, 6


def steps(given: Sequence[icecore.Array]) -> int:
    """Return the number of time steps of the generated field: about the size of the given fields.

    So a small source is measured fast. The result is at least two shards.
    """
    if not given:
        return SHAPE[0]
    shards = -(-sum(array.nbytes for array in given) // (math.prod(SHARD) * 4))
    return min(max(shards, 2) * SHARD[0], SHAPE[0])


def slab(first: int) -> np.ndarray:
    """Return sixteen time steps from ``first`` on: waves, a gradient, and noise in all mantissa bits."""
    t, z, y, x = np.meshgrid(*(np.arange(n) for n in SHARD), indexing="ij", sparse=True)
    t = t + first
    waves = 8 * np.sin(x / 17 + t / 5) * np.cos(y / 13) + 3 * np.sin(t / 24 * 2 * np.pi)
    noise = np.random.default_rng((13, first)).standard_normal(SHARD, dtype="f4") * np.float32(0.1)
    return (280 - 2 * z + waves).astype("f4") + noise


def blosc(itemsize: int = 4) -> dict[str, Any]:
    """Return the codecs shuffle and zstd in one Blosc codec."""
    options = {"cname": "zstd", "clevel": 3, "shuffle": "shuffle", "typesize": itemsize, "blocksize": 0}
    return {"name": "blosc", "configuration": options}


def plain(itemsize: int = 4) -> list[dict[str, Any]]:
    """Return the codecs bytes, shuffle and zstd."""
    return [{"name": "bytes", "configuration": {"endian": "little"}}, blosc(itemsize)]


def planes(itemsize: int = 4) -> list[dict[str, Any]]:
    """Return byte planes: the two most significant bytes together, each other byte separately."""
    low = {
        "bytes": 1,
        "codecs": [{"name": "bytes"}, {"name": "zstd", "configuration": {"level": 3, "checksum": False}}],
    }
    parts = [{"bytes": 2, "codecs": plain(2)}, *[low] * (itemsize - 2)]
    return [{"name": "icecore.byteplanes", "configuration": {"planes": parts}}]


def write(
    path: Path, codec: list[dict[str, Any]], chunk: tuple[int, ...], shard: tuple[int, ...], steps: int
) -> icecore.Array:
    """Write ``steps`` time steps of the generated field to a new repository."""
    with icecore.create(path).writer(message="field") as writer:
        array = writer.array("/field", "f4", (0, *SHAPE[1:]), DIMS, chunk, shard, codec)
        for first in range(0, steps, SHARD[0]):
            array.append(slab(first))
    return opened(path, "/field")


def opened(url: Path | str, path: str) -> icecore.Array:
    """Open an array of a repository."""
    array = icecore.open(url)[path]
    assert isinstance(array, icecore.Array)
    return array


def labels(fields: Sequence[icecore.Array]) -> list[str]:
    """Return the labels of fields: their names, or their paths if two have the same name."""
    names = [array.name for array in fields]
    return [array.path if names.count(name) > 1 else name for array, name in zip(fields, names, strict=True)]


def pack(work: Path, steps: int, say: Callable[[str], None]) -> dict[str, icecore.Array]:
    """Pack the generated field twice: with shuffle + zstd and in byte planes."""
    result = {}
    size = text.size(steps * math.prod(SHAPE[1:]) * 4)
    for name, codec in (("blosc", plain()), ("planes", planes())):
        say(f"generated field of {size}: {name}")
        result[name] = write(work / f"{name}.icecore", codec, CHUNK, SHARD, steps)
    return result


def given(source: str | None, work: Path, say: Callable[[str], None]) -> list[icecore.Array]:
    """Return the largest floating-point arrays of the user's file or directory, linked if possible.

    Raises:
        Error: ``not-found`` if no array is large enough to be measured.
    """
    if source is None:
        return []
    say(f"reading {source}")
    into = work / "given.icecore"
    icecore.link(source, into=into)
    large = [a for a in icecore.open(into).arrays.values() if a.dtype.kind == "f" and a.nbytes >= _LEAST]
    if not large:
        least = text.size(_LEAST)
        raise errors.make(
            "not-found", f"{source} has no floating-point array of {least}", "name another file"
        )
    return sorted(large, key=lambda array: -array.nbytes)[:_MOST]


def in_planes(source: str | None, work: Path, say: Callable[[str], None]) -> Iterator[icecore.Array]:
    """Yield the same arrays packed in byte planes."""
    for number, array in enumerate(given(source, work / "planes", say)):
        path = work / f"planes{number}.icecore"
        values = array[...]
        with icecore.create(path).writer(message="planes") as writer:
            writer.array(
                array.path, array.dtype, array.shape, array.dims, codec=planes(array.dtype.itemsize)
            )[...] = values
        yield opened(path, array.path)
