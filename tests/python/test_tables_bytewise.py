"""Machine-readable tables of the AAS journals and the CDS: fixed fields below a byte-by-byte description."""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.errors import Error
from tables_kit import round_trip

RULE = "-" * 80
HEAD = f"""Title: Stars, made for a test
Authors: Nobody N., No One
Table: Stars
{"=" * 80}
Byte-by-byte Description of file: t_mrt.txt
{RULE}
   Bytes Format Units   Label    Explanations
{RULE}
   1-  9 A9     ---     Name     Of the star
  11- 15 F5.2   mag     Vmag     [4/18]?=99 Magnitude in V,
                                  of the whole system
      17 A1     ---   f_Vmag     [UV] Flag on Vmag
  19- 22 I4     [-]     n/N      ?=-999 Observations
  24- 30 E7.1   Msun    Mass     ? Its mass
{RULE}
Note (1): 1, 2, 3
{RULE}
"""
ROWS = """Sun        4.83 V   12 1.0E+00
LP 704-15 12.10   -999 2.5E-01
--B       99.00 U    3
G 129-47  16.55            -1.0E-02
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_byte_by_byte_description(tmp_path: Path, end: str) -> None:
    lines = [*HEAD.splitlines(), *(row.ljust(30)[:30] for row in ROWS.splitlines() * 20)]
    text = "".join(line + end for line in lines).encode()
    (tmp_path / "t_mrt.txt").write_bytes(text)
    repo, report, again = round_trip(tmp_path / "t_mrt.txt", tmp_path)
    assert (again, report.notes) == (text, [])
    table = repo.table("/t")
    assert list(table) == ["Name", "Vmag", "f_Vmag", "n_N", "Mass"]
    assert table["Name"][:4].tolist() == [b"Sun", b"LP 704-15", b"--B", b"G 129-47"]
    assert table["Vmag"].attrs == {
        "units": "mag",
        "missing_value": [99],
        "description": "[4/18]?=99 Magnitude in V, of the whole system",
    }
    assert table["Mass"].attrs["units"] == "Msun"
    assert np.array_equal(table["Mass"][:3], [1, 0.25, np.nan], equal_nan=True)
    assert table.reduce("count:Vmag, count:n_N") == [{"count:Vmag": 60, "count:n_N": 40}]


@pytest.mark.parametrize("field", ["30- 24", "   0-9", "24-999999999999999999999"])
def test_fields_that_rows_have_no_room_for(tmp_path: Path, field: str) -> None:
    rows = "".join(row.ljust(30)[:30] + "\n" for row in ROWS.splitlines())
    (tmp_path / "t_mrt.txt").write_text(HEAD.replace("24- 30", field) + rows)
    with pytest.raises(Error, match="no known format"):
        icecore.pack(tmp_path / "t_mrt.txt", tmp_path / "r.icecore", "/t")
