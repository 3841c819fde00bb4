# ruff: noqa: E501, PT018
"""Values of text tables never vanish: lines beyond the first ones widen the layout, or are reported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import icecore
import numpy as np
import pytest
from tables_kit import PDS3, column, round_trip


def values(folder: Path, text: str, name: str = "t.txt") -> tuple[dict[str, list[object]], list[str]]:
    """The columns of a text that comes back byte for byte, and the notes."""
    (folder / name).write_text(text, newline="")
    repo, report, again = round_trip(folder / name, folder)
    assert again == text.encode()
    columns = {c: np.asarray(a[...]).tolist() for c, a in repo.table("/t").columns.items()}
    return columns, [note.message for note in report.notes]


@pytest.mark.parametrize("late", [990, 1000, 1001, 1200, 1499])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_wider_texts_and_numbers_behind_the_sample(tmp_path: Path, late: int, end: str) -> None:
    rows = 1500
    word = ["AB" if i < late else "ABCDEFG" for i in range(rows)]
    left = ["12" if i < late else "1234567" for i in range(rows)]
    real = ["1.5" if i < late else "1.5E-08" for i in range(rows)]
    text = "".join(
        f"{i / 4:6.1f}  {a:<8} {b:<8} {c:<10}{end}"
        for i, a, b, c in zip(range(rows), word, left, real, strict=True)
    )
    found, notes = values(tmp_path, text)
    columns = list(found.values())
    columns[1] = [bytes(cell).strip() for cell in columns[1]]  # fields of text keep the spaces of their place
    assert columns == [
        [float(f"{i / 4:.1f}") for i in range(rows)],
        [w.encode() for w in word],
        [int(n) for n in left],
        [float(x) for x in real],
    ]
    assert notes == []


@pytest.mark.parametrize("late", [5, 999, 1001, 2999])
def test_a_column_that_is_blank_in_the_first_lines(tmp_path: Path, late: int) -> None:
    rows = 3000
    text = "".join(f"{1000 - i / 4:7.2f} {i * 10:6d} {'' if i < late else i:>6}\n" for i in range(rows))
    found, notes = values(tmp_path, text)
    last = list(found.values())[-1]
    assert len(found) == 3 and last[late:] == list(range(late, rows)) and notes == []


@pytest.mark.parametrize("head", ["#PRES    HGHT   TEMP   DWPT\n", " PRES    HGHT   TEMP   DWPT\n"])
@pytest.mark.parametrize("late", [1, 3, 20])
@pytest.mark.parametrize("trimmed", [False, True])
def test_rows_with_a_blank_cell_right_below_the_names(
    tmp_path: Path, head: str, late: int, trimmed: bool
) -> None:
    rows = [
        f"{1000 - i / 4:6.1f} {i * 10:6d} {20 - i / 100:6.1f} {'' if i < late else i:>6}" for i in range(300)
    ]
    found, notes = values(tmp_path, head + "".join((r.rstrip() if trimmed else r) + "\n" for r in rows))
    assert list(found) == ["PRES", "HGHT", "TEMP", "DWPT"] and notes == []
    assert found["HGHT"] == [i * 10 for i in range(300)] and found["DWPT"][late:] == list(range(late, 300))


@pytest.mark.parametrize("rows", [30, 1100])
def test_blanks_separate_cells_in_a_file_called_csv(tmp_path: Path, rows: int) -> None:
    text = "n star mag\n" + "".join(f"{i} HD{1000 + i} {8 + i % 50 / 10:.1f}\n" for i in range(rows))
    found, notes = values(tmp_path, text, "t.csv")
    assert found["n"] == list(range(rows)) and found["star"] == [
        f"HD{1000 + i}".encode() for i in range(rows)
    ]
    assert list(found) == ["n", "star", "mag"] and notes == []


HEAD = (
    "Title: Sample\n" + "=" * 80 + "\nByte-by-byte Description of file: t.txt\n" + "-" * 80
    + "\n   Bytes Format Units   Label   Explanations\n" + "-" * 80 + """
   1-  6 A6     ---     Name    Star name
   8- 12 F5.2   mag     Vmag    ? Magnitude
  14- 17 I4     ---     Num     number
  19- 60 A42    ---     Other   ? other names
""" + "-" * 80 + "\n"
)  # fmt: skip


@pytest.mark.parametrize("rows", [70, 1500])
@pytest.mark.parametrize("padded", [0, 1, 3])
def test_machine_readable_rows_without_their_trailing_blanks(tmp_path: Path, rows: int, padded: int) -> None:
    names = ["HIP 1", "Cl* Collinder 110 DI 2108", "", "V* nu Cep", "x"]
    lines = [f"HD{i:04d} {'' if i % 5 == 0 else 8.25:>5} {i:4d} {names[i % 5]}" for i in range(rows)]
    lines = [r.ljust(60) if padded and i % padded == 0 else r.rstrip() for i, r in enumerate(lines)]
    found, notes = values(tmp_path, HEAD + "\n".join(lines) + "\n")
    assert found["Num"] == list(range(rows)) and notes == []
    assert found["Other"] == [names[i % 5].encode() for i in range(rows)]


@pytest.mark.parametrize("lines", [990, 1001, 3000])
def test_ecsv_with_a_long_header(tmp_path: Path, lines: int) -> None:
    described = [
        f"# - {{name: c{i}, unit: m, datatype: float64, description: 'no, {i}'}}\n" for i in range(3)
    ]
    more = "".join(f"# meta line {i}\n" for i in range(lines))
    head = "# %ECSV 1.0\n# ---\n# delimiter: ','\n# datatype:\n" + "".join(described) + "# meta:\n" + more
    text = head + "c0,c1,c2\n" + "".join(f"{i},{i / 4},{i * i}\n" for i in range(200))
    found, _ = values(tmp_path, text, "t.ecsv")
    assert found["c1"] == [i / 4 for i in range(200)] and len(found["c2"]) == 200
    attrs = icecore.open(tmp_path / "r.icecore").table("/t").columns["c1"].attrs
    assert (attrs["units"], attrs["description"]) == ("m", "no, 1")


@pytest.mark.parametrize("rows", [900, 1100])
def test_the_closing_ruler_is_no_row(tmp_path: Path, rows: int) -> None:
    rule = "======== ======\n"
    text = f"{rule}name     value\n{rule}" + "".join(f"{f'HD{i}':<8} {i:6d}\n" for i in range(rows)) + rule
    found, notes = values(tmp_path, text, "t.rst")
    assert found == {"name": [f"HD{i}".encode() for i in range(rows)], "value": list(range(rows))}
    assert notes == []


@pytest.mark.parametrize("first", [300_000, 220_000])
def test_a_column_of_numbers_and_later_words_is_text(tmp_path: Path, first: int) -> None:
    cells = [str(i % 7) if i < first else "idle" for i in range(400_000)]
    text = "time,state\n" + "".join(
        f"2020-01-01T00:{i // 60 % 60:02d}:{i % 60:02d},{c}\n" for i, c in enumerate(cells)
    )
    found, _ = values(tmp_path, text, "t.csv")
    assert found["state"] == [c.encode() for c in cells]


def test_a_label_called_lblx_is_found_beside_its_data(tmp_path: Path) -> None:
    field = "<Field_Delimited><name>X</name><field_number>1</field_number><data_type>ASCII_Real</data_type><unit>nT</unit></Field_Delimited>"
    label = f'<?xml version="1.0"?><Product_Observational xmlns="http://pds.nasa.gov/pds4/pds/v1"><File_Area_Observational><File><file_name>m.csv</file_name></File><Table_Delimited><offset unit="byte">0</offset><parsing_standard_id>PDS DSV 1</parsing_standard_id><records>3</records><record_delimiter>Carriage-Return Line-Feed</record_delimiter><field_delimiter>Comma</field_delimiter><Record_Delimited><fields>2</fields><groups>0</groups>{field}{field.replace(">X<", ">Y<").replace(">1<", ">2<")}</Record_Delimited></Table_Delimited></File_Area_Observational></Product_Observational>'
    (tmp_path / "m.csv").write_bytes(b"1.5,2\r\n2.5,3\r\n3.5,4\r\n")
    (tmp_path / "m.lblx").write_text(label)
    repo, _, _ = round_trip(tmp_path / "m.csv", tmp_path)
    table = repo.table("/t")
    assert list(table.columns) == ["X", "Y"] and table.columns["X"].attrs["units"] == "nT"


def info(folder: Path) -> str:
    """What ``icecore info`` shows of the table."""
    ran = subprocess.run(
        [sys.executable, "-m", "icecore", "info", str(folder / "r.icecore"), "/t"],
        capture_output=True,
        text=True,
        check=True,
    )
    return " ".join(ran.stdout.split())


def test_what_is_in_no_value_is_reported_with_its_line_and_shown_by_info(tmp_path: Path) -> None:
    rows = [f"{i},{i / 4}" for i in range(50)]
    rows[20], rows[30] = "20,off", "30,7.5,more"
    _, notes = values(tmp_path, "a,b\n" + "".join(f"{row}\n" for row in rows), "t.csv")
    assert notes == [
        "1 line kept as text, no rows: b'30,7.5,more\\n' before row 30 (line 32)",
        "1 cell of column b kept as text, no values: 'off' (line 22)",
    ]
    shown = info(tmp_path)
    assert all(note in shown for note in notes) and "t.csv (rows 0 to 49)" in shown


def test_bytes_in_no_column_that_all_rows_share_are_reported(tmp_path: Path) -> None:
    text = b"".join(b"%4d km %6.2f\r\n" % (i, i / 4) for i in range(40))
    (tmp_path / "t.tab").write_bytes(text)
    columns = column("A", "ASCII_INTEGER", 1, 4) + column("X", "ASCII_REAL", 9, 6)
    label = PDS3.format(record=16, rows=40, file="T.TAB", columns=columns)
    (tmp_path / "t.lbl").write_text(label.replace("COLUMNS = 3", "COLUMNS = 2"), newline="")
    _, report, again = round_trip(tmp_path / "t.lbl", tmp_path)
    assert again == text
    told = "bytes in no column are the same in all rows: 'km' at byte 6"
    assert [note.message for note in report.notes] == [told] and told in info(tmp_path)


@pytest.mark.parametrize("late", [40, 1200])
@pytest.mark.parametrize("trimmed", [False, True])
def test_a_blank_cell_far_below_rows_between_blanks(tmp_path: Path, late: int, trimmed: bool) -> None:
    rows = [f"{i:6d} {i / 4:8.2f} {'' if i == late else i % 9:>4} HD{i % 90 + 10}" for i in range(1500)]
    rows = [row[:16] if trimmed and i == late + 3 else row for i, row in enumerate(rows)]
    found, notes = values(tmp_path, "".join(f"{row}\n" for row in rows))
    columns = list(found.values())
    assert notes == [] and columns[0] == list(range(1500))
    assert columns[3][:2] == [b"HD10", b"HD11"] and columns[3][late] == f"HD{late % 90 + 10}".encode()


@pytest.mark.parametrize("align", ["<", ">", "^"])
def test_texts_of_fixed_fields_have_no_padding(tmp_path: Path, align: str) -> None:
    words = [["ABCDEFG", "AB", "", "x-y"][i % 4] if i > 1100 else "ABCDEFG" for i in range(1500)]
    text = "".join(f"{i / 4:7.2f} {word:{align}9} {i:5d}\n" for i, word in enumerate(words))
    found, notes = values(tmp_path, text)
    assert list(found.values())[1] == [word.encode() for word in words] and notes == []


@pytest.mark.parametrize("count", [8, 9, 200])
@pytest.mark.parametrize("first", [2, 1_100, 60_000])
def test_a_column_with_more_words_than_slips_is_text(tmp_path: Path, count: int, first: int) -> None:
    """Before and behind the sample and the first block of text; up to 8 words are nulls with a note."""
    rows = 70_000 if first > 50_000 else 3_000
    cells = [f"w{i % 5}" if first <= i < first + count else str(i % 90) for i in range(rows)]
    pad = "p" * 90 if first > 50_000 else ""
    found, notes = values(
        tmp_path, "a,state\n" + "".join(f"{i}{pad},{c}\n" for i, c in enumerate(cells)), "t.csv"
    )
    if count > 8:
        assert [cell.decode() for cell in found["state"]] == cells
        assert notes == []
    else:
        assert [c for i, c in enumerate(found["state"]) if not first <= i < first + count] == [
            int(c) for i, c in enumerate(cells) if not first <= i < first + count
        ]
        assert notes == [
            f"{count} cells of column state kept as text, no values: 'w{first % 5}' (line {first + 2:,})"
        ]


@pytest.mark.parametrize(
    "marker", ["NA", "N/A", "n/a", "-", "--", "---", "nan", "NaN", "null", "NULL", "None", ""]
)
def test_cells_that_say_that_there_is_no_value_are_nulls_however_many(tmp_path: Path, marker: str) -> None:
    cells = [marker if i % 7 == 3 else f"{i / 4}" for i in range(3_000)]
    text = "a,x\n" + "".join(f"{i},{c}\n" for i, c in enumerate(cells))
    found, _ = values(tmp_path, text, "t.csv")
    assert [None if x != x else x for x in found["x"]] == [None if c == marker else float(c) for c in cells]
