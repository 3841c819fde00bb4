"""Sources that share a group: coordinates must be equal, whichever call brings them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest

xr = pytest.importorskip("xarray")
pytest.importorskip("netCDF4")

LAT = np.array([0.0, 10.0, 20.0])


def file(folder: Path, name: str, lat: Any = LAT, variable: str | None = None, **extra: Any) -> Path:
    data = {variable or name: (("time", "lat"), np.full((2, len(lat)), len(name), "f4")), **extra}
    dataset = xr.Dataset(data, coords={"time": [0, 1], "lat": lat})
    dataset.to_netcdf(folder / f"{name}.nc")
    return folder / f"{name}.nc"


@pytest.fixture(params=[icecore.link, icecore.pack], ids=["link", "pack"])
def verb(request: pytest.FixtureRequest) -> Any:
    return request.param


def together(verb: Any, files: list[Path], into: Path, **options: Any) -> Any:
    return verb(files, into, "/g", **options)


def one_by_one(verb: Any, files: list[Path], into: Path, **options: Any) -> Any:
    verb(files[0], into, "/g")
    return [verb(each, into, "/g", skip_existing=True, **options) for each in files[1:]][-1]


@pytest.mark.parametrize("way", [together, one_by_one])
def test_equal_coordinates_are_shared(tmp_path: Path, verb: Any, way: Callable[..., Any]) -> None:
    files = [file(tmp_path, "tas"), file(tmp_path, "pr"), file(tmp_path, "ps")]
    way(verb, files, tmp_path / "r")
    repo = icecore.open(tmp_path / "r")
    assert sorted(repo["/g"].arrays) == ["lat", "pr", "ps", "tas", "time"]
    xr.testing.assert_equal(repo.to_xarray("/g").load(), xr.merge(map(xr.load_dataset, files)))


@pytest.mark.parametrize("way", [together, one_by_one])
@pytest.mark.parametrize(
    ("lat", "message"),
    [
        ([50.0, 60.0, 70.0], r"/g/lat differs between .* by up to 50: 0\.0 and 50\.0 at \[0\]"),
        ([0.0, 10.0, 20.0, 30.0], r"/g/lat: .*lat=4.*lat=3"),
        (np.add(LAT, [0, 0, 1e-9]), r"20\.0 and 20\.000000001 at \[2\]"),
        (LAT.astype("f4"), r"float32 .* float64"),
    ],
)
def test_other_coordinates_are_refused(
    tmp_path: Path, verb: Any, way: Callable[..., Any], lat: Any, message: str
) -> None:
    files = [file(tmp_path, "tas"), file(tmp_path, "ps", lat)]
    with pytest.raises(icecore.Error, match=message) as caught:
        way(verb, files, tmp_path / "r")
    assert caught.value.kind == "mismatch"
    if way is one_by_one:
        assert sorted(icecore.open(tmp_path / "r")["/g"].arrays) == ["lat", "tas", "time"]
    else:
        assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("way", [together, one_by_one])
def test_rounding_is_accepted_with_a_tolerance(tmp_path: Path, verb: Any, way: Callable[..., Any]) -> None:
    files = [file(tmp_path, "tas"), file(tmp_path, "ps", np.add(LAT, [0, 0, 1e-9]))]
    report = way(verb, files, tmp_path / "r", coord_tolerance=1e-6)
    assert [note.name for note in report.notes if note.kind == "tolerance"] == ["/g/lat"]
    assert icecore.open(tmp_path / "r")["/g/lat"][...].tolist() == LAT.tolist()


def test_data_of_two_files_is_joined_or_refused(tmp_path: Path, verb: Any) -> None:
    files = [file(tmp_path, "one", variable="tas"), file(tmp_path, "other", variable="tas")]
    with pytest.raises(icecore.Error, match="both have an array for /g/tas") as caught:
        verb(files, tmp_path / "r", "/g")
    assert "--concat" in caught.value.hint


def test_equal_scalars_are_shared(tmp_path: Path, verb: Any) -> None:
    files = [file(tmp_path, "tas", height=2.0), file(tmp_path, "huss", height=2.0)]
    verb(files, tmp_path / "r", "/g")
    other = file(tmp_path, "uas", height=10.0)
    with pytest.raises(icecore.Error, match="/g/height"):
        verb([*files, other], tmp_path / "s", "/g")
    report = verb(other, tmp_path / "r", "/g", skip_existing=True)
    assert [note.name for note in report.notes if "differs" in note.message] == ["/g/height"]


def test_a_coordinate_is_replaced_with_all_that_depends_on_it(tmp_path: Path, verb: Any) -> None:
    verb([file(tmp_path, "tas"), file(tmp_path, "ps")], tmp_path / "r", "/g")
    before = icecore.open(tmp_path / "r").snapshot_id
    new = [file(tmp_path, "new_tas", LAT + 5, "tas"), file(tmp_path, "new_ps", LAT + 5, "ps")]
    with pytest.raises(icecore.Error, match="/g/ps, which is not replaced, depends on it"):
        verb(new[0], tmp_path / "r", "/g", replace=True)
    assert icecore.open(tmp_path / "r").snapshot_id == before
    verb(new, tmp_path / "r", "/g", replace=True)
    assert icecore.open(tmp_path / "r")["/g/lat"][...].tolist() == (LAT + 5).tolist()


def test_lengths_of_dimensions_without_coordinates(tmp_path: Path, verb: Any) -> None:
    for name, count in (("u", 3), ("v", 4)):
        xr.Dataset({name: ("lat", np.zeros(count))}).to_netcdf(tmp_path / f"{name}.nc")
    verb(tmp_path / "u.nc", tmp_path / "r", "/g")
    with pytest.raises(icecore.Error, match=r"'lat' has 4 elements in .*v\.nc, 3 in the repository"):
        verb(tmp_path / "v.nc", tmp_path / "r", "/g")


def test_a_repeated_run_reads_nothing(tmp_path: Path, verb: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [file(tmp_path, "tas"), file(tmp_path, "ps")]
    verb(files, tmp_path / "r", "/g")
    from icecore.sources.mapping import consistency

    monkeypatch.setattr(consistency, "_read", None)
    report = verb(files, tmp_path / "r", "/g", skip_existing=True)
    assert report.snapshot is None
    assert report.count("skipped") == 6
