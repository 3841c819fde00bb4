"""Where labels say that columns, items, groups and rows are: what can't be is told, with its name."""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.errors import Error
from tables_kit import column, round_trip

pytest.importorskip("pvl")
RECORDS = np.array([(i, i / 2) for i in range(20)], [("A", ">i2"), ("B", ">f4")])
PDS3 = """PDS_VERSION_ID = PDS3
RECORD_TYPE = FIXED_LENGTH
RECORD_BYTES = 6
^TABLE = "D.TAB"
OBJECT = TABLE
INTERCHANGE_FORMAT = {format}
ROWS = 20
ROW_BYTES = 6
{columns}END_OBJECT = TABLE
END
"""
A, B = column("A", "MSB_INTEGER", 1, 2), column("B", "IEEE_REAL", 3, 4)


def field(name: str, place: str, kind: str, length: int, extra: str = "") -> str:
    """A field of a binary record; ``place`` is its element, or nothing."""
    return (
        f"<Field_Binary><name>{name}</name>{place}<data_type>{kind}</data_type>"
        f"<field_length>{length}</field_length>{extra}</Field_Binary>"
    )


def at(place: int) -> str:
    return f"<field_location>{place}</field_location>"


def group(times: int, length: int | None, inner: str) -> str:
    size = "" if length is None else f"<group_length>{length}</group_length>"
    start = f"<repetitions>{times}</repetitions><group_location>1</group_location>"
    return f"<Group_Field_Binary>{start}{size}{inner}</Group_Field_Binary>"


def pds4(fields: str) -> str:
    return (
        '<?xml version="1.0"?><Product_Observational><File_Area_Observational>'
        "<File><file_name>d.tab</file_name></File><Table_Binary><offset>0</offset><records>20</records>"
        f"<Record_Binary><record_length>6</record_length>{fields}</Record_Binary></Table_Binary>"
        "</File_Area_Observational></Product_Observational>"
    )


def label(folder: Path, columns: str, format: str = "BINARY") -> Path:
    """A label of either kind beside its data."""
    (folder / "d.tab").write_bytes(RECORDS.tobytes())
    xml = columns.startswith("<")
    path = folder / ("d.xml" if xml else "d.lbl")
    path.write_text(pds4(columns) if xml else PDS3.format(columns=columns, format=format))
    return path


def container(times: int, size: int, inner: str) -> str:
    head = f"NAME = C\nSTART_BYTE = 1\nBYTES = {size}\nREPETITIONS = {times}\n"
    return f"OBJECT = CONTAINER\n{head}{inner}END_OBJECT = CONTAINER\n"


a, b = field("A", at(1), "SignedMSB2", 2), field("B", at(3), "IEEE754MSBSingle", 4)
WRONG = {
    A.replace("START_BYTE = 1", "START_BYTE = 0"): "A has START_BYTE = 0",
    A + B.replace("START_BYTE = 3", ""): "B has no START_BYTE",
    A.replace("BYTES = 2", "BYTES = 0"): "A has no bytes",
    column("A", "MSB_INTEGER", 1, 4, "ITEMS = 2\nITEM_OFFSET = 1"): "items of A have 2 bytes, .* = 1 from",
    container(2, 1, A): "A ends behind a container of 1 bytes",
    container(30_000, 0, container(30_000, 0, B)): "B ends behind a container of 0 bytes",
    field("A", at(0), "SignedMSB2", 2): "A has field_location 0",
    a + field("B", "", "IEEE754MSBSingle", 4): "B has no field_location",
    field("A", at(1), "SignedMSB2", 0): "A has no bytes",
    group(2, None, a): "A takes byte 2 of a group of 0 bytes, which is for 2 repetitions",
    group(2, 5, a): "A takes byte 2 of a group of 5 bytes",
    group(2, 2, a): "A takes byte 2 of a group of 2 bytes",
}


@pytest.mark.parametrize("columns", WRONG, ids=WRONG.values())
def test_places_that_can_not_be(tmp_path: Path, columns: str) -> None:
    with pytest.raises(Error, match=WRONG[columns]):
        icecore.pack(label(tmp_path, columns), into="memory://places", group="/t")


def test_text_without_bytes_of_its_own(tmp_path: Path) -> None:
    """Its cells counted as blank."""
    path = label(tmp_path, column("A", "ASCII_INTEGER", 1, 0), "ASCII")
    with pytest.raises(Error, match="A has no bytes"):
        icecore.pack(path, into="memory://places", group="/t")


@pytest.mark.parametrize("inside", [container, group])
def test_groups_of_nothing_are_not_counted_through(tmp_path: Path, inside: object) -> None:
    """A billion times."""
    empty = ""
    for _ in range(3):
        empty = inside(30_000, 1, empty)  # type: ignore[operator]
    repo, _, again = round_trip(label(tmp_path, empty + (A + B if inside is container else a + b)), tmp_path)
    assert again == RECORDS.tobytes()
    for name in "AB":
        np.testing.assert_array_equal(repo[f"/t/{name}"][...], RECORDS[name])


def test_the_first_column_may_leave_out_where_it_begins(tmp_path: Path) -> None:
    repo, _, _ = round_trip(label(tmp_path, A.replace("START_BYTE = 1", "") + B), tmp_path)
    np.testing.assert_array_equal(repo["/t/B"][...], RECORDS["B"])


@pytest.mark.parametrize("columns", [A, a])
def test_labels_of_no_table(tmp_path: Path, columns: str) -> None:
    path = label(tmp_path, columns)
    path.write_text(path.read_text().replace("^TABLE", "^TABEL").replace("file_name", "name"))
    with pytest.raises(Error, match=r"is a label, and describes no table in a file\n  try: tables are"):
        icecore.pack(path, into="memory://places")


def test_rows_that_begin_behind_the_file(tmp_path: Path) -> None:
    path = label(tmp_path, A + B)
    path.write_text(path.read_text().replace('"D.TAB"', '("D.TAB", 50)'))
    with pytest.raises(Error, match=r"d.lbl says that rows begin at byte 295 of .*, which has 120 bytes"):
        icecore.pack(path, into="memory://places")


def test_tables_of_one_name_have_their_own_pointers(tmp_path: Path) -> None:
    """The second one was left out."""
    path = label(tmp_path, A + B)
    (tmp_path / "e.tab").write_bytes(RECORDS[::-1].tobytes())
    head, table = path.read_text().split("OBJECT = TABLE", 1)
    table = "OBJECT = TABLE" + table.removesuffix("END\n")
    path.write_text(f'{head}^TABLE = "E.TAB"\n{table}{table}END\n')
    icecore.pack(path, into="memory://one-name", group="/t")
    repo = icecore.open("memory://one-name")
    np.testing.assert_array_equal(repo["/t/d/A"][...], RECORDS["A"])
    np.testing.assert_array_equal(repo["/t/e/A"][...], RECORDS["A"][::-1])


@pytest.mark.parametrize("above", ["CCSD3ZF0000100000001NJPL3IF0PDSX00000001", "CCSD3ZF00001 = SFDU_LABEL"])
def test_what_wraps_a_label(tmp_path: Path, above: str) -> None:
    path = label(tmp_path, A + B)
    path.write_text(f"{above}\n{path.read_text()}")
    np.testing.assert_array_equal(round_trip(path, tmp_path)[0]["/t/B"][...], RECORDS["B"])
