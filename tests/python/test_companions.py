"""What `icecore read -o` writes beside an array: what says where its elements lie, cut alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.export import save
from icecore.repository.selection import parse, per_axis

netCDF4 = pytest.importorskip("netCDF4")
xr = pytest.importorskip("xarray")


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> icecore.Repo:
    """A field on a curvilinear grid, as models write it; its times lie in the group above."""
    folder = tmp_path_factory.mktemp("companions")
    with netCDF4.Dataset(folder / "m.nc", "w") as nc:
        for name, length in (("time", None), ("y", 4), ("x", 5), ("nv", 2)):
            nc.createDimension(name, length)
        time = nc.createVariable("time", "f8", ("time",))
        time.units, time.bounds = "days since 2000-01-01", "time_bnds"
        nc.createVariable("time_bnds", "f8", ("time", "nv"))[:] = np.arange(6).reshape(3, 2)
        time[:] = np.arange(3) + 0.5
        group = nc.createGroup("g")
        for i, name in enumerate(("lat", "lon")):
            group.createVariable(name, "f4", ("y", "x"))[:] = np.arange(20).reshape(4, 5) + 100 * i
        group.createVariable("crs", "i4").grid_mapping_name = "latitude_longitude"
        kind = group.createEnumType("u1", "kind", {"sea": 0, "land": 1})
        group.createVariable("mask", kind, ("y", "x"))[:] = 1
        t = group.createVariable("t", "i2", ("time", "y", "x"), fill_value=-9)
        t.coordinates, t.grid_mapping, t.scale_factor = "lat lon nowhere", "crs: lat lon", 0.5
        t[:] = np.arange(60).reshape(3, 4, 5)
    icecore.link(folder / "m.nc", folder / "m.icecore", "/")
    return icecore.open(folder / "m.icecore")


def written(repo: icecore.Repo, path: str, sel: str, target: Path, engine: str) -> Any:
    array = repo[path]
    assert isinstance(array, icecore.Array)
    save.save(array, parse(sel, array.dims), str(target))
    return xr.open_dataset(target, engine=engine, decode_coords="all")


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf"])
@pytest.mark.parametrize("sel", ["", "time=1", "1:, [3, 1], ::-2", "2, 0, 1", "1:1"])
def test_cut_alike(repo: icecore.Repo, tmp_path: Path, sel: str, engine: str) -> None:
    pytest.importorskip({"netcdf4": "netCDF4"}.get(engine, engine))
    index = dict(zip(("time", "y", "x"), per_axis(parse(sel, ("time", "y", "x")), 3), strict=True))
    with written(repo, "/g/t", sel, tmp_path / "t.nc", engine) as got:
        for path in ("/g/t", "/g/lat", "/g/lon", "/g/crs", "/time", "/time_bnds"):
            group, name = path.rsplit("/", 1)
            source = xr.open_dataset(repo, engine="icecore", group=group or "/", decode_coords="all")
            expected = source[name].isel(index, missing_dims="ignore")
            xr.testing.assert_identical(got[name].variable, expected.variable)
        assert {"lat", "lon", "crs", "time", "time_bnds"} == set(got.coords)


def test_lists_that_mix_axes_have_no_coordinates(repo: icecore.Repo, tmp_path: Path) -> None:
    with written(repo, "/g/t", "[0, 1], [3, 1], :", tmp_path / "t.nc", "netcdf4") as got:
        assert (got.t.dims, set(got.coords)) == (("dim_0", "dim_1"), {"crs"})


def test_a_coordinate_alone_has_its_bounds(repo: icecore.Repo, tmp_path: Path) -> None:
    with written(repo, "/time", "1:", tmp_path / "t.nc", "netcdf4") as got:
        assert (got.time_bnds.shape, got.time.dims) == ((2, 2), ("time",))
    with netCDF4.Dataset(tmp_path / "t.nc") as nc:
        assert {name: len(dim) for name, dim in nc.dimensions.items()} == {"time": 2, "nv": 2}


def test_flags_of_enumerations_are_of_their_type(repo: icecore.Repo, tmp_path: Path) -> None:
    with written(repo, "/g/mask", "", tmp_path / "t.nc", "netcdf4") as got:
        assert got.mask.attrs["flag_values"].dtype == got.mask.dtype == np.uint8
