"""What PDS4 labels say of values: types, their sizes, constants; and inventories."""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.errors import Error
from tables_kit import round_trip


def label(folder: Path, element: str, record: str, more: str, data: bytes) -> Path:
    """A label of one table beside its data."""
    (folder / "d.tab").write_bytes(data)
    path = folder / "d.xml"
    path.write_text(
        '<?xml version="1.0"?><Product_Observational><File_Area_Observational><File>'
        f"<file_name>d.tab</file_name></File><{element}><offset>0</offset>{more}<Record_{record}>"
        f"</Record_{record}></{element}></File_Area_Observational></Product_Observational>"
    )
    return path


def fields(path: Path, record: str, *every: tuple[str, str, int, str], size: int = 0) -> Path:
    """The label with its fields: name, type, length and what else is in it."""
    place, text = 1, f"<record_length>{size}</record_length>" if size else ""
    for name, kind, length, more in every:
        sizes = f"<field_location>{place}</field_location><field_length>{length}</field_length>"
        text += f"<Field_{record}><name>{name}</name><data_type>{kind}</data_type>"
        text += f"{sizes if length else ''}{more}</Field_{record}>"
        place += length
    path.write_text(path.read_text().replace(f"<Record_{record}>", f"<Record_{record}>{text}"))
    return path


def test_constants_as_bits(tmp_path: Path) -> None:
    path = label(tmp_path, "Table_Binary", "Binary", "<records>2</records>", bytes(16))
    inner = (
        "<missing_constant>16#3F800000#</missing_constant><invalid_constant> 0xBF800000 </invalid_constant>"
    )
    inner = f"<Special_Constants>{inner}<error_constant>5</error_constant></Special_Constants>"
    real, whole = ("X", "IEEE754MSBSingle", 4, inner), ("N", "SignedLSB4", 4, inner)
    repo, _, _ = round_trip(fields(path, "Binary", real, whole, size=8), tmp_path)
    assert repo["/t/X"].attrs["missing_value"] == [1.0, -1.0, 5]
    assert repo["/t/N"].attrs["missing_value"] == [0x3F800000, 0xBF800000 - 2**32, 5]


@pytest.mark.parametrize("kind", ["SignedMSB4", "UnsignedByte", "IEEE754LSBDouble", "ComplexMSB8"])
def test_types_of_another_size(tmp_path: Path, kind: str) -> None:
    path = label(tmp_path, "Table_Binary", "Binary", "<records>2</records>", bytes(4))
    with pytest.raises(Error, match=f"X is {kind}, of . bytes, and its field_length is 2") as caught:
        icecore.pack(fields(path, "Binary", ("X", kind, 2, ""), size=2), into="memory://size")
    assert caught.value.kind == "mismatch"


@pytest.mark.parametrize("kind", ["ASCII_Numeric_Base2", "ASCII_Numeric_Base8"])
def test_digits_that_look_like_dates(tmp_path: Path, kind: str) -> None:
    """10010110 is no 10th of January."""
    path = label(
        tmp_path, "Table_Character", "Character", "<records>2</records>", b"10010110\r\n10101010\r\n"
    )
    repo, _, _ = round_trip(fields(path, "Character", ("X", kind, 8, ""), size=10), tmp_path)
    np.testing.assert_array_equal(repo["/t/X"][...], [b"10010110", b"10101010"])


def test_the_inventory_of_a_collection(tmp_path: Path) -> None:
    data = b"P,urn:nasa:pds:a:b:c::1.0\r\nS,urn:nasa:pds:a:b:d::1.0\r\n"
    path = label(tmp_path, "Inventory", "Delimited", "<records>2</records>", data)
    member, lidvid = ("Member_Status", "ASCII_String", 0, ""), ("LIDVID", "ASCII_LIDVID_LID", 0, "")
    repo, _, again = round_trip(fields(path, "Delimited", member, lidvid), tmp_path)
    assert again == data
    assert repo["/t/Member_Status"][...].tolist() == [b"P", b"S"]
