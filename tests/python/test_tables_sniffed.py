"""Text without a label: what is told by its first bytes, and what is refused."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.errors import Error
from icecore.sources import tables
from icecore.sources.tables.delimited import sniff
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
    seen: list[int] = []
    monkeypatch.setattr(tables, "sniff", lambda start, name: seen.append(len(start)) or sniff(start, name))
    (tmp_path / "t.csv").write_bytes(b"12,34," * 100_000)
    with pytest.raises(Error, match=r"first line of .*t\.csv is longer than 262,144 bytes") as caught:
        icecore.pack(tmp_path / "t.csv", into="memory://")
    assert caught.value.kind == "unsupported"
    assert max(seen) <= 1 << 16  # the cells of all of it are not looked at, of which there may be millions


@pytest.mark.parametrize(
    "text",
    [
        b"a,b\r1,2\r3,4\r",
        b"  1   2\r  3   4\r",
        b"x\r1\r2",
        b"a,b\r1,2\r3,4\n",
        b'a,b\r1,"2\nor\n3"\r3,4\r',
    ],
)
def test_lines_that_end_in_carriage_returns(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(text)
    with pytest.raises(Error, match=r"lines of .*t\.csv end in carriage returns alone") as caught:
        icecore.pack(tmp_path / "t.csv", into="memory://")
    assert (caught.value.kind, caught.value.hint) == (
        "unsupported",
        r"give them line feeds: tr '\r' '\n'",
    )


COLUMNS = {
    "numbers and a blank": (b"x\n1\n2\n\n4\n", "x", 4),
    "no name": (b"1\r\n2\r\n", "column_1", 2),
    "words": (b"name\nab\ncde\nfg", "name", 3),
    "quoted": (b'"x, y"\n1.5\n2.5\n', "x, y", 2),
}


@pytest.mark.parametrize("case", COLUMNS)
@pytest.mark.parametrize("packed", [False, True])
def test_one_column(tmp_path: Path, case: str, packed: bool) -> None:
    text, name, rows = COLUMNS[case]
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(text) if packed else text)
    repo, _, again = round_trip(path, tmp_path)
    assert again == text
    assert list(repo.table("/t")) == [name]
    assert len(repo.table("/t")) == rows
    (tmp_path / "t.dat").write_bytes(text)
    with pytest.raises(Error, match="no known format"):
        icecore.pack(tmp_path / "t.dat", into="memory://")


@pytest.mark.parametrize("rows", [1, 3, 900])
def test_one_column_of_dates_and_times_of_day(tmp_path: Path, rows: int) -> None:
    text = b"when\n" + b"".join(b"2001-02-03 04:%02d:06.5\n" % (i % 60) for i in range(rows))
    (tmp_path / "t.csv").write_bytes(text)
    repo, report, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert (again, report.notes, list(repo.table("/t"))) == (text, [], ["when"])
    assert repo["/t/when"][...].astype("M8[s]")[-1] == np.datetime64(f"2001-02-03T04:{(rows - 1) % 60:02}:06")


@pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("suffix", ["tar.gz", "tar.xz"])
def test_a_tar_archive_is_no_table(tmp_path: Path, kind: int, suffix: str) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + b"1,2\n" * 9000)
    path = tmp_path / f"t.{suffix}"
    with tarfile.open(path, f"w:{suffix[4:]}", format=kind) as archive:  # type: ignore[call-overload]
        archive.add(tmp_path / "t.csv", "t.csv")
    with pytest.raises(Error, match=r"is a tar archive, no table") as caught:
        icecore.pack(path, into="memory://")
    assert caught.value.kind == "unsupported"
    assert "unpack" in caught.value.hint


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


@pytest.mark.parametrize(
    "values",
    [
        ["12345678.123456789"],
        ["0.02009231224656105"] * 4,
        ["0.1234567890123456", "-0.5"],
        ["0.02009231224656105", "1.02009231224656105"],
        ["0.00000000000000000001"],
        ["68.9", "82.67716535433071"],  # of 82.67716535433070 and …71 the nearest double is the same
        ["8.2", "82.67716535433071", "82.67716535433072", "82.6771653543307"] * 700,
    ],
)
def test_a_column_of_nothing_but_long_fractions(tmp_path: Path, values: list[str]) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i},{v}\n" for i, v in enumerate(values)))
    repo, _, restored = round_trip(tmp_path / "t.csv", tmp_path)
    assert repo.table("/t").to_numpy()["b"].tolist() == [float(value) for value in values]
    assert restored == (tmp_path / "t.csv").read_bytes()


@pytest.mark.parametrize("name", ["t.npy", "T.NPY", "t.npy.gz", "t.nc", "t.h5", "t.npz", "t.parquet"])
def test_a_damaged_binary_file_is_no_table(tmp_path: Path, name: str) -> None:
    shape = "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }"
    text = b"XNUMPY v" + shape.encode() + b"\n1, 2, 3, 4\n5, 6, 7, 8\n"
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    with pytest.raises(Error) as caught:
        icecore.pack(tmp_path / name, into="memory://")
    assert caught.value.kind == "format"
    assert name in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        '{"type": "FeatureCollection", "features": [[1, 2], [3, 4]]}\n',
        '{\n  "a": 1,\n  "b": [2, 3],\n  "c": [4, 5]\n}\n',
        '{"t": 1, "x": 2.5}\n{"t": 2, "x": 3.5}\n',
        '[{"t": 1, "x": 2.5},\n {"t": 2, "x": 3.5}]\n',
        "[[1, 2],\n [3, 4]]\n",
    ],
)
def test_json_is_no_table(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(Error, match=r"x\.csv is JSON, no table of text") as caught:
        icecore.pack(tmp_path / "x.csv", into=tmp_path / "r")
    assert caught.value.kind == "unsupported"


def test_braces_are_characters_of_a_table(tmp_path: Path) -> None:
    text = b"id,n\n{1b4e28ba-2fa1},1\n{2b4e28ba-2fa1},2\n"
    (tmp_path / "t.csv").write_bytes(text)
    repo, _, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert repo["/t/n"][...].tolist() == [1, 2]
    assert again == text


def test_texts_of_many_lines_are_no_rows(tmp_path: Path) -> None:
    """Though most lines of the file are theirs."""
    rows = "".join(f'{i},"line of {i}\nanother, with a comma\n\nlast",{i / 4}\n' for i in range(300))
    (tmp_path / "t.csv").write_text("id,note,x\n" + rows)
    repo, report, again = round_trip(tmp_path / "t.csv", tmp_path)
    assert again == (tmp_path / "t.csv").read_bytes()
    assert not report.notes
    assert repo["/t/x"][...].tolist() == [i / 4 for i in range(300)]
    assert repo["/t/note"][7] == b"line of 7\nanother, with a comma\n\nlast"
