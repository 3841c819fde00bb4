"""Joins in other directions: a new dimension, tiles of two dimensions, files of different variables."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
import xarray as xr

BOTH = pytest.mark.parametrize("verb", [icecore.link, icecore.pack])


def member(folder: Path, number: int | None, seed: int = 0, lat: float = 0.0) -> Path:
    values = np.random.default_rng(seed).normal(size=(3, 200, 10)).astype("f4")
    data = xr.Dataset(
        {"t": (("time", "lat", "x"), values, {"units": "K"}), "scale": ((), np.float64(seed))},
        {"time": [0.0, 1.0, 2.0], "lat": np.linspace(-9, 9, 200) + lat},
    )
    if number is not None:
        data["member"] = ((), np.int32(number))
    path = folder / f"m{seed}.nc"
    data.to_netcdf(path, encoding={"t": {"zlib": True, "chunksizes": (1, 100, 10)}})
    return path


@BOTH
@pytest.mark.parametrize("labelled", [False, True])
def test_members_of_an_ensemble(tmp_path: Path, verb: Any, labelled: bool) -> None:
    files = [member(tmp_path, 10 * seed if labelled else None, seed) for seed in range(3)]
    verb(files[:2], tmp_path / "r", group="/e", new_dim="member")
    verb(files[2], tmp_path / "r", group="/e", new_dim="member", append=True)
    repo = icecore.open(tmp_path / "r")
    stacked = np.stack([xr.load_dataset(file).t.values for file in files])
    np.testing.assert_array_equal(repo["/e/t"][...], stacked)
    assert repo["/e/t"].dims == ("member", "time", "lat", "x")
    assert repo["/e/t"].linked is (verb is icecore.link)
    assert repo["/e/scale"][...].tolist() == [0, 1, 2]
    assert repo["/e/lat"].shape == (200,)
    if labelled:
        assert repo["/e/member"][...].tolist() == [0, 10, 20]
    assert not repo.verify(deep=True)


def test_coordinates_of_members_are_compared(tmp_path: Path) -> None:
    files = [member(tmp_path, None, 0), member(tmp_path, None, 1, lat=0.5)]
    with pytest.raises(icecore.Error, match=r"/lat .*differs") as caught:
        icecore.link(files, tmp_path / "r", group="/e", new_dim="member")
    assert caught.value.kind == "mismatch"
    with pytest.raises(icecore.Error, match="has the dimension 'time' already"):
        icecore.link(files, tmp_path / "r", group="/e", new_dim="time")
    with pytest.raises(icecore.Error, match="exclude each other"):
        icecore.link(files, tmp_path / "r", group="/e", new_dim="member", concat="time")


def tile(folder: Path, rows: slice, columns: slice, down: bool = True) -> Path:
    y = np.arange(30.0)[::-1] if down else np.arange(30.0)
    values = (np.arange(30)[:, None] * 100.0 + np.arange(50)).astype("f4")
    data = xr.Dataset(
        {"z": (("y", "x"), values[rows, columns]), "area": (("y",), y[rows] * 2), "n": ((), np.int32(7))},
        {"y": y[rows], "x": np.arange(50.0)[columns]},
    )
    path = folder / f"t{rows.start}_{columns.start}.nc"
    shape = data.z.shape
    data.to_netcdf(path, encoding={"z": {"zlib": True, "chunksizes": (min(7, shape[0]), min(8, shape[1]))}})
    return path


@BOTH
@pytest.mark.parametrize("edges", [((0, 7, 14, 30), (0, 16, 50)), ((0, 5, 30), (0, 9, 20, 50))])
def test_tiles_are_placed_by_their_coordinates(
    tmp_path: Path, verb: Any, edges: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("icecore.sources.mapping.stitched_array.SMALL", 1 << 9)
    rows, columns = ([slice(a, b) for a, b in pairwise(e)] for e in edges)
    files = [tile(tmp_path, row, column) for column in columns for row in rows]
    order = np.random.default_rng(0).permutation(len(files))
    verb([files[i] for i in order], tmp_path / "r", group="/g", concat="y,x")
    repo = icecore.open(tmp_path / "r")
    np.testing.assert_array_equal(repo["/g/z"][...], np.arange(30)[:, None] * 100.0 + np.arange(50))
    assert repo["/g/y"][...].tolist() == list(range(30))[::-1]
    assert repo["/g/area"][...].tolist() == [2 * y for y in range(30)][::-1]
    assert repo["/g/x"][...].tolist() == list(range(50))
    assert repo["/g/n"][...].item() == 7
    if verb is icecore.link:
        assert repo["/g/z"].linked
    with pytest.raises(icecore.Error, match="tiles at y"):
        verb(files[1:], tmp_path / "lacking", concat="y,x")
    (tmp_path / "more").mkdir()
    with pytest.raises(icecore.Error, match="overlap"):
        verb([*files, tile(tmp_path / "more", slice(29, 30), columns[0])], tmp_path / "over", concat="y,x")
    with pytest.raises(icecore.Error, match="the same coordinates"):
        verb([*files, files[0]], tmp_path / "twice", concat="y,x")
    with pytest.raises(icecore.Error, match="append needs one dimension"):
        verb(files, tmp_path / "r", group="/g", concat="y,x", append=True)


def variable(folder: Path, name: str, first: int, lat: float = 0.0) -> Path:
    data = xr.Dataset(
        {name: (("time", "lat"), np.full((4, 30), first + len(name), "f4"))},
        {"time": np.arange(first, first + 4.0), "lat": np.linspace(-9, 9, 30) + lat},
    )
    path = folder / f"{name}_{first}.nc"
    data.to_netcdf(path, unlimited_dims=["time"])
    return path


@BOTH
def test_files_of_one_variable_are_joined_and_merged(tmp_path: Path, verb: Any) -> None:
    """As CMIP's archives are: a file for each variable and period."""
    for name in ("tas", "pr"):
        for first in (0, 4):
            variable(tmp_path, name, first)
    verb(f"{tmp_path}/*.nc", tmp_path / "r", group="/g", concat="time", merge=True)
    later = [variable(tmp_path, name, 8) for name in ("tas", "pr")]
    verb(later, tmp_path / "r", group="/g", concat="time", merge=True, append=True)
    repo = icecore.open(tmp_path / "r")
    assert repo["/g/time"][...].tolist() == list(range(12))
    assert repo["/g/pr"][::4, 0].tolist() == [2, 6, 10]
    assert repo["/g/tas"][::4, 0].tolist() == [3, 7, 11]
    with pytest.raises(icecore.Error, match="has the dimension 'time' in the repository"):
        verb(
            variable(tmp_path, "tas", 12), tmp_path / "r", group="/g", concat="time", merge=True, append=True
        )
    assert icecore.open(tmp_path / "r").snapshot_id == repo.snapshot_id
    (tmp_path / "other").mkdir()
    files = [variable(tmp_path, "tas", 0), variable(tmp_path / "other", "pr", 0, lat=0.5)]
    with pytest.raises(icecore.Error, match="lat") as caught:
        verb(files, tmp_path / "s", concat="time", merge=True)
    assert caught.value.kind == "mismatch"
    with pytest.raises(icecore.Error, match="time"):
        verb([files[0], later[1]], tmp_path / "s", concat="time", merge=True)


def test_merge_without_a_join(tmp_path: Path) -> None:
    files = [variable(tmp_path, name, 0) for name in ("tas", "pr")]
    icecore.link(files, tmp_path / "r", merge=True)
    assert sorted(icecore.open(tmp_path / "r").arrays) == [
        f"/tas_0/{n}" for n in ("lat", "pr", "tas", "time")
    ]
