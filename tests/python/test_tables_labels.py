# ruff: noqa: E501, PT018
"""Labels with faults that no table depends on, labels of several files, files of several tables, and XML."""

from __future__ import annotations

import gzip
import multiprocessing
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.tables.text.restore import restore
from tables_kit import COLUMNS, labelled, rows

MALFORMED = [
    "PRODUCT_ID = = 5",
    'NOTE = "never closed',
    "FILTERS = (1, 2",
    'SOFTWARE = 5 = "B"',
    "TARGET NAME = MARS",
    "MODES = {a, b",
    'TITLE = "a"b"',
    "WORD = 'abc",
    "= 5",
    "stray words",
    "LENGTH = 5 <",
    "MASK = 16#XX#",
    'NOTE = "said "hello" there"',
    "GROUP = CAMERA\r\n  A = = 3\r\nEND_GROUP = CAMERA",
    "OBJECT = IMAGE\r\n  LINES = 5 5 =\r\nEND_OBJECT = IMAGE",
]


@pytest.mark.parametrize("statement", MALFORMED)
def test_a_malformed_statement_that_no_table_depends_on_is_left_out_with_a_note(
    tmp_path: Path, statement: str
) -> None:
    label, _, values = labelled(tmp_path, 50)
    text = label.read_bytes().decode()
    text = text.replace("^TABLE", f'{statement}\r\nPRODUCER = "X Y = 3"\r\nCAMERA_ID = "C"\r\n^TABLE')
    label.write_text(text, newline="")
    report = icecore.pack(label, into=tmp_path / "r.icecore", group="/t")
    table = icecore.open(tmp_path / "r.icecore").table("/t")
    assert {name: column[...].tolist() for name, column in table.columns.items()} == {
        name: column.tolist() for name, column in values.items()
    }
    assert [note.message for note in report.notes if "malformed statement in line" in note.message]


def in_structure(
    tmp_path: Path, statement: str, old: str = "", new: str = ""
) -> tuple[Path, dict[str, object]]:
    """A label that takes its columns from a file with ``statement`` before them."""
    label, _, values = labelled(tmp_path, 50)
    text = label.read_bytes().decode()
    start, end = (
        text.index("  OBJECT = COLUMN"),
        text.rindex("END_OBJECT = COLUMN") + len("END_OBJECT = COLUMN"),
    )
    columns = text[start:end]
    assert old in columns
    structure = f"{statement}\r\n{columns.replace(old, new, 1) if old else columns}\r\n"
    (tmp_path / "COLS.FMT").write_text(structure, newline="")
    label.write_text(f'{text[:start]}  ^STRUCTURE = "COLS.FMT"{text[end:]}', newline="")
    return label, values


@pytest.mark.parametrize("statement", MALFORMED)
def test_a_malformed_statement_of_a_structure_is_left_out_with_a_note(tmp_path: Path, statement: str) -> None:
    label, values = in_structure(tmp_path, statement)
    report = icecore.pack(label, into=tmp_path / "r.icecore", group="/t")
    table = icecore.open(tmp_path / "r.icecore").table("/t")
    assert {name: column[...].tolist() for name, column in table.columns.items()} == {
        name: column.tolist() for name, column in values.items()
    }
    assert [note.message for note in report.notes if "COLS.FMT: malformed statement in line" in note.message]


@pytest.mark.parametrize(
    ("statement", "old", "new"),
    [
        ("", "START_BYTE = 10", "START_BYTE = = 10"),
        ("", "BYTES = 6", "BYTES = = 6"),
        ("", "OBJECT = COLUMN", "OBJECT = = COLUMN"),
        ("ROW_BYTES = = 26", "", ""),
        ("ROWS 50", "", ""),
    ],
)
def test_a_malformed_statement_of_a_structure_about_the_table_is_refused(
    tmp_path: Path, statement: str, old: str, new: str
) -> None:
    label, _ = in_structure(tmp_path, statement, old, new)
    with pytest.raises(icecore.Error, match=r"COLS\.FMT .* PDS3 label") as raised:
        icecore.pack(label, into=tmp_path / "r.icecore")
    assert raised.value.kind == "format"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("RECORD_BYTES = 26", "RECORD_BYTES = = 26"),
        ('^TABLE = "T.TAB"', '^TABLE = "T.TAB'),
        ("START_BYTE = 10", "START_BYTE = = 10"),
        ("ROWS = 50", "ROWS 50"),
        ("BYTES = 6", "BYTES = = 6"),
    ],
)
def test_a_malformed_statement_about_the_table_is_refused(tmp_path: Path, old: str, new: str) -> None:
    label, _, _ = labelled(tmp_path, 50)
    text = label.read_bytes().decode()
    assert old in text
    label.write_text(text.replace(old, new), newline="")
    with pytest.raises(icecore.Error, match="not a valid PDS3 label") as raised:
        icecore.pack(label, into=tmp_path / "r.icecore")
    assert raised.value.kind == "format"


def of_files(folder: Path, names: list[str]) -> Path:
    """A PDS3 label that describes a table in each of several files."""
    blocks = [
        f'OBJECT = FILE\r\nRECORD_TYPE = FIXED_LENGTH\r\nRECORD_BYTES = 26\r\n^TABLE = "{name}"\r\n'
        f"OBJECT = TABLE\r\nINTERCHANGE_FORMAT = ASCII\r\nROWS = 50\r\nROW_BYTES = 26\r\nCOLUMNS = 3\r\n"
        f"{COLUMNS}END_OBJECT = TABLE\r\nEND_OBJECT = FILE\r\n"
        for name in names
    ]
    (folder / "all.lbl").write_text("PDS_VERSION_ID = PDS3\r\n" + "".join(blocks) + "END\r\n", newline="")
    return folder / "all.lbl"


def test_of_several_files_of_a_label_one_is_missing(tmp_path: Path) -> None:
    label = of_files(tmp_path, ["A.TAB", "B.TAB", "C.TAB"])
    for name in ("a", "c"):
        (tmp_path / f"{name}.tab").write_bytes(rows(50)[0])
    with pytest.raises(icecore.Error, match=r"B\.TAB, which is not beside it"):
        icecore.pack(label, into=tmp_path / "r.icecore")
    report = icecore.pack(label, into=tmp_path / "r.icecore", keep_going=True)
    (failure,) = report.failures
    assert failure.kind == "source-missing" and "B.TAB" in failure.message
    repo = icecore.open(tmp_path / "r.icecore")
    assert {path.rsplit("/", 1)[0].rsplit("/", 1)[1] for path in repo.arrays} == {"a", "c"}


def character(name: str, number: int, start: int, length: int, kind: str) -> str:
    return (
        f"<Field_Character><name>{name}</name><field_number>{number}</field_number>"
        f'<field_location unit="byte">{start}</field_location><data_type>{kind}</data_type>'
        f'<field_length unit="byte">{length}</field_length></Field_Character>'
    )


FIELDS = character("A", 1, 1, 5, "ASCII_Integer") + character("B", 2, 7, 6, "ASCII_Real")
DELIMITED = "".join(
    f"<Field_Delimited><name>{n}</name><field_number>{i}</field_number><data_type>ASCII_Real</data_type></Field_Delimited>"
    for i, n in enumerate("PQ", 1)
)


def of_tables(folder: Path, between: bytes) -> tuple[Path, bytes]:
    """A PDS4 label of a file that holds tables of both layouts one after another, and the file's bytes."""
    data, tables = b"", ""
    for i, count in enumerate((10, 20, 30)):
        data += between
        if i == 1:
            tables += f'<Table_Delimited><local_identifier>T{i}</local_identifier><offset unit="byte">{len(data)}</offset><records>{count}</records><field_delimiter>Comma</field_delimiter><Record_Delimited><fields>2</fields>{DELIMITED}</Record_Delimited></Table_Delimited>'
            data += b"".join(b"%d.5,%d\r\n" % (k, k * k) for k in range(count))
        else:
            tables += f'<Table_Character><local_identifier>T{i}</local_identifier><offset unit="byte">{len(data)}</offset><records>{count}</records><Record_Character><fields>2</fields><record_length unit="byte">14</record_length>{FIELDS}</Record_Character></Table_Character>'
            data += b"".join(f"{k:5d} {k / 8:6.3f}\r\n".encode() for k in range(count))
    data += between
    (folder / "x.tab").write_bytes(data)
    label = folder / "x.xml"
    label.write_text(
        '<?xml version="1.0"?><Product_Observational xmlns="http://pds.nasa.gov/pds4/pds/v1">'
        f"<File_Area_Observational><File><file_name>x.tab</file_name></File>{tables}</File_Area_Observational></Product_Observational>"
    )
    return label, data


@pytest.mark.parametrize("between", [b"", b"another table\r\n"])
def test_a_file_of_several_tables_is_restored_from_each_and_from_their_group(
    tmp_path: Path, between: bytes
) -> None:
    label, data = of_tables(tmp_path, between)
    icecore.pack(label, into=tmp_path / "r.icecore")
    repo = icecore.open(tmp_path / "r.icecore")
    for i, (count, names) in enumerate(((10, "AB"), (20, "PQ"), (30, "AB"))):
        columns = repo.table(f"/x/T{i}").columns
        assert list(columns) == list(names)
        assert all(len(np.asarray(column[...])) == count for column in columns.values())
        restore(repo, f"/x/T{i}", tmp_path / "out")
        assert (tmp_path / "out").read_bytes() == data
    restore(repo, "/x", tmp_path / "whole")
    assert (tmp_path / "whole").read_bytes() == data


def test_a_group_of_tables_from_several_files_names_them(tmp_path: Path) -> None:
    label = of_files(tmp_path, ["A.TAB", "B.TAB"])
    for name, seed in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.tab").write_bytes(rows(50, seed)[0])
    icecore.pack(label, into=tmp_path / "r.icecore", group="/g")
    with pytest.raises(icecore.Error, match="/g was not packed from text") as raised:
        restore(icecore.open(tmp_path / "r.icecore"), "/g", tmp_path / "out")
    assert "/g/a" in str(raised.value.hint)


VOTABLE = (
    '<?xml version="1.0"?>\n<!-- made by hand -->\n<VOTABLE version="1.3">\n' + "<TR><TD>1</TD></TR>\n" * 50
)
LIGO = (
    '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE LIGO_LW SYSTEM "http://x/ligolw_dtd.txt">\n<LIGO_LW>\n'
    + "1,2,3\n" * 50
)


@pytest.mark.parametrize(
    ("text", "kind", "remedy"),
    [
        (VOTABLE, "a VOTable", "ecsv"),
        (VOTABLE.partition("\n")[2], "a VOTable", "ecsv"),
        (LIGO, "a LIGO_LW document", "csv"),
        ("<!DOCTYPE html>\n<html>\n" + "1,2\n" * 30, "an HTML page", "download"),
        ('<?xml version="1.0"?>\n<g:Track>\n' + "<p>1,2</p>\n" * 30, "XML (<Track>)", "PDS4"),
    ],
)
@pytest.mark.parametrize("name", ["v.xml", "v.csv", "v.dat.gz"])
def test_xml_that_is_no_label_is_refused_by_name(
    tmp_path: Path, text: str, kind: str, remedy: str, name: str
) -> None:
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    with pytest.raises(icecore.Error) as raised:
        icecore.pack(tmp_path / name, into=tmp_path / "r.icecore")
    assert raised.value.kind == "unsupported"
    assert kind in raised.value.message and remedy.lower() in str(raised.value.hint).lower()


def test_xml_in_a_folder_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "v.xml").write_text(VOTABLE)
    (tmp_path / "d" / "t.csv").write_text("a,b\n1,2\n3,4\n")
    report = icecore.pack(tmp_path / "d", into=tmp_path / "r.icecore")
    assert report.failures == [] and len(icecore.open(tmp_path / "r.icecore").arrays) == 2


def test_cells_that_begin_with_an_angle_bracket_are_cells(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n<1,<2\n<3,<4\n")
    icecore.pack(tmp_path / "t.csv", into=tmp_path / "r.icecore", group="/t")
    assert icecore.open(tmp_path / "r.icecore").table("/t").columns["a"][...].tolist() == [b"<1", b"<3"]


def _create(folder: str, count: int, go: object) -> None:
    go.wait()  # type: ignore[attr-defined]
    for i in range(count):
        icecore.create(f"{folder}/{i}")


def test_a_reader_never_takes_a_begun_repository_for_a_damaged_one(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    go, count = context.Event(), 100
    process = context.Process(target=_create, args=(str(tmp_path), count, go))
    process.start()
    go.set()
    seen = set()
    for i in range(count):
        while True:
            try:
                icecore.open(tmp_path / str(i))
                break
            except icecore.Error as error:
                seen.add(error.kind)
    process.join()
    assert seen <= {"not-found"}


README = """J/AJ/1/2   Stars, made for a test   (Nobody+, 2020)
================================================================================
File Summary:
--------------------------------------------------------------------------------
 FileName   Lrecl  Records   Explanations
--------------------------------------------------------------------------------
ReadMe         80        .   This file
table1.dat     30      300   Stars
table2.dat     12       20   Fluxes
--------------------------------------------------------------------------------

Byte-by-byte Description of file: table1.dat
--------------------------------------------------------------------------------
   Bytes Format Units   Label   Explanations
--------------------------------------------------------------------------------
   1-  6 A6     ---     Name    Star name
   8- 12 F5.2   mag     Vmag    ?=99.99 Magnitude,
                                 in V
  14- 17 I4     ---     Num     number
  19- 30 A12    ---     Other   ? other names
--------------------------------------------------------------------------------

Byte-by-byte Description of file: table2.dat table3.dat
--------------------------------------------------------------------------------
   Bytes Format Units   Label   Explanations
--------------------------------------------------------------------------------
   1-  3 I3     ---     Num     number
   5- 12 E8.2   Jy      Flux    flux
--------------------------------------------------------------------------------
(End)                                                                 2020
"""


def catalogue(folder: Path, trimmed: bool) -> None:
    (folder / "ReadMe").write_text(README)
    stars = [
        f"HD{i:04d} {'' if i % 5 == 0 else 8.25:>5} {i:4d} {['', 'x 1'][i % 2]:<12}" for i in range(1500)
    ]
    (folder / "table1.dat").write_text("".join((s.rstrip() if trimmed else s) + "\n" for s in stars))
    (folder / "table2.dat").write_text("".join(f"{i:3d} {i / 8:8.2E}\n" for i in range(20)))


@pytest.mark.parametrize("trimmed", [False, True])
def test_a_readme_of_the_cds_describes_the_files_beside_it(tmp_path: Path, trimmed: bool) -> None:
    catalogue(tmp_path, trimmed)
    report = icecore.pack(tmp_path / "table1.dat", into=tmp_path / "r.icecore", group="/t")
    table = icecore.open(tmp_path / "r.icecore").table("/t")
    assert list(table.columns) == ["Name", "Vmag", "Num", "Other"] and report.notes == []
    assert table.columns["Num"][...].tolist() == list(range(1500))
    assert table.columns["Other"][...].tolist() == [[b"", b"x 1"][i % 2] for i in range(1500)]
    assert table.columns["Vmag"].attrs["units"] == "mag"
    restore(icecore.open(tmp_path / "r.icecore"), "/t", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == (tmp_path / "table1.dat").read_bytes()


def test_a_readme_of_the_cds_as_the_source(tmp_path: Path) -> None:
    catalogue(tmp_path, True)
    with pytest.raises(icecore.Error, match=r"table3\.dat, which is not beside it"):
        icecore.pack(tmp_path / "ReadMe", into=tmp_path / "r.icecore")
    icecore.pack(tmp_path / "ReadMe", into=tmp_path / "r.icecore", group="/c", keep_going=True)
    repo = icecore.open(tmp_path / "r.icecore")
    assert list(repo.table("/c/table2").columns) == ["Num", "Flux"]
    assert len(np.asarray(repo.table("/c/table1").columns["Num"][...])) == 1500


def test_a_readme_of_something_else_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "README.txt").write_text("<?xml version='1.0'?>\n<a>1,2</a>\n")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    icecore.pack(tmp_path / "t.csv", into=tmp_path / "r.icecore", group="/t")
    assert list(icecore.open(tmp_path / "r.icecore").table("/t").columns) == ["a", "b"]
