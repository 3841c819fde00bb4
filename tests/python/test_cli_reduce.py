"""``icecore query --reduce``: what it prints and writes, and how it ends."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.tables.summaries import write

pa = pytest.importorskip("pyarrow")
N = 10_000
KEYS = ["be,ta", 'ga"m ', "line\nend", "plain"]
DATA = {
    "x": np.arange(N) * 0.5,
    "key": np.array(KEYS)[np.arange(N) % 4],
    "small": (np.arange(N) % 7).astype("i2"),
    "big": np.full(N, 2**62),
    "nan": np.where(np.arange(N) % 4 == 0, np.nan, np.arange(N) % 4),
    "pair": np.zeros((N, 2)),
    "count": np.arange(N) % 2,
    "huge": np.where(np.arange(N) % 2, 1e308, -1e308),
    "inf": np.where(np.arange(N) == 5, np.inf, 1.0),
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("reduce") / "r.icecore"
    with icecore.create(path).writer() as w:
        for name, values in DATA.items():
            chunks = (2048, *values.shape[1:])
            w.array(f"/t/{name}", values.dtype, values.shape, chunks=chunks)[...] = values
        write.write(w, "/t")
    return str(path)


def query(run: Any, repo: str, *more: object) -> tuple[int, str, str]:
    return run("query", repo, "/t", "--reduce", *more)


def test_csv_quotes_texts_and_histograms(repo: str, run: Any) -> None:
    status, out, err = query(run, repo, "count, histogram:small:7:0:7 by key")
    rows = list(csv.reader(io.StringIO(out, newline="")))
    assert (status, err) == (0, "")
    assert rows[0] == ["key", "count", "histogram:small:7:0:7"]
    assert [row[:2] for row in rows[1:]] == [[key, "2500"] for key in sorted(KEYS)]
    for key, _, cell in rows[1:]:
        part = DATA["small"][DATA["key"] == key]
        wanted = {"low": 0.0, "high": 7.0, "counts": np.bincount(part, minlength=7).tolist()}
        assert json.loads(cell) == wanted


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet", "arrow", "npy"])
def test_files(repo: str, run: Any, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"o.{suffix}"
    status, out, err = query(run, repo, "count, max:x, min:small by key", "-o", file, "--limit", 3)
    assert (status, out) == (0, "")
    assert "3 rows of 4 columns" in err
    rows = icecore.open(repo).table("/t").reduce("count, max:x, min:small by key")[:3]
    assert list(tmp_path.iterdir()) == [file]
    match suffix:
        case "json":
            got = json.loads(file.read_text())
        case "npy":
            columns = np.load(file)
            got = [dict(zip(columns.dtype.names, row, strict=True)) for row in columns.tolist()]
        case "csv":
            texts = csv.DictReader(io.StringIO(file.read_text(), newline=""))
            got = [{n: v if n == "key" else float(v) for n, v in row.items()} for row in texts]
        case _:
            import pyarrow.ipc
            import pyarrow.parquet

            parquet = suffix == "parquet"
            table = pyarrow.parquet.read_table(file) if parquet else pyarrow.ipc.open_file(file).read_all()
            assert table.schema.types == [pa.large_string(), pa.int64(), pa.float64(), pa.int16()]
            got = table.to_pylist()
    assert got == rows


def test_histograms_and_large_sums_in_files(repo: str, run: Any, tmp_path: Path) -> None:
    import pyarrow.parquet

    what = "histogram:x:2:0:5000, sum:big"
    assert query(run, repo, what, "-o", tmp_path / "h.parquet")[0] == 0
    [row] = pyarrow.parquet.read_table(tmp_path / "h.parquet").to_pylist()
    assert row["histogram:x:2:0:5000"] == {"low": 0.0, "high": 5000.0, "counts": [5000, 5000]}
    assert int(row["sum:big"]) == N * 2**62
    [row] = list(csv.DictReader(io.StringIO(query(run, repo, "sum:big")[1])))
    assert int(row["sum:big"]) == N * 2**62
    assert json.loads(query(run, repo, "sum:big", "--json")[1]) == [{"sum:big": N * 2**62}]
    for what in ("histogram:x:2", "sum:big"):
        status, _, err = query(run, repo, what, "-o", tmp_path / "h.npy")
        assert (status, "error[unsupported]" in err, what in err) == (2, True, True)
    assert not (tmp_path / "h.npy").exists()


@pytest.mark.parametrize("more", [[], ["--json"], ["--explain"]])
@pytest.mark.parametrize("what", ["mean:x", "count by key", "count", "histogram:x:4"])
def test_nothing_found_is_status_1(repo: str, run: Any, what: str, more: list[str]) -> None:
    status, _, err = query(run, repo, what, "--where", "x < 0", *more)
    assert status == 1
    assert "no row matches" in err or more == ["--explain"]
    assert query(run, repo, what, "--where", "x < 1", *more)[0] == 0


def test_explain_says_what_was_read(repo: str, run: Any) -> None:
    where = ("--where", "x between 100 and 4500", "--explain")
    status, out, _ = query(run, repo, "mean:x, max:small", *where)
    assert status == 0
    assert "8,801 of 10,000 rows" in out
    assert "summaries of x, small" in out
    report = json.loads(query(run, repo, "mean:x, max:small", *where, "--json")[1])
    assert (report["rows_out"], report["from_summaries"]) == (8801, ["x", "small"])
    assert (report["zones_whole"], report["data"]["chunks"]) == (1, 3)  # not those of the zone in the middle
    # the ends are looked for first
    twice = json.loads(query(run, repo, "histogram:small:4", *where, "--json")[1])
    once = json.loads(query(run, repo, "histogram:small:4:0:7", *where, "--json")[1])
    assert twice["data"]["chunks"] == once["data"]["chunks"] + 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["count", "-o", "x.docx"], ["error[unsupported]", ".docx", ".parquet"]),
        (["count", "--columns", "x"], ["error[invalid]", "--columns", "--reduce"]),
        (["count", "--limit", "-1"], ["error[invalid]", "-1"]),
        (["count", "--explain", "-o", "x.csv"], ["error[invalid]", "--explain", "x.csv"]),
        (["count by count"], ["error[invalid]", "two result columns", "count:count"]),
        (["count by key, key"], ["error[invalid]", "two result columns", "key", "list it once"]),
        (["mean:x, mean:x"], ["error[invalid]", "two result columns", "mean:x"]),
        (["count by pair"], ["error[dtype]", "2 values per row", "pair[0]"]),
        (["histogram:inf:4"], ["error[invalid]", "inf", "histogram:inf:4:0:"]),
        (["histogram:huge:4"], ["error[invalid]", "-1e+308 to 1e+308", "4 bins"]),
        (["histogram:x:4:1:1.0000000000000002"], ["error[invalid]", "4 bins"]),
        (["histogram:x:4:0:inf"], ["error[invalid]", "finite"]),
    ],
)
def test_errors(repo: str, run: Any, arguments: list[str], words: list[str]) -> None:
    status, out, err = query(run, repo, *arguments)
    assert (status, out) == (2, "")
    for word in words:
        assert word in err


def test_a_terminal_shows_data_as_they_are(tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from icecore.tables.query import export

    with icecore.create(tmp_path / "m.icecore").writer() as w:
        w.array("/t/x", "i4", (3,))[...] = np.arange(3)
        w.array("/t/key", "U9", (3,))[...] = ["[red]a", ":x:", "[/b]"]
    monkeypatch.setattr(export.sys.stdout, "isatty", lambda: True, raising=False)
    status, out, _ = query(run, str(tmp_path / "m.icecore"), "count, sum:x, histogram:x:2 by key")
    assert status == 0
    assert all(word in out for word in ("histogram:x:2", "[red]a", ":x:", "[/b]"))


def test_a_terminal_shows_all_columns_beside_histograms(
    repo: str, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from icecore.tables.query import export

    monkeypatch.setattr(export.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    status, out, _ = query(run, repo, "histogram:x, count, max:small, histogram:small:50:0:7 by nan")
    assert status == 0
    assert all(name in out for name in ("histogram:x", "count", "max:small", "histogram:small:50:0:7"))
    assert "more column" not in out
    assert (out.count(", …"), out.count(f" {N // 4} ")) == (4, 4)


def test_texts_that_are_not_null_are_counted(tmp_path: Path, run: Any) -> None:
    texts = np.array(["a", "", "none", "b", "none", "a"])
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        w.array("/t/key", "i8", (6,))[...] = [0, 0, 0, 1, 1, 2]
        w.array("/t/fixed", "U4", (6,), attrs={"_FillValue": "none"})[...] = texts
        w.array("/t/any", str, (6,))[...] = texts
        w.array("/t/bytes", "S4", (6,))[...] = texts.astype("S4")
    path = str(tmp_path / "r.icecore")
    what = "count, count:fixed, count:any, count:bytes"
    table = icecore.open(path).table("/t")
    assert [list(row.values()) for row in table.reduce(what)] == [[6, 4, 6, 6]]
    keyed = [[0, 3, 2, 3, 3], [1, 2, 1, 2, 2], [2, 1, 1, 1, 1]]
    assert [list(row.values()) for row in table.reduce(f"{what} by key")] == keyed
    assert table.reduce("count:fixed", "key = 0")[0] == {"count:fixed": 2}
    status, _, err = query(run, path, "mean:fixed")
    assert (status, "error[dtype]" in err, "min:fixed or max:fixed or count:fixed" in err) == (2, True, True)
    status, out, _ = query(run, path, "max:fixed, min:any by key", "-o", "-")
    assert (status, out) == (0, '"key","max:fixed","min:any"\n0,"a",""\n1,"b","b"\n2,"a","a"\n')


def test_nan_is_one_key_and_null(repo: str, run: Any) -> None:
    """Also where it comes in several batches."""
    table = icecore.open(repo).table("/t")
    small, scanning = table._scan, []
    table._scan = lambda *a, **o: scanning.append(small(*a, **o, memory=1 << 16)) or scanning[-1]  # type: ignore[method-assign]
    rows = table.reduce("count by nan")
    assert [(row["nan"], row["count"]) for row in rows] == [(k, 2500) for k in (1.0, 2.0, 3.0, None)]
    assert len(list(small(["nan"], memory=1 << 16).batches())) > 1


ODD = ["a, b", "c:d", "e by f", 'say ""x""', "plain", 'the "g" one']


def test_names_that_hold_what_ends_names(tmp_path: Path, run: Any) -> None:
    with icecore.create(tmp_path / "r").writer() as w:
        for i, name in enumerate(ODD):
            w.array(f"/t/{name}", "i8", (4,))[...] = [i, i, i + 1, i + 2]
    names = ['"a, b"', '"c:d"', '"e by f"', '"say """"x"""""', "plain", 'the "g" one']
    for name, quoted in zip(ODD, names, strict=True):
        what = f'max:{quoted}, count by "a, b"'
        status, out, err = run("query", tmp_path / "r", "/t", "--reduce", what, "-o", "-")
        assert status == 0, err
        rows = list(csv.reader(io.StringIO(out)))
        assert rows[0] == ["a, b", f"max:{name}", "count"]
        i = ODD.index(name)
        assert rows[1:] == [["0", f"{i}", "2"], ["1", f"{i + 1}", "1"], ["2", f"{i + 2}", "1"]]
    status, out, _ = run("query", tmp_path / "r", "/t", "--columns", '"e by f","a, b"', "-o", "-")
    assert status == 0
    assert out.splitlines()[:2] == ['"e by f","a, b"', "2,0"]
