"""Real netCDF files: xarray and netCDF4 see the same in the repository as in the source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from files import DATA, NETCDF, params

xr = pytest.importorskip("xarray")
netCDF4 = pytest.importorskip("netCDF4")

VERBS = {"link": icecore.link, "pack": icecore.pack}


@pytest.fixture(params=VERBS)
def verb(request: pytest.FixtureRequest) -> Any:
    """link or pack."""
    return VERBS[request.param]


def groups(dataset: Any, path: str = "") -> list[str]:
    """Paths of all groups of a netCDF file, the root as an empty text."""
    return [path, *(p for name, group in dataset.groups.items() for p in groups(group, f"{path}/{name}"))]


@pytest.mark.parametrize("path", params(NETCDF))
def test_xarray_sees_the_same_dataset(verb: Any, path: Path, repo_path: str) -> None:
    verb(path, repo_path, group="/f")
    with netCDF4.Dataset(path) as file:
        inside = groups(file)
    for group in inside:
        # a reference year of zero is beyond xarray, whichever engine reads it
        times = None if path.name != "ocean_atlas_subset.nc" else False
        with (
            xr.open_dataset(path, engine="netcdf4", group=group or None, decode_times=times) as source,
            xr.open_dataset(repo_path, engine="icecore", group=f"/f{group}", decode_times=times) as ours,
        ):
            xr.testing.assert_identical(source.load(), ours.load())


@pytest.mark.parametrize("path", params(NETCDF))
def test_undecoded_too(verb: Any, path: Path, repo_path: str) -> None:
    verb(path, repo_path, group="/f")
    with (
        xr.open_dataset(path, engine="netcdf4", decode_cf=False) as source,
        xr.open_dataset(repo_path, engine="icecore", group="/f", decode_cf=False) as ours,
    ):
        for name in source.variables:
            assert ours[name].dtype == source[name].dtype, name
            np.testing.assert_array_equal(ours[name].values, source[name].values, err_msg=name)
            assert ours[name].dims == source[name].dims, name


@pytest.mark.parametrize("path", params(NETCDF))
def test_netcdf4_reads_the_same_values(verb: Any, path: Path, repo_path: str) -> None:
    verb(path, repo_path, group="/f")
    repo = icecore.open(repo_path)
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        file.set_auto_chartostring(False)
        for group in groups(file):
            variables = (file[group] if group else file).variables
            for name, variable in variables.items():
                ours = repo[f"/f{group}/{name}"]
                theirs = np.asarray(variable[...])
                assert ours.shape == theirs.shape, name
                assert ours.dtype == theirs.dtype.newbyteorder("=") or theirs.dtype.kind in "SUO", name
                np.testing.assert_array_equal(ours.read(), theirs, err_msg=f"{group}/{name}")
                if theirs.ndim:
                    assert ours.dims == variable.dimensions, name


CYCLES = sorted(DATA.glob("climate/arome_*.nc"))


@pytest.fixture
def cycles(tmp_path: Path) -> list[Path]:
    """Two forecast cycles without the scalar time that each was made at, which can't be joined."""
    if len(CYCLES) < 2:
        pytest.skip("no AROME cycles at ../shared/data")
    made = []
    for path in CYCLES:
        with xr.open_dataset(path, engine="netcdf4") as source:
            source.drop_vars("forecast_reference_time").to_netcdf(tmp_path / path.name)
        made.append(tmp_path / path.name)
    return made


@pytest.mark.skipif(len(CYCLES) < 2, reason="no AROME cycles at ../shared/data")
def test_cycles_that_differ_in_what_is_not_joined_are_refused(verb: Any, repo_path: str) -> None:
    with pytest.raises(icecore.Error) as caught:
        verb(CYCLES, repo_path, group="/arome", concat="time")
    assert caught.value.kind == "mismatch"
    for part in ("forecast_reference_time", *(path.name for path in CYCLES[:2])):
        assert part in caught.value.message
    assert not Path(repo_path).exists() or "/arome" not in icecore.open(repo_path)


def test_forecast_cycles_joined_along_time(verb: Any, cycles: list[Path], repo_path: str) -> None:
    files = cycles
    verb(files, repo_path, group="/arome", concat="time")
    sources = [xr.open_dataset(path, engine="netcdf4") for path in files]
    with xr.open_dataset(repo_path, engine="icecore", group="/arome") as ours:
        for name in sources[0].variables:
            if "time" in sources[0][name].dims:
                theirs = np.concatenate(
                    [s[name].values for s in sources], sources[0][name].dims.index("time")
                )
            else:
                theirs = sources[0][name].values
            np.testing.assert_array_equal(ours[name].values, theirs, err_msg=str(name))
    for source in sources:
        source.close()


def test_a_later_cycle_appended(verb: Any, cycles: list[Path], repo_path: str) -> None:
    first, second = cycles[:2]
    verb(first, repo_path, group="/arome", concat="time")
    before = icecore.open(repo_path)
    verb(second, repo_path, group="/arome", concat="time", append=True)
    now = icecore.open(repo_path)
    name = "/arome/air_temperature_2m"
    with netCDF4.Dataset(first) as a, netCDF4.Dataset(second) as b:
        theirs = [np.ma.getdata(f["air_temperature_2m"][...]) for f in (a, b)]
    np.testing.assert_array_equal(now[name].read(), np.concatenate(theirs))
    np.testing.assert_array_equal(before[name].read(), theirs[0])
    assert now.verify(deep=True) == []


@pytest.mark.parametrize(
    "names", [("iris_nemo_1m_20150101", "iris_nemo_1m_20150201"), ("Pstorm", "Tstorm")], ids=["nemo", "storm"]
)
def test_files_that_do_or_do_not_fit_together(verb: Any, repo_path: str, names: tuple[str, ...]) -> None:
    """Joined, or refused with both sides named; never joined wrongly."""
    files = [path for name in names for path in DATA.glob(f"climate/{name}*")]
    if len(files) < 2:
        pytest.skip("no real files at ../shared/data")
    dim = "time_counter" if names[0].startswith("iris") else "timestep"
    try:
        verb(files, repo_path, group="/g", concat=dim)
    except icecore.Error as error:
        kind, message = error.kind, error.message
        assert kind in ("mismatch", "invalid", "not-found"), message
        assert any(path.name in message for path in files), message
        return
    repo = icecore.open(repo_path)
    for name, array in repo["/g"].arrays.items():
        if dim not in array.dims:
            continue
        parts = []
        for path in files:
            with netCDF4.Dataset(path) as file:
                file.set_auto_maskandscale(False)
                if name in file.variables:
                    parts.append(np.asarray(file[name][...]))
        if name != dim:
            np.testing.assert_array_equal(array.read(), np.concatenate(parts), err_msg=name)
