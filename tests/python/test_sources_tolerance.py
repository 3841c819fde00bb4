"""Coordinates that differ by rounding: refused with the difference, joined within a stated tolerance."""

from __future__ import annotations

import json
from pathlib import Path

import icecore
import netCDF4
import numpy as np
import pytest
from icecore.cli import run
from icecore.sources import open_source
from icecore.sources.mapping.consistency import coordinates

LAT = np.linspace(-60, 60, 13)


def part(folder: Path, number: int, lat: np.ndarray = LAT, dtype: str = "f8", **extra: float) -> Path:
    """A file with coordinates: time, lat and its bounds, area_lon; and with ``height``, which is data."""
    path = folder / f"p{number}.nc"
    with netCDF4.Dataset(path, "w") as file:
        for name, n in (("time", None), ("lat", len(lat)), ("x", 4), ("two", 2)):
            file.createDimension(name, n)
        for name, dims, values in (
            ("time", ("time",), np.arange(3.0) + 3 * number),
            ("lat_bnds", ("lat", "two"), np.stack([lat - 5, lat + 5], 1) + extra.get("bounds", 0)),
            ("area_lon", ("lat", "x"), np.add.outer(lat, np.arange(4.0)) + extra.get("area", 0)),
            ("height", ("lat",), LAT[: len(lat)] * 2 + extra.get("height", 0)),
        ):
            file.createVariable(name, "f8", dims)[:] = values
        variable = file.createVariable("lat", dtype, ("lat",))
        variable[:] = lat
        variable.setncatts({"units": "degrees_north", "bounds": "lat_bnds"})
        field = file.createVariable("t", "f4", ("time", "lat", "x"))
        field[:] = number
        field.coordinates = "area_lon"
    return path


@pytest.mark.parametrize("verb", [icecore.link, icecore.pack])
def test_joined_within_the_tolerance(tmp_path: Path, verb) -> None:
    files = [part(tmp_path, 0), part(tmp_path, 1, LAT + 3e-7), part(tmp_path, 2, LAT - 8e-7, bounds=1e-8)]
    repo = tmp_path / "r.icecore"
    with pytest.raises(icecore.Error, match=r"/area_lon has no dimension 'time'.*by up to \de-07") as error:
        verb(files, repo, "/j", "time")
    assert error.value.kind == "mismatch"
    assert "--coord-tolerance" in error.value.hint
    assert not repo.exists()
    report = verb(files, repo, "/j", "time", coord_tolerance=1e-6)
    notes = {note.name: note.message for note in report.notes if note.kind == "tolerance"}
    assert sorted(notes) == ["/j/area_lon", "/j/lat", "/j/lat_bnds"]
    assert "differs in 2 files by up to 8e-07 degrees_north (coord_tolerance 1e-06)" in notes["/j/lat"]
    assert "p0.nc are used" in notes["/j/lat"]
    opened = icecore.open(repo)
    np.testing.assert_array_equal(opened["/j/lat"][...], LAT)
    attrs = opened["/j/lat"].attrs
    assert attrs["coord_tolerance"] == 1e-6
    assert abs(attrs["coord_difference"] - 8e-7) < 1e-14
    assert opened["/j/t"].shape == (9, 13, 4)
    assert "coord_difference" not in opened["/j/height"].attrs
    assert not opened.verify(deep=True)


def test_equal_coordinates_need_no_tolerance(tmp_path: Path) -> None:
    files = [part(tmp_path, 0), part(tmp_path, 1)]
    report = icecore.link(files, tmp_path / "r.icecore", "/j", "time", coord_tolerance=1e-6)
    assert not [note for note in report.notes if note.kind == "tolerance"]
    assert "coord_tolerance" not in icecore.open(tmp_path / "r.icecore")["/j/lat"].attrs


def test_types_that_differ(tmp_path: Path) -> None:
    """One file has float64 latitudes, one the same as float32."""
    lat = LAT + 1 / 3
    files = [part(tmp_path, 0, lat), part(tmp_path, 1, lat, "f4")]
    with pytest.raises(icecore.Error, match="float32"):
        icecore.link(files, tmp_path / "r.icecore", "/j", "time")
    icecore.link(files, tmp_path / "r.icecore", "/j", "time", coord_tolerance=1e-5)
    np.testing.assert_array_equal(icecore.open(tmp_path / "r.icecore")["/j/lat"][...], lat)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"lat": LAT + 2e-6}, "by up to 2e-06, more than the tolerance of 1e-06"),
        ({"bounds": 0.5}, "/lat_bnds .* by up to 0.5, more than"),
        ({"height": 1e-9}, "/height has no dimension"),
        ({"lat": np.where(LAT > 50, np.nan, LAT)}, "by up to inf"),
        ({"lat": LAT[:-1]}, "lat=12"),
    ],
)
def test_what_is_not_rounding(tmp_path: Path, change: dict, expected: str) -> None:
    files = [part(tmp_path, 0), part(tmp_path, 1, **change)]
    with pytest.raises(icecore.Error, match=expected):
        icecore.link(files, tmp_path / "r.icecore", "/j", "time", coord_tolerance=1e-6)
    assert not (tmp_path / "r.icecore").exists()


def test_a_tolerance_of_half_a_step_is_refused(tmp_path: Path) -> None:
    files = [part(tmp_path, 0), part(tmp_path, 1, LAT + 4)]
    with pytest.raises(icecore.Error, match="steps of 10: a tolerance of 5") as error:
        icecore.link(files, tmp_path / "r.icecore", "/j", "time", coord_tolerance=5)
    assert error.value.kind == "invalid"


@pytest.mark.parametrize("value", [-1e-9, float("inf"), float("nan"), True, "1e-6"])
def test_tolerances_that_are_none(tmp_path: Path, value) -> None:
    with pytest.raises(icecore.Error, match="coord_tolerance must be"):
        icecore.link(part(tmp_path, 0), tmp_path / "r.icecore", "/j", "time", coord_tolerance=value)
    with pytest.raises(icecore.Error, match="files that are joined"):
        icecore.pack(part(tmp_path, 0), tmp_path / "r.icecore", coord_tolerance=1e-6)


def test_appended_with_a_tolerance(tmp_path: Path) -> None:
    repo = tmp_path / "r.icecore"
    icecore.link(part(tmp_path, 0), repo, "/j", "time")
    later = part(tmp_path, 1, LAT + 5e-7)
    with pytest.raises(icecore.Error, match="by up to 5e-07"):
        icecore.link(later, repo, "/j", "time", append=True)
    report = icecore.link(later, repo, "/j", "time", append=True, coord_tolerance=1e-6)
    assert [note.name for note in report.notes if note.kind == "tolerance"] == [
        "/j/area_lon",
        "/j/lat",
        "/j/lat_bnds",
    ]
    np.testing.assert_array_equal(icecore.open(repo)["/j/lat"][...], LAT)


def test_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = [str(part(tmp_path, 0)), str(part(tmp_path, 1, LAT + 5e-7))]
    arguments = ["link", *files, "--into", str(tmp_path / "r.icecore"), "--concat", "time"]
    assert run(arguments) == 2
    assert "--coord-tolerance" in capfd.readouterr().err
    assert run([*arguments, "--coord-tolerance", "1e-6", "--json"]) == 0
    notes = json.loads(capfd.readouterr().out)["notes"]
    assert {note["kind"] for note in notes} >= {"tolerance"}


def test_coordinates(tmp_path: Path) -> None:
    assert coordinates([open_source(part(tmp_path, 0))]) == {"/time", "/lat", "/lat_bnds", "/area_lon"}
