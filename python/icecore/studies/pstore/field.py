"""The fields that are measured: those of the user, and a 4-D one of at most 904 MB that is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import icecore
from icecore import errors
from icecore.display import text

#: time, z, y, x of the made field where no other is given: 904 MB of float32
SHAPE = (240, 35, 138, 195)
#: its shards (60 MB) and chunks (1.3 MB); 9 does not divide 35
SHARD, CHUNK = (16, 35, 138, 195), (16, 7, 46, 65)
DIMS = ("time", "z", "y", "x")
#: of the user's arrays, those with at least this many bytes; the largest of them
_LEAST, _MOST = 1 << 18, 6


def steps(given: Sequence[icecore.Array]) -> int:
    """Time steps of the made field: as many as come near the bytes of the fields that are given, so that
    little data takes little time; two shards at least.
    """
    if not given:
        return SHAPE[0]
    shards = -(-sum(array.nbytes for array in given) // (math.prod(SHARD) * 4))
    return min(max(shards, 2) * SHARD[0], SHAPE[0])


def slab(first: int) -> np.ndarray:
    """Sixteen time steps from ``first`` on: waves, a gradient, and noise in every bit of the mantissa."""
    t, z, y, x = np.meshgrid(*(np.arange(n) for n in SHARD), indexing="ij", sparse=True)
    t = t + first
    waves = 8 * np.sin(x / 17 + t / 5) * np.cos(y / 13) + 3 * np.sin(t / 24 * 2 * np.pi)
    noise = np.random.default_rng((13, first)).standard_normal(SHARD, dtype="f4") * np.float32(0.1)
    return (280 - 2 * z + waves).astype("f4") + noise


def blosc(itemsize: int = 4) -> dict[str, Any]:
    """Shuffle and zstd."""
    options = {"cname": "zstd", "clevel": 3, "shuffle": "shuffle", "typesize": itemsize, "blocksize": 0}
    return {"name": "blosc", "configuration": options}


def plain(itemsize: int = 4) -> list[dict[str, Any]]:
    """Shuffle and zstd after the elements' bytes."""
    return [{"name": "bytes", "configuration": {"endian": "little"}}, blosc(itemsize)]


def planes(itemsize: int = 4) -> list[dict[str, Any]]:
    """The two top bytes together, each other byte alone."""
    low = {
        "bytes": 1,
        "codecs": [{"name": "bytes"}, {"name": "zstd", "configuration": {"level": 3, "checksum": False}}],
    }
    parts = [{"bytes": 2, "codecs": plain(2)}, *[low] * (itemsize - 2)]
    return [{"name": "icecore.byteplanes", "configuration": {"planes": parts}}]


def write(
    path: Path, codec: list[dict[str, Any]], chunk: tuple[int, ...], shard: tuple[int, ...], steps: int
) -> icecore.Array:
    """The made field, so many steps of it, in a repository of its own."""
    with icecore.create(path).writer(message="field") as writer:
        array = writer.array("/field", "f4", (0, *SHAPE[1:]), DIMS, chunk, shard, codec)
        for first in range(0, steps, SHARD[0]):
            array.append(slab(first))
    return opened(path, "/field")


def opened(url: Path | str, path: str) -> icecore.Array:
    """An array of a repository."""
    array = icecore.open(url)[path]
    assert isinstance(array, icecore.Array)
    return array


def labels(fields: Sequence[icecore.Array]) -> list[str]:
    """What the fields are called in tables and figures: by their paths where two have one name."""
    names = [array.name for array in fields]
    return [array.path if names.count(name) > 1 else name for array, name in zip(fields, names, strict=True)]


def pack(work: Path, steps: int, say: Callable[[str], None]) -> dict[str, icecore.Array]:
    """The made field, once as shuffle + zstd and once in planes."""
    result = {}
    size = text.size(steps * math.prod(SHAPE[1:]) * 4)
    for name, codec in (("blosc", plain()), ("planes", planes())):
        say(f"a made field of {size}: {name}")
        result[name] = write(work / f"{name}.icecore", codec, CHUNK, SHARD, steps)
    return result


def given(source: str | None, work: Path, say: Callable[[str], None]) -> list[icecore.Array]:
    """The largest floating-point arrays of the user's file or folder, linked where that is possible.

    Raises:
        Error: ``not-found`` where none is large enough to say anything.
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
    """The same arrays packed in planes."""
    for number, array in enumerate(given(source, work / "planes", say)):
        path = work / f"planes{number}.icecore"
        values = array[...]
        with icecore.create(path).writer(message="planes") as writer:
            writer.array(
                array.path, array.dtype, array.shape, array.dims, codec=planes(array.dtype.itemsize)
            )[...] = values
        yield opened(path, array.path)
