"""A writer as a Zarr store: what xarray and zarr-python write through it is one commit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest

xr = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr")


def dataset(start: int = 0, rows: int = 5) -> Any:
    time = np.arange(start, start + rows)
    values = np.random.default_rng(start).normal(size=(rows, 30, 40)).astype("f4")
    values[0, 0, 0] = np.nan
    data = {"t2m": (("time", "y", "x"), values), "s": ((), 7), "name": ("y", [f"n{i}" for i in range(30)])}
    return xr.Dataset(data, {"time": ("time", time)}, {"title": "run"})


def opened(place: Path, group: str | None = "g") -> Any:
    return xr.open_dataset(place, engine="icecore", group=group).load()


@pytest.mark.parametrize("group", ["g", None])
def test_a_dataset_is_one_commit(tmp_path: Path, group: str | None) -> None:
    repo = icecore.create(tmp_path / "r.icecore")
    before = len(list(repo.log()))
    with repo.writer("run") as writer:
        dataset().to_zarr(writer.store(), group=group)
    assert len(list(icecore.open(tmp_path / "r.icecore").log())) == before + 1
    xr.testing.assert_equal(opened(tmp_path / "r.icecore", group), dataset())


def test_append_and_region(tmp_path: Path) -> None:
    repo = icecore.create(tmp_path / "r.icecore")
    with repo.writer("run") as writer:
        dataset().to_zarr(writer.store(), group="g")
        dataset(5).drop_vars(["s", "name"]).to_zarr(writer.store(), group="g", append_dim="time", mode="a")
    repo = icecore.open(tmp_path / "r.icecore")
    with repo.writer("more") as writer:
        dataset(10).drop_vars(["s", "name"]).to_zarr(writer.store(), group="g", append_dim="time")
    new = dataset(2, 3).drop_vars(["s", "name"])
    with icecore.open(tmp_path / "r.icecore").writer("part") as writer:
        new.to_zarr(writer.store(), group="g", region={"time": slice(2, 5)}, mode="r+")
    found = opened(tmp_path / "r.icecore")
    np.testing.assert_array_equal(found["time"], np.arange(15))
    np.testing.assert_array_equal(found["t2m"][2:5], new["t2m"])
    np.testing.assert_array_equal(found["t2m"][10:], dataset(10)["t2m"])
    np.testing.assert_array_equal(found["t2m"][:2], dataset()["t2m"][:2])


def test_a_failed_write_commits_nothing(tmp_path: Path) -> None:
    repo = icecore.create(tmp_path / "r.icecore")
    before = repo.snapshot_id

    def write() -> None:
        with repo.writer("run") as writer:
            dataset().to_zarr(writer.store(), group="g")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write()
    assert icecore.open(tmp_path / "r.icecore").snapshot_id == before


def test_what_exists_is_kept_unless_overwritten(tmp_path: Path) -> None:
    repo = icecore.create(tmp_path / "r.icecore")
    with repo.writer("run") as writer:
        dataset().to_zarr(writer.store(), group="g")
    with pytest.raises(Exception, match="g"), icecore.open(tmp_path / "r.icecore").writer("x") as writer:
        dataset(3).to_zarr(writer.store(), group="g")
    with icecore.open(tmp_path / "r.icecore").writer("x") as writer:
        dataset(3).to_zarr(writer.store(), group="g", mode="w")
    xr.testing.assert_equal(opened(tmp_path / "r.icecore"), dataset(3))


def test_named_codecs_and_shards_are_kept(tmp_path: Path) -> None:
    repo = icecore.create(tmp_path / "r.icecore")
    data = np.arange(64.0).reshape(8, 8)
    with repo.writer("run") as writer:
        array = zarr.create_array(
            writer.store(),
            name="a",
            data=data,
            chunks=(2, 4),
            shards=(4, 8),
            compressors=zarr.codecs.GzipCodec(),
        )
        array[1, 1] = 9
        assert array[1, 1] == 9
    found = icecore.open(tmp_path / "r.icecore")["/a"]
    data[1, 1] = 9
    np.testing.assert_array_equal(found[...], data)
    assert (found.chunks, found.shards) == ((2, 4), (4, 8))
    assert "gzip" in [codec["name"] for codec in found.codecs]
