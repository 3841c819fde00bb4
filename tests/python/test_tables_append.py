"""Rows that a table's columns have no room for: the columns are written anew, in the same commit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.errors import Error
from icecore.ingest.report import Report
from icecore.tables.summaries import write as summaries
from icecore.tables.summaries import zones
from icecore.tables.text import extend_table
from icecore.tables.text.restore import restore
from icecore.writing.array_writer import ArrayWriter
from tables_kit import PDS3, column, labelled


def add(folder: Path, *texts: bytes, **options: Any) -> list[Report]:
    """Append CSV files, one after the other."""
    reports = []
    for text in texts:
        number = len(list(folder.glob("*.csv")))
        file = folder / f"{number:02}.csv"
        file.write_bytes(text)
        reports.append(
            icecore.pack(file, into=folder / "r", group="/t", concat="rows", append=number > 0, **options)
        )
    return reports


def check(folder: Path) -> icecore.Table:
    """The table, whose sources are printed as they were."""
    repo = icecore.open(folder / "r")
    restore(repo, "/t", folder / "again")
    for file in folder.glob("*.csv"):
        assert (folder / "again" / file.name).read_bytes() == file.read_bytes()
    return repo.table("/t")


@pytest.mark.parametrize(
    ("first", "second", "dtype", "values"),
    [
        (b"ab", b"a longer text", "S16", [b"ab", b"a longer text"]),
        (b"1", b"2.5", "f8", [1, 2.5]),
        (b"1.5", b"2.125", "f8", [1.5, 2.125]),
        (b"7", b"1.5e-30", "f8", [7, 1.5e-30]),
        (b"2020-01-01T00:00:00", b"2020-01-01T00:00:01.5", "M8[ms]", None),
        (b"2020-01-01T00:00:01.25", b"2020-01-01T00:00:00", "M8[ms]", None),
        (b"12:00:00", b"12:00:00.000001", "m8[us]", None),
        (b"1.50", b"hello", "S8", [b"1.50", b"hello"]),
        (b"2020-01-01", b"2020-01-01T00:00:00", "S24", [b"2020-01-01", b"2020-01-01T00:00:00"]),
        (b"0999-01-01T00:00:00", b"2020-01-01T00:00:00.123456789", "S32", None),
        (b"", b"2020-01-01", "M8[D]", None),
        (b"", b"x", "S8", [b"", b"x"]),
        (b"9007199254740993", b"0.5", "f8", [9007199254740992, 0.5]),
        (b"7", b"18446744073709551615", "u8", [7, 2**64 - 1]),
        (b"+07", b"18446744073709551615", "u8", [7, 2**64 - 1]),
        (b"-7", b"18446744073709551615", "S24", [b"-7", b"18446744073709551615"]),
        (b"18446744073709551615", b"-7", "S24", [b"18446744073709551615", b"-7"]),
        (b"18446744073709551615", b"0.5", "f8", [2.0**64, 0.5]),
        (b"", b"18446744073709551615", "u8", [2**64 - 2, 2**64 - 1]),
    ],
)
def test_a_column_that_must_hold_more(
    tmp_path: Path, first: bytes, second: bytes, dtype: str, values: list[Any] | None
) -> None:
    one, two = (b"n,a\n1,%s\n2,\n3,%s\n" % (cell, cell) for cell in (first, second))
    reports = add(tmp_path, one, two)
    table = check(tmp_path)
    assert table["a"].dtype == np.dtype(dtype)
    if values is None:
        of = np.datetime64 if dtype.startswith("M") else str
        if dtype.startswith("S"):
            values = [first, second]
        elif dtype.startswith("M"):
            values = [of(cell.decode() or "NaT") for cell in (first, second)]
        else:
            values = [np.timedelta64(12 * 3600 * 10**6 + extra, "us") for extra in (0, 1)]
    np.testing.assert_array_equal(table["a"][...][[0, 3]], np.array(values, dtype))
    if table["a"].dtype.kind != "S":
        assert len(table.to_numpy(["n"], where="a is null")["n"]) == (2 if first else 4)
    notes = [note.message for note in reports[1].notes]
    if (b"." in first and dtype == "M8[ms]") or (not first and dtype == "S8"):
        assert not notes  # there was room already
    else:
        assert len(notes) == 1
        assert re.match(r"column a became .*, was .* needs it; its 3 rows were written again", notes[0])


@pytest.mark.parametrize("append", [False, True])
def test_negative_numbers_before_unsigned_ones_and_decimals(tmp_path: Path, append: bool) -> None:
    texts = [b"n,a\n1,%s\n" % cell for cell in (b"-5", b"9223372036854775817", b"1.5")]
    for i, text in enumerate(texts):
        (tmp_path / f"{i:02}.csv").write_bytes(text)
    files = sorted(tmp_path.glob("*.csv"))
    for part in [[file] for file in files] if append else [files]:
        more = append and part != files[:1]
        icecore.pack(part, into=tmp_path / "r", group="/t", concat="rows", append=more)
    assert check(tmp_path)["a"][...].tolist() == [b"-5", b"9223372036854775817", b"1.5"]


def test_what_comes_later_in_a_file(tmp_path: Path) -> None:
    rows = b"".join(b"%d,%d,x\n" % (i, i) for i in range(40_000))
    add(tmp_path, b"n,a,b\n1,1,x\n", b"n,a,b\n" + rows + b"1,2.5,%s\n" % (b"long" * 9))
    table = check(tmp_path)
    assert table["a"][[0, 1, 40_000, 40_001]].tolist() == [1, 0, 39_999, 2.5]
    assert table["b"][40_001] == b"long" * 9
    assert len(table.to_numpy(["n"], where="b = 'x'")["n"]) == 40_001


def test_what_the_other_columns_hold_is_shared(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = b"".join(b"%d,%d,x\n" % (a, b) for a, b in rng.integers(0, 10**9, (300_000, 2)))
    add(tmp_path, b"a,b,c\n" + rows)
    whole = icecore.open(tmp_path / "r")["/t/a"].nbytes_stored
    (report,) = add(tmp_path, b"a,b,c\n1,2.5,x\n")
    stored = {row.path: row.bytes for row in report.rows}
    assert stored["/t/a"] < whole / 3 < stored["/t/b"]
    check(tmp_path)


def test_attributes_stay(tmp_path: Path) -> None:
    label, _, values = labelled(tmp_path)
    icecore.pack(label, into=tmp_path / "r", group="/t", concat="rows")
    repo = icecore.open(tmp_path / "r")
    with repo.writer("a note") as w:
        w.attrs("/t/VALUE", {**repo["/t/VALUE"].attrs, "note": "mine"})
        w.attrs("/t/COUNT", {**repo["/t/COUNT"].attrs, "note": "too"})
    more = tmp_path / "more"
    more.mkdir()
    columns = (
        column("NAME", "CHARACTER", 2, 9)
        + column("COUNT", "ASCII_REAL", 13, 8)
        + column("VALUE", "ASCII_REAL", 22, 12)
    )
    text = b"".join(b'"%-9s",%8.2f,%12.5f\r\n' % (b"name", i / 4, i / 32) for i in range(20))
    (more / "u.tab").write_bytes(text)
    (more / "u.lbl").write_text(PDS3.format(record=35, rows=20, file="U.TAB", columns=columns), newline="")
    before = icecore.open(tmp_path / "r")
    icecore.pack(more / "u.lbl", into=tmp_path / "r", group="/t", concat="rows", append=True)
    repo = icecore.open(tmp_path / "r")
    assert repo["/t/VALUE"].attrs == before["/t/VALUE"].attrs
    assert repo["/t/COUNT"].attrs == {k: v for k, v in before["/t/COUNT"].attrs.items() if k != "_FillValue"}
    assert repo["/t/COUNT"].attrs["missing_value"] == [-99]
    np.testing.assert_array_equal(repo["/t/COUNT"][:500], values["COUNT"])
    np.testing.assert_array_equal(repo["/t/COUNT"][500:], np.arange(20) / 4)
    np.testing.assert_array_equal(repo["/t/NAME"][:500], values["NAME"])
    assert len(repo.table("/t").to_numpy(where="COUNT is null")["COUNT"]) == (values["COUNT"] == -99).sum()
    np.testing.assert_array_equal(before["/t/COUNT"][...], values["COUNT"])


@pytest.mark.parametrize("at", [1, 3, 6])
def test_a_failure_leaves_what_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    add(tmp_path, b"n,a,b\n1,1,x\n2,2,y\n", b"n,a,b\n3,3,z\n")
    before = icecore.open(tmp_path / "r").snapshot_id
    calls = 0

    def failing(self: Any, i: int, values: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == at:
            raise OSError("no space left")
        elements(self, i, values)

    elements = extend_table.Growing.elements
    monkeypatch.setattr(extend_table.Growing, "elements", failing)
    with pytest.raises(OSError, match="no space"):
        add(tmp_path, b"n,a,b\n4,text,a longer text\n")
    monkeypatch.undo()
    repo = icecore.open(tmp_path / "r")
    assert repo.snapshot_id == before
    assert repo["/t/a"][...].tolist() == [1, 2, 3]
    (tmp_path / "02.csv").unlink()
    add(tmp_path, b"n,a,b\n4,text,a longer text\n")
    assert check(tmp_path)["a"][...].tolist() == [b"1", b"2", b"3", b"text"]


def test_values_without_their_text(tmp_path: Path) -> None:
    add(tmp_path, b"n,a,b\n1,1,2020-01-01T00:00:00\n2,,\n", restore=False)
    add(tmp_path, b"n,a,b\n3,2.5,2020-01-01T00:00:00.5\n", restore=False)
    table = icecore.open(tmp_path / "r").table("/t")
    np.testing.assert_array_equal(table["a"][...], [1, np.nan, 2.5])
    assert table["b"].dtype == "M8[ms]"
    with pytest.raises(Error, match=r"column a of .*02\.csv needs \|S8, in /t it is float64") as refused:
        add(tmp_path, b"n,a,b\n4,north,\n", restore=False)
    assert refused.value.kind == "mismatch"


def test_many_files_with_ever_longer_texts(tmp_path: Path) -> None:
    files = []
    for i in range(20):
        files.append(tmp_path / f"{i:02}.csv")
        files[-1].write_bytes(b"a,b\n1,%s\n" % (b"x" * (8 * i + 1)))
    icecore.pack(files, into=tmp_path / "r", group="/t", concat="rows")
    assert [len(text) for text in check(tmp_path)["b"][...].tolist()] == list(range(1, 161, 8))


def records(folder: Path, name: str, kind: str, values: np.ndarray) -> Path:
    """A binary table of one column A, behind which a byte belongs to none."""
    row = values.dtype.itemsize + 1
    body = np.zeros((len(values), row), "u1")
    body[:, :-1] = np.ascontiguousarray(values).view("u1").reshape(len(values), -1)
    body[:, -1] = np.arange(len(values))
    (folder / f"{name}.tab").write_bytes(body.tobytes())
    label = PDS3.format(
        record=row, rows=len(values), file=f"{name.upper()}.TAB", columns=column("A", kind, 1, row - 1)
    )
    label = label.replace("= ASCII", "= BINARY").replace("COLUMNS = 3", "COLUMNS = 1")
    (folder / f"{name}.lbl").write_text(label, newline="")
    return folder / f"{name}.lbl"


@pytest.mark.parametrize("append", [False, True])
def test_records_of_different_types(tmp_path: Path, append: bool) -> None:
    parts = [
        ("a", "MSB_INTEGER", np.arange(-9, 9, dtype=">i2")),
        ("b", "LSB_INTEGER", np.arange(-9, 9, dtype="<i2") * 7),
        ("c", "LSB_UNSIGNED_INTEGER", np.arange(9, dtype="<u4") * 10**8),
        ("d", "PC_REAL", np.arange(9, dtype="<f8") / 7),
    ]
    labels = [records(tmp_path, *part) for part in parts[:3]]
    for some in [[label] for label in labels] if append else [labels]:
        icecore.pack(some, into=tmp_path / "r", group="/t", concat="rows", append=some[0] is not labels[0])
    repo = icecore.open(tmp_path / "r")
    assert repo["/t/A"].dtype == "i8"
    np.testing.assert_array_equal(repo["/t/A"][...], np.concatenate([values for _, _, values in parts[:3]]))
    restore(repo, "/t", tmp_path / "again")
    for name in "abc":
        assert (tmp_path / "again" / f"{name}.tab").read_bytes() == (tmp_path / f"{name}.tab").read_bytes()
    with pytest.raises(Error, match=r"column A of .*d\.tab needs float64, in /t it is int64") as refused:
        icecore.pack(
            records(tmp_path, *parts[3]), into=tmp_path / "r", group="/t", concat="rows", append=True
        )
    assert refused.value.kind == "mismatch"


def test_quotes_that_no_sample_shows_are_no_part_of_a_text(tmp_path: Path) -> None:
    rows = [b"%d,name of somebody %d\n" % (i, i) for i in range(60_000)]
    rows[43_210] = b'43210,"Smith, J"\n'
    padded = [b'%d,"name %5d"\n' % (i, i) for i in range(60_000)]
    padded[43_210] = b'43210,"Smith, J"\n'
    add(tmp_path, b"id,name\n" + b"".join(rows), b'id,name\n1,"Ann, B"\n', b"id,name\n" + b"".join(padded))
    table = check(tmp_path)
    assert table["name"][[43_210, 60_000, 60_001, 103_211]].tolist() == [
        b"Smith, J",
        b"Ann, B",
        b"name     0",
        b"Smith, J",
    ]


def long(start: int, count: int, blank: bool = False) -> bytes:
    """Rows of whole numbers (the first may be blank), decimals with gaps, times and texts."""
    rows = [
        b"%d,%s,2020-01-01T00:%02d:00,t%d\n"
        % (i * 7 % 1000, b"" if i % 5 == 0 else b"%.2f" % (i / 3), i % 60, i)
        for i in range(start, start + count)
    ]
    if blank:
        rows[0] = rows[0][rows[0].index(b",") :]
    return b"n,x,t,s\n" + b"".join(rows)


def test_an_append_reads_no_zones_before_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(tmp_path, long(0, 9000), long(9000, 10_000))
    native, starts = summaries._native, []

    class Watched:
        def __init__(self, arrays: Any) -> None:
            self._table = native(arrays)

        def digest(self, column: int) -> str:
            return str(self._table.digest(column))

        def summarise(self, columns: Any, memory: int, checked: Any = (), start: int = 0) -> Any:
            starts.append(start)
            return self._table.summarise(columns, memory, checked, start)

    monkeypatch.setattr(summaries, "_native", Watched)
    add(tmp_path, long(19_000, 5, blank=True), long(19_005, 4096))
    assert starts == [16_384, 16_384], "the last zone that was begun, of all columns"
    monkeypatch.undo()
    table = check(tmp_path)
    again = icecore.pack(sorted(tmp_path.glob("*.csv")), into=tmp_path / "once", group="/t", concat="rows")
    assert not again.failures
    once = icecore.open(tmp_path / "once").table("/t")
    for name in "nxt":
        assert summaries.state(table[name]) == "fresh"
        np.testing.assert_equal(summaries.read(table[name]), summaries.read(once[name]))


@pytest.mark.parametrize("chunk", [400, 1 << 16])
def test_an_append_writes_no_summaries_before_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(zones, "_CHUNK", chunk)
    write, written = ArrayWriter.__setitem__, []

    def watched(array: ArrayWriter, sel: Any, data: np.ndarray) -> None:
        if "__summary__" in array.path:
            written.append((array.path.rpartition("/")[2], data.shape[1]))
        write(array, sel, data)

    monkeypatch.setattr(ArrayWriter, "__setitem__", watched)
    for start, count in [(0, 90_000), (90_000, 4000), (94_000, 30_000), (124_000, 1)]:
        add(tmp_path, long(start, count))
    if chunk == 400:  # 23 zones, then 31: from the last begun chunk of 5, 25 or (all of them) 100 on
        assert written[4:8] == [("whole", 3), ("real", 3), ("moments", 23), ("count", 23)]
        assert written[8:12] == [("whole", 11), ("real", 11), ("moments", 31), ("count", 31)]
        assert written[12:] == [("whole", 1), ("real", 1), ("moments", 6), ("count", 31)]
    table = check(tmp_path)
    icecore.pack(sorted(tmp_path.glob("*.csv")), into=tmp_path / "once", group="/t", concat="rows")
    once = icecore.open(tmp_path / "once").table("/t")
    for name in "nxt":
        assert summaries.state(table[name]) == "fresh"
        np.testing.assert_equal(summaries.read(table[name]), summaries.read(once[name]))


def test_a_stale_summary_is_made_anew(tmp_path: Path) -> None:
    add(tmp_path, long(0, 9000), long(9000, 10_000))
    with icecore.open(tmp_path / "r").writer(message="a value is put right") as writer:
        writer["/t/n"][5] = -5
    assert summaries.state(icecore.open(tmp_path / "r")["/t/n"]) == "stale"
    add(tmp_path, long(19_000, 5))
    array = icecore.open(tmp_path / "r")["/t/n"]
    assert summaries.state(array) == "fresh"
    assert summaries.read(array)["min"][0] == -5


def test_a_portable_table_stays_that(tmp_path: Path) -> None:
    add(tmp_path, b"n,a,t\n1,1,ab\n", portable=True)
    add(tmp_path, b"n,a,t\n1,2.5,a longer text\n")
    table = check(tmp_path)
    assert (table["a"].dtype, table["t"].dtype) == ("f8", "S16"), "both were written anew"
    used = {codec["name"] for name in table for codec in table[name]._node.codecs}
    assert used <= {"bytes", "blosc", "zstd", "gzip", "crc32c", "sharding_indexed"}


def product(folder: Path, number: int, attributes: str, text: bytes = b"  1.50,ab\r\n" * 9) -> Path:
    """A PDS3 table whose label says something of its column A."""
    folder.joinpath(f"t{number}.tab").write_bytes(text)
    columns = column("A", "ASCII_REAL", 1, 6, attributes) + column("B", "CHARACTER", 8, 2)
    label = PDS3.format(record=11, rows=len(text) // 11, file=f"T{number}.TAB", columns=columns)
    path = folder / f"t{number}.lbl"
    path.write_text(label.replace("COLUMNS = 3", "COLUMNS = 2"), newline="")
    return path


@pytest.mark.parametrize("append", [False, True])
@pytest.mark.parametrize(
    ("other", "told"),
    [
        ('UNIT = "C"', "units C, in /t it has units K, which stays"),
        (
            'UNIT = "K"\nMISSING_CONSTANT = -999',
            "missing_value [-999], in /t it has no missing_value, to which that",
        ),
        ('UNIT = "K"', ""),
        ('UNIT = "K"\nSCALING_FACTOR = 0.5', "error"),
    ],
)
def test_labels_that_say_something_else(tmp_path: Path, append: bool, other: str, told: str) -> None:
    one, two = product(tmp_path, 1, 'UNIT = "K"'), product(tmp_path, 2, other)
    steps = [[one], [two]] if append else [[one, two]]

    def go() -> list[str]:
        reports = [
            icecore.pack(files, into=tmp_path / "r", group="/t", concat="rows", append=i > 0)
            for i, files in enumerate(steps)
        ]
        return [note.message for note in reports[-1].notes]

    if told == "error":
        with pytest.raises(
            Error, match=r"A of .*t2\.tab has scale_factor 0\.5, in /t it has no scale_factor"
        ):
            go()
        return
    notes = go()
    assert len(notes) == bool(told)
    assert not told or told in notes[0]


@pytest.mark.parametrize("append", [False, True])
def test_constants_of_a_later_label_are_missing(tmp_path: Path, append: bool) -> None:
    one = product(tmp_path, 1, "MISSING_CONSTANT = -99", b"  1.50,ab\r\n" * 8192 + b"-999.0,ab\r\n")
    two = product(tmp_path, 2, "MISSING_CONSTANT = -999", b"  2.50,ab\r\n-999.0,cd\r\n-99.00,ef\r\n")
    for i, files in enumerate([[one], [two]] if append else [[one, two]]):
        icecore.pack(files, into=tmp_path / "r", group="/t", concat="rows", append=i > 0)
    repo = icecore.open(tmp_path / "r")
    assert repo["/t/A"].attrs["missing_value"] == [-99, -999]
    for prune in (True, False):
        scan = repo.table("/t").scan(["B"], "A < 0 or A is null", prune=prune)
        assert scan.to_numpy()["B"].tolist() == [b"ab", b"cd", b"ef"]
        assert not repo.table("/t").scan(where="A < 0", prune=prune).count()
    assert summaries.read(repo["/t/A"])["min"].tolist() == [1.5, 1.5, 2.5]
    restore(repo, "/t", tmp_path / "again")
    assert (tmp_path / "again" / "t2.tab").read_bytes() == (tmp_path / "t2.tab").read_bytes()
