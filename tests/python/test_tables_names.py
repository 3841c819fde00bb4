"""Files of one base name in one table: each has a name of its own, and is written to a place of its own."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.errors import Error
from icecore.tables.text.restore import places, restore, sources

TEXTS = {f"d{i}/a.csv": b"i,x\n" + b"".join(b"%d,%d\n" % (i, j) for j in range(3 + i)) for i in range(1, 5)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in TEXTS.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(text)
    return tmp_path


def packed(folder: Path, *names: str, **options: object) -> icecore.Repo:
    files = [folder / name for name in names]
    icecore.pack(files, into=folder / "r", group="/t", concat="rows", **options)  # type: ignore[arg-type]
    return icecore.open(folder / "r")


def test_the_folders_above_tell_files_apart(folder: Path) -> None:
    repo = packed(folder, "d1/a.csv", "d2/a.csv")
    assert [source.name for source in sources(repo, "/t")] == ["d1/a.csv", "d2/a.csv"]
    written = restore(repo, "/t", folder / "out")
    assert written == [str(folder / "out" / name) for name in ("d1/a.csv", "d2/a.csv")]
    for name in ("d1/a.csv", "d2/a.csv"):
        assert (folder / "out" / name).read_bytes() == TEXTS[name]
    restore(repo, "/t", folder / "one.csv", "d2/a.csv")
    assert (folder / "one.csv").read_bytes() == TEXTS["d2/a.csv"]
    with pytest.raises(Error, match=r"2 sources of /t are called a\.csv") as caught:
        restore(repo, "/t", folder / "one.csv", "a.csv")
    assert caught.value.kind == "invalid"
    assert "d1/a.csv, d2/a.csv" in caught.value.hint


def test_appended_files_have_names_of_their_own(folder: Path) -> None:
    packed(folder, "d1/a.csv")
    packed(folder, "d2/a.csv", append=True)
    repo = packed(folder, "d3/a.csv", "d4/a.csv", append=True)
    assert [source.name for source in sources(repo, "/t")] == ["a.csv", "d2/a.csv", "d3/a.csv", "d4/a.csv"]
    restore(repo, "/t", folder / "out")
    found = [(folder / "out" / name).read_bytes() for name in ("a.csv", "d2/a.csv", "d3/a.csv", "d4/a.csv")]
    assert found == list(TEXTS.values())
    np.testing.assert_array_equal(repo.table("/t").to_numpy(["i"], source="a.csv")["i"], [1] * 4)


def test_a_file_that_is_there_is_recognized_wherever_it_lies_now(folder: Path) -> None:
    repo = packed(folder, "d1/a.csv", "d2/a.csv")
    assert packed(folder, "d2/a.csv", append=True).snapshot_id == repo.snapshot_id, "nothing new"
    (folder / "d2/a.csv").write_bytes(TEXTS["d2/a.csv"] + b"2,99\n")  # it has grown
    with pytest.raises(Error, match=r"has the rows of a\.csv already"):
        packed(folder, "d2/a.csv", append=True)
    assert len(repo.table("/t")) == 9


def test_another_file_of_the_same_text_is_no_file_that_is_there(folder: Path) -> None:
    """Two empty days look the same: in one call both are packed; later, the second is refused, not lost."""
    packed(folder, "d1/a.csv")
    (folder / "d2/a.csv").write_bytes(TEXTS["d1/a.csv"])
    os.utime(folder / "d2/a.csv", ns=(0, 0))
    with pytest.raises(Error, match=r"has the rows of a\.csv already") as caught:
        packed(folder, "d2/a.csv", append=True)
    assert (caught.value.kind, "in one call" in caught.value.hint) == ("exists", True)
    icecore.pack([folder / "d1/a.csv", folder / "d2/a.csv"], into=folder / "both", concat="rows")
    assert len(icecore.open(folder / "both").table("/a")) == 8


def test_without_hashes_names_tell(folder: Path) -> None:
    packed(folder, "d1/a.csv", "d2/a.csv", restore=False)
    packed(folder, "d3/a.csv", append=True, restore=False)
    with pytest.raises(Error, match="already"):
        packed(folder, "d1/a.csv", append=True, restore=False)


def test_members_of_an_archive(tmp_path: Path) -> None:
    names = ["2009/a.csv", "2010/a.csv", "../a.csv", "2010/b.csv"]
    with zipfile.ZipFile(tmp_path / "v.zip", "w") as archive:
        for name, text in zip(names, TEXTS.values(), strict=True):
            archive.writestr(name, text)
    repo = packed(tmp_path, "v.zip")
    assert [source.name for source in sources(repo, "/t")] == names
    written = restore(repo, "/t", tmp_path / "out")
    places = ["2009/a.csv", "2010/a.csv", "a.csv", "b.csv"]
    assert written == [str(tmp_path / "out" / place) for place in places]
    assert [Path(path).read_bytes() for path in written] == list(TEXTS.values())
    restore(repo, "/t", tmp_path / "b.csv", "b.csv")
    assert (tmp_path / "b.csv").read_bytes() == TEXTS["d4/a.csv"]


def test_members_of_two_archives(tmp_path: Path) -> None:
    for year, text in zip(("2009", "2010"), TEXTS.values(), strict=False):
        with zipfile.ZipFile(tmp_path / f"{year}.zip", "w") as archive:
            archive.writestr("in/a.csv", text)
    repo = packed(tmp_path, "2009.zip", "2010.zip")
    assert [source.name for source in sources(repo, "/t")] == ["2009.zip/in/a.csv", "2010.zip/in/a.csv"]


def test_members_of_one_stem_get_paths_of_their_own(tmp_path: Path) -> None:
    names = ["a/t.csv", "b/t.csv", "t_1.csv", "t_2.csv"]
    with zipfile.ZipFile(tmp_path / "v.zip", "w") as archive:
        for name, text in zip(names, TEXTS.values(), strict=True):
            archive.writestr(name, text)
    icecore.pack(tmp_path / "v.zip", into=tmp_path / "r", group="/g")
    repo = icecore.open(tmp_path / "r")
    found = {path: sources(repo, f"/g/{path}")[0].name for path in ("t_1_1", "t_2_2", "t_1", "t_2")}
    assert list(found.values()) == names


def test_places_are_below_and_distinct() -> None:
    names = ["a", "a", "/etc/a", "..", "../../b", "x//./c", "y/c", ""]
    assert places(names) == ["a", "a_2", "etc/a", "source", "b", "x/c", "y/c", "source_2"]
