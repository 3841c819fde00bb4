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


def test_records_of_another_length_than_the_label_says(tmp_path: Path) -> None:
    (tmp_path / "d.dat").write_bytes(b"header!" + bytes(range(1, 31)) * 300)
    label = LABEL.format(rows=300, columns=COLUMNS)
    (tmp_path / "d.lbl").write_text(label, newline="")
    with pytest.raises(icecore.Error, match="300 records of 31 bytes, in the 9,000 bytes of") as raised:
        icecore.pack(str(tmp_path / "d.lbl"), into=str(tmp_path / "r.icecore"))
    assert raised.value.kind == "mismatch"
    (tmp_path / "d.dat").write_bytes(b"header!" + bytes(31) * 150 + bytes(7))  # cut off
    report = icecore.pack(str(tmp_path / "d.lbl"), into=str(tmp_path / "r.icecore"))
    assert any("says 300 rows, the file has 150" in note.message for note in report.notes), report.notes


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


def bits_and_digits() -> tuple[bytes, dict[str, np.ndarray]]:
    """Records of four bytes of bits and numbers as text, of which some are none."""
    rng = np.random.default_rng(2)
    words = rng.integers(0, 2**32, 200, dtype="u8")
    counts, values = rng.integers(-999, 9999, 200), rng.normal(size=200).round(3)
    rows = [
        int(word).to_bytes(4, "big") + (b"%6d" % count if i % 9 else b"      ") + b"%-10.3f" % value
        for i, (word, count, value) in enumerate(zip(words, counts, values, strict=True))
    ]
    signed = (words >> np.uint64(20) & np.uint64(0x1FF)).astype("i8")
    found = {
        "FLAGS": words.astype("u4"),
        "TOP": (words >> np.uint64(29)).astype("u1"),
        "MIDDLE": np.where(signed >= 256, signed - 512, signed).astype("i2"),
        "LAST": (words & np.uint64(1)).astype("u1"),
        "N": np.where(np.arange(200) % 9, counts, np.iinfo("i8").min),
        "X": values,
    }
    return b"".join(rows), found


def same(folder: Path, label: str) -> None:
    text, values = bits_and_digits()
    repo, report, again = round_trip(folder / label, folder)
    assert again == text
    table = repo.table("/t")
    assert list(table) == list(values)
    for name, expected in values.items():
        assert table[name].dtype == expected.dtype
        np.testing.assert_array_equal(table[name][...], expected)
    assert len(table.to_numpy(["X"], where="N is null")["X"]) == 23
    assert not report.notes


def test_pds3_bits_and_numbers_as_text(tmp_path: Path) -> None:
    bits = (
        ("TOP", 1, 3, "UNSIGNED_INTEGER"),
        ("MIDDLE", 4, 9, "MSB_INTEGER"),
        ("LAST", 32, 1, "BOOLEAN"),
    )
    packed = "".join(
        f"OBJECT = BIT_COLUMN\nNAME = {name}\nBIT_DATA_TYPE = {kind}\nSTART_BIT = {first}\nBITS = {count}\n"
        "END_OBJECT = BIT_COLUMN\n"
        for name, first, count, kind in bits
    )
    columns = (
        column("FLAGS", "MSB_BIT_STRING", 1, 4, packed)
        + column("N", "ASCII_INTEGER", 5, 6)
        + column("X", "ASCII_REAL", 11, 10)
    )
    (tmp_path / "d.dat").write_bytes(bits_and_digits()[0])
    label = LABEL.format(rows=200, columns=columns).replace('"D.DAT", 8 <BYTES>', '"D.DAT", 1 <BYTES>')
    label = label.replace("ROW_BYTES = 25", "ROW_BYTES = 20").replace("PREFIX_BYTES = 4", "PREFIX_BYTES = 0")
    (tmp_path / "d.lbl").write_text(label.replace("SUFFIX_BYTES = 2", "SUFFIX_BYTES = 0"), newline="")
    same(tmp_path, "d.lbl")


def test_pds4_bits_and_numbers_as_text(tmp_path: Path) -> None:
    def bit(name: str, kind: str, first: int, last: int) -> str:
        places = (
            f"<start_bit_location>{first}</start_bit_location><stop_bit_location>{last}</stop_bit_location>"
        )
        return f"<Field_Bit><name>{name}</name>{places}<data_type>{kind}</data_type></Field_Bit>"

    def one(name: str, kind: str, start: int, length: int, inner: str = "") -> str:
        place = f"<field_location>{start}</field_location><data_type>{kind}</data_type>"
        size = f"<field_length>{length}</field_length>"
        return f"<Field_Binary><name>{name}</name>{place}{size}{inner}</Field_Binary>"

    bits = [
        bit("TOP", "UnsignedBitString", 1, 3),
        bit("MIDDLE", "SignedBitString", 4, 12),
        bit("LAST", "UnsignedBitString", 32, 32),
    ]
    packed = "<Packed_Data_Fields><bit_fields>3</bit_fields>" + "".join(bits) + "</Packed_Data_Fields>"
    fields = (
        one("FLAGS", "UnsignedBitString", 1, 4, packed)
        + one("N", "ASCII_Integer", 5, 6)
        + one("X", "ASCII_Real", 11, 10)
    )
    label = (
        '<?xml version="1.0"?><Product_Observational><File_Area_Observational>'
        "<File><file_name>d.dat</file_name></File><Table_Binary><offset>0</offset><records>200</records>"
        f"<Record_Binary><record_length>20</record_length>{fields}</Record_Binary></Table_Binary>"
        "</File_Area_Observational></Product_Observational>"
    )
    (tmp_path / "d.dat").write_bytes(bits_and_digits()[0])
    (tmp_path / "d.xml").write_text(label)
    same(tmp_path, "d.xml")
    (tmp_path / "d.xml").write_text(label.replace("<stop_bit_location>32<", "<stop_bit_location>33<"))
    with pytest.raises(icecore.Error, match=r"bits 32 to 33 of FLAGS, which has 32"):
        icecore.pack(tmp_path / "d.xml", into=tmp_path / "other")


@pytest.mark.parametrize("count", [1, 3, 70_000])
@pytest.mark.parametrize("portable", [False, True])
def test_complex_numbers_that_are_all_the_same(tmp_path: Path, count: int, portable: bool) -> None:
    values = np.full(count, 1 + 2j, ">c8")
    (tmp_path / "d.lbl").write_text(
        'PDS_VERSION_ID = PDS3\nRECORD_TYPE = FIXED_LENGTH\nRECORD_BYTES = 8\n^TABLE = "D.DAT"\n'
        f"OBJECT = TABLE\nINTERCHANGE_FORMAT = BINARY\nROWS = {count}\nROW_BYTES = 8\n"
        f"{column('Z', 'IEEE_COMPLEX', 1, 8)}END_OBJECT = TABLE\nEND\n"
    )
    (tmp_path / "d.dat").write_bytes(values.tobytes())
    repo, _, again = round_trip(tmp_path / "d.lbl", tmp_path, portable=portable)
    assert again == values.tobytes()
    assert np.array_equal(repo["/t/Z"][:], values)
