"""What is refused leaves nothing behind: no repository, no array that fell out of step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest
from icecore import cli

xr = pytest.importorskip("xarray")


def granule(path: Path, start: int, units: str = "days since 2000-01-01", **more: Any) -> Path:
    times = np.arange(start, start + 5)
    fields = {"v": ("time", np.arange(5.0)), **more}
    xr.Dataset(fields, {"time": ("time", times, {"units": units})}).to_netcdf(path, unlimited_dims=["time"])
    return path


@pytest.mark.parametrize("verb", [icecore.link, icecore.pack])
@pytest.mark.parametrize("there", [False, True])
def test_an_error_while_writing_leaves_no_repository(tmp_path: Path, verb: Any, there: bool) -> None:
    first = granule(tmp_path / "a.nc", 0)
    second = granule(
        tmp_path / "b.nc", 1, "hours since 2000-01-06"
    )  # no whole days: found when they are converted
    into = tmp_path / "r.icecore"
    if there:
        verb(first, into=into, group="/")
    with pytest.raises(icecore.Error, match="counterpart"):
        verb([first, second], into=into, group="/joined", concat="time")
    assert into.exists() == there
    if there:
        assert list(icecore.open(into).groups) == ["/"]


@pytest.mark.parametrize("verb", [icecore.link, icecore.pack])
def test_arrays_of_one_dimension_grow_together(tmp_path: Path, verb: Any) -> None:
    into = tmp_path / "r.icecore"
    verb(granule(tmp_path / "a.nc", 0), into=into, group="/", concat="time")
    xr.Dataset({}, {"time": ("time", np.arange(5, 10), {"units": "days since 2000-01-01"})}).to_netcdf(
        tmp_path / "b.nc", unlimited_dims=["time"]
    )
    with pytest.raises(icecore.Error, match="/v has the dimension 'time'"):
        verb(tmp_path / "b.nc", into=into, group="/", concat="time", append=True)
    assert {array.shape for array in icecore.open(into).arrays.values()} == {(5,)}
    verb(granule(tmp_path / "c.nc", 5), into=into, group="/", concat="time", append=True)
    assert {array.shape for array in icecore.open(into).arrays.values()} == {(10,)}


def test_json_is_strict_whatever_the_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("nan", data=[1, np.nan, np.inf], fillvalue=np.nan, chunks=(2,))
        file.create_dataset("latin", data=np.array([b"a\xff", b"b"]))
        file.create_dataset("complex", data=[1 + 2j, np.nan])
    repo = str(tmp_path / "r.icecore")
    icecore.link(tmp_path / "x.h5", into=repo, group="/")

    def constant(name: str) -> None:
        raise AssertionError(name)

    for path in ("/nan", "/latin", "/complex"):
        for verb in ("info", "read", "explain"):
            assert cli.run([verb, repo, path, "--json"]) == 0
            found = json.loads(capsys.readouterr().out, parse_constant=constant)
            if verb == "read" and path == "/latin":
                assert found["data"] == ["aÿ", "b"]
    assert cli.run(["read", repo, "/nan", "-o", str(tmp_path / "none" / "x.npy")]) == 2
    assert "mkdir" in capsys.readouterr().err
    assert cli.run(["bogus"]) == 2
    assert "try: icecore --help" in capsys.readouterr().err


def test_ctrl_c_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def pressed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("icecore.cli.read.ls.open_repo", pressed)
    assert cli.run(["ls", "anything"]) == 130
    assert "error[interrupted]: stopped" in capsys.readouterr().err


@pytest.mark.parametrize("place", [np.zeros(3), [np.zeros(3)], b"x", [b"x"], 3, [3], None])
def test_what_names_no_file_is_said(place: Any) -> None:
    for use in (lambda: icecore.pack(place, "memory://"), lambda: icecore.link(place, "memory://")):
        with pytest.raises(icecore.Error, match="must be a string or a Path") as caught:
            use()
        assert caught.value.kind == "invalid"
    for one in (icecore.open, icecore.create, icecore.assay):
        with pytest.raises(icecore.Error, match="must be a string or a Path"):
            one(place)


def test_a_name_over_several_lines_is_told_on_one(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(3))
    with pytest.raises(icecore.Error, match=r"has no array /no\\npe"):
        icecore.assay(tmp_path / "a.npy", "/no\npe")
