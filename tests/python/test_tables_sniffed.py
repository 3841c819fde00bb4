"""Text without a label: what is told by its first bytes, and what is refused."""

from __future__ import annotations

from pathlib import Path

import icecore
import pytest
from icecore.errors import Error
from icecore.sources import tables
from tables_kit import labelled, round_trip


def test_a_header_longer_than_the_first_look(tmp_path: Path) -> None:
    names = [f"channel_{i:0400}" for i in range(200)]
    body = "".join(",".join(str(i * k) for k in range(200)) + "\n" for i in range(5))
    text = (",".join(names) + "\n" + body).encode()
    (tmp_path / "t.csv").write_bytes(text)
    repo, report, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert again == text
    assert not report.notes
    assert list(repo.table("/t")) == names
    assert repo[f"/t/{names[3]}"][...].tolist() == [0, 3, 6, 9, 12]


def test_rows_longer_than_the_first_look(tmp_path: Path) -> None:
    text = b"a,b\n" + b"".join(b"%d,%s\n" % (i, b"x" * 50_000) for i in range(6))
    (tmp_path / "t.csv").write_bytes(text)
    repo, _, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert again == text
    assert repo["/t/a"][...].tolist() == list(range(6))


def test_a_line_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_FAR", 1 << 18)
    (tmp_path / "t.csv").write_bytes(b"12,34," * 100_000)
    with pytest.raises(Error, match=r"first line of .*t\.csv is longer than 262,144 bytes") as caught:
        icecore.pack(tmp_path / "t.csv", into="memory://")
    assert caught.value.kind == "unsupported"


BOM = b"\xef\xbb\xbf"
MARKED = {
    "names": (b"a,b\n1,2\n3,4\n", ["a", "b"]),
    "quoted names": (b'"a, too",b\n1,2\n3,4\n', ["a, too", "b"]),
    "no names": (b"1,2\n3,4\n", ["column_1", "column_2"]),
    "by spaces": (b"  1   2\n  3   4\n", ["column_1", "column_2"]),
    "comments": (b"# a,b\n1,2\n3,4\n", ["a", "b"]),
}


@pytest.mark.parametrize("case", MARKED)
def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path, case: str) -> None:
    text, names = MARKED[case]
    (tmp_path / "t.csv").write_bytes(BOM + text)
    repo, report, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert again == BOM + text
    assert not report.notes
    table = repo.table("/t")
    assert list(table) == names
    assert [table[name][...].tolist() for name in names] == [[1, 3], [2, 4]]


def test_a_label_with_a_byte_order_mark(tmp_path: Path) -> None:
    pytest.importorskip("pvl")
    label, text, _ = labelled(tmp_path)
    label.write_bytes(BOM + label.read_bytes())
    repo, _, again = round_trip(label, tmp_path)
    assert again == text
    assert list(repo.table("/t")) == ["NAME", "COUNT", "VALUE"]
