"""Tables of binary records: values by type, and every byte again."""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.sources.tables.binary import binary
from tables_kit import column, round_trip

pytest.importorskip("pvl")
LABEL = """PDS_VERSION_ID = PDS3\r
RECORD_TYPE = FIXED_LENGTH\r
RECORD_BYTES = 31\r
^TABLE = ("D.DAT", 8 <BYTES>)\r
OBJECT = TABLE\r
  INTERCHANGE_FORMAT = BINARY\r
  ROWS = {rows}\r
  ROW_BYTES = 25\r
  ROW_PREFIX_BYTES = 4\r
  ROW_SUFFIX_BYTES = 2\r
{columns}END_OBJECT = TABLE\r
END\r
"""
COLUMNS = (
    column("COUNT", "MSB_UNSIGNED_INTEGER", 1, 2, "SCALING_FACTOR = 0.5\nOFFSET = 10")
    + column("PLACE", "IEEE_REAL", 3, 12, "ITEMS = 3\nITEM_BYTES = 4")
    + column("WARM", "PC_REAL", 15, 8)
    + column("NAME", "CHARACTER", 23, 2)
)


def test_pds3_with_prefix_suffix_items_and_a_header(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    kinds = [("pre", "u1", 4), ("count", ">u2"), ("place", ">f4", 3), ("warm", "<f8"), ("name", "S2")]
    rows = np.zeros(300, np.dtype([*kinds, ("gap", "u1"), ("post", "u1", 2)]))
    for name in ("pre", "count", "post"):
        rows[name] = rng.integers(0, 200, rows[name].shape)
    rows["place"], rows["warm"] = rng.normal(size=(300, 3)), rng.normal(size=300)
    rows["name"] = rng.choice([b"ab", b"c"], 300)
    text = b"header!" + rows.tobytes() + b"and what follows"
    (tmp_path / "d.dat").write_bytes(text)
    (tmp_path / "d.lbl").write_text(LABEL.format(rows=300, columns=COLUMNS), newline="")
    repo, _, again = round_trip(tmp_path / "d.lbl", tmp_path)
    assert again == text
    table = repo.table("/t")
    assert list(table) == ["COUNT", "PLACE_0", "PLACE_1", "PLACE_2", "WARM", "NAME"]
    assert table["COUNT"].attrs == {"scale_factor": 0.5, "add_offset": 10}
    for name, expected in (("COUNT", "count"), ("WARM", "warm"), ("NAME", "name")):
        np.testing.assert_array_equal(table[name][...], rows[expected])
    np.testing.assert_array_equal(table["PLACE_1"][...], rows["place"][:, 1])


PDS4 = """<?xml version="1.0"?>
<Product_Observational xmlns="http://pds.nasa.gov/pds4/pds/v1"><File_Area_Observational>
<File><file_name>d.dat</file_name></File><Table_Binary><offset unit="byte">0</offset><records>50</records>
<Record_Binary><fields>1</fields><groups>1</groups><record_length unit="byte">14</record_length>
<Field_Binary><name>id</name><field_location unit="byte">1</field_location><data_type>SignedLSB2</data_type>
<field_length unit="byte">2</field_length><unit>m</unit></Field_Binary>
<Group_Field_Binary><repetitions>3</repetitions><group_location unit="byte">3</group_location>
<group_length unit="byte">12</group_length>
<Field_Binary><name>v</name><field_location unit="byte">1</field_location>
<data_type>IEEE754MSBSingle</data_type>
<field_length unit="byte">4</field_length>
<Special_Constants><missing_constant>-999</missing_constant></Special_Constants></Field_Binary>
</Group_Field_Binary></Record_Binary></Table_Binary></File_Area_Observational></Product_Observational>
"""


def test_pds4_with_groups(tmp_path: Path) -> None:
    rows = np.zeros(50, np.dtype([("id", "<i2"), ("v", ">f4", 3)]))
    rows["id"], rows["v"] = np.arange(-25, 25), np.random.default_rng(2).normal(size=(50, 3))
    (tmp_path / "d.dat").write_bytes(rows.tobytes())
    (tmp_path / "d.xml").write_text(PDS4)
    repo, report, again = round_trip(tmp_path / "d.xml", tmp_path)
    assert again == rows.tobytes()
    assert not report.notes
    table = repo.table("/t")
    assert list(table) == ["id", "v_0", "v_1", "v_2"]
    assert (table["id"].attrs, table["v_2"].attrs) == ({"units": "m"}, {"missing_value": [-999]})
    np.testing.assert_array_equal(table["id"][...], rows["id"])
    np.testing.assert_array_equal(table["v_2"][...], rows["v"][:, 2])


IBM = {
    "42640000": 100.0,
    "C276A000": -118.625,
    "41100000": 1.0,
    "40800000": 0.5,
    "00000000": 0.0,
    "7FFFFFFF": (1 - 2.0**-24) * 2.0**252,
    "00100000": 2.0**-260,
    "41000001": 2.0**-20,  # not normalised
}


def test_ibm_reals(tmp_path: Path) -> None:
    singles = b"".join(bytes.fromhex(digits) for digits in IBM)
    doubles = b"".join(bytes.fromhex(digits + "00000000") for digits in IBM)
    exact = b"".join(bytes.fromhex(digits + "FFFFFFFF") for digits in IBM)
    size = len(IBM)
    text = b"".join(
        bytes(4) + singles[4 * i :][:4] + doubles[8 * i :][:8] + exact[8 * i :][:8] + bytes(5 + 2)
        for i in range(size)
    )
    columns = (
        column("ONE", "IBM_REAL", 1, 4) + column("TWO", "IBM_REAL", 5, 8) + column("ALL", "IBM_REAL", 13, 8)
    )
    (tmp_path / "d.dat").write_bytes(b"header!" + text)
    (tmp_path / "d.lbl").write_text(LABEL.format(rows=size, columns=columns), newline="")
    repo, _, again = round_trip(tmp_path / "d.lbl", tmp_path)
    assert again == b"header!" + text
    for name in ("ONE", "TWO"):
        assert repo[f"/t/{name}"].dtype == np.dtype("f8")
        assert repo[f"/t/{name}"][...].tolist() == list(IBM.values())


def test_complex_numbers_of_other_machines_stay_bytes() -> None:
    assert binary("PC_COMPLEX", 8).dtype == np.dtype("c8")
    assert binary("VAX_COMPLEX", 8).dtype == binary("IBM_COMPLEX", 8).dtype == np.dtype("S8")
    assert binary("IBM_INTEGER", 4).stored == np.dtype(">i4")


@pytest.mark.parametrize("label", ["a.lbl", "other.lbl"])
def test_data_that_a_label_describes_are_a_known_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, label: str
) -> None:
    """Whether named before or behind it, in another case, or by a path that is written otherwise."""
    data = b"\0\1\2\3" * 620
    (tmp_path / "A.DAT").write_bytes(data)
    columns = column("ONE", "MSB_INTEGER", 1, 4)
    text = LABEL.format(rows=80, columns=columns).replace('("D.DAT", 8 <BYTES>)', '"A.DAT"')
    (tmp_path / label).write_text(text)
    monkeypatch.chdir(tmp_path)
    for names in ([label, "A.DAT"], ["A.DAT", f"./{label}"], ["*"]):
        icecore.pack(names, into="memory://described", group="/t", concat="rows", replace=True)
        assert len(icecore.open("memory://described").table("/t")) == 80
    if label == "a.lbl":
        icecore.pack("A.DAT", into="memory://described", group="/alone")
        assert len(icecore.open("memory://described").table("/alone")) == 80
    else:
        with pytest.raises(icecore.Error, match="no known format"):
            icecore.pack("A.DAT", into="memory://described", group="/alone")
