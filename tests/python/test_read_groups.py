"""`read -o` of whole groups and tables, `--decoded`, and selections by coordinate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest

DAYS = np.arange(60)
LAT = np.linspace(80, -80, 17).astype("f4")
T = np.random.default_rng(7).integers(-300, 300, (60, 17, 9)).astype("i2")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A climate run with packed values, groups and coordinates above them, and a table."""
    where = str(tmp_path_factory.mktemp("groups") / "run.icecore")
    with icecore.create(where).writer() as w:
        w.group("/run", {"title": "a run", "version": 3})
        calendar = {"units": "days since 2020-01-01", "calendar": "standard"}
        w.array("/run/time", "i4", (60,), ("time",), attrs=calendar)[...] = DAYS
        w.array("/run/lat", "f4", (17,), ("lat",), attrs={"units": "degrees_north"})[...] = LAT
        w.array("/run/lon", "f8", (9,), ("lon",), attrs={"units": "degrees_east"})[...] = np.arange(9) * 40.0
        packed = {"scale_factor": 0.1, "add_offset": 280.0, "_FillValue": np.int16(-300), "units": "K"}
        t = w.array("/run/t", "i2", T.shape, ("time", "lat", "lon"), chunks=(10, 17, 9), attrs=packed)
        t[...] = T
        w.array("/run/sub/mean", "f4", (60,), ("time",), attrs={"_FillValue": np.float32(-1)})[...] = DAYS - 1
        w.array("/run/sub/station", str, (3,), ("station",))[...] = np.array(["AB", "C", "DEF"], "O")
        w.array("/run/sub/code", "S3", (3,), ("station",))[...] = [b"x", b"yy", b"zzz"]
        w.array("/run/sub/ok", "?", (3,), ("station",))[...] = [True, False, True]
        w.array("/run/sub/none", "f8", (0, 9), ("empty", "lon"))
        w.array("/run/sub/number", "i8", ())[...] = 42
        w.array("/table/x", "f8", (5000,))[...] = np.arange(5000) / 4
        w.array("/table/n", "i4", (5000,))[...] = np.arange(5000)
    return where


def physical(stored: np.ndarray) -> np.ndarray:
    return np.where(stored == -300, np.nan, stored * 0.1 + 280)


@pytest.mark.parametrize("name", ["o.nc", "o.h5"])
@pytest.mark.parametrize("compress", ["none", "gzip:4"])
def test_hdf5_and_netcdf(place: str, name: str, compress: str, tmp_path: Path, run: Any) -> None:
    out = tmp_path / name
    status, _, err = run("read", place, "/run", "-o", out, "--compress", compress, "--chunk", "time=7")
    assert (status, err) == (0, f"{out}: 10 arrays\n")
    repo = icecore.open(place)
    with h5py.File(out) as file:
        assert file.attrs["title"] == "a run"
        for path in repo.arrays:
            if path.startswith("/run"):
                want = repo[path][...]
                got = file[path[5:]][...]
                assert got.shape == want.shape
                assert [*map(_text, got.reshape(-1).tolist())] == [*map(_text, want.reshape(-1).tolist())], (
                    path
                )
        assert file["t"].dtype == "i2"
        assert file["t"].chunks == (7, 17, 9)
        assert file["t"].compression == (None if compress == "none" else "gzip")
        assert file["t"].attrs["_FillValue"] == -300
        assert file["t"].dims[0][0] == file["time"]
        assert file["sub/mean"].dims[0][0] == file["time"]


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def test_xarray_reads_what_it_reads_from_the_repository(place: str, tmp_path: Path, run: Any) -> None:
    xr = pytest.importorskip("xarray")
    pytest.importorskip("netCDF4")
    assert run("read", place, "/run", "-o", tmp_path / "o.nc")[0] == 0
    assert run("read", place, "/run", "-o", tmp_path / "o.zarr")[0] == 0
    assert run("read", place, "/run", "-o", tmp_path / "v2.zarr", "--zarr-format", "2")[0] == 0
    with xr.open_dataset(place, engine="icecore", group="/run") as want:
        want.load()
        for name, options in (
            ("o.nc", {"engine": "netcdf4"}),
            ("o.nc", {"engine": "h5netcdf"}),
            ("o.zarr", {"engine": "zarr", "consolidated": False}),
            ("v2.zarr", {"engine": "zarr"}),
        ):
            with xr.open_dataset(tmp_path / name, **options) as got:
                xr.testing.assert_identical(got.load(), want)
    for name, options in (
        ("o.nc", {"engine": "netcdf4"}),
        ("o.zarr", {"engine": "zarr", "consolidated": False}),
    ):
        with xr.open_dataset(tmp_path / name, group="sub", **options) as got:
            assert got.station.values.tolist() == ["AB", "C", "DEF"]
            assert np.isnan(got["mean"].values[0])
            assert got["mean"].sizes == {"time": 60}
            assert got.ok.values.tolist() == [True, False, True]
            assert got.number.item() == 42


def test_decoded_values(place: str, tmp_path: Path, run: Any) -> None:
    out = tmp_path / "o.h5"
    assert run("read", place, "/run", "-o", out, "--decoded")[0] == 0
    with h5py.File(out) as file:
        assert np.allclose(file["t"][...], physical(T), equal_nan=True)
        assert not {"scale_factor", "add_offset", "_FillValue"} & set(file["t"].attrs)
        assert file["t"].attrs["units"] == "K"
        assert np.isnan(file["sub/mean"][0])
        assert file["time"][...].tolist() == DAYS.tolist()
    assert run("read", place, "/run/t", "0:5", "-o", tmp_path / "t.npy", "--decoded")[0] == 0
    assert np.allclose(np.load(tmp_path / "t.npy"), physical(T[:5]), equal_nan=True)
    for name in ("t.nc", "t.h5"):
        assert run("read", place, "/run/t", "0:5", "-o", tmp_path / name, "--decoded")[0] == 0
        with h5py.File(tmp_path / name) as file:
            assert np.allclose(file["t"][...], physical(T[:5]), equal_nan=True)
            assert "scale_factor" not in file["t"].attrs
    status, text, err = run("read", place, "/run/time", "0:3", "--decoded")
    assert (status, err) == (0, "")
    assert "2020-01-03" in text
    status, text, err = run("read", place, "/run/t", "0, 0, 0", "--decoded", "--json")
    assert json.loads(text)["data"] == pytest.approx(float(physical(T)[0, 0, 0]))
    assert err == ""


@pytest.mark.parametrize(
    ("sel", "index"),
    [
        ("time=2020-01-05..2020-01-09", np.s_[4:9]),
        ("time=2020-02..", np.s_[31:]),
        ("time=..2020-01-02, lat=50.0", np.s_[:2, 3]),
        ("time=2020-01", np.s_[:31]),
        ("time=2020-02-10", np.s_[40]),
        ("lat=50.0", np.s_[:, 3]),
        ("lat=50, time=2020-01-01..2020-01-31", np.s_[:31, 3]),
        ("lat=-15..25, lon=80.0", np.s_[:, 6:10, 2]),
        ("lat=25..-15", np.s_[:, 6:10]),
        ("time=3:9, lat=50.0", np.s_[3:9, 3]),
        ("lat=3", np.s_[:, 3]),
        ("time=0:10, lat=3", np.s_[0:10, 3]),
    ],
)
def test_selection_by_coordinate(place: str, sel: str, index: Any, tmp_path: Path, run: Any) -> None:
    status, _, err = run("read", place, "/run/t", sel, "-o", tmp_path / "t.npy")
    assert (status, "error" in err) == (0, False)
    assert np.array_equal(np.load(tmp_path / "t.npy"), T[index])
    assert run("read", place, "/run", sel, "-o", tmp_path / "g.h5")[0] == 0
    with h5py.File(tmp_path / "g.h5") as file:
        assert np.array_equal(file["t"][...], T[index])


def test_it_selects_as_xarray_does(place: str, tmp_path: Path, run: Any) -> None:
    xr = pytest.importorskip("xarray")
    with xr.open_dataset(place, engine="icecore", group="/run", mask_and_scale=False) as dataset:
        for sel, chosen in (
            ("time=2020-01-05..2020-02", {"time": slice("2020-01-05", "2020-02")}),
            ("lat=25..-15, time=2020-01-31", {"lat": slice(25, -15), "time": "2020-01-31"}),
            ("lon=40..120.0", {"lon": slice(40, 120)}),
        ):
            assert run("read", place, "/run/t", sel, "-o", tmp_path / "t.npy")[0] == 0
            assert np.array_equal(np.load(tmp_path / "t.npy"), dataset.t.sel(chosen).values), sel


@pytest.mark.parametrize(
    ("sel", "message"),
    [
        ("lat=50.5", "the nearest is lat=50.0"),
        ("lat=100..200", "it has -80.0..80.0"),
        ("time=2021-01", "it has 2020-01-01"),
        ("time=tomorrow", "/run/time holds times (got 'tomorrow')"),
        ("lat=north", "/run/lat holds numbers (got 'north')"),
        ("depth=5.0", "'depth'"),
    ],
)
@pytest.mark.parametrize("path", ["/run/t", "/run"])
def test_values_that_a_coordinate_lacks(
    place: str, path: str, sel: str, message: str, tmp_path: Path, run: Any
) -> None:
    status, _, err = run("read", place, path, sel, "-o", tmp_path / "o.h5")
    assert status == 2
    assert "error[selection]" in err
    assert message in err
    assert not [*tmp_path.iterdir()]


def test_tables(place: str, tmp_path: Path, run: Any) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    assert run("read", place, "/table", "-o", tmp_path / "t.parquet")[0] == 0
    table = pq.read_table(tmp_path / "t.parquet")
    assert table["x"].to_pylist() == (np.arange(5000) / 4).tolist()
    status, out, _ = run("read", place, "/table", "4990:", "-o", tmp_path / "t.csv", "--json")
    assert json.loads(out)["rows"] == 10
    assert (tmp_path / "t.csv").read_text().splitlines()[1] == "4990,1247.5"
    status, _, err = run("read", place, "/run", "-o", tmp_path / "g.parquet")
    assert (status, "error[mismatch]" in err) == (2, True)


def test_blocks_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Any) -> None:
    """An array larger than a block is written in blocks of whole chunks, and progress counts its bytes."""
    from icecore.export import group_plan
    from icecore.export.save_group import save_group

    monkeypatch.setattr(group_plan, "_BLOCK", 1 << 20)
    monkeypatch.setattr(group_plan, "_SMALL", 1 << 10)
    values = np.random.default_rng(1).random((100, 50, 200))
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        w.array("/big", "f8", values.shape, chunks=(10, 50, 200))[...] = values
        w.array("/small", "f8", (5,))[...] = range(5)
    repo = icecore.open(tmp_path / "r.icecore")
    sizes: list[int] = []
    read = group_plan._read
    monkeypatch.setattr(group_plan, "_read", lambda blocks: [*map(_noted(sizes), read(blocks))])
    seen: list[tuple[int, int]] = []
    for name in ("o.nc", "o.zarr"):
        sizes.clear()
        save_group(
            repo["/"],
            lambda array: (slice(None),) * array.ndim,
            str(tmp_path / name),
            group_plan.Storage(),
            3,
            lambda _, done, total: seen.append((done, total)),
        )
        assert max(sizes) == 10 * 50 * 200 * 8
        assert len(sizes) == 11
        assert seen[-1] == (values.nbytes + 40, values.nbytes + 40)
    with h5py.File(tmp_path / "o.nc") as file:
        assert np.array_equal(file["big"][...], values)


def _noted(sizes: list[int]) -> Any:
    def note(data: np.ndarray) -> np.ndarray:
        sizes.append(data.nbytes)
        return data

    return note


def test_what_a_format_cannot_hold_is_named(tmp_path: Path, run: Any) -> None:
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        w.array("/a", "c8", (2,))[...] = [1, 2j]
        w.array("/b", "f2", (2,))[...] = [1, 2]
    status, _, err = run("read", tmp_path / "r.icecore", "/", "-o", tmp_path / "o.nc")
    assert status == 1
    assert "left out: /a: netCDF-4 can't hold complex64" in err
    with h5py.File(tmp_path / "o.nc") as file:
        assert (sorted(file), file["b"].dtype) == (["b", "phony_dim_0"], "f4")
    assert run("read", tmp_path / "r.icecore", "/", "-o", tmp_path / "o.h5")[0] == 0


def test_a_failed_write_leaves_nothing(place: str, tmp_path: Path, run: Any) -> None:
    for more in (["-o", tmp_path / "o.h5", "--compress", "brotli"], ["-o", tmp_path / "o.txt"], []):
        status, _, err = run("read", place, "/run", *more)
        assert status == 2
        assert "  try: " in err
    (tmp_path / "there.zarr").mkdir()
    assert "error[exists]" in run("read", place, "/run", "-o", tmp_path / "there.zarr")[2]
    assert [each.name for each in tmp_path.iterdir()] == ["there.zarr"]


def test_names_that_netcdf_uses_twice(tmp_path: Path, run: Any) -> None:
    """A variable that is called like a dimension of its group, dimensions of two lengths, a repeated one."""
    xr = pytest.importorskip("xarray")
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        w.array("/x", "f4", (3, 4), ("x", "y"))[...] = np.arange(12).reshape(3, 4)
        w.array("/other", "f4", (5,), ("y",))[...] = range(5)
        w.array("/square", "f4", (4, 4), ("y", "y"))[...] = 7
    status, _, err = run("read", tmp_path / "r.icecore", "/", "-o", tmp_path / "o.nc")
    assert status == 0, err
    with xr.open_dataset(tmp_path / "o.nc", engine="netcdf4") as got:
        assert got.x.values.tolist() == np.arange(12).reshape(3, 4).tolist()
        assert sorted(got.sizes.values()) == [3, 4, 4, 5]
        assert (got.square == 7).all()
