"""Readers that `info` names: zarr-python over Icechunk's own store reads the array, or doesn't."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.codecs.readers import readers

zarr = pytest.importorskip("zarr")
pytest.importorskip("icechunk", minversion="2")
pytest.importorskip("numcodecs")

BYTES = {"name": "bytes", "configuration": {"endian": "little"}}


def codec(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


SHUFFLE, FLETCHER = codec("numcodecs.shuffle", elementsize=4), codec("numcodecs.fletcher32")
CHAINS = {
    "plain": [BYTES],
    "gzip": [BYTES, codec("gzip", level=3)],
    "zstd": [BYTES, codec("zstd", level=3, checksum=False), {"name": "crc32c"}],
    "blosc": [
        BYTES,
        codec("blosc", cname="lz4", clevel=3, shuffle="bitshuffle", typesize=4, blocksize=0),
    ],
    "transpose": [codec("transpose", order=[1, 0]), BYTES],
    "fletcher": [BYTES, SHUFFLE, codec("numcodecs.zlib", level=4), FLETCHER],
    "fletcher-first": [BYTES, FLETCHER, SHUFFLE],
    "lzma": [BYTES, codec("numcodecs.lzma", format=1, check=-1, preset=6, filters=None)],
    "delta": [codec("numcodecs.delta", dtype="<i4", astype="<i4"), BYTES, codec("numcodecs.bz2", level=1)],
    "checksums": [BYTES, codec("numcodecs.adler32"), codec("numcodecs.crc32"), codec("numcodecs.lz4")],
    "other-name": [BYTES, codec("zlib", level=4)],
    "other-checksum": [BYTES, codec("fletcher32")],
    "own": [codec("icecore.fpc")],
    "choice": [codec("icecore.choice", choices=[[BYTES, codec("gzip", level=1)]])],
    "planes": "planes",
    "predict": [codec("icecore.predict", codecs=[[BYTES, codec("gzip", level=1)]])],
}
TYPES = ["?", "i1", "u8", "f2", "c16", "S5", "U3", "V4", "M8[ms]", "m8[s]", "str", [("a", "i2"), ("b", "f4")]]


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> icecore.Repo:
    made = icecore.create(tmp_path_factory.mktemp("readers") / "r.icecore")
    with made.writer() as w:
        for name, chain in CHAINS.items():
            dtype = "f4" if name in ("own", "planes") else "i4"
            w.array(f"/{name}", dtype, (8, 6), chunks=(4, 6), codec=chain)[...] = np.arange(48).reshape(8, 6)
        for i, dtype in enumerate(TYPES):
            values = np.zeros(3, "O" if dtype == "str" else dtype)
            values[...] = "ab" if dtype == "str" else values
            w.array(f"/type{i}", str if dtype == "str" else dtype, (3,), codec="zstd")[...] = values
        w.array("/sharded", "f4", (64,), chunks=(8,), shards=(32,), codec="gzip")[...] = range(64)
    for start in (0, 300, 500):
        with made.at("main").writer() as w:
            grown = w["/grown"] if start else w.array("/grown", "f8", (0, 40), codec="zstd")
            grown.append(np.full((200 + start, 40), start))
    return made.at("main")


def test_zarr_python_reads_what_it_is_named_for(repo: icecore.Repo) -> None:
    root = zarr.open_group(repo.store("icechunk"), mode="r")
    said = {path: readers(array._node.document) for path, array in repo.arrays.items()}
    for path, text in said.items():
        if "not zarr-python" in text:
            with pytest.raises(Exception, match=r"zlib|fletcher32"):
                root[path[1:]][...]
            continue
        setting = re.search(r"array\.\w+", text)
        with zarr.config.set({setting[0]: True} if setting else {}):
            found, want = root[path[1:]][...], repo[path][...]
            assert np.array_equal(np.asarray(found, want.dtype), want), (path, text)
    assert said["/plain"] == said["/zstd"] == said["/sharded"] == said["/transpose"] == "any Zarr v3 reader"
    assert "beside an installed icecore (icecore.fpc)" in said["/own"]
    assert said["/other-name"].endswith("have zlib (not zarr-python)")
    assert said["/fletcher"].endswith("(zarr-python with numcodecs)")
    assert "string, vlen-utf8" in said[f"/type{TYPES.index('str')}"]


def test_chunks_of_different_shapes_need_a_setting() -> None:
    document = {
        "data_type": "float32",
        "codecs": [BYTES],
        "chunk_grid": {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[3, 4]]}},
    }
    wanted = "icecore, and Zarr v3 readers that have rectilinear chunks "
    assert readers(document) == f"{wanted}(zarr-python with array.rectilinear_chunks)"


def test_info_and_pack_say_it_in_a_line(repo: icecore.Repo, tmp_path: Path, run: Any) -> None:
    info = json.loads(run("info", repo.url, "--json")[1])["readable_by"]
    assert info.startswith("any Zarr v3 reader (")
    assert "icecore, and zarr-python beside an installed icecore (" in info
    np.save(tmp_path / "x.npy", np.cumsum(np.ones(50_000)) / 7)
    text = run("pack", tmp_path / "x.npy", "--into", tmp_path / "p.icecore", "--portable")[1]
    assert "readable by any Zarr v3 reader (1 array)\n" in text
    text = run("pack", tmp_path / "x.npy", "--into", tmp_path / "o.icecore", "--codec", "planes", "--json")[1]
    assert json.loads(text)["readable_by"].endswith("beside an installed icecore (1 array)")
