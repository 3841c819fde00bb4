"""Tables that exist already: written anew, or left as they are."""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.errors import Error
from icecore.tables.summaries import write
from icecore.tables.text.restore import restore
from tables_kit import labelled

ONE = b"x,y\n" + b"".join(b"%d,%d\n" % (i, 2 * i) for i in range(9000))
TWO = b"x,z,t\n" + b"".join(b"%d,%d.5,a%d\n" % (i, i, i) for i in range(8500))


def restored(folder: Path, path: str) -> bytes:
    restore(icecore.open(folder / "r"), path, folder / "again")
    return (folder / "again").read_bytes()


def pack(folder: Path, text: bytes, **options: object) -> icecore.ingest.report.Report:
    (folder / "t.csv").write_bytes(text)
    return icecore.pack(folder / "t.csv", into=folder / "r", **options)  # type: ignore[arg-type]


def test_other_columns_and_rows(tmp_path: Path) -> None:
    pack(tmp_path, ONE)
    report = pack(tmp_path, TWO, replace=True)
    assert [row.path for row in report.rows] == ["/t/t", "/t/x", "/t/z"]
    table = icecore.open(tmp_path / "r").table("/t")
    assert (list(table), len(table)) == (["x", "z", "t"], 8500)
    assert restored(tmp_path, "/t") == TWO
    assert {write.state(table[name]) for name in ("x", "z")} == {"fresh"}
    assert table.scan(where="z > 8490").count() == 10
    assert set(icecore.open(tmp_path / "r")["/t"].arrays) == {"x", "z", "t"}


def test_what_exists_is_skipped(tmp_path: Path) -> None:
    first = pack(tmp_path, ONE)
    assert pack(tmp_path, TWO, skip_existing=True).snapshot is None
    assert restored(tmp_path, "/t") == ONE
    (tmp_path / "u.csv").write_bytes(TWO)
    files = [tmp_path / "t.csv", tmp_path / "u.csv"]
    report = icecore.pack(files, into=tmp_path / "r", skip_existing=True)
    assert report.snapshot not in (None, first.snapshot)
    assert [(row.path, row.how) for row in report.rows if row.how == "skipped"] == [("/t", "skipped")]
    assert restored(tmp_path, "/t") == ONE
    assert restored(tmp_path, "/u") == TWO


def test_what_is_no_part_of_the_table_is_not_deleted(tmp_path: Path) -> None:
    pack(tmp_path, ONE)
    with icecore.open(tmp_path / "r").writer("more") as w:
        w.array("/t/mine", "f8", (9000,))[...] = 1.0
        w.array("/t/sub/map", "f8", (3, 3))[...] = 2.0
    with pytest.raises(Error, match=r"/t holds /t/mine, /t/sub, /t/sub/map besides") as caught:
        pack(tmp_path, TWO, replace=True)
    assert caught.value.kind == "exists"
    assert restored(tmp_path, "/t") == ONE
    with icecore.open(tmp_path / "r").writer("fewer") as w:
        w.delete("/t/mine")
        w.delete("/t/sub")
    pack(tmp_path, TWO, replace=True)
    assert restored(tmp_path, "/t") == TWO


@pytest.mark.parametrize("keep_going", [False, True])
def test_a_table_stays_where_its_new_file_is_bad(tmp_path: Path, keep_going: bool) -> None:
    labels = [labelled(tmp_path, name=name)[0] for name in ("a", "b")]
    icecore.pack(labels, into=tmp_path / "r")
    before = restored(tmp_path, "/a")
    labels[0].write_text(labels[0].read_text().replace("= 26", "= 27"), newline="")
    with pytest.raises(Error, match="27 bytes"):
        icecore.pack(labels, into=tmp_path / "r", replace=True, keep_going=keep_going)
    assert restored(tmp_path, "/a") == before


def test_the_root_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(Error, match="the root of a repository") as caught:
        pack(tmp_path, ONE, group="/")
    assert "--group /t" in caught.value.hint
    pack(tmp_path, ONE, group="/", restore=False)
    np.testing.assert_array_equal(icecore.open(tmp_path / "r")["/y"][...], np.arange(9000) * 2)
