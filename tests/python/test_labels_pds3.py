"""What PDS3 labels may say in several ways: where they end, constants, separators, records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from icecore.errors import Error
from tables_kit import column, labelled, round_trip

pytest.importorskip("pvl")


@pytest.mark.parametrize(
    "text", ['NOTE = "what\r\nEND\r\nmeans"', "/* before\r\nEND\r\nof all */", 'A = "/*"\r\nB = "END"']
)
def test_an_end_within_text_ends_nothing(tmp_path: Path, text: str) -> None:
    label, data, _ = labelled(tmp_path)
    label.write_bytes(label.read_bytes().replace(b"^TABLE", text.encode() + b"\r\n^TABLE", 1))
    repo, _, again = round_trip(label, tmp_path)
    assert again == data
    assert list(repo.table("/t")) == ["NAME", "COUNT", "VALUE"]


def test_data_behind_the_end_are_no_label(tmp_path: Path) -> None:
    """Quotes that are odd in number, and comments that don't end."""
    label, data, _ = labelled(tmp_path)
    label.write_bytes(label.read_bytes() + b'/* "\r\n' * 1000)
    assert round_trip(label, tmp_path)[2] == data


BINARY = """PDS_VERSION_ID = PDS3
RECORD_TYPE = FIXED_LENGTH
RECORD_BYTES = 20
^TABLE = "D.DAT"
OBJECT = TABLE
  INTERCHANGE_FORMAT = BINARY
  ROWS = 4
  ROW_BYTES = 20
{columns}END_OBJECT = TABLE
END
"""
STATED = {
    "A": ("IEEE_REAL", 4, "MISSING_CONSTANT = 16#3F800000#", [1.0]),
    "B": ("IEEE_REAL", 4, "MISSING_CONSTANT = 16#FF7FFFFB#", [float(np.uint32(0xFF7FFFFB).view("f4"))]),
    "C": ("PC_REAL", 8, "MISSING_CONSTANT = 16#3FF0000000000000#\nNULL_CONSTANT = -1.5", [1.0, -1.5]),
    "D": ("MSB_INTEGER", 2, "MISSING_CONSTANT = 16#FFFF#\nNULL_CONSTANT = -32768", [-1, -32768]),
    "E": ("MSB_UNSIGNED_INTEGER", 2, 'MISSING_CONSTANT = "255"\nNULL_CONSTANT = "none"', [255]),
}


def test_constants_are_those_of_the_columns(tmp_path: Path) -> None:
    at, columns = 1, ""
    for name, (kind, size, extra, _) in STATED.items():
        columns += column(name, kind, at, size, extra)
        at += size
    (tmp_path / "d.dat").write_bytes(bytes(range(80)))
    (tmp_path / "d.lbl").write_text(BINARY.format(columns=columns))
    repo, _, _ = round_trip(tmp_path / "d.lbl", tmp_path)
    for name, (_, _, _, expected) in STATED.items():
        assert repo[f"/t/{name}"].attrs["missing_value"] == expected


def test_bit_patterns_in_quotes(tmp_path: Path) -> None:
    (tmp_path / "d.dat").write_bytes(bytes(range(80)))
    columns = column("B", "IEEE_REAL", 1, 4, 'MISSING_CONSTANT = "16#3F800000#"')
    (tmp_path / "d.lbl").write_text(BINARY.format(columns=columns))
    assert round_trip(tmp_path / "d.lbl", tmp_path)[0]["/t/B"].attrs["missing_value"] == [1.0]


def test_a_record_has_its_prefix_in_it(tmp_path: Path) -> None:
    """Where ROW_BYTES, which has not, is left out."""
    (tmp_path / "d.dat").write_bytes(bytes(range(80)))
    columns = "  ROW_PREFIX_BYTES = 2\n" + column("B", "MSB_INTEGER", 1, 1)
    (tmp_path / "d.lbl").write_text(BINARY.format(columns=columns).replace("  ROW_BYTES = 20\n", ""))
    assert round_trip(tmp_path / "d.lbl", tmp_path)[0]["/t/B"][...].tolist() == [2, 22, 42, 62]


def test_a_record_of_unknown_length(tmp_path: Path) -> None:
    (tmp_path / "d.dat").write_bytes(bytes(80))
    text = BINARY.format(columns=column("B", "MSB_INTEGER", 1, 1)).replace('"D.DAT"', '("D.DAT", 2)')
    (tmp_path / "d.lbl").write_text(text.replace("RECORD_BYTES = 20\n", ""))
    with pytest.raises(Error, match=r"points to record 2, and no RECORD_BYTES says"):
        round_trip(tmp_path / "d.lbl", tmp_path)


def test_constants_in_quotes_and_with_units(tmp_path: Path) -> None:
    label, _, _ = labelled(tmp_path)
    text = label.read_bytes().replace(b"= -99\r\n", b'= "-99.50"\r\n    NULL_CONSTANT = -98 <COUNTS>\r\n')
    label.write_bytes(text.replace(b'"KELVIN"\r\n', b'"KELVIN"\r\n    MISSING_CONSTANT = "1.00"\r\n'))
    repo, _, _ = round_trip(label, tmp_path)
    assert repo["/t/COUNT"].attrs["missing_value"] == [-99.5, -98]
    assert repo["/t/VALUE"].attrs["missing_value"] == [1.0]


SHEET = """PDS_VERSION_ID = PDS3
RECORD_TYPE = STREAM
^SPREADSHEET = {pointer}
OBJECT = SPREADSHEET
  ROWS = 4
  FIELDS = 2
  FIELD_DELIMITER = {delimiter}
  OBJECT = FIELD
    NAME = A
    DATA_TYPE = ASCII_INTEGER
    BYTES = 5
  END_OBJECT = FIELD
  OBJECT = FIELD
    NAME = B
    DATA_TYPE = ASCII_REAL
    BYTES = 7
  END_OBJECT = FIELD
END_OBJECT = SPREADSHEET
END
"""
DELIMITERS = {
    '"COMMA"': ",",
    "SEMICOLON": ";",
    '";"': ";",
    '","': ",",
    "TAB": "\t",
    '"\t"': "\t",
    "VERTICAL_BAR": "|",
    '"|"': "|",
}


@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_separators_of_spreadsheets(tmp_path: Path, delimiter: str) -> None:
    mark = DELIMITERS[delimiter]
    text = "".join(f"{i}{mark}{i / 4}\r\n" for i in range(4)).encode()
    (tmp_path / "f.csv").write_bytes(text)
    (tmp_path / "f.lbl").write_text(SHEET.format(pointer='"F.CSV"', delimiter=delimiter))
    repo, _, again = round_trip(tmp_path / "f.lbl", tmp_path)
    assert again == text
    assert repo["/t/B"][...].tolist() == [0, 0.25, 0.5, 0.75]


def test_a_separator_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_bytes(b"1,2\n")
    (tmp_path / "f.lbl").write_text(SHEET.format(pointer='"F.CSV"', delimiter="COLON"))
    with pytest.raises(Error, match="fields are separated by 'COLON'"):
        round_trip(tmp_path / "f.lbl", tmp_path)


@pytest.mark.parametrize("pointer", ['("F.CSV", 3)', '("F.CSV", 23 <BYTES>)'])
def test_records_of_a_stream_are_lines(tmp_path: Path, pointer: str) -> None:
    text = b"what follows, is\nA,B\r\n" + b"".join(b"%d,%d.5\r\n" % (i, i) for i in range(4))
    (tmp_path / "f.csv").write_bytes(text)
    (tmp_path / "f.lbl").write_text(SHEET.format(pointer=pointer, delimiter="COMMA"))
    repo, report, again = round_trip(tmp_path / "f.lbl", tmp_path)
    assert again == text
    assert not report.notes
    assert repo["/t/B"][...].tolist() == [0.5, 1.5, 2.5, 3.5]


def test_lines_of_an_attached_label(tmp_path: Path) -> None:
    label = SHEET.format(pointer=SHEET.count("\n") + 1, delimiter="COMMA")
    text = label.encode() + b"".join(b"%d,%d.5\r\n" % (i, i) for i in range(4))
    (tmp_path / "f.lbl").write_bytes(text)
    repo, _, again = round_trip(tmp_path / "f.lbl", tmp_path)
    assert again == text
    assert repo["/t/A"][...].tolist() == [0, 1, 2, 3]
