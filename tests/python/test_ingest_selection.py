"""Choosing variables: `variables=` and `exclude=` of `link` and `pack`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest

VERBS = [icecore.pack, icecore.link]


def write(path: Path, start: int, extra: bool) -> Path:
    with h5py.File(path, "w") as file:
        for name, values in (("time", np.arange(start, start + 4.0)), ("lat", np.arange(3.0))):
            file[name] = values
            file[name].make_scale(name)
        for name in ("t2m", "u10", *(["extra"] if extra else [])):
            file[name] = np.full((4, 3), start, "f4")
            file[name].dims[0].attach_scale(file["time"])
            file[name].dims[1].attach_scale(file["lat"])
        file["deep/t2m"] = np.arange(5)
        file["deep/other"] = np.arange(5)
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return [write(tmp_path / f"{i}.h5", 4 * i, extra=i == 1) for i in range(3)]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("choice", "taken"),
    [
        ({"variables": "t2m"}, {"t2m", "time", "lat", "deep/t2m"}),
        ({"variables": "/t2m"}, {"t2m", "time", "lat"}),
        ({"variables": ["/deep/*"]}, {"deep/t2m", "deep/other"}),
        ({"variables": "t2m,u10", "exclude": "/deep/*"}, {"t2m", "u10", "time", "lat"}),
        ({"variables": "t2m", "exclude": ["lat", "/deep/t2m"]}, {"t2m", "time"}),
        ({"exclude": "*m"}, {"u10", "time", "lat", "deep/other"}),
    ],
)
def test_patterns(
    tmp_path: Path, files: list[Path], verb: Any, choice: dict[str, Any], taken: set[str]
) -> None:
    report = verb(files[0], tmp_path / "r.icecore", "/", **choice)
    assert {path[1:] for path in icecore.open(tmp_path / "r.icecore").arrays} == taken
    (note,) = [note for note in report.notes if note.kind == "selection"]
    left = {"t2m", "u10", "time", "lat", "deep/t2m", "deep/other"} - taken
    assert all(f"/{name}" in note.message for name in left)


@pytest.mark.parametrize("verb", VERBS)
def test_files_of_which_one_has_more_are_joined(tmp_path: Path, files: list[Path], verb: Any) -> None:
    with pytest.raises(icecore.Error, match="extra"):
        verb(files, tmp_path / "r.icecore", "/run", "time")
    report = verb(files, tmp_path / "r.icecore", "/run", "time", exclude="extra")
    repo = icecore.open(tmp_path / "r.icecore")
    assert repo["/run/time"][...].tolist() == [*range(12)]
    np.testing.assert_array_equal(repo["/run/t2m"][...][:, 0], np.repeat([0, 4, 8], 4))
    assert "/run/extra" not in repo
    (note,) = [note for note in report.notes if note.kind == "selection"]
    assert "/extra (1 of 3 sources)" in note.message


@pytest.mark.parametrize("verb", VERBS)
def test_groups_of_which_nothing_is_left(tmp_path: Path, files: list[Path], verb: Any) -> None:
    verb(files[0], tmp_path / "r.icecore", "/", variables="/u10")
    assert "/deep" not in icecore.open(tmp_path / "r.icecore")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("what", ["variables", "exclude"])
def test_a_pattern_that_matches_nothing(tmp_path: Path, files: list[Path], verb: Any, what: str) -> None:
    with pytest.raises(icecore.Error, match=f"{what}: no array matches 't2n'") as caught:
        verb(files[0], tmp_path / "r.icecore", **{what: "t2n"})
    assert caught.value.kind == "not-found"
    assert "t2m" in caught.value.hint
    assert not (tmp_path / "r.icecore").exists()


@pytest.mark.parametrize("given", ["", [""], [3]])
def test_no_pattern(tmp_path: Path, files: list[Path], given: Any) -> None:
    with pytest.raises(icecore.Error) as caught:
        icecore.pack(files[0], tmp_path / "r.icecore", variables=given)
    assert caught.value.kind == "invalid"


def test_columns_of_text_tables_are_all_packed(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a,b\n1,2\n3,4\n")
    report = icecore.pack(table, tmp_path / "r.icecore", variables="a")
    assert {note.kind for note in report.notes} == {"ignored"}
    assert {path for path in icecore.open(tmp_path / "r.icecore").arrays} == {"/t/a", "/t/b"}


def test_command_line(run: Any, tmp_path: Path, files: list[Path]) -> None:
    into = str(tmp_path / "r.icecore")
    status, _, err = run(
        "link", str(files[0]), "--into", into, "--variables", "t2m", "--variables", "u10", "--exclude", "lat"
    )
    assert status == 0
    assert "note[selection]" in err
    assert set(icecore.open(into).arrays) == {"/0/t2m", "/0/u10", "/0/time", "/0/deep/t2m"}
