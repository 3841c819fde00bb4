"""Huge arrays of which a few chunks were written: packing looks at those, however many there could be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest
from icecore.sources.mapping.stored_chunks import StoredChunks

SHAPE = (10_000_000, 1_000_000)  # 1e13 elements
CHUNK = (250, 400)
#: starts of the chunks that are written
SPOTS = ((0, 0), (7_654_000, 123_200), (9_999_750, 999_600))


def values(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 9, CHUNK).astype("f4")


def hdf5(path: Path, **options: Any) -> Path:
    with h5py.File(path, "w") as file:
        data = file.create_dataset("x", SHAPE, "f4", chunks=CHUNK, fillvalue=-5, **options)
        for i, (y, x) in enumerate(SPOTS):
            data[y : y + CHUNK[0], x : x + CHUNK[1]] = values(i)
    return path


def unlinkable(path: Path) -> Path:
    return hdf5(path, scaleoffset=3)


def linked(path: Path) -> Path:
    icecore.link(hdf5(path.with_suffix(".h5")), path, "/")
    return path


def packed(path: Path) -> Path:
    icecore.pack(hdf5(path.with_suffix(".h5")), path, "/", codec="zstd:1", chunk=(125, 400), shard=CHUNK)
    return path


def zarr(path: Path, version: int) -> Path:
    module = pytest.importorskip("zarr")
    group = module.open_group(path, mode="w", zarr_format=version)
    data = group.create_array("x", shape=SHAPE, chunks=CHUNK, dtype="f4", fill_value=-5)
    for i, (y, x) in enumerate(SPOTS):
        data[y : y + CHUNK[0], x : x + CHUNK[1]] = values(i)
    return path


def zarr_2(path: Path) -> Path:
    return zarr(path, 2)


def zarr_3(path: Path) -> Path:
    return zarr(path, 3)


class Count:
    """Counts the boxes of a pack: progress is told after each."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def __call__(self, _path: str, done: int, _total: int) -> None:
        self.calls.append(done)


@pytest.mark.parametrize("make", [hdf5, unlinkable, linked, packed, zarr_2, zarr_3])
def test_boxes_that_hold_something(make: Callable[[Path], Path], tmp_path: Path) -> None:
    source = make(tmp_path / "source")
    name = f"{source}:/" if make in (linked, packed) else source
    count = Count()
    icecore.pack(name, tmp_path / "r.icecore", "/", progress=count)
    assert len(count.calls) <= len(SPOTS) + 1
    assert count.calls[-1] == 4 * SHAPE[0] * SHAPE[1], "all of it is told as done"
    array = icecore.open(tmp_path / "r.icecore")["/x"]
    assert array.shape == SHAPE
    assert array._native.storage()["references"] == len(SPOTS)
    for i, (y, x) in enumerate(SPOTS):
        np.testing.assert_array_equal(array[y : y + CHUNK[0], x : x + CHUNK[1]], values(i))
    assert array[5_000_000, 500_000] == -5
    assert "sample" in array._node.ours["codec"], "codecs were measured on what there is"
    assert array._node.ours["codec"]["sample"]["chunks"] > 0


def test_a_sparse_array_over_a_dense_one(tmp_path: Path) -> None:
    """Of the same form, so that versions share chunks: none of the old values must show through."""
    shape, chunk = (400, 300), (20, 30)
    dense = np.arange(120_000, dtype="i4").reshape(shape)
    into = tmp_path / "r.icecore"
    for name, data in (("dense", dense), ("sparse", dense[20:40, 30:60])):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            x = file.create_dataset("x", shape, "i4", chunks=chunk)
            if name == "dense":
                x[...] = data
            else:
                x[20:40, 30:60] = data
        options: dict[str, Any] = {"codec": "zstd:1", "chunk": chunk, "shard": chunk}
        icecore.pack(tmp_path / f"{name}.h5", into, "/", replace=name == "sparse", **options)
    expected = np.zeros_like(dense)
    expected[20:40, 30:60] = dense[20:40, 30:60]
    array = icecore.open(into)["/x"]
    np.testing.assert_array_equal(array[...], expected)
    assert array._native.storage()["references"] == 1


@pytest.mark.parametrize("fill", [0, 7])
def test_a_sparse_array_behind_another(tmp_path: Path, fill: int) -> None:
    """Only what is there is appended, unless what isn't is another value than that of the stored array."""
    dim, into = "phony_dim_0", tmp_path / "r.icecore"
    rows = (1000, 10_000_000 if fill == 0 else 300)
    for i, n in enumerate(rows):
        with h5py.File(tmp_path / f"{i}.h5", "w") as file:
            x = file.create_dataset("x", (n, 999), "i4", chunks=(100, 999), fillvalue=fill * i)
            x[n - 130 : n - 120] = i + 1
    count = Count()
    icecore.pack(tmp_path / "0.h5", into, "/", dim, codec="zstd:1")
    icecore.pack(tmp_path / "1.h5", into, "/", dim, append=True, progress=count)
    assert len(count.calls) < 4
    array, end = icecore.open(into)["/x"], sum(rows)
    assert array.shape == (end, 999)
    for first, value in ((0, 0), (870, 1), (999, 0), (1000, fill), (end - 130, 2), (end - 1, fill)):
        np.testing.assert_array_equal(array[first], np.full(999, value))


def test_places_to_sample() -> None:
    held = StoredChunks((1 << 40, 1 << 20), (1 << 10, 1 << 10), np.array([1 << 39, 5], "u8"))
    assert held.places((1 << 10, 1 << 10)).tolist() == [[0, 5], [1 << 29, 0]]
    every = StoredChunks((100, 100), (10, 10), np.arange(100, dtype="u8"))
    assert every.full
    assert len(every.places((10, 10))) == 100
    inside = StoredChunks((1000,), (1000,), np.array([0], "u8")).places((10,))
    assert inside.shape == (1, 1)
    assert 0 <= inside[0, 0] < 100
    assert StoredChunks((1000,), (10,), np.array([], "u8")).places((10,)).shape == (0, 1)
    many = StoredChunks((1 << 40,), (1 << 10,), np.arange(1 << 16, dtype="u8"))
    assert 4000 < len(many.places((1 << 10,))) <= 4096
