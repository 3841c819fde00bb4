# ruff: noqa: E501, PT018
"""What files state of their columns: types, units, nulls, zones, and objects beside tables."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.sources.tables.header import is_unit
from icecore.sources.tables.odl import Moment, _by_pvl, _loaded, statements
from icecore.tables.text.restore import restore, sources
from tables_kit import labelled


def packed(folder: Path, text: str, name: str = "t.csv", **options: object) -> icecore.Table:
    (folder / name).write_text(text)
    icecore.pack(folder / name, into=folder / "r", group="/t", replace=True, **options)
    return icecore.open(folder / "r").table("/t")


ROWS = "".join(f"{i:05d},{i / 4}\n" for i in range(1, 30))


@pytest.mark.parametrize(
    "head",
    [
        "# USGS\nsite,x\n15s,14n\n",
        "site,x\nstring,double\n",
        "site,x\nstr,float64\n,m\n",
        "#datatype,string,double\nsite,x\n",
    ],
)
def test_columns_that_the_file_states_to_be_text_keep_their_zeros(tmp_path: Path, head: str) -> None:
    rows = ROWS if "#datatype" not in head else "".join(f",{row}\n" for row in ROWS.split())
    head = head if "#datatype" not in head else head.replace("site", ",site")
    table = packed(tmp_path, head + rows)
    assert table.columns["site"][0] == b"00001" and len(table) == 29


@pytest.mark.parametrize("beside", ["t.csv-metadata.json", "csv-metadata.json", "datapackage.json"])
def test_types_and_nulls_of_a_description_beside_the_table(tmp_path: Path, beside: str) -> None:
    columns = [
        {"name": "site", "datatype": "string", "type": "string"},
        {"titles": "x", "name": "x", "null": "0.25", "unit": "m"},
    ]
    document = {"tableSchema": {"columns": columns}, "url": "t.csv"}
    if beside.startswith("data"):
        document = {"resources": [{"path": "t.csv", "schema": {"fields": columns}}]}
    (tmp_path / beside).write_text(json.dumps(document))
    table = packed(tmp_path, "site,x\n" + ROWS)
    assert table.columns["site"][0] == b"00001" and table.columns["x"].attrs["units"] == "m"
    assert table.reduce("count", where="x is null")[0]["count"] == 1


@pytest.mark.parametrize(
    "unit",
    [
        "m",
        "km",
        "mm/s",
        "m s-1",
        "m^2",
        "kg m-3",
        "µg/m3",
        "degC",
        "deg C",
        "°C",
        "% ",
        "(m)",
        "[mm]",
        "counts/s",
        "W/m^2",
        "umol m-2 s-1",
        "yyyy-mm-dd hh:mm:ss",
        "UTC",
        "mag",
        "1/cm",
        "kWh",
        "hPa",
        "J kg-1 K-1",
    ],
)
def test_units(unit: str) -> None:
    assert is_unit(unit.encode())


@pytest.mark.parametrize(
    "word",
    ["n.d.", "unknown", "never", "beta", "localhost", "-20.9, 36.3", "(1,234)", "postponed", "x", "s0"],
)
def test_words_that_are_no_units(word: str) -> None:
    assert not is_unit(word.encode())


def test_an_option_brings_the_row_back_or_takes_it_for_units(tmp_path: Path) -> None:
    text = "a,b\ns,m\n" + "".join(f"{i},{i}.5\n" for i in range(20))
    assert (len(packed(tmp_path, text)), len(packed(tmp_path, text, units=False))) == (20, 21)
    other = text.replace("s,m", "foo,bar")
    assert (len(packed(tmp_path, other)), len(packed(tmp_path, other, units=True))) == (21, 20)
    assert icecore.open(tmp_path / "r").table("/t").columns["b"].attrs["units"] == "bar"
    ran = [
        sys.executable,
        "-m",
        "icecore",
        "pack",
        str(tmp_path / "t.csv"),
        "--into",
        str(tmp_path / "s"),
        "--group",
        "/t",
        "--no-units",
    ]
    subprocess.run(ran, check=True, capture_output=True)
    assert len(icecore.open(tmp_path / "s").table("/t")) == 21


def test_times_with_and_without_an_offset(tmp_path: Path) -> None:
    for name, zone in ("a.csv", ""), ("b.csv", "+02:00"):
        (tmp_path / name).write_text(
            "t,x\n" + "".join(f"2020-01-01T{i:02d}:00:00{zone},{i}\n" for i in range(20))
        )
    report = icecore.pack(
        [tmp_path / "a.csv", tmp_path / "b.csv"], into=tmp_path / "r", group="/t", concat="rows"
    )
    assert any("times with an offset (+02:00)" in note.message for note in report.notes)


def pds4(folder: Path, tables: list[list[tuple[int, float]]]) -> tuple[Path, bytes]:
    """A file of several delimited tables, and its label."""
    fields = "".join(
        f"<Field_Delimited><name>{n}</name><data_type>ASCII_Real</data_type></Field_Delimited>" for n in "ab"
    )
    at, body, text = 0, "", b""
    for number, rows in enumerate(tables):
        part = b"".join(b"%d,%.3f\r\n" % row for row in rows)
        body += (
            f"<Table_Delimited><name>T{number}</name><offset unit='byte'>{at}</offset><records>{len(rows)}</records>"
            "<record_delimiter>Carriage-Return Line-Feed</record_delimiter><field_delimiter>Comma</field_delimiter>"
            f"<Record_Delimited><fields>2</fields><groups>0</groups>{fields}</Record_Delimited></Table_Delimited>"
        )
        text, at = text + part, at + len(part)
    (folder / "t.csv").write_bytes(text)
    (folder / "t.xml").write_text(
        "<?xml version='1.0'?><Product_Observational xmlns='http://pds.nasa.gov/pds4/pds/v1'><File_Area_Observational>"
        f"<File><file_name>t.csv</file_name></File>{body}</File_Area_Observational></Product_Observational>"
    )
    return folder / "t.xml", text


def _tables(count: int) -> list[list[tuple[int, float]]]:
    rng = np.random.default_rng(count)
    return [[(i, float(x)) for i, x in enumerate(rng.normal(size=2000))] for _ in range(count)]


@pytest.mark.parametrize("concat", [None, "rows"])
def test_several_tables_of_a_file_keep_its_text_once(tmp_path: Path, concat: str | None) -> None:
    sizes = {}
    for count in 1, 6:
        label, text = pds4(tmp_path, _tables(count))
        icecore.pack(label, into=tmp_path / f"r{count}", group="/t", concat=concat)
        sizes[count] = sum(
            p.stat().st_size for p in (tmp_path / f"r{count}").rglob("*") if p.is_file()
        ) / len(text)
    assert sizes[6] < sizes[1] * 1.1
    repo = icecore.open(tmp_path / "r6")
    for path in ["/t"] if concat else [f"/t/T{i}" for i in range(6)]:
        for source in sources(repo, path):
            restore(repo, path, tmp_path / "again", source.name)
            assert (tmp_path / "again").read_bytes() == text
    assert concat or np.asarray(repo.table("/t/T3").columns["b"][...]).tolist() == [
        float(f"{x:.3f}") for _, x in _tables(6)[3]
    ]


def test_text_of_a_table_that_is_gone_is_named(tmp_path: Path) -> None:
    label, text = pds4(tmp_path, _tables(2))
    icecore.pack(label, into=tmp_path / "r", group="/t")
    with icecore.open(tmp_path / "r").writer() as writer:
        writer.delete("/t/T1")
    with pytest.raises(icecore.Error) as error:
        restore(icecore.open(tmp_path / "r"), "/t/T0", tmp_path / "again")
    assert error.value.kind == "mismatch" and "/t/T1" in str(error.value)
    icecore.pack(label, into=tmp_path / "r", group="/t", replace=True)
    restore(icecore.open(tmp_path / "r"), "/t/T0", tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == text


LABEL = """PDS_VERSION_ID = PDS3
/* a comment */
A = "two  words"
B = "line one
   line two-
   three"
C = 5 <KM>
D = (1,2,
 3 <BYTES>)
E = {A, "b c", 'd'}
F = 2001-01-05T12:00:00Z
G = 16#FF7FFFFB#
H = N/A
I = TRUE
K = ""
M = -1.5E5
^U = ("A.DAT", 3 <BYTES>)
OBJECT = X
 NAME = Q   /* behind */
 OBJECT = COLUMN
  UNIT = 'M/S'
 END_OBJECT = COLUMN
END_OBJECT
S = A_B-C.D
END
"""


def _plain(value: object) -> object:
    if hasattr(value, "getall"):
        return [(key, _plain(inner)) for key, inner in value.items()]
    if hasattr(value, "units"):
        return _plain(value.value), str(value.units)
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return "moment" if isinstance(value, Moment) or hasattr(value, "hour") else value


def test_common_statements_are_what_pvl_reads() -> None:
    pytest.importorskip("pvl")
    assert statements(LABEL) is not None
    assert _plain(statements(LABEL)) == _plain(_by_pvl("t", LABEL))
    for odd in ('A = 5 = "B"\n', "A = 8-3\n", "OBJECT = X\nEND_OBJECT = Y\n", "A = (1,\n", 'A = "open\n'):
        assert statements("PDS_VERSION_ID = PDS3\n" + odd + "END\n") is None


def test_a_usual_label_needs_no_pvl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    label, _, _ = labelled(tmp_path)
    monkeypatch.setitem(sys.modules, "pvl", None)
    icecore.pack(label, into=tmp_path / "r", group="/t")
    assert _loaded("t", "A = 5\n")["A"] == 5


def test_objects_that_are_no_tables_are_named(tmp_path: Path) -> None:
    label, _, _ = labelled(tmp_path)
    image = '^IMAGE = "M.IMG"\r\nOBJECT = IMAGE\r\n LINES = 5\r\n LINE_SAMPLES = 8\r\nEND_OBJECT = IMAGE\r\n'
    label.write_text(label.read_text().replace("^TABLE", image + "^TABLE"), newline="")
    report = icecore.pack(label, into=tmp_path / "r", group="/t")
    told = "IMAGE in M.IMG left out, 5 x 8 (LINES x LINE_SAMPLES): only tables are read"
    assert [note.message for note in report.notes] == [told]
    shown = subprocess.run(
        [sys.executable, "-m", "icecore", "info", str(tmp_path / "r"), "/t"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told in " ".join(shown.stdout.split())


@pytest.mark.parametrize("append", [False, True])
def test_nulls_and_units_of_later_files(tmp_path: Path, append: bool) -> None:
    for name, unit, null in ("a.tbl", "Jy", "-99"), ("b.tbl", "mJy", "-9999"):
        rows = "".join(f" {i:3d}   {null if i % 4 == 0 else i * 0.5:>7} \n" for i in range(40))
        (tmp_path / name).write_text(
            f"|  t |      x |\n| int| double |\n|    |{unit:^8}|\n|    |{null:^8}|\n{rows}"
        )
    files = [tmp_path / "a.tbl", tmp_path / "b.tbl"]
    first = files[:1] if append else files
    report = icecore.pack(first, into=tmp_path / "r", group="/t", concat="rows")
    if append:
        report = icecore.pack(files[1], into=tmp_path / "r", group="/t", concat="rows", append=True)
    assert any("units mJy" in note.message for note in report.notes)
    assert icecore.open(tmp_path / "r").table("/t").reduce("count", where="x is null")[0]["count"] == 20
