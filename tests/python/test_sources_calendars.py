"""Joined times of which only some state a calendar: each by its own or CF's default, and reported."""

from __future__ import annotations

import cftime
import icecore
import netCDF4
import numpy as np
import pytest

UNITS = ("days since 0001-01-01", "days since 1990-01-01")


def files(folder, calendar, own=None):
    """Two files with times in different units, and a second variable of times."""
    paths = []
    for i, units in enumerate(UNITS):
        paths.append(folder / f"{i}.nc")
        with netCDF4.Dataset(paths[-1], "w") as file:
            file.createDimension("time", None)
            for name, said in (("time", calendar), ("average_T1", own)):
                array = file.createVariable(name, "f8", ("time",))
                array.units = units
                if said is not None:
                    array.calendar = said
                array[:] = np.arange(3) + i * 3
    return paths


@pytest.mark.parametrize("verb", [icecore.link, icecore.pack], ids=["link", "pack"])
@pytest.mark.parametrize(
    ("calendar", "own", "noted"),
    [("noleap", None, True), ("360_day", "", True), ("noleap", "noleap", False), ("standard", None, False)],
)
def test_each_by_its_own_calendar(tmp_path, verb, calendar, own, noted):
    report = verb(files(tmp_path, calendar, own), tmp_path / "r", group="/g", concat="time")
    repo = icecore.open(tmp_path / "r")
    for name, used in (("time", calendar), ("average_T1", own or "standard")):
        dates = cftime.num2date(np.arange(3) + 3, UNITS[1], used)
        right = [*range(3), *cftime.date2num(dates, UNITS[0], used)]
        assert repo[f"/g/{name}"][...].tolist() == right
    notes = [(note.name, note.kind) for note in report.notes if note.kind == "calendar"]
    assert notes == [("/g/average_T1", "calendar")] * noted
    if noted:
        [message] = [note.message for note in report.notes if note.kind == "calendar"]
        assert f"/time is in the calendar {calendar}" in message
