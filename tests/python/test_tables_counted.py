"""Delimited tables whose labels count their rows: two of them in one file, headers, footers."""

from __future__ import annotations

from pathlib import Path

import icecore
import pytest
from icecore.tables.text.restore import restore
from icecore.tables.text.text_stream import TextStream
from tables_kit import labelled, round_trip


def table(offset: int, records: int, names: str) -> str:
    fields = "".join(
        f"<Field_Delimited><name>{name}</name><data_type>ASCII_Integer</data_type></Field_Delimited>"
        for name in names
    )
    return (
        f'<Table_Delimited><offset unit="byte">{offset}</offset><records>{records}</records>'
        f"<field_delimiter>Comma</field_delimiter><Record_Delimited><fields>{len(names)}</fields>"
        f"{fields}</Record_Delimited></Table_Delimited>"
    )


def label(*tables: str) -> str:
    return (
        '<?xml version="1.0"?><Product_Observational xmlns="http://pds.nasa.gov/pds4/pds/v1">'
        "<File_Area_Observational><File><file_name>t.csv</file_name></File>"
        + "".join(tables)
        + "</File_Area_Observational></Product_Observational>"
    )


FIRST = b"".join(b"%d,%d\r\n" % (i, i * 7) for i in range(900))
SECOND = b"".join(b"%d,%d\r\n" % (-i, i) for i in range(1100))


@pytest.fixture(params=[4 << 20, 777])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TextStream.__init__, "__defaults__", (True, request.param))


@pytest.mark.usefixtures("block")
def test_two_tables_of_one_file(tmp_path: Path) -> None:
    text = FIRST + SECOND
    (tmp_path / "t.csv").write_bytes(text)
    (tmp_path / "t.xml").write_text(label(table(0, 900, "ab"), table(len(FIRST), 1100, "cd")))
    report = icecore.pack(tmp_path / "t.xml", into=tmp_path / "r", group="/g")
    assert not report.notes
    repo = icecore.open(tmp_path / "r")
    assert repo["/g/t_1/b"][...].tolist() == [i * 7 for i in range(900)]
    assert repo["/g/t_2/c"][...].tolist() == [-i for i in range(1100)]
    for name in ("t_1", "t_2"):
        restore(repo, f"/g/{name}", tmp_path / name)
        assert (tmp_path / name).read_bytes() == text


@pytest.mark.parametrize("identifiers", [("first", "second"), ("same", "same"), ("first", "")])
def test_tables_of_one_file_have_their_own_names(tmp_path: Path, identifiers: tuple[str, str]) -> None:
    (tmp_path / "t.csv").write_bytes(FIRST + SECOND)
    both = [table(0, 900, "ab"), table(len(FIRST), 1100, "cd")]
    named = [
        text.replace("<offset", f"<local_identifier>{name}</local_identifier><offset", 1) if name else text
        for text, name in zip(both, identifiers, strict=True)
    ]
    (tmp_path / "t.xml").write_text(label(*named))
    icecore.pack(tmp_path / "t.xml", into=tmp_path / "r", group="/g")
    distinct = identifiers == ("first", "second")
    assert sorted(icecore.open(tmp_path / "r")["/g"]) == (["first", "second"] if distinct else ["t_1", "t_2"])


@pytest.mark.usefixtures("block")
def test_what_is_behind_belongs_to_no_row(tmp_path: Path) -> None:
    for behind in (b"end of table\n", b"1,2", b"\0\0\0", b"a,b,c\n" * 300):
        (tmp_path / "t.csv").write_bytes(FIRST + behind)
        (tmp_path / "t.xml").write_text(label(table(0, 900, "ab")))
        repo, report, again = round_trip(tmp_path / "t.xml", tmp_path, replace=True)
        assert again == FIRST + behind
        assert not report.notes
        assert len(repo.table("/t")) == 900


@pytest.mark.usefixtures("block")
def test_lines_that_are_no_rows_do_not_count(tmp_path: Path) -> None:
    text = b"\r\n\r\n" + FIRST + b"5,5\r\n"
    (tmp_path / "t.csv").write_bytes(text)
    (tmp_path / "t.xml").write_text(label(table(0, 900, "ab")))
    repo, _, again = round_trip(tmp_path / "t.xml", tmp_path)
    assert again == text
    assert repo["/t/a"][...].tolist() == list(range(900))


@pytest.mark.usefixtures("block")
def test_rows_behind_the_last_one_are_told(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(FIRST)
    (tmp_path / "t.xml").write_text(label(table(0, 800, "ab")))
    repo, report, again = round_trip(tmp_path / "t.xml", tmp_path)
    assert again == FIRST
    assert len(repo.table("/t")) == 800
    (note,) = report.notes
    assert note.message == (
        "t.xml says 800 rows; the lines after them look like rows, but are not: '800,5600'"
    )


@pytest.mark.usefixtures("block")
def test_rows_of_one_length_behind_the_last_one_are_told(tmp_path: Path) -> None:
    path, data, _ = labelled(tmp_path)
    path.write_bytes(path.read_bytes().replace(b" ROWS = 500", b" ROWS = 400"))
    for behind, told in ((b"", True), (b"X", False), (b" " * 24 + b"\r\n", False)):
        text = data[: 400 * 26] + behind + data[400 * 26 :]
        (tmp_path / "t.tab").write_bytes(text)
        _, report, again = round_trip(path, tmp_path, replace=True)
        assert again == text
        assert [note.message[:31] for note in report.notes] == [
            "t.lbl says 400 rows; the lines after"[:31]
        ] * told


def test_fewer_rows_than_said(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(FIRST)
    (tmp_path / "t.xml").write_text(label(table(0, 1000, "ab")))
    _, report, again = round_trip(tmp_path / "t.xml", tmp_path)
    assert again == FIRST
    assert [note.message for note in report.notes] == ["t.xml says 1,000 rows, the file has 900"]
