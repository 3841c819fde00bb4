"""Text that is not UTF-8: names are Latin-1, bytes stay what they are, and the report tells."""

from __future__ import annotations

from pathlib import Path

import pytest
from icecore.tables.text.text_stream import TextStream
from tables_kit import labelled, round_trip

TEXT = "id,name,größe\n1,café,2.5\n2,tee,3.5\n"


def test_latin_1(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(TEXT.encode("latin-1"))
    repo, report, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert again == TEXT.encode("latin-1")
    assert list(repo.table("/t")) == ["id", "name", "größe"]
    assert repo["/t/name"][0] == "café".encode("latin-1")
    assert [note.message for note in report.notes] == [
        "text is not UTF-8 but Latin-1, as it seems: '1,café,2.5'"
    ]


@pytest.mark.parametrize("block", [4 << 20, 10])
def test_utf_8_needs_no_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(TextStream.__init__, "__defaults__", (True, block))
    (tmp_path / "t.csv").write_text(TEXT + "3,größer,4.5\n" * 50, encoding="utf-8")
    repo, report, _ = round_trip(tmp_path / "t.csv", tmp_path)
    assert list(repo.table("/t")) == ["id", "name", "größe"]
    assert not report.notes


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_labels(tmp_path: Path, encoding: str) -> None:
    pytest.importorskip("pvl")
    label, _, _ = labelled(tmp_path)
    label.write_bytes(label.read_bytes().replace(b"how", "größe".encode(encoding)))
    assert round_trip(label, tmp_path)[0]["/t/VALUE"].attrs["description"] == "größe warm"


def test_latin_1_in_queries(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "t.csv").write_bytes(TEXT.encode("latin-1"))
    table = round_trip(tmp_path / "t.csv", tmp_path)[0].table("/t")
    assert table.scan(["name"]).read_all()["name"].to_pylist()[0] == "café"
    for clause in ("name = 'café'", "name like 'caf_'", "name like 'café%'", "name in ('x', 'café')"):
        assert len(table.to_numpy(["name"], clause)["name"]) == 1, clause
