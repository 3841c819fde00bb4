"""Odd but common files: no line above, below or beside values spoils them, and nothing is lost unsaid."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import icecore
import numpy as np
import pytest
from tables_kit import round_trip


def test_rows_that_are_too_short_are_told_of_below_a_header_too(tmp_path: Path) -> None:
    text = b"a,b,c\n" + b"".join(b"%d,%d" % (i, i) + (b"\n" if i % 10 == 5 else b",1\n") for i in range(100))
    (tmp_path / "t.csv").write_bytes(text)
    repo, report, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert again == text
    assert len(repo.table("/t")) == 90
    assert [note.message for note in report.notes] == [
        "10 lines kept as text, no rows: b'5,5\\n' before row 5 (line 7)"
    ]


@pytest.mark.parametrize("above", [b"", b"a title\n", b"|  ra      |  dec     |  name  |\n", b"# x\n\n--\n"])
def test_lines_above_rows_of_one_length(tmp_path: Path, above: bytes) -> None:
    rows = [(i * 1.25, -i * 0.5, f"n{i}") for i in range(1, 80)]
    text = above * 2 + b"".join(b" %9.4f  %9.4f   %7s\n" % (x, y, s.encode()) for x, y, s in rows)
    (tmp_path / "t.txt").write_bytes(text)
    repo, _, again = round_trip(tmp_path / "t.txt", tmp_path)
    assert again == text
    table = repo.table("/t")
    found = [array[...].tolist() for array in table.columns.values()]
    assert found == [[x for x, _, _ in rows], [y for _, y, _ in rows], [s.encode() for *_, s in rows]]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_column_of_nothing_at_the_end(tmp_path: Path, end: bytes) -> None:
    text = b"".join(line + end for line in (b"a,b", b"1,2,", b"3,4,"))
    (tmp_path / "t.csv").write_bytes(text)
    repo, _, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert again == text
    assert repo["/t/column_3"][...].tolist() == [b"", b""]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"nan", b"NA", b'"NA"'])
def test_a_column_of_marks_alone_at_the_end(tmp_path: Path, end: bytes, mark: bytes) -> None:
    text = b"".join(line + end for line in (b"a,b", *(b"%d,%s" % (i, mark) for i in range(9))))
    (tmp_path / "t.csv").write_bytes(text)
    repo, _, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert again == text
    assert repo["/t/b"][...].tolist() == [mark.strip(b'"')] * 9


@pytest.mark.parametrize("zone", ["", "Z", "+00:00", "+00"])
def test_times_below_a_line_of_units(tmp_path: Path, zone: str) -> None:
    rows = [f"2021-03-{i:02}T00:00:00{zone},{i / 8}" for i in range(1, 29)]
    text = ("time,temp\nUTC,degree_C\n" + "\n".join(rows) + "\n").encode()
    (tmp_path / "t.csv").write_bytes(text)
    repo, _, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert again == text
    times = np.arange("2021-03-01", "2021-03-29", dtype="M8[D]").astype("M8[s]")
    np.testing.assert_array_equal(repo["/t/time"][...], times)
    np.testing.assert_array_equal(repo["/t/temp"][...], np.arange(1, 29) / 8)
    assert repo["/t/temp"].attrs["units"] == "degree_C"


@pytest.mark.parametrize("zone", ["+02:00", "-0330", "+05", "-11:00"])
@pytest.mark.parametrize("joint", ["T", " "])
@pytest.mark.parametrize("fraction", ["", ".125"])
def test_times_with_an_offset_are_utc(tmp_path: Path, zone: str, joint: str, fraction: str) -> None:
    """Those of summer have another one."""
    whole = [f"2021-{month:02}-{day:02}{joint}23:15:07" for month in (3, 4) for day in range(1, 29)]
    other = "-11:30" if zone == "-11:00" else "+03:00"
    cells = [text + fraction + (other if i % 11 == 5 else zone) for i, text in enumerate(whole)]
    if fraction:
        cells[9] = whole[9] + zone
    text = "time,x\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate([*cells, ""]))
    (tmp_path / "t.csv").write_text(text)
    repo, report, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert again == text.encode()
    expected = [np.datetime64(datetime.fromisoformat(c).astimezone(UTC).replace(tzinfo=None)) for c in cells]
    assert repo["/t/time"].dtype == np.dtype("M8[ms]" if fraction else "M8[s]")
    np.testing.assert_array_equal(repo["/t/time"][:-1], expected)
    assert np.isnat(repo["/t/time"][-1])
    assert any(f"ahead of it by {zone}" in note.message for note in report.notes)


def test_what_sql_and_excel_write(tmp_path: Path) -> None:
    text = b"sep=;\r\nid;v\r\n1;0.5\r\n2;\\N\r\n3;1.5\r\n"
    (tmp_path / "t.csv").write_bytes(text)
    repo, _, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert again == text
    table = repo.table("/t")
    assert list(table) == ["id", "v"]
    np.testing.assert_array_equal(table["id"][...], [1, 2, 3])
    np.testing.assert_array_equal(table["v"][...], [0.5, np.nan, 1.5])


def test_the_end_of_a_file_of_dos(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,b\r\n1,2\r\n3,4\r\n\x1a")
    repo, report, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert again == (tmp_path / "t.csv").read_bytes()
    assert repo["/t/b"][...].tolist() == [2, 4]
    assert [note.message for note in report.notes] == [
        "1 line kept as text, no rows: b'\\x1a' before row 2 (line 4)"
    ]


def test_a_damaged_byte_of_a_table_of_one_row(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,\x002\n")
    repo, _, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert (again, len(repo.table("/t"))) == (b"a,b\n1,\x002\n", 1)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_carriage_returns_in_quotes_end_no_lines(tmp_path: Path, end: bytes) -> None:
    text = end.join([b"a,b", b'"x\ry\rz\rw",1', b'"u\rv",2', b"t,3", b""])
    (tmp_path / "t.csv").write_bytes(text)
    repo, _, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert again == text
    assert repo["/t/a"][:].tolist() == [b"x\ry\rz\rw", b"u\rv", b"t"]


COLOURS = {
    "numbers": b"colour,n\n#ff0000,1\n#00ff00,2\n",
    "words": b"colour,name\n#ff0000,red\n#000000,black\n",
    "a comment": b"colour,n\n# by hand, in May\n#ff0000,1\n#00ff00,2\n",
}


@pytest.mark.parametrize("case", COLOURS)
def test_rows_that_all_begin_as_comments_do(tmp_path: Path, case: str) -> None:
    """They were comments, so that the file held no rows."""
    (tmp_path / "t.csv").write_bytes(COLOURS[case])
    repo, report, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert again == COLOURS[case]
    rows = [
        line.split(b",") for line in COLOURS[case].splitlines() if line.startswith(b"#") and b" " not in line
    ]
    assert repo["/t/colour"][...].tolist() == [colour for colour, _ in rows]
    assert [note.message for note in report.notes] == [
        f"rows and no comments, as it seems: {b','.join(rows[0]).decode()!r}"
    ]


@pytest.mark.parametrize(
    "text", [b"#a,b\n#1,2\n#3,4\n", b"# a,b\n# 1,2\n", b"a,b\n#1,2\n#3,4\n", b"!1\n!2\n"]
)
def test_rows_that_are_commented_out_are_told_of(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(text)
    with pytest.raises(icecore.Error) as caught:
        icecore.pack(tmp_path / "t.csv", into=tmp_path / "r")
    assert caught.value.kind == "format"
    assert "take that sign away if they are rows" in str(caught.value.hint)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("size", [(4 << 20) - 8, 9 << 20], ids=["as long as a block", "of several blocks"])
def test_a_line_that_is_longer_than_a_block_is_one_line(tmp_path: Path, size: int) -> None:
    """Each of its parts was counted, and the last one could be a row."""
    text = b"a,b\n1,2\n" + b"x" * size + b"7,8\n3,4\n"
    (tmp_path / "t.csv").write_bytes(text)
    repo, report, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert again == text
    assert [repo["/t/a"][...].tolist(), repo["/t/b"][...].tolist()] == [[1, 3], [2, 4]]
    shown = b"x" * 60
    assert [note.message for note in report.notes] == [
        f"1 line kept as text, no rows: {shown!r} before row 1 (line 3)"
    ]
    assert repo["/t"]._node.ours["table"]["sources"][0]["lines"] == 1


def test_a_line_without_an_end_that_is_longer_than_a_block(tmp_path: Path) -> None:
    text = b"a,b\n1,2\n" + b"x" * (5 << 20)
    (tmp_path / "t.csv").write_bytes(text)
    repo, report, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert again == text
    assert repo["/t/a"][...].tolist() == [1]
    assert [note.message.partition(" kept")[0] for note in report.notes] == ["1 line"]
