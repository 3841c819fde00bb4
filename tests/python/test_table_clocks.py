"""Columns of durations, times of day above all: what they are printed as."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.errors import Error

pa = pytest.importorskip("pyarrow")
TICKS = np.array([300_123, 0, -3_600_001, 86_399_999, 86_400_000, 360_000_000, np.iinfo("i8").min])
DATA = {
    "utc": TICKS.view("m8[ms]"),
    "day": np.array([3, 0, 1, 86_399, 300, 7, np.iinfo("i8").min]).view("m8[s]"),
    "hour": np.array([0, 1, -3, 23, 24, 100, np.iinfo("i8").min]).view("m8[h]"),
    "fine": np.array([1, 0, -1, 10**9, 3_600 * 10**9, 5, 6]).view("m8[ns]"),
    "both": np.arange(14).reshape(7, 2).astype("m8[s]"),
}
CLOCKS = {
    "utc": ["00:05:00.123", "00:00:00.000", "-01:00:00.001", "23:59:59.999", "24:00:00.000", "100:00:00.000"],
    "day": ["00:00:03", "00:00:00", "00:00:01", "23:59:59", "00:05:00", "00:00:07"],
    "hour": ["00:00:00", "01:00:00", "-03:00:00", "23:00:00", "24:00:00", "100:00:00"],
    "fine": ["00:00:00.000000001", "00:00:00.000000000", "-00:00:00.000000001", "00:00:01.000000000"],
    "both_1": ["00:00:01", "00:00:03", "00:00:05"],
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("clocks") / "r.icecore"
    with icecore.create(path).writer() as w:
        for name, values in DATA.items():
            w.array(f"/t/{name}", values.dtype, values.shape)[...] = values
    return str(path)


def test_csv_and_json_hold_times_of_day(repo: str, run: Any) -> None:
    rows = list(csv.DictReader(io.StringIO(run("query", repo, "/t")[1])))
    objects = json.loads(run("query", repo, "/t", "--json")[1])
    for name, wanted in CLOCKS.items():
        assert [row[name] for row in rows][: len(wanted)] == wanted
        if name != "both_1":
            assert [row[name] for row in objects][: len(wanted)] == wanted
    assert objects[1]["both"] == ["00:00:02", "00:00:03"]
    assert [rows[-1][name] for name in ("utc", "day", "hour")] == ["", "", ""]
    assert objects[-1]["utc"] is None


def test_a_reduction_by_times_of_day(repo: str, run: Any) -> None:
    out = run("query", repo, "/t", "--reduce", "count by hour", "--limit", 2)[1]
    assert out.split() == ['"hour","count"', '"-03:00:00",1', '"00:00:00",1']


def test_arrow_and_parquet_keep_durations(repo: str, run: Any, tmp_path: Path) -> None:
    import pyarrow.ipc
    import pyarrow.parquet

    for file, read in (
        (tmp_path / "o.parquet", pyarrow.parquet.read_table),
        (tmp_path / "o.arrow", lambda path: pyarrow.ipc.open_file(path).read_all()),
    ):
        assert run("query", repo, "/t", "--columns", "utc,fine", "-o", file)[0] == 0
        table = read(file)
        assert table.schema.types == [pa.duration("ms"), pa.duration("ns")]
        assert table["utc"].cast(pa.int64()).to_pylist() == [*TICKS[:-1].tolist(), None]
    assert run("query", repo, "/t", "--columns", "utc", "-o", tmp_path / "o.npy")[0] == 0
    np.testing.assert_array_equal(np.load(tmp_path / "o.npy")["utc"], DATA["utc"])


@pytest.mark.parametrize(
    ("clause", "rows"),
    [
        ("utc > '00:05:00'", [0, 3, 4, 5]),
        ("utc = '0:05:00.123'", [0]),
        ("utc != '00:05:00.123'", [1, 2, 3, 4, 5]),
        ("utc <= '-01:00:00'", [2]),
        ("utc between '23:59:59.9' and '100:00:00'", [3, 4, 5]),
        ("hour in ('-3:00:00', '24:00:00')", [2, 4]),
        ("'00:00:00' < fine and fine < '00:00:01'", [0, 5, 6]),
        ("fine = '-00:00:00.000000001'", [2]),
        ("both[1] >= '00:00:11'", [5, 6]),
        ("utc > 300000", [0, 3, 4, 5]),
    ],
)
def test_clauses_compare_with_times_of_day(repo: str, clause: str, rows: list[int]) -> None:
    table = icecore.open(repo).table("/t")
    for prune in (True, False):
        got = table.to_numpy(["day"], clause, prune=prune)["day"]
        np.testing.assert_array_equal(got, DATA["day"][rows])


@pytest.mark.parametrize(
    "text", ["05:00", "noon", "2020-01-01", "00:61:00", "00:05:00Z", "00:00:00.0000000001"]
)
def test_texts_that_are_no_times_of_day(repo: str, text: str) -> None:
    with pytest.raises(Error, match=f"utc holds durations, '{text}' is not a") as caught:
        icecore.open(repo).table("/t").scan(where=f"utc > '{text}'")
    assert (caught.value.kind, "'09:39:11.25'" in caught.value.hint) == ("dtype", True)


def test_times_beyond_arrows_years_are_printed(tmp_path: Path, run: Any) -> None:
    times = np.array(["40000-01-02", "-32768-12-31", "32767-12-31", "NaT", "2000-01-01"], "M8[s]")
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        w.array("/t/t", times.dtype, times.shape)[...] = times
        w.array("/t/x", "i8", times.shape)[...] = np.arange(5)
    wanted = [str(time).replace("T", " ") for time in times]
    wanted[3] = ""
    for columns in ("t", "t,x"):
        out = run("query", str(tmp_path / "r.icecore"), "/t", "--columns", columns)[1]
        assert [row["t"] for row in csv.DictReader(io.StringIO(out))] == wanted


@pytest.mark.parametrize("unit", ["s", "ms", "us", "h"])
def test_duckdb_reads_durations_of_which_some_are_null(tmp_path: Path, unit: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    values = np.array([5, "NaT", 7], f"m8[{unit}]")
    with icecore.create(tmp_path / "d.icecore").writer() as w:
        w.array("/t/x", values.dtype, (3,))[...] = values
        w.array("/t/pair", values.dtype, (3, 2))[...] = np.stack([values, values], axis=1)
    table = icecore.open(tmp_path / "d.icecore").table("/t")  # noqa: F841
    asked = 'select x is null, epoch_us(x), epoch_us(pair[2]) from "table"'
    us = values.astype("m8[us]").astype("i8").tolist()
    assert duckdb.sql(asked).fetchall() == [
        (False, us[0], us[0]),
        (True, None, None),
        (False, us[2], us[2]),
    ]
