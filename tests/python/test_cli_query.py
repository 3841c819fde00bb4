"""``icecore query``: what it prints, what it writes, how it ends; summaries on the command line."""

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
DATA = {
    "lon": np.linspace(0, 360, N, endpoint=False),
    "lat": np.linspace(-90, 90, N),
    "c": (np.arange(N) % 7).astype("i2"),
    "name": np.array([f"n{i % 3}" for i in range(N)], "S2"),
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("query") / "q.icecore"
    with icecore.create(path).writer() as w:
        for name, values in DATA.items():
            attrs = {"_FillValue": 6} if name == "c" else {}
            w.array(f"/t/{name}", values.dtype, values.shape, chunks=(4096,), attrs=attrs)[...] = values
        w.array("/a", "f8", (3,))[...] = 1
        write.write(w, "/t")
    return str(path)


def query(run: Any, repo: str, *more: object) -> tuple[int, str, str]:
    return run("query", repo, "/t", *more)


def test_csv_goes_to_stdout(repo: str, run: Any) -> None:
    status, out, err = query(run, repo, "--where", "lon < 0.1", "--columns", "c,lon")
    rows = list(csv.reader(io.StringIO(out)))
    assert (status, err) == (0, "")
    assert rows[0] == ["c", "lon"]
    assert [(int(c), float(lon)) for c, lon in rows[1:]] == [(i, DATA["lon"][i]) for i in range(3)]


def test_packed_numbers_are_told_of(run: Any, tmp_path: Path) -> None:
    with icecore.create(tmp_path / "p.icecore").writer() as w:
        packed = {"scale_factor": 0.01, "add_offset": 20.0}
        w.array("/t/temp", "i2", (3,), attrs=packed)[...] = [-100, 0, 700]
        w.array("/t/n", "i2", (3,), attrs={"scale_factor": 1})[...] = [1, 2, 3]
    note = "icecore: temp is stored as (value - 20.0) / 0.01; the stored numbers are used\n"
    for more in (["--where", "temp > 25"], ["--reduce", "mean:temp"], ["--columns", "temp"], ["--limit", 1]):
        assert query(run, str(tmp_path / "p.icecore"), *more)[2] == note
    assert query(run, str(tmp_path / "p.icecore"), "--where", "n > 2", "--columns", "n")[2] == ""
    with icecore.create(tmp_path / "u.icecore").writer() as w:
        w.array("/t/byte", "i1", (2,), attrs={"_Unsigned": "true"})[...] = [-1, 1]
    note = "icecore: byte has the attribute _Unsigned; the stored signed numbers are used\n"
    assert query(run, str(tmp_path / "u.icecore"), "--where", "byte < 0")[2] == note


def test_json_and_limit(repo: str, run: Any) -> None:
    status, out, _ = query(run, repo, "--where", "c is null", "--limit", 2, "--json")
    assert status == 0
    lon, lat = DATA["lon"], DATA["lat"]
    wanted = [{"c": None, "lat": lat[i], "lon": lon[i], "name": f"n{i % 3}"} for i in (6, 13)]
    assert json.loads(out) == wanted


def test_arrays_that_are_no_columns_are_named(tmp_path: Path, run: Any) -> None:
    with icecore.create(tmp_path / "c.icecore").writer() as w:
        w.array("/t/x", "i4", (3,))[...] = np.arange(3)
        w.array("/t/z", "c16", (3,))[...] = np.arange(3) * 1j
    path = str(tmp_path / "c.icecore")
    status, out, err = run("query", path, "/t")
    assert (status, out.splitlines()) == (0, ['"x"', "0", "1", "2"])
    assert "column z skipped: its type is complex128" in err
    for more in (["--columns", "x"], ["--reduce", "count"]):
        assert run("query", path, "/t", *more)[2] == ""
    status, _, err = run("query", path, "/t", "--where", "x > 1 and z > 1")
    assert (status, "error[unsupported]" in err, "its type is complex128" in err) == (2, True, True)


def test_a_terminal_gets_a_table(repo: str, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from icecore.tables.query import export

    monkeypatch.setattr(export.sys.stdout, "isatty", lambda: True, raising=False)
    status, out, _ = query(run, repo, "--where", "name = 'n1'", "--columns", "name,lon")
    assert status == 0
    assert "name" in out.splitlines()[0]
    assert "3,333 rows" in out
    assert len(out.splitlines()) < 30


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "npy"])
def test_files(repo: str, run: Any, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"o.{suffix}"
    status, out, err = query(run, repo, "--where", "lat > 89.9 and c in (1, 2)", "-o", file)
    wanted = np.flatnonzero((DATA["lat"] > 89.9) & np.isin(DATA["c"], [1, 2]))
    assert (status, out) == (0, "")
    assert f"{wanted.size} rows of 4 columns" in err
    if suffix == "npy":
        got = np.load(file)
        lon, names = got["lon"], got["name"].astype("U").tolist()
    else:
        import pyarrow.csv
        import pyarrow.ipc
        import pyarrow.parquet

        read = {
            "csv": pyarrow.csv.read_csv,
            "parquet": pyarrow.parquet.read_table,
            "arrow": lambda path: pyarrow.ipc.open_file(path).read_all(),
        }
        table = read[suffix](str(file))
        lon, names = table["lon"].to_numpy(), table["name"].to_pylist()
    np.testing.assert_array_equal(lon, DATA["lon"][wanted])
    assert names == [f"n{i % 3}" for i in wanted]
    assert [f.name for f in tmp_path.iterdir()] == [file.name]


def test_nothing_found_is_status_1(repo: str, run: Any, tmp_path: Path) -> None:
    status, out, err = query(run, repo, "--where", "lon > 360")
    assert (status, out.strip(), err.strip()) == (1, '"c","lat","lon","name"', "icecore: no row matches")
    assert query(run, repo, "--where", "lon > 360", "--explain")[0] == 1
    assert query(run, repo, "--where", "lon > 360", "--reduce", "count")[0] == 1
    assert query(run, repo, "--where", "lon > 360", "-o", tmp_path / "x.csv")[0] == 1


def test_reduce(repo: str, run: Any) -> None:
    status, out, _ = query(run, repo, "--reduce", "count, max:lat by c")
    rows = list(csv.reader(io.StringIO(out)))
    assert status == 0
    assert rows[0] == ["c", "count", "max:lat"]
    assert [row[0] for row in rows[1:]] == ["0", "1", "2", "3", "4", "5", ""]  # null last
    assert sum(int(row[1]) for row in rows[1:]) == N
    status, out, _ = query(run, repo, "--reduce", "mean:lon", "--json")
    assert json.loads(out) == [{"mean:lon": pytest.approx(DATA["lon"].mean())}]


def test_explain(repo: str, run: Any) -> None:
    status, out, _ = query(run, repo, "--where", "lon between 10 and 11", "--columns", "lat", "--explain")
    assert status == 0
    assert "28 of 10,000 rows" in out or "27 of 10,000 rows" in out
    assert "3: 2 pruned" in out
    report = json.loads(query(run, repo, "--where", "lon between 10 and 11", "--explain", "--json")[1])
    assert (report["zones"], report["zones_pruned"], report["predicate"]["chunks"]) == (3, 2, 1)
    unpruned = query(run, repo, "--where", "lon < 1", "--explain", "--json", "--no-prune")[1]
    assert json.loads(unpruned)["predicate"]["chunks"] == 3


def test_within(repo: str, run: Any, tmp_path: Path) -> None:
    pytest.importorskip("shapely")
    box = {"type": "Polygon", "coordinates": [[[0, -90], [36, -90], [36, 0], [0, 0], [0, -90]]]}
    (tmp_path / "box.geojson").write_text(json.dumps(box))
    status, out, _ = query(run, repo, "--within", tmp_path / "box.geojson", "--reduce", "count")
    assert (status, int(out.split()[1])) == (
        0,
        999,
    )  # all below 36 degrees, but the first: it lies on the edge
    assert query(run, repo, "--within", tmp_path / "none.geojson")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--where", "lon >> 3"], ["error[invalid]", "lon >> 3\n", "^"]),
        (["--where", "lom > 3"], ["error[not-found]", "did you mean lon"]),
        (["--columns", "lom"], ["error[not-found]", "did you mean lon"]),
        (["--where", "name > 3"], ["error[dtype]", "holds strings"]),
        (["-o", "x.docx"], ["error[unsupported]", ".docx", ".parquet"]),
        (["--xy", "lon"], ["error[invalid]", "--xy"]),
        (["--columns", "lon,c,lon"], ["error[invalid]", "contains lon twice"]),
        (["--where", "c = 1 or " * 150_000 + "c = 2"], ["error[invalid]", "at most 1048576", "try: "]),
        (["--columns", ""], ["error[invalid]", "--columns ''", "expected names"]),
        (["--columns", " , ", "--json"], ["error[invalid]", "expected names"]),
        (["--limit", "-1"], ["error[invalid]", "-1"]),
    ],
)
def test_errors(repo: str, run: Any, arguments: list[str], words: list[str]) -> None:
    status, out, err = query(run, repo, *arguments)
    assert (status, out) == (2, "")
    for word in words:
        assert word in err


def test_info_tells_of_summaries(repo: str, run: Any) -> None:
    assert "fresh, zones of 4,096 rows" in run("info", repo, "/t/lon")[1]
    assert "zones" not in run("info", repo, "/a")[1]


def test_what_is_no_table(repo: str, run: Any) -> None:
    assert run("query", repo, "/a")[0] == 2
    assert run("query", repo, "/nothing")[0] == 2


def test_pack_and_link_with_summaries(repo: str, run: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(20_000.0))
    for verb in ("link", "pack"):
        into = str(tmp_path / f"{verb}.icecore")
        status, _, err = run(verb, tmp_path / "x.npy", "--into", into, "--group", "/t", "--summaries")
        assert status == 0, err
        assert "summary" not in run("ls", into)[1]
        report = json.loads(run("query", into, "/t", "--where", "x > 19000", "--explain", "--json")[1])
        assert (report["rows_out"], report["zones"], report["zones_pruned"]) == (999, 5, 4)


def test_a_clause_that_is_no_utf8(repo: str, run: Any) -> None:
    status, _, err = query(run, repo, "--where", "name = '\udcff'")
    assert (status, "error[invalid]: character 9" in err) == (2, True)


def test_explain_of_a_reduction_that_summaries_tell(repo: str, run: Any) -> None:
    out = query(run, repo, "--reduce", "mean:lon", "--explain")[1]
    assert "the summaries of lon" in out
    assert "none skipped" not in out


def test_times_beyond_those_of_python(tmp_path: Path, run: Any, capsys: Any, monkeypatch: Any) -> None:
    """JSON and the terminal show them as CSV does."""
    far = np.array(["29349-01-26", "-0768-02-04", "NaT", "2020-01-01"], "M8[D]")
    with icecore.create(tmp_path / "far.icecore").writer() as w:
        w.array("/t/day", far.dtype, far.shape)[...] = far
        w.array("/t/pair", "M8[s]", (4, 2))[...] = np.stack([far, far], axis=1)
    rows = json.loads(run("query", tmp_path / "far.icecore", "/t", "--json")[1])
    days = ["29349-01-26 00:00:00", "-0768-02-04 00:00:00", None, "2020-01-01 00:00:00"]
    assert [row["day"] for row in rows] == days
    assert [row["pair"] for row in rows] == [[day, day] for day in days]
    with icecore.create(tmp_path / "deep.icecore").writer() as w:
        w.array("/t/s", "M8[s]", (2,))[...] = np.array([2**41, -1]).view("M8[s]")
    rows = json.loads(run("query", tmp_path / "deep.icecore", "/t", "--json")[1])
    assert [row["s"] for row in rows] == ["71654-04-10 01:12:32", "1969-12-31 23:59:59"]


@pytest.mark.parametrize("null", [-9, "N/A"])
def test_nulls_of_a_single_column_are_no_empty_lines(tmp_path: Path, run: Any, null: Any) -> None:
    """Which readers of CSV skip."""
    pd = pytest.importorskip("pandas")
    values = np.array([null, *["a\n\n", "b", "", "c"][: 4 * isinstance(null, str)], null, null]).astype(
        "S4" if isinstance(null, str) else "i4"
    )
    with icecore.create(tmp_path / "one.icecore").writer() as w:
        w.array("/t/a", values.dtype, values.shape, attrs={"_FillValue": null})[...] = values
    out = run("query", tmp_path / "one.icecore", "/t")[1]
    assert len(pd.read_csv(io.StringIO(out))) == len(values)
    wanted = ["" if value == values[0] else value.decode() for value in values]
    assert [row for row in csv.reader(io.StringIO(out))] == [["a"], *([text] for text in wanted)]
