"""Text tables as other countries and other programs write them: decimal commas, units, comments, blanks."""

from __future__ import annotations

import gzip
from datetime import date, datetime
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.errors import Error
from icecore.tables.query.table import Table
from tables_kit import round_trip


def packed(folder: Path, text: bytes, name: str = "t.csv") -> tuple[Table, list[str]]:
    """The table of a text that is restored, and what is told of it."""
    (folder / name).write_bytes(text)
    repo, report, again = round_trip(folder / name, folder)
    assert again == text
    return repo.table("/t"), [note.message for note in report.notes]


def values(table: Table) -> list[list[object]]:
    return [table[name][...].tolist() for name in table]


COMMAS = {
    "semicolons": b"a;b;c\n1,5;2,25;x, y\n-12,5;3;z\n",
    "semicolons alone": b"1,5;2,25;x\n-12,5;3,0;y\n",
    "tabs alone": b"1,5\t2,25\tx\r\n-12,5\t3,0\ty\r\n",
    "quotes": b'"1,5";"2,25";"x"\n"-12,5";"3,0";"y"\n',
    "exponents": b"1,5e0|2,25E+00|x\n-1,25e1|3,0E+00|y\n",
    "blanks": b"1,5 2,25 x\n-12,5  3,0 y\n",
    "blanks, one mark": b"1,5 2,25\n-12,5  3\n",
    "blanks, no last line end": b"1,5 2,25\n-12,5 3,0",
}


@pytest.mark.parametrize("case", COMMAS)
def test_decimal_commas(tmp_path: Path, case: str) -> None:
    table, notes = packed(tmp_path, COMMAS[case], "t.txt" if "blanks" in case else "t.csv")
    assert values(table)[:2] == [[1.5, -12.5], [2.25, 3.0]]
    assert notes[0].startswith("commas are decimal marks of numbers, as it seems")


@pytest.mark.parametrize("name", ["t.csv", "t.txt"])
def test_one_column_of_decimal_commas(tmp_path: Path, name: str) -> None:
    table, notes = packed(tmp_path, b"value\r\n1,5\r\n12\r\n-3,25", name)
    assert (list(table), values(table)) == (["value"], [[1.5, 12, -3.25]])
    assert notes[0].startswith("commas are decimal marks of numbers, as it seems")


def test_two_columns_of_which_the_second_has_a_name(tmp_path: Path) -> None:
    """As R writes it: write.table(sep=",", quote=FALSE)."""
    table, _ = packed(tmp_path, b"value\n1,5\n2,25\n3,7\n")
    assert values(table) == [[1, 2, 3], [5, 25, 7]]


def test_decimal_commas_in_many_rows_need_no_escapes(tmp_path: Path) -> None:
    numbers = np.round(np.random.default_rng(1).normal(0, 100, (5000, 2)), 3)
    text = "t;a;b\n" + "".join(f"{i};{a:.3f};{b:>9.3f}\n" for i, (a, b) in enumerate(numbers.tolist()))
    table, _ = packed(tmp_path, text.replace(".", ",").encode())
    np.testing.assert_array_equal(np.array([table["a"][...], table["b"][...]]).T, numbers)
    assert "cells" not in icecore.open(tmp_path / "r.icecore")["/t"]._node.ours["table"]["sources"][0]


def test_a_decimal_comma_that_comes_late(tmp_path: Path) -> None:
    text = b"a;b\n" + b"1;0,5\n" * 300_000 + b"2,25;1\n"
    table, _ = packed(tmp_path, text)
    assert table["a"][...][-2:].tolist() == [1, 2.25]
    assert table["b"][...][-2:].tolist() == [0.5, 1]


TOLD = {
    "thousands": (b'a,b\n1,"1,011.01"\n2,"999.50"\n', "column b is text, with thousands set apart"),
    "no header": (b'1,"1,011.01"\n2,"2,999.50"\n', "column column_2 is text, with thousands set apart"),
    "points": (b"a;b\n0,5;1.011\n1,5;2.012\n", "column b is text, with thousands set apart"),
    "both": (b"a;b\n0,5;1.011,5\n1,5;2.012,5\n", "column b is text, with thousands set apart"),
    "three places": (b"a;b\n1;1,500\n2;12,250\n", "column b is text, with thousands set apart"),
    "blanks": ("a;b\n1;1 011,5\n2;2\u202f012,5\n".encode(), "column b is text, with thousands set apart"),
    "latin-1": (b"a;b\n1;1\xa0011,5\n2;2\xa0012,5\n", "column b is text, with thousands set apart"),
    "both marks": (b"a;b\n1,5;0.25\n2,5;0.75\n", "column a is text, with decimal commas"),
    "years of two digits": (
        b"a;b\n31.12.20;1\n01.01.21;2\n",
        "column a is text, with dates as it seems: '31.12.20'; years of two digits may be of any century",
    ),
    "months by name and years of two digits": (
        b"a;b\n31-DEC-20 10:00;1\n01-JAN-21 11:00;2\n",
        "column a is text, with dates as it seems: '31-DEC-20 10:00'; years of two digits may be",
    ),
    "days and hours": (b"a,b\n2014-7-1,1\n2014-7-2 9:05,2\n", "column a is text, with dates"),
    "day or month": (
        b"a,b\n05/06/2020,1\n7/12/2021,2\n",
        "column a is text, with dates as it seems: '05/06/2020'; day and month are ambiguous here",
    ),
    "months": (b"a,b\n12/31/2020 11:59 PM,1\n1/1/2021 0:00 AM,2\n", "column a is text, with dates"),
    "other times with offsets": (
        b"a,b\n2020-01-01T00:00 +02:00,1\n2020-01-01T00:01 +02:00,2\n",
        "column a is text, with times",
    ),
}


@pytest.mark.parametrize("case", TOLD)
def test_what_stays_text_is_told(tmp_path: Path, case: str) -> None:
    text, told = TOLD[case]
    table, notes = packed(tmp_path, text)
    assert len(table) == 2
    assert any(note.startswith(told) for note in notes), notes


DATES = {
    "points": b"a;b\n31.12.2020;1\n01.01.2021;2\n",
    "days first": b"a,b\n31/12/2020,1\n01/01/2021,2\n",
    "months first": b"a,b\n12/31/2020,1\n01/01/2021,2\n",
    "without zeros": b"a,b\n2020-12-31,1\n2021-1-1,2\n",
    "months first, without zeros": b"a,b\n12/31/2020,1\n1/1/2021,2\n",
    "quoted": b'a,b\n"12/31/2020",1\n"1/1/2021",2\n',
    "names": b"a,b\n31-Dec-2020,1\n01-Jan-2021,2\n",
    "names in capitals": b"a,b\n31-DEC-2020,1\n01-JAN-2021,2\n",
    "names apart": b"a,b\n31 Dec 2020,1\n1 Jan 2021,2\n",
    "SPICE": b"a,b\n2020-DEC-31,1\n2021-JAN-01,2\n",
    "SAS": b"a,b\n31DEC2020,1\n01JAN2021,2\n",
}


@pytest.mark.parametrize("case", DATES)
def test_dates_of_other_customs(tmp_path: Path, case: str) -> None:
    table, notes = packed(tmp_path, DATES[case])
    assert table["a"][...].tolist() == [date(2020, 12, 31), date(2021, 1, 1)]
    assert not notes
    assert table.scan(where="a >= '2021-01-01'").read_all()["b"].to_pylist() == [2]


def test_hours_without_zeros(tmp_path: Path) -> None:
    text = b"a,b\n12/31/2020 9:05,1\n1/1/2021 10:15,2\n"
    table, _ = packed(tmp_path, text)
    assert table["a"][...].tolist() == [datetime(2020, 12, 31, 9, 5), datetime(2021, 1, 1, 10, 15)]
    assert table["a"].dtype == "M8[s]"


TIMES = {
    "half a day": b"a,b\n12/31/2020 3:07:15 PM,1\n1/1/2021 12:00:00 AM,2\n1/1/2021 12:00:01 PM,3\n",
    "with zeros": b"a,b\n2020-12-31 03:07:15pm,1\n2021-01-01 12:00:00am,2\n2021-01-01 12:00:01pm,3\n",
    "SPICE": b"a,b\n2020 DEC 31 15:07:15,1\n2021 JAN 01 00:00:00,2\n2021 JAN 01 12:00:01,3\n",
    "SAS": b"a,b\n31DEC2020:15:07:15,1\n01JAN2021:00:00:00,2\n01JAN2021:12:00:01,3\n",
    "without marks": b"a,b\n20201231T150715Z,1\n20210101T000000Z,2\n20210101T120001Z,3\n",
    "days of the year": b"a,b\n2020/366:15:07:15,1\n2021/001:00:00:00,2\n2021/001:12:00:01,3\n",
    "UTC": b"a,b\n2020-12-31 15:07:15 UTC,1\n2021-01-01 00:00:00 UTC,2\n2021-01-01 12:00:01 UTC,3\n",
}


@pytest.mark.parametrize("case", TIMES)
def test_times_of_other_customs(tmp_path: Path, case: str) -> None:
    table, notes = packed(tmp_path, TIMES[case])
    wanted = [datetime(2020, 12, 31, 15, 7, 15), datetime(2021, 1, 1), datetime(2021, 1, 1, 12, 0, 1)]
    assert table["a"][...].tolist() == wanted
    assert table["a"].dtype == "M8[s]"
    assert not notes


def test_numbers_of_documents_are_no_dates(tmp_path: Path) -> None:
    table, _ = packed(tmp_path, b"a,b\n2020/001,1\n2020/002,2\n")
    assert table["a"].dtype.kind == "S"


UNITS = {
    "ERDDAP": (b"time,t,flag,name\nUTC,degree_C,1,\n2020-01-01,1.5,1,a\n2020-01-02,2.5,2,b\n", "degree_C"),
    "RDB": (b"# x\ty\tz\na\tt\tn\n5s\t14n\t3d\nx\t1.5\t1\ny\t2.5\t2\n", None),
    "a logger": (
        b'"TOA5","CR1000","1","2"\r\n"TIMESTAMP","RECORD","t","u"\r\n"TS","RN","Deg C","V"\r\n'
        b'"","","Avg","Smp"\r\n'
        b'"2020-01-01 00:00:00",0,1.5,1\r\n"2020-01-01 00:00:01",1,2.5,"NAN"\r\n',
        "Deg C",
    ),
    "blanks": (b"n     t\n-   m/s\n1   1.5\n10  2.5\n", "m/s"),
}


@pytest.mark.parametrize("case", UNITS)
def test_lines_of_units_are_no_rows(tmp_path: Path, case: str) -> None:
    text, unit = UNITS[case]
    table, notes = packed(tmp_path, text, "t.dat")
    assert table["t"][...].tolist() == [1.5, 2.5]
    assert icecore.open(tmp_path / "r.icecore")["/t/t"].attrs.get("units") == unit
    assert any("units or types" in note for note in notes)


@pytest.mark.parametrize(
    "text",
    [
        b"a,b\nmissing,missing\n1,2\nmissing,3\n4,missing\n",  # what stands for missing values
        b"a,b\nNA,NaN\n1,2\n3,4\n",
        b"a,b\nx,y\nz,w\n",
        b"a,b\nx,1\ny,2\nz,3\n",
        b"a,b\nbad,5\n1,2\n3,4\n5,6\n7,8\n9,10\n",
    ],
)
def test_rows_of_words_are_no_units(tmp_path: Path, text: bytes) -> None:
    assert len(packed(tmp_path, text)[0]) == text.count(b"\n") - 1


SHORT = {
    "R": (b'"a","b"\n"1",1.5,"x"\n"2",2.5,"y"\n', ["column_1", "a", "b"], False),
    "R, names": (b"a b\nx 1.5 2\nyy 22.5 3\n", ["column_1", "a", "b"], False),
    "R, quoted": (b'"a" "b"\n"1" 1.5 "x y"\n"2" 22.5 "z"\n', ["column_1", "a", "b"], False),
    "a separator at the end": (b"a,b\n1,2,\n3,4,\n", ["a", "b", "column_3"], False),
    "other numbers": (b"a,b\n7,2,3\n9,4,5\n", ["column_1", "a", "b"], True),
}


@pytest.mark.parametrize("case", SHORT)
def test_a_header_one_cell_short(tmp_path: Path, case: str) -> None:
    text, names, told = SHORT[case]
    table, notes = packed(tmp_path, text, "t.txt")
    assert list(table) == names
    assert len(table) == 2
    assert any("all columns but the first" in note for note in notes) == told


BLANKS = {
    "R": (b"    a    b\n1 1.5    x\n2 22.5 yy\n3 3 z\n", ["column_1", "a", "b"]),
    "gnuplot": (b"# x y  z\n1 2.5  3\n10 20.25 3\n100 3.5 -1", ["x", "y", "z"]),
    "ECSV": (b"# %ECSV 1.0\n# ---\n# - {name: a, datatype: int64}\na b\n1 x\n22 y\n333 zz\n", ["a", "b"]),
    "no names": (b" 1  2.5\r\n 10 2.75  \r\n100 1\r\n", ["column_1", "column_2"]),
    "rows of one length": (b"  n    x\n  1 22.5\n 10  3.5\n100  0.5\n", ["n", "x"]),
}


@pytest.mark.parametrize("case", BLANKS)
def test_runs_of_blanks(tmp_path: Path, case: str) -> None:
    text, names = BLANKS[case]
    table, notes = packed(tmp_path, text, "t.txt")
    assert list(table) == names
    assert not notes
    rows = [line.split() for line in text.decode().splitlines() if not line.startswith("#")][-3:]
    for i, name in enumerate(names):
        found = table[name][...].tolist()
        cells = [row[i] for row in rows]
        assert [x.decode() if isinstance(x, bytes) else x for x in found] == [
            cell if cell.isalpha() else float(cell) for cell in cells
        ]


def test_a_last_row_without_its_line_end(tmp_path: Path) -> None:
    table, _ = packed(tmp_path, b"n,w\r\n1,ab\r\n2,cd")
    assert values(table) == [[1, 2], [b"ab", b"cd"]]


def test_texts_with_commas_in_runs_of_blanks(tmp_path: Path) -> None:
    table, _ = packed(tmp_path, b'a b\n"x, y"  1\n"z ""q"""  22\n"w, v"   3\n', "t.txt")
    assert values(table) == [[b"x, y", b'z "q"', b"w, v"], [1, 22, 3]]


@pytest.mark.parametrize(
    "text", [b"hello you there\nthis is it\nno rows\n", b"aa b\nccc d\ne fffff\n", b"1 2 3\n"]
)
def test_prose_is_no_table(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "t.txt").write_bytes(text)
    with pytest.raises(Error, match="no known format") as caught:
        icecore.pack(tmp_path / "t.txt", into="memory://")
    assert "as many cells in each row" in caught.value.hint


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_told_how_to_convert(tmp_path: Path, code: str) -> None:
    (tmp_path / "t.csv").write_bytes(
        "\ufeffa;b\n1;2\n".removeprefix("\ufeff" if code == "utf-16" else "").encode(code)
    )
    with pytest.raises(Error, match="no known format") as caught:
        icecore.pack(tmp_path / "t.csv", into="memory://")
    assert "iconv -f UTF-16 -t UTF-8" in caught.value.hint


@pytest.mark.parametrize("code", ["utf-16-le", "utf-16-be"])
def test_utf_16_made_smaller_is_told_how_to_convert(tmp_path: Path, code: str) -> None:
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress("\ufeffa;b\n1;2\n3;4\n5;6\n".encode(code)))
    with pytest.raises(Error, match="is text in UTF-16") as caught:
        icecore.pack(tmp_path / "t.csv.gz", into="memory://")
    assert "iconv -f UTF-16 -t UTF-8" in caught.value.hint


def test_a_binary_file_made_smaller_is_no_table(tmp_path: Path) -> None:
    """A single byte that looks like a line end or a separator makes no rows."""
    noise = np.random.default_rng(1).integers(0, 256, 4000, "u1")
    noise[9::20], noise[19::20] = ord(","), ord("\n")
    (tmp_path / "t.dat.gz").write_bytes(gzip.compress(noise.tobytes()))
    with pytest.raises(Error, match="holds no table"):
        icecore.pack(tmp_path / "t.dat.gz", into="memory://")


def test_a_single_row_may_be_no_header(tmp_path: Path) -> None:
    """As inventories of PDS4 are, with one product."""
    (tmp_path / "t.csv").write_bytes(b"P,urn:nasa:pds:x:y:z::1.0\r\n")
    with pytest.raises(Error, match="holds no rows of a table") as caught:
        icecore.pack(tmp_path / "t.csv", into="memory://")
    assert "--no-header" in caught.value.hint
    icecore.pack(tmp_path / "t.csv", tmp_path / "r.icecore", "/t", header=False)
    assert values(icecore.open(tmp_path / "r.icecore").table("/t")) == [[b"P"], [b"urn:nasa:pds:x:y:z::1.0"]]


@pytest.mark.parametrize("mark", [b"#", b"!", b"%"])
def test_comments_are_neither_names_nor_rows(tmp_path: Path, mark: bytes) -> None:
    table, notes = packed(tmp_path, mark + b" made by me, for you\nx,y\n" + mark + b" a, b\n1,2\n3,4\n")
    assert list(table) == ["x", "y"]
    assert values(table) == [[1, 3], [2, 4]]
    assert not notes


def test_a_comment_that_names_columns_is_told_where_it_may_be_prose(tmp_path: Path) -> None:
    assert not packed(tmp_path, b"# a, b\n1,2\n3,4\n")[1]


def test_prose_that_names_columns_is_told(tmp_path: Path) -> None:
    _, notes = packed(tmp_path, b"# measured in Berlin, in 2020\n1,2\n3,4\n")
    assert any(note.startswith("a comment names the columns, as it seems") for note in notes)


def test_a_row_in_a_comment_names_nothing(tmp_path: Path) -> None:
    table, _ = packed(tmp_path, b"# 5, 6\n1,2\n3,4\n")
    assert list(table) == ["column_1", "column_2"]


@pytest.mark.parametrize(
    "text", [b"a,b,c\n1,2\n3,4,5\n6,7,8\n", b"1,2\n3,4,5\n6,7,8\n", b"a,b,c,d\n3,4,5\n6,7,8\n"]
)
def test_a_line_that_is_no_row_is_told_where_it_is_the_first(tmp_path: Path, text: bytes) -> None:
    table, notes = packed(tmp_path, text)
    assert len(table) == 2
    assert any("kept as text, no rows" in note for note in notes)


FIXED = b"".join(
    b"%4d %8.3f %10s %-5s\n" % (i, 1.5 * i, b"" if i % 7 == 0 else b"%.3E" % i, b"ab" if i % 3 else b"c d")
    for i in range(40)
)
NAMES = {
    "another length": b"  ID   X        Y      NAME\n",
    "the rows' length": b"  ID        X          Y NAME \n",
    "a comment": b"# by a program of ours\n#  ID    X        Y      NAME\n",
}


@pytest.mark.parametrize("case", NAMES)
def test_names_above_cells_that_may_be_blank(tmp_path: Path, case: str) -> None:
    table, notes = packed(tmp_path, NAMES[case] + FIXED, "t.txt")
    assert (list(table), len(table), notes) == (["ID", "X", "Y", "NAME"], 40, [])
    assert np.isnan(table["Y"][...]).sum() == 6
    icecore.pack(tmp_path / "t.txt", into=tmp_path / "u.icecore", header=False)
    assert "column_1" in icecore.open(tmp_path / "u.icecore").table("/t")


def test_lines_above_rows_of_one_length_are_told_of(tmp_path: Path) -> None:
    table, notes = packed(tmp_path, b"What it is about\n" + FIXED, "t.txt")
    assert (next(iter(table)), len(table)) == ("column_1", 40)
    assert notes[0].startswith("1 line above the first row kept as text, no rows, from line 1 on")
