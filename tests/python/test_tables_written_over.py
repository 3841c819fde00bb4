"""Tables whose columns a writer wrote over: restore and append say so, and where the way back is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.tables.text.restore import restore
from tables_kit import labelled

TEXT = "a,b,c,s\n" + "".join(f"{i},{i / 4},2020-01-0{i + 1},{'word ' * i}end\n" for i in range(6))

Change = Callable[[icecore.Writer], object]


def values(path: str, value: object) -> Change:
    def change(w: icecore.Writer) -> None:
        w[path][...] = value

    return change


def another(dtype: str, *shape: int) -> Change:
    def change(w: icecore.Writer) -> None:
        w.delete("/t/a")
        w.array("/t/a", dtype, shape)[...] = 1

    return change


#: what was done to the table, and what is said of it (None: of its text's hash)
OVER: dict[str, tuple[Change, str | None]] = {
    "integers": (values("/t/a", 7), None),
    "times": (values("/t/c", np.datetime64("1999-01-01")), None),
    "texts": (values("/t/s", "no"), None),
    "another type": (another("f8", 6), r"/t/a is float64 of shape \(6,\), packed were 6 rows of int64"),
    "text": (another("S2", 6), r"/t/a is \|S2 of shape \(6,\), packed were 6 rows of int64"),
    "shorter": (another("i8", 3), r"/t/a is int64 of shape \(3,\), packed were 6 rows of int64"),
    "two axes": (another("i8", 6, 2), r"/t/a is int64 of shape \(6, 2\), packed were 6 rows"),
    "resized": (lambda w: w["/t/a"].resize(2), r"/t/a is int64 of shape \(2,\), packed were 6 rows"),
    "deleted": (lambda w: w.delete("/t/a"), "/t/a is gone"),
    "a group": (lambda w: (w.delete("/t/a"), w.group("/t/a")), "/t/a is a group"),
}


def packed(folder: Path, change: Change) -> tuple[Path, str]:
    """A repository with a table ``/t`` that was changed, and the version before."""
    (folder / "t.csv").write_text(TEXT)
    before = icecore.pack(folder / "t.csv", folder / "r", group="/t").snapshot
    assert before is not None
    with icecore.open(folder / "r").writer() as w:
        change(w)
    return folder / "r", before


@pytest.mark.parametrize("how", OVER)
def test_restore_tells_of_columns_that_were_written_over(tmp_path: Path, how: str) -> None:
    change, said = OVER[how]
    repo, before = packed(tmp_path, change)
    with pytest.raises(
        icecore.Error, match=said or r"t\.csv printed again has .*, the original had"
    ) as caught:
        restore(icecore.open(repo), "/t", tmp_path / "out.csv")
    assert caught.value.kind == "mismatch"
    assert "columns of /t were written over since" in caught.value.message
    assert "REPO@REF" in caught.value.hint
    assert not (tmp_path / "out.csv").exists()
    restore(icecore.open(f"{repo}@{before}"), "/t", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == TEXT


@pytest.mark.parametrize("how", OVER)
def test_append_to_columns_that_were_written_over(tmp_path: Path, how: str) -> None:
    """The rows that come need other arrays: text is printed and parsed again, or values are taken."""
    change, said = OVER[how]
    repo, _ = packed(tmp_path, change)
    (tmp_path / "u.csv").write_text(TEXT.replace("2020", "2021").replace("0,0.0", "7.5,1e3"))
    now = icecore.open(repo).snapshot_id
    with pytest.raises(icecore.Error, match=said or r"t\.csv printed again has") as caught:
        icecore.pack(tmp_path / "u.csv", repo, "/t", concat="rows", append=True)
    assert caught.value.kind == "mismatch"
    assert "were written over since" in caught.value.message
    assert icecore.open(repo).snapshot_id == now


def test_columns_of_other_lengths_take_no_rows(tmp_path: Path) -> None:
    repo, _ = packed(tmp_path, lambda w: [w[f"/t/{name}"].append([1]) for name in "ab"])
    restore(icecore.open(repo), "/t", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == TEXT
    (tmp_path / "u.csv").write_text(TEXT.replace("2020", "2021"))
    with pytest.raises(
        icecore.Error, match="/t/a has 7 rows, /t/c 6: columns of /t were written over"
    ) as caught:
        icecore.pack(tmp_path / "u.csv", repo, "/t", concat="rows", append=True)
    assert caught.value.kind == "mismatch"


def test_restoring_several_files_leaves_no_empty_folder(tmp_path: Path) -> None:
    for name in "tu":
        (tmp_path / f"{name}.csv").write_text(TEXT)
    icecore.pack([tmp_path / "t.csv", tmp_path / "u.csv"], tmp_path / "r", "/t", concat="rows")
    with icecore.open(tmp_path / "r").writer() as w:
        w["/t/a"][:6] = 7
    with pytest.raises(icecore.Error, match=r"t\.csv printed again has"):
        restore(icecore.open(tmp_path / "r"), "/t", tmp_path / "out" / "both")
    assert not (tmp_path / "out").exists()
    restore(icecore.open(tmp_path / "r"), "/t", tmp_path / "u.out", source="u.csv")
    assert (tmp_path / "u.out").read_text() == TEXT


def test_a_value_that_has_no_room_in_its_cell(tmp_path: Path) -> None:
    """In rows of fixed fields, which can't become longer."""
    label, _, _ = labelled(tmp_path)
    icecore.pack(label, tmp_path / "r", group="/t")
    with icecore.open(tmp_path / "r").writer() as w:
        w.delete("/t/COUNT")
        w.array("/t/COUNT", "i8", (500,))[...] = 1 << 40
    with pytest.raises(icecore.Error, match='row 0 of column "COUNT" holds a value that its print') as caught:
        restore(icecore.open(tmp_path / "r"), "/t", tmp_path / "out")
    assert caught.value.kind == "mismatch"
    assert "written over" in caught.value.hint
