"""`dataset.icecore.to(…)`: whole datasets, appended ones, regions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest

xr = pytest.importorskip("xarray")
import icecore.integrations.xarray  # noqa: E402

DAY = np.timedelta64(1, "D")


def days(start: int, count: int, add: float = 0) -> Any:
    """A dataset of ``count`` days from day ``start`` on, packed as integers of 0.5."""
    time = np.datetime64("2020-01-01", "ns") + np.arange(start, start + count) * DAY
    t = np.arange(start * 4, (start + count) * 4, dtype="f8").reshape(count, 4) / 2 + add
    ds = xr.Dataset(
        {"t": (("time", "x"), t)}, coords={"time": time, "x": np.arange(4) * 10.0}, attrs={"title": "run"}
    )
    ds.t.encoding = {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -1}
    ds.time.encoding = {"units": "days since 2020-01-01", "dtype": "i4"}
    return ds


def test_a_dataset_is_written_and_appended(tmp_path: Path) -> None:
    place = tmp_path / "run.icecore"
    report = days(0, 3).icecore.to(place)
    assert sorted(row.path for row in report.rows) == ["/t", "/time", "/x"]
    days(3, 4).icecore.to(place, append_dim="time", message="more days")
    repo = icecore.open(place)
    xr.testing.assert_identical(repo.to_xarray().load(), days(0, 7))
    assert repo["/t"].dtype == "i2"
    assert repo.log()[0].message == "more days"


def test_groups_arrays_and_trees(tmp_path: Path) -> None:
    place = tmp_path / "run.icecore"
    days(0, 3).t.icecore.to(place, group="/array")
    xr.DataTree.from_dict({"/a": days(0, 2), "/a/b": days(0, 2, 1)}).icecore.to(place, group="/tree")
    repo = icecore.open(place)
    np.testing.assert_array_equal(repo.to_xarray("/array").t, days(0, 3).t)
    np.testing.assert_array_equal(repo.to_xarray("/tree/a/b").t, days(0, 2, 1).t)


@pytest.mark.parametrize("chunks", [None, {"time": 1}, {"time": 3, "x": 3}])
@pytest.mark.parametrize("how", ["auto", "slices", "one auto"])
@pytest.mark.parametrize("shards", [None, 4])
def test_a_region_is_overwritten(how: str, chunks: Any, shards: int | None) -> None:
    repo = icecore.create("memory://")
    sizes = {"chunk": {"time": 2}, "shard": {"time": shards}} if shards else {"chunk": {"time": 2}}
    days(0, 16).icecore.to(repo, group="/g", **sizes)
    part = days(3, 8, 100)
    part = part if chunks is None else part.chunk(chunks)
    regions: dict[str, Any] = {
        "auto": "auto",
        "slices": {"time": slice(3, 11), "x": slice(0, 4)},
        "one auto": {"time": "auto", "x": slice(None)},
    }
    before = repo.at("main").snapshot_id
    report = part.icecore.to(repo, group="/g", region=regions[how])
    after = repo.at("main")
    expected = days(0, 16).load()
    expected.t[3:11] += 100
    xr.testing.assert_equal(after.to_xarray("/g").load(), expected)
    xr.testing.assert_equal(repo.at(before).to_xarray("/g").load(), days(0, 16))
    assert report.snapshot == after.snapshot_id
    assert after.log()[0].parent == before


def test_a_dask_array_is_appended_in_boxes(tmp_path: Path) -> None:
    da = pytest.importorskip("dask.array")
    data = da.arange(4000, chunks=100, dtype="f4").reshape(1000, 4)
    ds = xr.Dataset({"v": (("time", "x"), data)})
    ds.icecore.to(tmp_path / "r.icecore", chunk={"time": 100})
    ds.icecore.to(tmp_path / "r.icecore", append_dim="time")
    stored = icecore.open(tmp_path / "r.icecore")["/v"][...]
    np.testing.assert_array_equal(stored, np.concatenate([data.compute()] * 2))


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({}, "exists", "/t exists in the repository already"),
    ({"region": {"time": slice(0, 3)}}, "mismatch", "region of time: 3 elements for 2 of the dataset"),
    ({"region": {"time": slice(0, 2)}}, "mismatch", "/x has no dimension of the region"),
    ({"region": {"day": slice(0, 2)}}, "not-found", "no dimension 'day'"),
    ({"region": {"time": 1}}, "invalid", "region of time: 1"),
    ({"region": "all"}, "invalid", "region='all'"),
    ({"region": "auto", "append_dim": "time"}, "invalid", "exclude each other"),
    ({"region": "auto", "group": "/none"}, "not-found", "no /none"),
    ({"append_dim": "day"}, "not-found", "the repository has no dimension 'day'"),
]


@pytest.mark.parametrize(("options", "kind", "message"), REFUSED)
def test_refused(options: dict[str, Any], kind: str, message: str) -> None:
    repo = icecore.create("memory://")
    days(0, 5).icecore.to(repo)
    with pytest.raises(icecore.Error, match=message) as caught:
        days(1, 2).icecore.to(repo, **options)
    assert caught.value.kind == kind
    xr.testing.assert_equal(repo.at("main").to_xarray().load(), days(0, 5))


CHANGED: list[tuple[Any, str, str]] = [
    (lambda ds: ds.assign(u=ds.t), "not-found", "no array u"),
    (lambda ds: ds.transpose("x", "time"), "mismatch", r"dimensions \(time, x\)"),
    (lambda ds: ds.assign_coords(time=ds.time + 100 * DAY), "mismatch", "not a contiguous part"),
    (lambda ds: ds.isel(time=[0, 0]), "mismatch", "not a contiguous part"),
    (lambda ds: ds.drop_vars("x").isel(x=slice(0, 2)), "invalid", "needs a coordinate x"),
]


@pytest.mark.parametrize(("change", "kind", "message"), CHANGED)
def test_regions_that_do_not_fit(change: Any, kind: str, message: str) -> None:
    repo = icecore.create("memory://")
    days(0, 5).icecore.to(repo)
    with pytest.raises(icecore.Error, match=message) as caught:
        change(days(1, 2, 9)).icecore.to(repo, region="auto")
    assert caught.value.kind == kind
    xr.testing.assert_equal(repo.at("main").to_xarray().load(), days(0, 5))


def test_importing_icecore_does_not_import_xarray() -> None:
    code = "import sys, icecore; icecore.pack; icecore.open; assert 'xarray' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    code = (
        "import xarray, icecore; repo = icecore.create('memory://'); "
        "repo.to_xarray('/'); xarray.Dataset().icecore.to"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


ENCODED: dict[str, dict[str, Any]] = {
    "int32 hours": {"time": {"dtype": "i4", "units": "hours since 1900-01-01"}},
    "int16 days": {"time": {"dtype": "i2", "units": "days since 2000-01-01"}},
    "float32 days": {"time": {"dtype": "f4", "units": "days since 2000-01-01"}},
    "float64 days": {"time": {"dtype": "f8", "units": "days since 1850-01-01"}},
    "packed": {"t": {"dtype": "i2", "scale_factor": 0.5, "add_offset": 273.0, "_FillValue": -32768}},
    "unsigned": {"t": {"dtype": "u1", "scale_factor": 2.0, "add_offset": 200.0, "_FillValue": 255}},
    "float32": {"t": {"dtype": "f4", "_FillValue": 1e20}},
}


@pytest.mark.parametrize("encoding", ENCODED)
@pytest.mark.parametrize("chunks", [None, {"time": 1}])
def test_computed_parts_take_the_stored_encoding(encoding: str, chunks: Any) -> None:
    def part(first: int, count: int) -> Any:
        time = np.datetime64("2020-01-01", "ns") + np.arange(first, first + count) * DAY
        t = 280.0 + 2 * np.arange(first, first + count)
        t[0] = np.nan
        return xr.Dataset({"t": ("time", t)}, coords={"time": time})

    repo, start = icecore.create("memory://"), part(0, 3)
    for name, each in ENCODED[encoding].items():
        start[name].encoding = dict(each)
    start.icecore.to(repo, append_dim="time")  # creates the arrays
    before = {name: repo.at("main")[f"/{name}"].dtype for name in ("t", "time")}
    more = part(3, 2) if chunks is None else part(3, 2).chunk(chunks)
    more.icecore.to(repo, append_dim="time")
    more.icecore.to(repo, region={"time": slice(3, 5)})
    found = repo.at("main")
    assert {name: found[f"/{name}"].dtype for name in before} == before
    expected = xr.concat([part(0, 3), part(3, 2)], "time")
    xr.testing.assert_equal(found.to_xarray().load().astype({"t": "f8"}), expected)


STEPS = {
    "hours": ["2000-01-01", "2000-01-01T01", "2000-01-01T02", "2000-01-03"],
    "finer and finer": ["2000-01-01", "2000-01-02", "2000-01-02T06", "2000-01-02T06:00:00.25"],
    "before the first": ["2000-01-01", "1999-12-31T23:59"],
    "nanoseconds": ["2000-01-01", "2000-01-01T00:00:00.000000001"],
}


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("dtype", ["i8", "i4", "f4"])
def test_finer_times_are_appended(steps: str, dtype: str) -> None:
    repo = icecore.create("memory://")
    for i, time in enumerate(STEPS[steps]):
        step = xr.Dataset({"v": ("time", [float(i)])}, {"time": np.array([time], "M8[ns]")})
        ends = np.array([[time, time]], "M8[ns]") + np.array([0, 3_600_000_000_000], "m8[ns]")
        step = step.assign(time_bnds=(("time", "nv"), ends))
        step.time.attrs["bounds"] = "time_bnds"
        step.time.encoding = {"dtype": dtype, "units": "days since 2000-01-01"} if i == 0 else {}
        before = repo.at("main").snapshot_id
        step.icecore.to(repo, append_dim="time")
        assert repo.at("main").log()[0].parent == before  # one commit
    found = repo.at("main").to_xarray()
    np.testing.assert_array_equal(found.time.values, np.array(STEPS[steps], "M8[ns]"))
    np.testing.assert_array_equal(found.time_bnds.values[:, 0], np.array(STEPS[steps], "M8[ns]"))


def test_finer_times_of_files_are_appended(tmp_path: Path) -> None:
    for i, time in enumerate(["2000-01-01", "2000-01-01T06"]):
        part = xr.Dataset({"v": ("time", [1.0])}, {"time": np.array([time], "M8[ns]")})
        part.to_netcdf(tmp_path / f"{i}.nc")
        icecore.link(tmp_path / f"{i}.nc", tmp_path / "r", "/g", "time", append=i > 0)
    found = icecore.open(tmp_path / "r").to_xarray("/g").time.values
    np.testing.assert_array_equal(found, np.array(["2000-01-01", "2000-01-01T06"], "M8[ns]"))


@pytest.mark.parametrize("chunks", [None, {"t": 2, "x": 3}])
def test_a_strided_region(chunks: Any) -> None:
    repo = icecore.create("memory://")
    whole = np.zeros((20, 30), "f4")
    xr.Dataset({"v": (("t", "x"), whole)}).icecore.to(repo, chunk={"t": 4, "x": 7}, shard={"t": 4, "x": 7})
    part = xr.Dataset({"v": (("t", "x"), np.arange(1, 51, dtype="f4").reshape(5, 10))})
    part = part if chunks is None else part.chunk(chunks)
    part.icecore.to(repo, region={"t": slice(2, 20, 4), "x": slice(1, 30, 3)})
    whole[2:20:4, 1:30:3] = part.v
    np.testing.assert_array_equal(repo.at("main")["/v"][...], whole)


def test_a_region_refuses_times_that_are_not_exact() -> None:
    repo = icecore.create("memory://")
    days(0, 4).icecore.to(repo)
    part = days(1, 1)
    part = part.assign_coords(time=part.time + np.timedelta64(1, "h")).drop_vars("x")
    with pytest.raises(icecore.Error, match="/time: some of its times are not exact in the stored int32"):
        part.icecore.to(repo, region={"time": slice(1, 2)})
    xr.testing.assert_equal(repo.at("main").to_xarray().load(), days(0, 4))
