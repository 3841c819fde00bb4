"""Reductions by keys: batch by batch what pandas says of all rows; keys of any type, and many of them."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.tables.query import reduce_rows
from icecore.tables.query.grouped import Grouped
from icecore.tables.query.reduction import Wish

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
FUNCTIONS = ("count", "sum", "mean", "min", "max", "std", "rms")


def table(path: Path, columns: dict[str, np.ndarray]) -> Any:
    with icecore.create(path / "r.icecore").writer() as w:
        for name, values in columns.items():
            w.array(f"/t/{name}", values.dtype, values.shape, codec="default")[...] = values
    return icecore.open(path / "r.icecore").table("/t")


def frame(seed: int, dtype: str) -> Any:
    rng, n = np.random.default_rng(seed), 5000
    keys = np.array([np.nan, 0.0, -0.0, 1.5, np.inf])[rng.integers(0, 5, n)]
    texts = np.array(["", " a", "a ", "é", "😀"])[rng.integers(0, 5, n)]
    x = (rng.normal(size=n) * 50).astype(dtype)
    x[keys == 1.5] = x[0]
    if x.dtype.kind == "f":
        x[rng.integers(0, n, 1000)] = np.nan
    return pd.DataFrame({"k": keys, "s": texts, "x": x})


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i8"])
@pytest.mark.parametrize("keys", [["k"], ["s"], ["s", "k"]])
def test_batches_come_to_what_all_rows_are(dtype: str, keys: list[str]) -> None:
    rows = frame(len(dtype), dtype)
    of = Grouped(keys, [Wish(name, name, "x") for name in FUNCTIONS])
    for batch in pa.Table.from_pandas(rows, preserve_index=False).to_batches(701):
        of.add(batch)
    columns, matched = of.result()
    wide = rows.assign(x=rows.x.astype("f8"), k=rows.k + 0.0)
    groups = wide.groupby(keys, dropna=False).x
    wanted = groups.agg(["count", "sum", "mean", "min", "max"])
    wanted["std"] = groups.std(ddof=0)
    wanted["rms"] = np.sqrt((wide.assign(x=wide.x**2)).groupby(keys, dropna=False).x.mean())
    got = pd.DataFrame({name: list(columns[name]) for name in FUNCTIONS}, dtype="f8")
    assert matched == len(rows)
    found = list(zip(*(columns[key].to_pylist() for key in keys), strict=True))
    places = [key if isinstance(key, tuple) else (key,) for key in wanted.index]
    assert found == [tuple(None if v != v else v for v in place) for place in places]
    np.testing.assert_allclose(got, wanted[list(FUNCTIONS)].to_numpy(), rtol=1e-9, atol=1e-9)


def test_sums_of_whole_numbers_are_exact(tmp_path: Path) -> None:
    x = np.array([2**63 - 1, 2**63 - 1, -(2**63), -1, 5, 7], "i8")
    u = np.array([2**64 - 1, 2**64 - 1, 1, 2, 3, 2**63], "u8")
    t = table(tmp_path, {"k": np.array([0, 0, 1, 1, 2, 3]), "x": x, "u": u})
    rows = t.reduce("sum:x, sum:u, max:u by k")
    assert [row["sum:x"] for row in rows] == [2**64 - 2, -(2**63) - 1, 5, 7]
    assert [row["sum:u"] for row in rows] == [2**65 - 2, 3, 3, 2**63]
    assert [row["max:u"] for row in rows] == [2**64 - 1, 2, 3, 2**63]


def test_times_beyond_pythons_are_keys(tmp_path: Path, run: Any) -> None:
    times = np.array(["20000-01-01", "-0044-03-15", "1999-01-01", "NaT"], "M8[s]")
    t = table(tmp_path, {"t": times, "d": np.array([2**60, -3, 5, 5], "m8[s]"), "x": np.arange(4)})
    assert [row["t"] for row in t.reduce("count by t")] == [times[1], times[2], times[0], None]
    assert [row["d"] for row in t.reduce("max:x by d")] == list(np.array([-3, 5, 2**60], "m8[s]"))
    status, out, _ = run("query", str(tmp_path / "r.icecore"), "/t", "--reduce", "count by t")
    assert status == 0
    assert out.splitlines()[1:] == [
        "-0044-03-15 00:00:00,1",
        "1999-01-01 00:00:00,1",
        "20000-01-01 00:00:00,1",
        ",1",
    ]


def test_as_many_keys_as_rows(tmp_path: Path) -> None:
    n = 300_000
    k = np.random.default_rng(5).permutation(n)
    rows = table(tmp_path, {"k": k, "x": k * 0.5}).reduce("count, mean:x by k")
    assert [row["k"] for row in rows] == list(range(n))
    assert all(row["count"] == 1 and row["mean:x"] == row["k"] * 0.5 for row in rows)


def test_histograms_by_key_are_numpys(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    k, x = rng.integers(0, 3, 9000), np.round(rng.normal(size=9000), 1)
    for row in table(tmp_path, {"k": k, "x": x}).reduce("histogram:x:7:-1:2.5 by k"):
        wanted = np.histogram(x[k == row["k"]], 7, (-1, 2.5))[0]
        assert row["histogram:x:7:-1:2.5"]["counts"] == wanted.tolist()


@pytest.mark.parametrize("rest", [[1.0], [-3.0, 2.0], [math.inf]])
def test_an_infinity_makes_an_infinite_mean_in_whatever_batch(rest: list[float]) -> None:
    for parts in ([[math.inf], rest], [rest, [math.inf]]):
        whole, keyed = reduce_rows.Moments(), Grouped(["k"], [Wish("mean", "mean", "x")])
        for part in parts:
            whole.add(reduce_rows.of_values(np.array(part)))
            keyed.add(pa.record_batch({"k": np.zeros(len(part), "i8"), "x": np.array(part)}))
        assert (whole.value("mean"), keyed.result()[0]["mean"].tolist()) == (math.inf, [math.inf])


def test_by_is_a_keyword_in_any_case(tmp_path: Path) -> None:
    t = table(tmp_path, {"k": np.array([1, 1, 2])})
    assert t.reduce("count BY k") == t.reduce("count\tby k") == [{"k": 1, "count": 2}, {"k": 2, "count": 1}]


def test_sum_and_mean_of_whole_numbers_together(tmp_path: Path) -> None:
    x = np.array([2**53 + 1, 2**53 + 1, -7, 5])
    t = table(tmp_path, {"k": np.array([0, 0, 1, 1], "i2"), "x": x})
    assert t.reduce("mean:x, sum:x by k") == [
        {"k": 0, "mean:x": 2.0**53, "sum:x": 2**54 + 2},
        {"k": 1, "mean:x": -1.0, "sum:x": -2},
    ]


def test_texts_that_differ_in_blanks_and_truth_values_and_days_are_keys(tmp_path: Path) -> None:
    s = np.array(["a", "a ", "a  ", "", "a", "é"])
    day = np.array(["2001-02-03", "1969-12-31", "NaT", "2001-02-03", "2001-02-03", "NaT"], "M8[D]")
    t = table(tmp_path, {"s": s, "b": np.array([1, 0, 1, 0, 1, 1], "?"), "d": day})
    assert {row["s"]: row["count"] for row in t.reduce("count by s")} == {
        "": 1,
        "a": 2,
        "a ": 1,
        "a  ": 1,
        "é": 1,
    }
    assert t.reduce("count by b") == [{"b": False, "count": 2}, {"b": True, "count": 4}]
    assert list(t.reduce("count by s")[0]) == ["s", "count"]
    found = [
        (row["d"] and row["d"].isoformat()[:10], row["b"], row["count"]) for row in t.reduce("count by d, b")
    ]
    assert found == [
        ("1969-12-31", False, 1),
        ("2001-02-03", False, 1),
        ("2001-02-03", True, 2),
        (None, True, 2),
    ]


def test_keys_of_many_columns_with_many_values_each(tmp_path: Path) -> None:
    """More combinations than 64 bits hold."""
    n = 7000
    rng = np.random.default_rng(9)
    columns = {name: rng.integers(0, 2**62, n) for name in "abcdef"}
    rows = table(tmp_path, columns).reduce("count by a, b, c, d, e, f")
    assert [tuple(row.values())[:6] for row in rows] == sorted(zip(*map(list, columns.values()), strict=True))


@pytest.mark.parametrize("first", [0.0, 1e9, -1e15])
def test_deviations_of_what_varies_little_by_key(tmp_path: Path, first: float) -> None:
    """Nothing is lost to the squares of large numbers, nor to a first value that is far from the others."""
    rng = np.random.default_rng(3)
    k = rng.integers(0, 3, 20_000)
    x = 1e9 + rng.normal(size=len(k)) * 1e-3
    x[[np.flatnonzero(k == 0)[0]]] = first
    for row in table(tmp_path, {"k": k, "x": x}).reduce("std:x, mean:x by k"):
        wanted = x[k == row["k"]].astype("g")
        assert row["std:x"] == pytest.approx(float(wanted.std()), rel=1e-11)
        assert row["mean:x"] == pytest.approx(float(wanted.mean()), rel=3e-16)


def test_any_number_of_threads_gives_the_same_bits(tmp_path: Path) -> None:
    rng, n = np.random.default_rng(8), 200_000
    many = rng.integers(0, 10**5, n)
    x = rng.normal(size=n) * 10.0 ** rng.integers(-8, 8, n)
    x[rng.random(n) < 0.1] = np.nan
    columns = {"near": many, "far": many * 7_919_000_003, "few": many % 9, "x": x}
    table(tmp_path, columns | {"text": (many % 5000).astype("U")})
    what = "count, sum:x, mean:x, std:x, min:x, max:x, histogram:x:4:-1:1 by"
    script = f"""
import icecore, pickle, sys
t = icecore.open({str(tmp_path / "r.icecore")!r}).table("/t")
keys = ["near", "far", "few", "text", "few, near", "text, far, few"]
sys.stdout.buffer.write(pickle.dumps([t.reduce("{what} " + key) for key in keys]))
"""
    results = []
    for threads in ("1", "2", "3", "16"):
        environment = {**os.environ, "ICECORE_THREADS": threads}
        ran = subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True)
        results.append(ran.stdout)
    assert all(result == results[0] for result in results)
    frame = pd.DataFrame(columns).groupby(["few", "near"]).x
    wanted = frame.agg(["sum", "min", "max"]).to_numpy()
    rows = pickle.loads(results[0])[4]
    got = np.array([[row[f"{name}:x"] for name in ("sum", "min", "max")] for row in rows], "f8")
    got[np.isnan(wanted[:, 1]), 0] = 0  # where pandas has the sum of no values
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


def test_extremes_of_texts_are_pandas(tmp_path: Path) -> None:
    rng, n = np.random.default_rng(4), 20_000
    words = np.array(["", "b", "bb", "B", "é", "z", "\uffff", "😀", "none"])
    s = words[rng.integers(0, len(words), n)]
    k = rng.integers(0, 300, n)
    s[k == 7] = "none"
    with icecore.create(tmp_path / "r").writer() as w:
        w.array("/t/k", "i8", (n,), chunks=(4096,))[...] = k
        w.array("/t/fixed", "U4", (n,), chunks=(4096,), attrs={"_FillValue": "none"})[...] = s
        w.array("/t/any", str, (n,), chunks=(4096,))[...] = s
    t = icecore.open(tmp_path / "r").table("/t")
    frame = pd.DataFrame({"k": k, "any": s, "fixed": np.where(s == "none", None, s)})
    for where, rows in ((None, frame), ("k < 8", frame[frame.k < 8]), ("k = 7", frame[frame.k == 7])):
        wanted = rows.groupby("k").agg(a=("any", "min"), b=("any", "max"))
        fixed = rows[rows.fixed.notna()].groupby("k").fixed.agg(["min", "max"]).reindex(wanted.index)
        both = [
            one + [None if value != value else value for value in two]
            for one, two in zip(wanted.values.tolist(), fixed.values.tolist(), strict=True)
        ]
        what = "min:any, max:any, min:fixed, max:fixed"
        batches = t.scan(["k", "any", "fixed"], where, memory=1 << 16)
        assert len(list(batches.batches())) > 1 or where
        assert [list(row.values())[1:] for row in t.reduce(f"{what} by k", where)] == both
        there = rows.fixed.dropna()
        ends = [there.min(), there.max()] if len(there) else [None, None]
        assert list(t.reduce(what, where)[0].values()) == [rows["any"].min(), rows["any"].max(), *ends]
    assert t.reduce("min:any, max:any", "k > 999") == [{"min:any": None, "max:any": None}]
    assert t.reduce("max:any by any", "k = 7") == [{"any": "none", "max:any": "none"}]


def test_reductions_by_columns(tmp_path: Path) -> None:
    t = table(
        tmp_path,
        {"k": np.array([2, 1, 2]), "x": np.array([0.5, np.nan, 1.5]), "s": np.array(["b", "a", "c"])},
    )
    what = "count, mean:x, max:s by k"
    found = t.reduce(what)
    assert pa.table(found).to_pylist() == found.rows == t.reduce(what)
    assert pa.table(found).schema.types == [pa.int64(), pa.int64(), pa.float64(), pa.large_string()]
    arrays = found.to_numpy()
    assert (arrays["k"].tolist(), arrays["count"].tolist(), arrays["max:s"].tolist()) == (
        [1, 2],
        [1, 2],
        ["a", "c"],
    )
    assert np.array_equal(arrays["mean:x"], [np.nan, 1.0], equal_nan=True)
    assert t.reduce(what, limit=1).rows == found.rows[:1]
    assert t.reduce(what, "x > 9").rows == []
