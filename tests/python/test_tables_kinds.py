"""Columns whose cells are not all of one kind, fields inside of others, bytes of no field: nothing is lost or
changed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.ingest.report import Report
from icecore.tables.text.restore import restore
from tables_kit import PDS3, column, round_trip


def packed(folder: Path, *texts: bytes, **options: Any) -> tuple[icecore.Table, Report]:
    """CSV files in one table, which are printed again as they were."""
    files = [folder / f"{i}.csv" for i in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_bytes(text)
    report = icecore.pack(files, into=folder / "r", group="/t", concat="rows", **options)
    repo = icecore.open(folder / "r")
    restore(repo, "/t", folder / "again")
    again = folder / "again"
    printed = (
        [again.read_bytes()] if again.is_file() else [(again / file.name).read_bytes() for file in files]
    )
    assert printed == list(texts)
    return repo.table("/t"), report


def fixed(folder: Path, rows: list[bytes], columns: str) -> tuple[icecore.Table, Report]:
    """The same of rows of one length with a PDS3 label."""
    text = b"".join(rows)
    (folder / "t.tab").write_bytes(text)
    label = PDS3.format(record=len(rows[0]), rows=len(rows), file="T.TAB", columns=columns)
    (folder / "t.lbl").write_text(
        label.replace("COLUMNS = 3", f"COLUMNS = {columns.count('NAME')}"), newline=""
    )
    repo, report, again = round_trip(folder / "t.lbl", folder)
    assert again == text
    return repo.table("/t"), report


INF = np.inf


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (b"1 inf -inf +inf Inf -Infinity INFINITY", [1, INF, -INF, INF, INF, -INF, INF]),
        (b"1.25 nan 1.#INF -1.#INF 1.#QNAN 2.5", [1.25, np.nan, INF, -INF, np.nan, 2.5]),
        (b"1e5 2.5 inf", [1e5, 2.5, INF]),
        (b"inf inf", [INF, INF]),
        (b"1.80e+308 -1.80E+308 -101.432310", [INF, -INF, -101.43231]),
    ],
)
def test_infinities(tmp_path: Path, cells: bytes, values: list[float]) -> None:
    rows = b"".join(b"%d,%s\n" % row for row in enumerate(cells.split()))
    table, _ = packed(tmp_path, b"n,a\n" + rows)
    np.testing.assert_array_equal(table["a"][...], np.array(values, "f8"), strict=True)


@pytest.mark.parametrize("cell", [b"inf", b"-1.80e+308"])
@pytest.mark.parametrize("number", [b"7", b"7.25", b"7e5"])
def test_an_infinity_that_the_sample_lacks(tmp_path: Path, cell: bytes, number: bytes) -> None:
    rows = [number] * 20_000
    rows[15_000] = cell
    table, report = packed(tmp_path, b"n,a\n" + b"".join(b"0,%s\n" % row for row in rows))
    values = table["a"][...]
    assert (values.dtype, values[15_000]) == ("f8", INF if cell == b"inf" else -INF)
    assert np.isfinite(np.delete(values, 15_000)).all()
    assert not report.notes


def test_infinities_appended(tmp_path: Path) -> None:
    table, _ = packed(tmp_path, b"n,a\n0,1\n1,2\n", b"n,a\n0,inf\n1,3\n", b"n,a\n0,1.25\n1,-inf\n")
    assert table["a"][...].tolist() == [1, 2, INF, 3, 1.25, -INF]


@pytest.mark.parametrize(
    ("number", "dtype"), [(b"7", "i8"), (b"7.25", "f8"), (b"2020-01-02", "M8[D]"), (b"12:30:00", "m8[s]")]
)
@pytest.mark.parametrize("marker", [b"NA", b"NaN", b"null", b"None", b"N/A", b"<NA>", b"-", b"---"])
def test_most_values_are_missing(tmp_path: Path, number: bytes, dtype: str, marker: bytes) -> None:
    text = b"n,a\n0,%s\n1,%s\n2,%s\n3,%s\n" % (marker, number, marker, marker)
    table, _ = packed(tmp_path, text)
    assert table.dtypes["a"] == dtype
    assert table.to_pandas()["a"].isna().tolist() == [True, False, True, True]


@pytest.mark.parametrize("cells", [b"NA NA", b"- - -", b"a NA", b"12E4567 13E4567"])
def test_what_is_text_all_the_same(tmp_path: Path, cells: bytes) -> None:
    table, _ = packed(tmp_path, b"n,a\n" + b"".join(b"%d,%s\n" % row for row in enumerate(cells.split())))
    assert table["a"][...].tolist() == cells.split()


def test_identifiers_of_19_digits(tmp_path: Path) -> None:
    table, _ = packed(
        tmp_path, b"id,ra\n5853498713190525697,1.5\n5853498713190525699,2.5\n9007199254740993,3\n"
    )
    assert table.dtypes["id"] == "i8"
    assert table["id"][...].tolist() == [5853498713190525697, 5853498713190525699, 9007199254740993]
    assert len(table.to_numpy(where="id = 5853498713190525697")["id"]) == 1


def test_identifiers_of_20_digits(tmp_path: Path) -> None:
    ids = [2**64 - 1, 2**64 - 3, 2**63, 2**63 - 1, 7, 0]
    rows = b"".join(b"%d,%d\n" % (i, n) for n, i in enumerate(ids)) + b",6\n%022d,7\n+5,8\n 5,9\n" % 2**63
    table, report = packed(tmp_path, b"id,n\n" + rows)
    assert not report.notes
    assert table["id"][...].tolist() == [*ids, 2**64 - 2, 2**63, 5, 5]
    assert table.dtypes["id"] == "u8"

    def found(where: str) -> list[int]:
        return table.to_numpy(["n"], where=where)["n"].tolist()

    assert found("id is null") == [6]
    assert found("id > 9223372036854775807") == [0, 1, 2, 7]
    assert found("id >= 18446744073709551614") == [0]
    assert found("id = 18446744073709551615") == [0]
    assert found("id < 9223372036854775808") == [3, 4, 5, 8, 9]
    assert found("id > -1 and not id > 9") == [4, 5, 8, 9]


def test_zones_of_identifiers_of_20_digits(tmp_path: Path) -> None:
    ids = np.sort(np.random.default_rng(1).integers(0, 2**64 - 3, 20_000, dtype="u8"))
    table, _ = packed(tmp_path, b"n,id\n" + b"".join(b"%d,%d\n" % row for row in enumerate(ids.tolist())))
    np.testing.assert_array_equal(table["id"][...], ids, strict=True)
    bound = int(ids[15_000])
    assert len(table.to_numpy(["n"], where=f"id > {bound}")["n"]) == 4_999


@pytest.mark.parametrize("cells", [b"18446744073709551615 18446744073709551616", b"18446744073709551615 -1"])
def test_what_64_bits_do_not_hold_is_text(tmp_path: Path, cells: bytes) -> None:
    table, _ = packed(tmp_path, b"n,a\n" + b"".join(b"%d,%s\n" % row for row in enumerate(cells.split())))
    assert table["a"][...].tolist() == cells.split()


def test_what_stands_for_no_value_makes_text(tmp_path: Path) -> None:
    table, _ = packed(tmp_path, b"id,ra\n18446744073709551615,1.5\n18446744073709551614,2.5\n")
    assert table["id"][...].tolist() == [b"18446744073709551615", b"18446744073709551614"]


@pytest.mark.parametrize(
    ("last", "values"),
    [
        (b"18446744073709551615", np.array([0, 29_999, 2**64 - 1], "u8")),
        (b"18446744073709551614", np.array([b"0", b"29999", b"18446744073709551614"])),
        (b"18446744073709551615\n-1", np.array([b"0", b"29999", b"18446744073709551615", b"-1"])),
        (b"18446744073709551615\n1.5", np.array([0, 29_999, 2.0**64, 1.5])),
    ],
)
def test_a_longer_identifier_behind_many(tmp_path: Path, last: bytes, values: np.ndarray) -> None:
    rows = b"".join(b"%d\n" % i for i in range(30_000))
    table, report = packed(tmp_path, b"a\n" + rows + last + b"\n")
    assert not report.notes
    found = table["a"][...][[0, *range(29_999, 29_998 + len(values))]]
    np.testing.assert_array_equal(found, values.astype(found.dtype))
    assert found.dtype.kind == values.dtype.kind


def test_a_longer_number_behind_many_makes_text(tmp_path: Path) -> None:
    rows = b"".join(b"%d,%d\n" % (i, i) for i in range(30_000))
    table, report = packed(tmp_path, b"a,b\n" + rows + b"1.5e-3,585349871319052569\n2,58534987131905256970\n")
    assert not report.notes
    assert table["a"][-3:].tolist() == [29_999, 0.0015, 2]
    assert table["b"][-3:].tolist() == [b"29999", b"585349871319052569", b"58534987131905256970"]


@pytest.mark.parametrize(
    ("first", "second", "values"),
    [
        (b"1", b"2.5e-3", [1, 0.0025]),
        (b"2.5e-3", b"1", [0.0025, 1]),
        (b"1.50", b"1e5", [1.5, 1e5]),
        (b"1234567890123456", b"0.5", [1234567890123456, 0.5]),
        (b"12345678901234567", b"0.25", [12345678901234567.0, 0.25]),
        (b"7", b"18446744073709551615", np.array([7, 2**64 - 1], "u8")),
        (b"18446744073709551615", b"7", np.array([2**64 - 1, 7], "u8")),
        (b"18446744073709551615", b"9223372036854775808", np.array([2**64 - 1, 2**63], "u8")),
        (b"-7", b"18446744073709551615", [b"-7", b"18446744073709551615"]),
        (b"18446744073709551615", b"-7", [b"18446744073709551615", b"-7"]),
        (b"18446744073709551615", b"0.25", [2.0**64, 0.25]),
        (b"0.25", b"18446744073709551615", [0.25, 2.0**64]),
        (b"18446744073709551615", b"1e5", [2.0**64, 1e5]),
        (b"", b"18446744073709551615", np.array([2**64 - 2, 2**64 - 1], "u8")),
        (b"", b"1.5", [np.nan, 1.5]),
        (b"1.5", b"", [1.5, np.nan]),
        (b"", b"2e3", [np.nan, 2000]),
        (b"hello", b"1.5", [b"hello", b"1.5"]),
        (b"1.50", b"hello world", [b"1.50", b"hello world"]),
        (b"2020-01-01", b"2020-01-01T00:00:00", [b"2020-01-01", b"2020-01-01T00:00:00"]),
        (b"12:00:00", b"7", [b"12:00:00", b"7"]),
    ],
)
def test_files_of_different_kinds(tmp_path: Path, first: bytes, second: bytes, values: list[Any]) -> None:
    texts = [b"a,b\n%s,1\n%s,2\n" % (cell, cell) for cell in (first, second)]
    table, report = packed(tmp_path, *texts)
    np.testing.assert_array_equal(table["a"][...], np.repeat(values, 2))
    assert not [note for note in report.notes if "no values" in note.message]


def test_a_file_without_values_fits_any_column(tmp_path: Path) -> None:
    table, _ = packed(tmp_path, b"a,b\n1,2020-01-01\n", b"a,b\n,\n,\n")
    assert (table.dtypes["a"], table.dtypes["b"]) == ("i8", "M8[D]")
    assert len(table.to_numpy(["a"], where="a is null")["a"]) == 2


def test_appending_to_any_doubles(tmp_path: Path) -> None:
    table, _ = packed(tmp_path, b"a,b\n2.5e-3,x\n1e5,y\n")
    for i, text in enumerate((b"a,b\n1.50,z\n,q\n", b"a,b\n,\n,\n", b"a,b\n7,zz\n")):
        (tmp_path / f"more{i}.csv").write_bytes(text)
        icecore.pack(tmp_path / f"more{i}.csv", into=tmp_path / "r", group="/t", concat="rows", append=True)
    table = icecore.open(tmp_path / "r").table("/t")
    np.testing.assert_array_equal(table["a"][...], [0.0025, 1e5, 1.5, *[np.nan] * 3, 7])


def test_a_fraction_of_zero_is_left_away(tmp_path: Path) -> None:
    rows = [b"2020-01-01T00:00:%02d.123456,%d\n" % (i % 60, i) for i in range(100)]
    rows[7] = b"2020-01-01T00:00:07,7\n"
    table, report = packed(tmp_path, b"t,n\n" + b"".join(rows))
    assert (
        table["t"][6:8].tolist()
        == np.array(["2020-01-01T00:00:06.123456", "2020-01-01T00:00:07"], "M8[us]").tolist()
    )
    assert not report.notes


@pytest.mark.parametrize("before", [0, 3000], ids=["at once", "behind what is sampled"])
def test_quotes_span_lines(tmp_path: Path, before: int) -> None:
    rows = b"".join(b"%d,plain\n" % i for i in range(before))
    text = b"id,note\n" + rows + b'1,3.5" disk\n2,"line one\nline two, with comma"\n3,end\n'
    table, report = packed(tmp_path, text)
    assert table["id"][-3:].tolist() == [1, 2, 3]
    assert table["note"][-3:].tolist() == [b'3.5" disk', b"line one\nline two, with comma", b"end"]
    assert not report.notes


def test_one_long_text_among_short_ones(tmp_path: Path) -> None:
    rows = b"".join(b"%d,POINT(%d %d)\n" % (i, i % 360, i % 90) for i in range(9000))
    table, _ = packed(tmp_path, b"id,geom\n" + rows + b'9000,"' + b"1 2," * 4000 + b'"\n')
    assert table["geom"].dtype == object
    assert table["geom"][-1] == "1 2," * 4000
    assert table["geom"][17] == "POINT(17 17)"
    assert table["id"][...].tolist() == list(range(9001))


def test_a_column_that_turns_out_to_be_text_behind_a_shard(tmp_path: Path) -> None:
    """What was encoded for the numbers, and is on its way, has no place in the table that is begun anew."""
    rows = b"".join(b"%d,%d\n" % (i, i % 7) for i in range(270_000))
    table, _ = packed(tmp_path, b"id,kind\n" + rows + b"270000,1234567890123456789012\n")
    assert table["kind"][-2:].tolist() == [b"2", b"1234567890123456789012"]
    assert table["id"][-1] == 270_000


def test_a_long_text_behind_a_shard_of_short_ones(tmp_path: Path) -> None:
    rows = b"".join(b"%d,name%d\n" % (i, i % 7) for i in range(270_000))
    table, _ = packed(tmp_path, b"id,note\n" + rows + b"270000," + b"x" * 3000 + b"\n")
    assert table["note"].dtype == object
    assert table["note"][-2:].tolist() == ["name2", "x" * 3000]
    assert table["id"][-1] == 270_000


@pytest.mark.parametrize("long", ["é" * 200, "a, b " * 70, 'say "no" ' * 40, "line\n" * 80])
def test_long_texts_are_read_as_short_ones_are(tmp_path: Path, long: str) -> None:
    texts = ["", "é", long, "plain", "a, b", ""] * 40
    quoted = [t if t in ("", "é", "plain") else '"' + t.replace('"', '""') + '"' for t in texts]
    text = "id,note\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(quoted))
    table, report = packed(tmp_path, text.encode())
    assert table["note"][...].tolist() == texts
    assert not report.notes
    found = icecore.open(tmp_path / "r").table("/t")
    assert found.scan(["id"], "note = 'é'").read_all()["id"].to_pylist() == list(range(1, 240, 6))
    assert len(found.to_pandas(["id"], f"note like '{long[:12]}%'")) == 40
    assert found.to_pandas()["note"].tolist() == texts
    counts = {row["note"]: row["count"] for row in found.reduce("count by note")}
    assert counts == {text: texts.count(text) for text in texts}


def test_long_texts_of_other_encodings(tmp_path: Path) -> None:
    words = [b"caf\xe9 " * 60, b"short", b"na\xefve", b"caf\xc3\xa9"]
    table, report = packed(tmp_path, b"id,note\n" + b"".join(b"%d,%s\n" % pair for pair in enumerate(words)))
    assert table["note"][...].tolist() == ["café " * 60, "short", "naïve", "café"]
    assert any("UTF-8" in note.message for note in report.notes)


@pytest.mark.parametrize("keep", [True, False])
def test_texts_that_become_long_when_a_file_is_appended(tmp_path: Path, keep: bool) -> None:
    files = [b"id,note\n0,a\n1,na\xefve\n", b"id,note\n2," + b"y" * 5000 + b"\n", b"id,note\n3,b\n4,\n"]
    for i, text in enumerate(files):
        (tmp_path / f"{i}.csv").write_bytes(text)
        icecore.pack(
            tmp_path / f"{i}.csv", into=tmp_path / "r", group="/t", concat="rows", append=i > 0, restore=keep
        )
    repo = icecore.open(tmp_path / "r")
    assert repo["/t/note"][...].tolist() == ["a", "naïve", "y" * 5000, "b", ""]
    if keep:
        restore(repo, "/t", tmp_path / "again")
        assert [(tmp_path / "again" / f"{i}.csv").read_bytes() for i in range(3)] == files


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux' account of memory")
def test_one_very_long_text_takes_little_memory(tmp_path: Path) -> None:
    rows = [b"%d,%s\n" % (i, b"x" * 600_000 if i == 2000 else b"name%d" % (i % 97)) for i in range(4000)]
    (tmp_path / "t.csv").write_bytes(b"id,name\n" + b"".join(rows))
    script = """
import re
import icecore
from icecore.tables.text.restore import restore
icecore.pack("t.csv", into="r")
repo = icecore.open("r")
batches = list(repo.table("/t").scan(["id"], "name = 'name5'"))
assert sum(batch.num_rows for batch in batches) == 42
assert sum(batch.num_rows for batch in repo.table("/t").scan()) == 4000
restore(repo, "/t", "again")
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""
    ran = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "again").read_bytes() == (tmp_path / "t.csv").read_bytes()
    assert int(ran.stdout) < 200_000, "kB"


def test_a_text_beyond_all_bounds_is_kept_without_a_value(tmp_path: Path) -> None:
    table, report = packed(tmp_path, b"id,geom\n1,a\n2," + b"x" * 1_200_000 + b"\n3,c\n")
    assert table["geom"][...].tolist() == ["a", "", "c"]
    told = f"1 cell of column geom kept as text, no values: {'x' * 40!r} (line 3)"
    assert told in [note.message for note in report.notes]


def test_blanks_and_quotes_inside_of_quoted_texts(tmp_path: Path) -> None:
    texts = ["plain", 'a "b" c', "one ", " two", "", '""', "x, y", 'end"', "more"] * 3
    rows = "".join('"{}";"{}"\n'.format(text.replace('"', '""'), i) for i, text in enumerate(texts))
    table, _ = packed(tmp_path, b'"text";"i"\n' + rows.encode())
    assert table["text"][...].tolist() == [text.encode() for text in texts]


def test_quotes_inside_of_quoted_texts_of_one_width(tmp_path: Path) -> None:
    """Of which the rows that tell the style have none."""
    texts = [f"{f'name{i}':<9}" for i in range(9000)]
    texts[4000] = 'a "b" c'
    rows = "".join('"{}",{}\n'.format(text.replace('"', '""'), i) for i, text in enumerate(texts))
    table, _ = packed(tmp_path, rows.encode())
    assert table["column_1"][4000] == b'a "b" c'
    assert table["column_1"][3999].rstrip() == b"name3999"


@pytest.mark.parametrize("case", [str.upper, str.lower, str.title])
def test_hexadecimal_numbers_in_any_case(tmp_path: Path, case: Callable[[str], str]) -> None:
    values = [0xAB3F, 0x12, 0xFACE0, 0x1C, 7] * 40
    (tmp_path / "t.xml").write_text(
        "<Product_Observational><File_Area_Observational><File><file_name>t.csv</file_name></File>"
        "<Table_Delimited><offset>0</offset><field_delimiter>Comma</field_delimiter><Record_Delimited>"
        "<Field_Delimited><name>h</name><data_type>ASCII_Numeric_Base16</data_type></Field_Delimited>"
        "</Record_Delimited></Table_Delimited></File_Area_Observational></Product_Observational>"
    )
    text = "".join(f"{case(f'{value:x}')}\n" for value in values).encode()
    (tmp_path / "t.csv").write_bytes(text)
    repo, report, again = round_trip(tmp_path / "t.xml", tmp_path)
    assert again == text
    assert not report.notes
    assert repo["/t/h"][...].tolist() == values


def test_fields_inside_of_others(tmp_path: Path) -> None:
    columns = (
        column("YEAR", "ASCII_INTEGER", 1, 4)
        + column("MONTH", "ASCII_INTEGER", 6, 2)
        + column("DATE", "DATE", 1, 10)
        + column("DATE_AGAIN", "DATE", 1, 10)
        + column("N", "ASCII_INTEGER", 12, 6)
    )
    table, report = fixed(tmp_path, [b"2020-01-%02d %6d\r\n" % (i + 1, i * 37) for i in range(30)], columns)
    days = np.datetime64("2020-01-01") + np.arange(30)
    for name, expected in {
        "DATE": days,
        "DATE_AGAIN": days,
        "YEAR": [2020] * 30,
        "N": np.arange(30) * 37,
    }.items():
        np.testing.assert_array_equal(table[name][...], expected)
    assert not report.notes


def test_a_field_that_ends_in_the_next_one_gives_way(tmp_path: Path) -> None:
    columns = column("A", "ASCII_INTEGER", 1, 5) + column("B", "ASCII_REAL", 5, 6)
    table, report = fixed(tmp_path, [b"%4d%6.2f\r\n" % (i, i / 4) for i in range(30)], columns)
    assert table["A"][...].tolist() == list(range(30))
    assert next(note.message for note in report.notes).startswith(
        "1 field of 2 end in the middle of the next one"
    )


@pytest.mark.parametrize(
    ("row", "varying"),
    [
        (lambda i: b'%4d,%6.2f,"x%02d"\r\n' % (i, i / 4, i), 39),
        (lambda i: b"%4d%c%6.2f    ;\r\n" % (i, 32 + i % 2, i / 4), 20),
    ],
    ids=["behind", "between"],
)
def test_bytes_of_no_field_that_vary(tmp_path: Path, row: Any, varying: int) -> None:
    columns = column("A", "ASCII_INTEGER", 1, 4) + column("X", "ASCII_REAL", 6, 6)
    table, report = fixed(tmp_path, [row(i) for i in range(40)], columns)
    assert table["A"][...].tolist() == list(range(40))
    assert table["X"][...].tolist() == [i / 4 for i in range(40)]
    assert [note.message.partition(",")[0] for note in report.notes] == [
        f"bytes in no column vary in {varying} rows"
    ]


def test_prefixes_that_vary(tmp_path: Path) -> None:
    columns = column("A", "ASCII_INTEGER", 1, 4) + column("X", "ASCII_REAL", 6, 6)
    text = b"".join(b"%03d%4d,%6.2f\r\n" % (i, i, i / 4) for i in range(40))
    (tmp_path / "t.tab").write_bytes(text)
    label = PDS3.format(record=16, rows=40, file="T.TAB", columns=columns).replace(
        "COLUMNS = 3", "COLUMNS = 2"
    )
    label = label.replace("  ROW_BYTES = 16", "  ROW_PREFIX_BYTES = 3\r\n  ROW_BYTES = 13")
    (tmp_path / "t.lbl").write_text(label, newline="")
    repo, report, again = round_trip(tmp_path / "t.lbl", tmp_path)
    assert again == text
    assert repo.table("/t")["A"][...].tolist() == list(range(40))
    assert [note.message for note in report.notes] == [
        "bytes in no column vary in 39 rows, from row 0 on: '000' (line 1)"
    ]


def test_binary_fields_inside_of_others(tmp_path: Path) -> None:
    values = (np.arange(40) * 70_000).astype(">u4")
    (tmp_path / "t.tab").write_bytes(values.tobytes())
    columns = column("A", "MSB_UNSIGNED_INTEGER", 1, 4) + column("LOW", "MSB_UNSIGNED_INTEGER", 3, 2)
    columns += column("HIGH", "MSB_UNSIGNED_INTEGER", 1, 2)
    label = PDS3.format(record=4, rows=40, file="T.TAB", columns=columns).replace("= ASCII", "= BINARY")
    (tmp_path / "t.lbl").write_text(label, newline="")
    repo, _, again = round_trip(tmp_path / "t.lbl", tmp_path)
    assert again == values.tobytes()
    table = repo.table("/t")
    np.testing.assert_array_equal(table["A"][...], values)
    np.testing.assert_array_equal(table["LOW"][...], values & 0xFFFF)
    np.testing.assert_array_equal(table["HIGH"][...], values >> 16)


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        ([b'"1"', b'"2"', b'"-3"'], np.array([1, 2, -3])),
        ([b'"1.5"', b"NA", b"NA", b"NA", b'"2.25"'], np.array([1.5, np.nan, np.nan, np.nan, 2.25])),
        ([b'"1.5"', b'""', b'""', b'"2.25"'], np.array([1.5, np.nan, np.nan, 2.25])),
        ([b'"1"', b"2", b'"3"', b"4"], np.array([1, 2, 3, 4])),
        ([b'"01234"', b'"99999"'], np.array([b"01234", b"99999"])),
        ([b'"2009-01-01"', b"NA", b"NA"], np.array(["2009-01-01", "NaT", "NaT"], "M8[D]")),
    ],
)
def test_cells_in_quotes(tmp_path: Path, cells: list[bytes], values: np.ndarray) -> None:
    table, _ = packed(tmp_path, b'"a","b"\n' + b"".join(b"%s,0.5\n" % cell for cell in cells))
    found = table["a"][...]
    assert found.dtype.kind == values.dtype.kind
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize("append", [False, True])
@pytest.mark.parametrize("none", [b"NA", b"", b"null", b'"NaN"'])
@pytest.mark.parametrize(
    ("cell", "values"),
    [
        (b"1.5", np.array([np.nan, np.nan, 1.5])),
        (b"2009-01-01", np.array(["NaT", "NaT", "2009-01-01"], "M8[D]")),
        (b"a word", None),
    ],
)
def test_a_column_without_values_becomes_what_comes(
    tmp_path: Path, append: bool, none: bytes, cell: bytes, values: np.ndarray | None
) -> None:
    texts = [b"a,b\n%s,1\n%s,2\n" % (none, none), b"a,b\n%s,3\n" % cell]
    if append:
        for text, name in zip(texts, ("0.csv", "1.csv"), strict=True):
            (tmp_path / name).write_bytes(text)
            icecore.pack(
                tmp_path / name, into=tmp_path / "r", group="/t", concat="rows", append=name != "0.csv"
            )
            repo = icecore.open(tmp_path / "r")
            restore(repo, "/t", tmp_path / "again", source=name)
            assert (tmp_path / "again").read_bytes() == text
        table = repo.table("/t")
    else:
        table, _ = packed(tmp_path, *texts)
    found = table["a"][...]
    if values is None:
        assert (found.dtype.kind, found[2]) == ("S", b"a word")
    else:
        assert found.dtype == values.dtype
        np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize(("cell", "kind"), [(b"2.5", "f"), (b"abc", "S"), (b"17", "i")])
def test_values_far_behind_where_none_was_sampled(tmp_path: Path, cell: bytes, kind: str) -> None:
    rows = [b"NA,1\n"] * 60_000
    rows[777], rows[55_555] = b"%s,1\n" % cell, b"%s,2\n" % cell
    table, _ = packed(tmp_path, b"a,b\n" + b"".join(rows))
    found = table["a"][...]
    assert found.dtype.kind == kind
    assert found[777] == found[55_555] == np.array(cell).astype(found.dtype)


def test_a_table_packed_into_another_repository_says_what_stays_behind(tmp_path: Path) -> None:
    table, _ = packed(tmp_path, b"a,b\n1,x\n2,y\n")
    report = icecore.pack(tmp_path / "r", into=tmp_path / "other")
    assert [(note.name, note.kind) for note in report.notes] == [(f"{tmp_path / 'r'}:/t", "unsupported")]
    assert "icecore restore needs the first repository" in report.notes[0].message
    other = icecore.open(tmp_path / "other").table("/t")
    assert list(other["a"][:]) == list(table["a"][:])
