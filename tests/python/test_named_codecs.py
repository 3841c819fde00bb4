"""Chains that are built from a name end with a checksum: no flipped bit gives other values."""

from __future__ import annotations

import os
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.codecs import spec

NAMES = (
    *("auto", "default", "none", "planes", "pages", "gzip", "zlib", "zstd", "zstd:1", "lz4", "bz2", "lzma"),
    *("blosc", "blosc:1", "shuffle+zstd", "shuffle+lz4", "shuffle+gzip:6"),
)
VALUES = (280 + np.random.default_rng(0).normal(0, 1, (40, 60))).astype("f4")


def damaged(repo: Path) -> list[str]:
    """Flip bits in each stored object of chunks; return those after which a read gives other values."""
    found = []
    for folder, _, names in os.walk(repo / "chunks"):
        for name in names:
            file = Path(folder, name)
            data = file.read_bytes()
            for i in range(25):
                new = bytearray(data)
                new[len(data) * (i + 1) // 27] ^= 1 << (i % 8)
                file.write_bytes(new)
                opened = icecore.open(repo)
                try:
                    same = all(opened[path][...].tobytes() == VALUES.tobytes() for path in opened.arrays)
                except icecore.Error:
                    continue
                if not same and not opened.verify(deep=True):
                    found.append(f"{name} {i}")
            file.write_bytes(data)
    return found


@pytest.mark.parametrize("codec", NAMES)
@pytest.mark.parametrize("shards", [False, True])
def test_a_flipped_bit_raises(tmp_path: Path, codec: str, shards: bool) -> None:
    layout = {"chunk": (20, 30), "shard": (40, 60)} if shards else {}
    icecore.pack({"x": VALUES}, tmp_path / "r", codec=codec, **layout)
    with icecore.open(tmp_path / "r").writer() as w:
        w.array("/y", "f4", VALUES.shape, codec=codec)[...] = VALUES
        grows = w.array("/z", "f4", (0, 60), codec=codec)
        for row in VALUES:
            grows.append(row)
    assert damaged(tmp_path / "r") == []


@pytest.mark.parametrize("codec", ["auto", "none", "gzip", "zstd:3", "blosc"])
def test_portable_chains_stay_readable(tmp_path: Path, codec: str) -> None:
    zarr = pytest.importorskip("zarr")
    icecore.pack({"x": VALUES}, tmp_path / "r", "/", codec=codec, portable=True)
    repo = icecore.open(tmp_path / "r")
    assert repo["/x"].codecs[-1]["name"] == "crc32c"
    assert np.array_equal(zarr.open_group(repo.store(), mode="r")["x"][...], VALUES)


def test_what_zarr_declares_gets_a_checksum(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    with icecore.create(tmp_path / "r").writer() as w:
        codecs = [zarr.codecs.GzipCodec(level=3)]
        group = zarr.open_group(w.store(), mode="a")
        group.create_array("x", shape=VALUES.shape, chunks=(20, 60), dtype="f4", compressors=codecs)[...] = (
            VALUES
        )
        assert np.array_equal(group["x"][...], VALUES)
    assert [codec["name"] for codec in icecore.open(tmp_path / "r")["/x"].codecs] == [
        "bytes",
        "gzip",
        "crc32c",
    ]
    assert damaged(tmp_path / "r") == []


def test_a_list_is_stored_as_given() -> None:
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}]
    assert spec.resolve(codecs, "float32", np.dtype("f4"), (1,)) == codecs
