"""What we write, plain zarr-python over icechunk reads: no code of ours takes part in the reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest
import zoo
from peer import Peer, zarr

SHAPE = (23, 17)
CODECS = [
    "auto",
    "none",
    "zstd",
    "zstd:9",
    "gzip",
    "zlib:1",
    "lz4",
    "bz2",
    "blosc",
    "shuffle+gzip:6",
    "shuffle+zstd",
]
LAYOUTS: dict[str, dict[str, Any]] = {
    "planned": {},
    "chunks": {"chunks": (7, 5), "shards": (7, 5)},
    "shards": {"chunks": (7, 5), "shards": (14, 15)},
    "one shard": {"chunks": (7, 5), "shards": (28, 20)},
    "one chunk": {"chunks": (50, 50), "shards": (50, 50)},
}


def check(path: str, name: str, expected: np.ndarray) -> None:
    theirs = Peer(path).group()[name]
    assert theirs.shape == expected.shape
    assert zoo.same(theirs[...], expected), zoo.difference(theirs[...], expected)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", zoo.ALL)
def test_every_dtype(repo_path: str, dtype: str, layout: str) -> None:
    data = zoo.values(dtype, SHAPE)
    with icecore.create(repo_path).writer() as writer:
        writer.array("/g/a", dtype=zoo.numpy_dtype(dtype), shape=SHAPE, portable=True, **LAYOUTS[layout])[
            ...
        ] = data
    check(repo_path, "g/a", data)
    assert zoo.same(icecore.open(repo_path)["/g/a"].read(), data)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("dtype", ["i2", "f8", "str", "S3"])
def test_every_codec(repo_path: str, codec: str, dtype: str) -> None:
    data = zoo.values(dtype, SHAPE)
    with icecore.create(repo_path).writer() as writer:
        options = {
            "dtype": zoo.numpy_dtype(dtype),
            "shape": SHAPE,
            "codec": codec,
            "portable": codec == "auto",
        }
        for name, layout in LAYOUTS.items():
            writer.array(f"/{name}", **options, **layout)[...] = data
    for name in LAYOUTS:
        check(repo_path, name, data)
        assert zoo.same(icecore.open(repo_path)[f"/{name}"].read(), data)


@pytest.mark.parametrize("codec", ["auto", "none"])
@pytest.mark.parametrize("shape", [(), (0,), (0, 4), (5, 0), (1,), (3, 1, 2, 1, 2)], ids=str)
@pytest.mark.parametrize("dtype", ["f4", "str", "M8[s]"])
def test_every_rank(repo_path: str, shape: tuple[int, ...], dtype: str, codec: str) -> None:
    data = zoo.values(dtype, shape)
    with icecore.create(repo_path).writer() as writer:
        array = writer.array("/a", dtype=zoo.numpy_dtype(dtype), shape=shape, codec=codec, portable=True)
        array[...] = data
    check(repo_path, "a", data)
    assert zoo.same(icecore.open(repo_path)["/a"].read(), data)


@pytest.mark.parametrize("fill", [None, 7.5, np.nan, np.inf, -np.inf])
def test_chunks_of_nothing_but_fill(repo_path: str, fill: float | None) -> None:
    expected = np.full((40, 6), 0.0 if fill is None else fill, "f8")
    expected[10:12, 1] = [1.0, 2.0]
    with icecore.create(repo_path).writer() as writer:
        options = {"dtype": "f8", "shape": (40, 6), "fill_value": fill, "portable": True}
        writer.array("/never", chunks=(5, 6), shards=(5, 6), **options)
        writer.array("/partly", chunks=(5, 6), shards=(5, 6), **options)[10:12, 1] = [1.0, 2.0]
        writer.array("/sharded", chunks=(5, 6), shards=(20, 6), **options)[...] = expected
    check(repo_path, "never", np.full((40, 6), expected[0, 0]))
    for name in ("partly", "sharded"):
        check(repo_path, name, expected)
        assert zoo.same(icecore.open(repo_path)[f"/{name}"].read(), expected)


def test_appended_rows(repo_path: str) -> None:
    rows = zoo.values("f4", (37, 4))
    with icecore.create(repo_path).writer() as writer:
        array = writer.array("/a", dtype="f4", shape=(0, 4), chunks=(5, 4), shards=(10, 4), portable=True)
        for row in rows[:13]:
            array.append(row)
    with icecore.open(repo_path).writer() as writer:
        writer["/a"].append(rows[13:])
    check(repo_path, "a", rows)


def test_tiny_chunks_kept_in_the_references(repo_path: str) -> None:
    data = np.arange(100, dtype="i4")
    with icecore.create(repo_path).writer() as writer:
        writer.array("/a", dtype="i4", shape=(100,), chunks=(10,), shards=(10,), codec="none")[...] = data
    assert icecore.open(repo_path)["/a"].storage.inline == 10
    check(repo_path, "a", data)


def test_groups_attributes_and_dimension_names(repo_path: str) -> None:
    attrs = {"title": "日本", "list": [1, 2.5, None], "nested": {"a": [True]}, "big": 2**60}
    with icecore.create(repo_path).writer() as writer:
        writer.group("/g/h", attrs=attrs)
        writer.array("/g/h/a", dtype="f4", shape=(2, 3), dims=("y", None), attrs={"units": "K"})
    root = Peer(repo_path).group()
    assert dict(root["g/h"].attrs) == attrs
    assert {k: v for k, v in root["g/h/a"].attrs.items() if k != "icecore"} == {"units": "K"}
    assert root["g/h/a"].metadata.dimension_names == ("y", None)


def hdf5_file(path: Path) -> dict[str, np.ndarray]:
    """A file with everything that plain Zarr codecs can undo, and what it holds."""
    made = {}
    options: dict[str, dict[str, Any]] = {
        "contiguous": {},
        "gzip": {"chunks": (7, 5), "compression": "gzip"},
        "shuffle_gzip": {"chunks": (7, 5), "compression": "gzip", "shuffle": True},
        "fletcher32": {"chunks": (7, 5), "compression": "gzip", "shuffle": True, "fletcher32": True},
        "plain_chunks": {"chunks": (7, 5)},
        "odd_fletcher32": {"chunks": (7, 5), "fletcher32": True, "dtype": "i1"},
    }
    with h5py.File(path, "w") as file:
        for name, kwargs in options.items():
            for kind in ("<f4", ">i4"):
                data = zoo.values(kind[1:], SHAPE).astype(kwargs.get("dtype", kind))
                file.create_dataset(f"{name}_{kind[1:]}", data=data, **{**kwargs, "dtype": data.dtype})
                made[f"{name}_{kind[1:]}"] = data
        file["scalar"] = made["scalar"] = np.array(42.5)
        file["text"] = np.array(["a", "日本", ""], object)
        made["text"] = np.array(["a", "日本", ""], object)
        file["fixed"] = made["fixed"] = np.array([b"abc", b"", b"z"], "S3")
        file.create_dataset("part", shape=SHAPE, chunks=(7, 5), dtype="f4", fillvalue=-9.5)[3:8, 2:9] = 1.0
        made["part"] = np.full(SHAPE, -9.5, "f4")
        made["part"][3:8, 2:9] = 1.0
    return made


def test_a_linked_file(tmp_path: Path, repo_path: str) -> None:
    made = hdf5_file(tmp_path / "x.h5")
    report = icecore.link(tmp_path / "x.h5", repo_path, group="/g")
    linked = {row.path for row in report.rows if row.how in ("linked", "mixed")}
    assert {f"/g/{name}" for name in made if name not in ("scalar", "text")} <= linked
    for name, data in made.items():
        check(repo_path, f"g/{name}", data)
        assert zoo.same(icecore.open(repo_path)[f"/g/{name}"].read(), data)


@pytest.mark.parametrize("via", ["icechunk", "icecore"])
def test_our_own_zarr_store(tmp_path: Path, repo_path: str, via: str) -> None:
    made = hdf5_file(tmp_path / "x.h5")
    icecore.link(tmp_path / "x.h5", repo_path, group="/g")
    root = zarr.open_group(icecore.open(repo_path).store(via=via), mode="r")
    for name, data in made.items():
        assert zoo.same(root[f"g/{name}"][...], data), name


def test_icechunk_refuses_a_link_to_a_file_that_changed(tmp_path: Path, repo_path: str) -> None:
    hdf5_file(tmp_path / "x.h5")
    icecore.link(tmp_path / "x.h5", repo_path, group="/g")
    import os

    os.utime(tmp_path / "x.h5", (2e9, 2e9))
    with pytest.raises(Exception, match=r"(?i)chang|modif"):
        Peer(repo_path).group()["g/gzip_f4"][...]
