"""Labels and the files they name as volumes of PDS3 have them: folders, zips, structures for all labels."""

from __future__ import annotations

import zipfile
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.errors import Error
from icecore.tables.text.restore import restore
from tables_kit import column, round_trip

pytest.importorskip("pvl")

LABEL = """PDS_VERSION_ID = PDS3\r
RECORD_TYPE = FIXED_LENGTH\r
RECORD_BYTES = 8\r
^TABLE = "DATA.TAB"\r
OBJECT = TABLE\r
  INTERCHANGE_FORMAT = ASCII\r
  ROWS = 3\r
  ROW_BYTES = 8\r
  ^STRUCTURE = "A.FMT"\r
END_OBJECT = TABLE\r
END\r
"""


def _text(number: int) -> str:
    return "".join(f"{100 * number + row:6d}\r\n" for row in range(3))


def _zip(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def test_members_of_one_name_in_several_folders_of_a_zip(tmp_path: Path) -> None:
    files = {}
    for number, folder in enumerate(["one", "two", "two/three"]):
        files[f"{folder}/DATA.LBL"] = LABEL
        files[f"{folder}/DATA.TAB"] = _text(number)
        files[f"{folder}/A.FMT"] = column(f"C{number}", "ASCII_INTEGER", 1, 6)
    icecore.pack(_zip(tmp_path / "v.zip", files), into=tmp_path / "r.icecore")
    repo = icecore.open(tmp_path / "r.icecore")
    for number in range(3):
        path = f"/v/DATA_{number + 1}"
        assert repo[f"{path}/C{number}"][:].tolist() == [100 * number + row for row in range(3)]
        restore(repo, path, tmp_path / "out")
        assert (tmp_path / "out").read_text() == _text(number).replace("\r\n", "\n")


def test_folders_as_programs_of_windows_zip_them(tmp_path: Path) -> None:
    files = {
        f"{folder}\\DATA.{end}": text for folder in "ab" for end, text in (("LBL", LABEL), ("TAB", _text(1)))
    }
    source = _zip(tmp_path / "v.zip", files | {"A.FMT": column("C", "ASCII_INTEGER", 1, 6)})
    icecore.pack(source, into=tmp_path / "r.icecore")
    assert icecore.open(tmp_path / "r.icecore")["/v/DATA_2/C"][:].tolist() == [100, 101, 102]


def test_members_that_are_as_near_to_a_label(tmp_path: Path) -> None:
    files = {"LABELS/DATA.LBL": LABEL, "A.FMT": column("C", "ASCII_INTEGER", 1, 6)}
    files |= {f"{folder}/DATA.TAB": _text(1) for folder in ("one", "two")}
    source = _zip(tmp_path / "v.zip", files)
    with pytest.raises(Error, match=r"DATA.TAB, which may be one/DATA.TAB or two/DATA.TAB") as caught:
        icecore.pack(source, into=tmp_path / "r.icecore")
    assert caught.value.kind == "mismatch"


@pytest.mark.parametrize("missing", ["one/DATA.TAB", "one/A.FMT"])
def test_a_label_takes_nothing_of_another_one_of_its_name(tmp_path: Path, missing: str) -> None:
    files = {}
    for number, folder in enumerate(["one", "two"]):
        files[f"{folder}/DATA.LBL"] = LABEL
        files[f"{folder}/DATA.TAB"] = _text(number)
        files[f"{folder}/A.FMT"] = column(f"C{number}", "ASCII_INTEGER", 1, 6)
    del files[missing]
    with pytest.raises(Error, match=f"one/DATA.LBL .*{missing[4:]}, which is not beside it") as caught:
        icecore.pack(_zip(tmp_path / "v.zip", files), into=tmp_path / "r.icecore")
    assert caught.value.kind == "source-missing"


def test_a_label_without_its_data_leaves_the_others_of_its_archive(tmp_path: Path) -> None:
    files = {"DATA.LBL": LABEL, "DATA.TAB": _text(1), "A.FMT": column("C", "ASCII_INTEGER", 1, 6)}
    files["LOST.LBL"] = LABEL.replace("DATA.TAB", "LOST.TAB")
    source = _zip(tmp_path / "v.zip", files)
    with pytest.raises(Error, match=r"LOST.TAB, which is not beside it"):
        icecore.pack(source, into=tmp_path / "r.icecore")
    report = icecore.pack(source, into=tmp_path / "r.icecore", keep_going=True)
    assert ["LOST.TAB" in failure.message for failure in report.failures] == [True]
    arrays = icecore.open(tmp_path / "r.icecore").arrays
    assert {path: array[:].tolist() for path, array in arrays.items()} == {"/DATA/C": [100, 101, 102]}


@pytest.mark.parametrize("below", ["DATA/2009", "."])
def test_structures_in_the_label_folder_of_a_volume(tmp_path: Path, below: str) -> None:
    data = tmp_path / "VOLUME" / below
    data.mkdir(parents=True)
    (tmp_path / "VOLUME" / "LABEL").mkdir()
    (tmp_path / "VOLUME" / "LABEL" / "a.fmt").write_text(column("C", "ASCII_INTEGER", 1, 6))
    (data / "DATA.LBL").write_text(LABEL, newline="")
    (data / "DATA.TAB").write_text(_text(4), newline="")
    repo, _, again = round_trip(data / "DATA.LBL", tmp_path)
    assert again == _text(4).encode()
    assert repo["/t/C"][:].tolist() == [400, 401, 402]


@pytest.mark.parametrize("zipped", ["DATA.ZIP", "data.zip"])
def test_labels_of_zipped_files(tmp_path: Path, zipped: str) -> None:
    """As those of Diviner: one object for the zip, one for what is in it."""
    inner = LABEL.split("\r\n", 1)[1].replace("\r\nEND\r\n", "\r\n")
    label = (
        "PDS_VERSION_ID = PDS3\r\n"
        'OBJECT = COMPRESSED_FILE\r\n  FILE_NAME = "DATA.ZIP"\r\n  RECORD_TYPE = UNDEFINED\r\n'
        "  ENCODING_TYPE = ZIP\r\nEND_OBJECT = COMPRESSED_FILE\r\n"
        f'OBJECT = UNCOMPRESSED_FILE\r\n  FILE_NAME = "DATA.TAB"\r\n{inner}'
        "END_OBJECT = UNCOMPRESSED_FILE\r\nEND\r\n"
    )
    (tmp_path / "data.lbl").write_text(label, newline="")
    (tmp_path / "a.fmt").write_text(column("C", "ASCII_INTEGER", 1, 6))
    _zip(tmp_path / zipped, {"DATA.TAB": _text(2)})
    repo, _, again = round_trip(tmp_path / "data.lbl", tmp_path)
    assert again == _text(2).encode()
    assert repo["/t/C"][:].tolist() == [200, 201, 202]


def test_tables_that_share_their_rows(tmp_path: Path) -> None:
    numbers, ratios = np.arange(4, dtype=">i4"), np.linspace(0, 1, 4).astype(">f4")
    data = np.stack([numbers.view("u1").reshape(4, 4), ratios.view("u1").reshape(4, 4)], 1).tobytes()
    head = "PDS_VERSION_ID = PDS3\r\nRECORD_TYPE = FIXED_LENGTH\r\nRECORD_BYTES = 8\r\n"
    tables = [
        (name, f"INTERCHANGE_FORMAT = BINARY\r\nROWS = 4\r\nROW_BYTES = 4\r\n{skipped} = 4\r\n{fields}")
        for name, skipped, fields in [
            ("A_TABLE", "ROW_SUFFIX_BYTES", column("A", "MSB_INTEGER", 1, 4)),
            ("B_TABLE", "ROW_PREFIX_BYTES", column("B", "IEEE_REAL", 1, 4)),
        ]
    ]
    pointers = "".join(f'^{name} = "D.DAT"\r\n' for name, _ in tables)
    objects = "".join(f"OBJECT = {name}\r\n{inner}END_OBJECT = {name}\r\n" for name, inner in tables)
    (tmp_path / "d.lbl").write_text(f"{head}{pointers}{objects}END\r\n", newline="")
    (tmp_path / "d.dat").write_bytes(data)
    icecore.pack(tmp_path / "d.lbl", into=tmp_path / "r.icecore")
    repo = icecore.open(tmp_path / "r.icecore")
    assert np.array_equal(repo["/d/A_TABLE/A"][:], numbers)
    assert np.array_equal(repo["/d/B_TABLE/B"][:], ratios)
    for path in ("/d/A_TABLE", "/d/B_TABLE"):
        restore(repo, path, tmp_path / "out")
        assert (tmp_path / "out").read_bytes() == data


@pytest.mark.parametrize("header", ["", "a header of the file\r\n"])
@pytest.mark.parametrize("rows", [2, 400])
def test_text_tables_of_one_file(tmp_path: Path, header: str, rows: int) -> None:
    """Of which the longer one's lines outnumber those of the first."""
    first = "".join(f"{row:9d}\r\n" for row in range(rows))
    then = "".join(f"{row:3d};\r\n" for row in range(500))
    tables = "".join(
        f'<Table_Character><offset unit="byte">{offset}</offset><records>{count}</records><Record_Character>'
        f'<record_length unit="byte">{length}</record_length><Field_Character><name>{name}</name>'
        f'<field_location unit="byte">1</field_location><data_type>ASCII_Integer</data_type>'
        f'<field_length unit="byte">{length - 2 - (name == "b")}</field_length></Field_Character>'
        f"</Record_Character></Table_Character>"
        for name, offset, count, length in [
            ("a", len(header), rows, 11),
            ("b", len(header + first), 500, 6),
        ]
    )
    (tmp_path / "d.xml").write_text(
        f"<Product_Observational><File_Area_Observational><File><file_name>d.tab</file_name></File>{tables}"
        f"</File_Area_Observational></Product_Observational>"
    )
    (tmp_path / "d.tab").write_text(header + first + then, newline="")
    icecore.pack(tmp_path / "d.xml", into=tmp_path / "r.icecore")
    repo = icecore.open(tmp_path / "r.icecore")
    assert repo["/d/d_1/a"][:].tolist() == list(range(rows))
    assert repo["/d/d_2/b"][:].tolist() == list(range(500))
    for path in ("/d/d_1", "/d/d_2"):
        restore(repo, path, tmp_path / "out")
        assert (tmp_path / "out").read_bytes() == (tmp_path / "d.tab").read_bytes()
