"""Joined files whose coordinate goes back are noted; those on other projections are refused."""

from __future__ import annotations

from pathlib import Path

import icecore
import netCDF4
import numpy as np
import pytest
from icecore import errors
from icecore.sources.mapping.coordinate_order import Ends, disorder

UNITS = "hours since 2000-01-01"


def file(folder: Path, name: str, times, projection: dict[str, object] | None = None, units=UNITS) -> Path:
    """``v(time, x)`` and, with ``projection``, the grid mapping that it names."""
    path = folder / name
    with netCDF4.Dataset(path, "w") as out:
        out.createDimension("time", None)
        out.createDimension("x", 3)
        time = out.createVariable("time", "f8", ("time",))
        time[:] = times
        time.units = units
        values = out.createVariable("v", "f4", ("time", "x"))
        values[:] = np.arange(3 * len(times)).reshape(-1, 3)
        if projection is not None:
            values.grid_mapping = "crs"
            out.createVariable("crs", "i4", ()).setncatts(projection)
    return path


def order(report) -> list[tuple[str, str]]:
    return [(note.name, note.message) for note in report.notes if note.kind == "order"]


@pytest.mark.parametrize("verb", [icecore.link, icecore.pack])
def test_files_in_order_are_not_spoken_of(tmp_path, verb) -> None:
    parts = [file(tmp_path, "a.nc", [0, 1, 2]), file(tmp_path, "b.nc", [3, 4]), file(tmp_path, "c.nc", [5])]
    assert not order(verb(parts, tmp_path / "r", concat="time", group="/"))
    assert not order(
        verb([file(tmp_path, "d.nc", [6, 7])], tmp_path / "r", concat="time", group="/", append=True)
    )


@pytest.mark.parametrize("verb", [icecore.link, icecore.pack])
def test_times_that_go_back_or_come_twice_are_noted(tmp_path, verb) -> None:
    parts = [
        file(tmp_path, "a.nc", [3, 4]),
        file(tmp_path, "b.nc", [0, 1, 2]),
        file(tmp_path, "c.nc", [2, 3]),
    ]
    ((name, message),) = order(verb(parts, tmp_path / "r", concat="time", group="/"))
    assert name == "/time"
    assert "b.nc begins at 0.0, " in message
    assert "a.nc before it ends at 4.0 (hours since 2000-01-01), and 1 more such" in message
    other = file(tmp_path, "d.nc", [2, 3])
    ((_, message),) = order(verb([other], tmp_path / "r", concat="time", group="/", append=True))
    assert "d.nc begins at 2.0, the repository before it ends at 3.0" in message
    assert icecore.open(tmp_path / "r")["/time"][...].tolist() == [3, 4, 0, 1, 2, 2, 3, 2, 3], "all of it"


def test_times_in_other_units_are_compared_as_times(tmp_path) -> None:
    first, later = file(tmp_path, "a.nc", [0, 12]), file(tmp_path, "b.nc", [1], units="days since 2000-01-01")
    assert not order(icecore.link([first, later], tmp_path / "r", concat="time", group="/"))
    again = file(tmp_path, "c.nc", [0.25], units="days since 2000-01-01")
    assert "begins at 6.0" in order(icecore.link([first, again], tmp_path / "s", concat="time"))[0][1]


def test_files_without_any_times_are_joined(tmp_path) -> None:
    empty = [file(tmp_path, "a.nc", []), file(tmp_path, "b.nc", [])]
    assert not order(icecore.link(empty, tmp_path / "r", concat="time", group="/"))
    later = [file(tmp_path, "c.nc", [1, 2])]
    assert not order(icecore.link(later, tmp_path / "r", concat="time", group="/", append=True))


def test_a_repository_whose_file_changed_is_appended_to(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("icecore.sources.mapping.stitched_array.SMALL", -1)  # else its times were copied
    first = file(tmp_path, "a.nc", np.arange(1024.0))
    icecore.link([first], tmp_path / "r", concat="time", group="/")
    with netCDF4.Dataset(first, "a") as out:
        out["time"][0] = -7
    with pytest.raises(errors.Error):
        icecore.open(tmp_path / "r")["/time"][...]
    icecore.link([file(tmp_path, "b.nc", [2000])], tmp_path / "r", concat="time", group="/", append=True)
    assert icecore.open(tmp_path / "r")["/time"].shape == (1025,)


def test_directions() -> None:
    down = [Ends("a", 90, 80), Ends("b", 70, 60), Ends("c", 50, 50)]
    assert disorder(down) == ""
    assert disorder(down[::-1]).startswith("b begins at 70, c before it ends at 50, and 1 more such:"), (
        "each of them goes down"
    )
    assert disorder([Ends("a", 1, 1), Ends("b", 1, 1)]).startswith("b begins at 1, a before it ends at 1:")
    assert disorder([Ends("a", 1, float("nan")), Ends("b", 1, 1)]) == ""
    assert disorder([Ends("a", 1, 2)]) == disorder([]) == ""


ALBERS = {
    "grid_mapping_name": "albers_conical_equal_area",
    "standard_parallel": np.array([29.5, 45.5]),
    "longitude_of_central_meridian": -96.0,
    "crs_wkt": "PROJCRS[...]",
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("longitude_of_central_meridian", -95.0),
        ("standard_parallel", np.array([29.5, 45.0])),
        ("grid_mapping_name", "lambert_conformal_conic"),
    ],
)
def test_other_projections_are_refused(tmp_path, name, value) -> None:
    parts = [file(tmp_path, "a.nc", [0], ALBERS), file(tmp_path, "b.nc", [1], {**ALBERS, name: value})]
    with pytest.raises(errors.Error, match=f"/crs: {name} is .*b.nc, .*a.nc") as caught:
        icecore.link(parts, tmp_path / "r", concat="time")
    assert (caught.value.kind, "places would be silently wrong" in caught.value.hint) == ("mismatch", True)
    assert not (tmp_path / "r").exists()


def test_the_same_projection_in_other_words_is_joined(tmp_path) -> None:
    other = {
        **ALBERS,
        "standard_parallel": np.array([29.5, 45.5], "f4"),
        "crs_wkt": "PROJCS[...]",
        "false_easting": 0.0,
    }
    parts = [file(tmp_path, "a.nc", [0], ALBERS), file(tmp_path, "b.nc", [1], other)]
    icecore.link(parts, tmp_path / "r", concat="time", group="/")
    repo = icecore.open(tmp_path / "r")
    assert repo["/v"].shape == (2, 3)
    assert repo["/crs"].attrs["crs_wkt"] == "PROJCRS[...]", "the first one's"
