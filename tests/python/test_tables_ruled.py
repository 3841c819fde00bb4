"""Text tables with a line that says where their columns are: IPAC's, and dashes below the names."""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np
import pytest
from tables_kit import round_trip

IPAC = rb"""\\catalog = 'x'
\\ made for a test
|  id |   a name   |    ra    | n  |
| int |    char    |  double  |int |
|     |            |   deg    |    |
|     |    null    |  -999.0  | -9 |
"""


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("lines", [6, 4, 3])
def test_ipac(tmp_path: Path, end: bytes, lines: int) -> None:
    names = ["", "two words", "x"]
    rows = [(i, names[i % 3], -999.0 if i % 5 == 0 else i * 1.5, -9 if i % 7 == 0 else i) for i in range(40)]
    body = [b" %4d   %-10s  %9.4f  %3d  " % (i, name.encode(), x, n) for i, name, x, n in rows]
    text = b"".join(line + end for line in [*IPAC.splitlines()[:lines], *body])
    (tmp_path / "t.tbl").write_bytes(text)
    repo, report, again = round_trip(tmp_path / "t.tbl", tmp_path)
    assert (again, report.notes) == (text, [])
    table = repo.table("/t")
    assert list(table) == ["id", "a name", "ra", "n"]
    assert table["a name"][...].tolist() == [name.encode() for _, name, *_ in rows]
    assert np.array_equal(table["ra"][...], [x for *_, x, _ in rows])
    if lines == 6:
        assert (table["ra"].attrs["units"], table["ra"].attrs["missing_value"]) == ("deg", [-999.0])
        assert table.reduce("count:ra, count:n, count:id") == [
            {"count:ra": 32, "count:n": 34, "count:id": 40}
        ]


RULED = {
    "two lines": b"id    a name     x\n-- --------- -----\n"
    b" 1 two words  1.25\n 2           -2.50\n 3         c      \n",
    "sqlite": b"id  a name     x    \n--  ---------  -----\n"
    b"1   two words  1.25 \n2              -2.5 \n3   c               \n",
    "a comment above": b"# from astropy\n\nid    a name     x\n== ========= =====\n"
    b" 1 two words  1.25\n 2           -2.50\n 3         c      \n",
    "RST": b"== ========= =====\nid    a name     x\n== ========= =====\n"
    b" 1 two words  1.25\n 2           -2.50\n 3         c      \n== ========= =====\n",
    "RST, and more": b"== ========= =====\r\nid    a name     x\r\n== ========= =====\r\n"
    b" 1 two words  1.25\r\n 2           -2.50\r\n 3         c      \r\n== ========= =====\r\n\r\nEnd.\r\n",
    "SQL Server": b"id  a name    x    \r\n--- --------- -----\r\n"
    b"  1 two words  1.25\r\n  2           -2.50\r\n  3 c              \r\n",
}


@pytest.mark.parametrize("case", RULED)
def test_names_above_dashes(tmp_path: Path, case: str) -> None:
    (tmp_path / "t.txt").write_bytes(RULED[case])
    repo, report, again = round_trip(tmp_path / "t.txt", tmp_path)
    assert (again, report.notes) == (RULED[case], [])
    table = repo.table("/t")
    assert list(table) == ["id", "a name", "x"]
    assert table["id"][...].tolist() == [1, 2, 3]
    assert table["a name"][...].tolist() == [b"two words", b"", b"c"]
    assert np.array_equal(table["x"][...], [1.25, -2.5, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    "text",
    [
        b"a b\n-----------\n1 2\n3 4\n5 6\n",  # one line below both
        b"| a | b |\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n",  # bars beside all cells
    ],
)
def test_lines_that_rule_nothing(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "t.txt").write_bytes(text)
    icecore.pack(tmp_path / "t.txt", tmp_path / "r.icecore", "/t")
    table = icecore.open(tmp_path / "r.icecore").table("/t")
    assert len(table) == 3
    assert [array.dtype.kind for name, array in table.columns.items() if name in ("a", "b")] == ["i", "i"]
