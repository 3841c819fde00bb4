"""Our codecs in plain zarr-python, by their entry points: it reads what we write, we what it writes."""

from __future__ import annotations

import importlib.metadata
import re
import warnings
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
import zoo
from peer import Peer, zarr

SHAPE, CHUNKS = (23, 17), (7, 5)
BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
ZSTD = {"name": "zstd", "configuration": {"level": 3, "checksum": False}}


def own(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


#: name → codecs of an array whose elements have `size` bytes
CHAINS: dict[str, Any] = {
    "choice": lambda size: [own("icecore.choice", choices=[[BYTES], [BYTES, ZSTD]])],
    "choice, checked": lambda size: [own("icecore.choice", choices=[[BYTES, ZSTD]]), {"name": "crc32c"}],
    "h5bitshuffle": lambda size: [BYTES, own("icecore.h5bitshuffle", itemsize=size)],
    "h5bitshuffle lz4": lambda size: [BYTES, own("icecore.h5bitshuffle", itemsize=size, compression="lz4")],
    "h5lz4": lambda size: [BYTES, own("icecore.h5lz4")],
    "h5lzf": lambda size: [BYTES, own("icecore.h5lzf")],
    "two filters": lambda size: [BYTES, own("icecore.h5bitshuffle", itemsize=size), own("icecore.h5lzf")],
}


def test_every_codec_of_ours_is_registered() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "format.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(icecore\.[a-z0-9_]+)`", row.split("|")[1])}
    registered = {point.name for point in importlib.metadata.entry_points(group="zarr.codecs")}
    assert named, "the table of codecs is gone from docs/format.md"
    assert named <= registered


@pytest.mark.parametrize("sharded", [False, True], ids=["chunks", "shards"])
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "f4", "f8", "c16", "M8[ns]", "S7"])
def test_they_read_what_we_write(repo_path: str, dtype: str, chain: str, sharded: bool) -> None:
    data = zoo.values(dtype, SHAPE)
    codecs = CHAINS[chain](data.itemsize)
    shards = tuple(2 * n for n in CHUNKS) if sharded else CHUNKS
    with icecore.create(repo_path).writer() as writer:
        array = writer.array("/a", dtype=data.dtype, shape=SHAPE, chunks=CHUNKS, shards=shards, codec=codecs)
        array[...] = data
    theirs = Peer(repo_path).group()["a"]
    assert zoo.same(theirs[...], data), zoo.difference(theirs[...], data)
    assert zoo.same(theirs[3:19:2, 4], data[3:19:2, 4])


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("dtype", ["u1", "f4", "f8"])
def test_we_read_what_they_write(repo_path: str, dtype: str, chain: str) -> None:
    data = zoo.values(dtype, SHAPE)
    array_codec, *bytes_codecs = CHAINS[chain](data.itemsize)
    icecore.create(repo_path)
    peer = Peer(repo_path)
    with peer.writing() as group, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = group.create_array(
            "a",
            shape=SHAPE,
            chunks=CHUNKS,
            dtype=data.dtype,
            serializer=array_codec,
            compressors=bytes_codecs or None,
        )
        theirs[...] = data
        theirs[5:9, 3] = data[5:9, 3]
    ours = icecore.open(repo_path)["/a"]
    assert zoo.same(ours.read(), data), zoo.difference(ours.read(), data)


@pytest.mark.parametrize("codec", ["icecore.predict", "icecore.fpc"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "M8[s]"])
def test_predictions_both_ways(repo_path: str, dtype: str, codec: str) -> None:
    data = zoo.values(dtype, SHAPE)
    with icecore.create(repo_path).writer() as writer:
        writer.array("/a", dtype=data.dtype, shape=SHAPE, chunks=CHUNKS, codec=[own(codec)])[...] = data
    peer = Peer(repo_path)
    assert zoo.same(peer.group()["a"][...], data)
    with peer.writing() as group, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"shape": SHAPE, "chunks": CHUNKS, "dtype": data.dtype, "compressors": None}
        group.create_array("b", serializer=own(codec), **options)[...] = data
    assert zoo.same(icecore.open(repo_path)["/b"].read(), data)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_decimals_both_ways(repo_path: str, dtype: str) -> None:
    data = (np.arange(23 * 17).reshape(SHAPE) / 100).astype(dtype)
    data[3, 4] = np.nan
    decimal = own("icecore.decimal", scale=2, dtype="int32", escapes=["NaN"])
    icecore.create(repo_path)
    peer = Peer(repo_path)
    with peer.writing() as group, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = group.create_array("a", shape=SHAPE, chunks=CHUNKS, dtype=dtype, filters=[decimal])
        theirs[...] = data
    assert zoo.same(icecore.open(repo_path)["/a"].read(), data)
    with icecore.open(repo_path).writer() as writer:
        ours = writer.array("/b", dtype=data.dtype, shape=SHAPE, chunks=CHUNKS, codec=[decimal, BYTES, ZSTD])
        ours[...] = data
    assert zoo.same(Peer(repo_path).group()["b"][...], data)


def test_damage_is_an_error_of_a_kind(repo_path: str) -> None:
    from icecore import _icecore

    chain = _icecore.Chain('[{"name": "bytes"}, {"name": "icecore.h5lzf"}]', '"uint8"')
    bomb = np.frombuffer(b"\x00a" + b"\xe0\xff\x00" * 4000, np.uint8)
    with pytest.raises(icecore.Error) as caught:
        chain.unpack(bomb, 100)
    assert caught.value.kind == "corrupt"
    assert zarr.registry.get_codec_class("icecore.choice").__name__ == "ArrayToBytes"
