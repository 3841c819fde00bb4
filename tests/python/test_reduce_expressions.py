"""Keys and arguments of reductions that are expressions: values equal NumPy's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest

N = 40_000
RNG = np.random.default_rng(5)
COLUMNS: dict[str, np.ndarray] = {
    "lat": RNG.uniform(-90, 90, N),
    "n": RNG.integers(-100, 100, N).astype("i2"),
    "tb": RNG.normal(200, 30, N).astype("f4"),
    "when": np.datetime64("1999-12-30", "ns") + RNG.integers(0, 10**16, N).astype("m8[ns]"),
    "seconds": RNG.integers(0, 10**9, N),
}
COLUMNS["tb"][::7] = np.nan


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    place = tmp_path_factory.mktemp("expressions") / "r"
    with icecore.create(place).writer() as w:
        for name, values in COLUMNS.items():
            attrs = {"units": "seconds since 2000-01-01"} if name == "seconds" else {}
            w.array(f"/t/{name}", values.dtype, values.shape, attrs=attrs)[...] = values
        w.array("/t/a, b", "f8", (N,))[...] = COLUMNS["lat"]
    return icecore.open(place).table("/t")


def calendar(values: np.ndarray, unit: str) -> np.ndarray:
    """A part of times, by NumPy."""
    coarse = {"year": "Y", "month": "M", "day": "D", "hour": "h", "minute": "m", "second": "s"}
    wider = {"month": "Y", "day": "M", "hour": "D", "minute": "h", "second": "m"}
    ticks = values.astype(f"M8[{coarse[unit]}]")
    if unit == "year":
        return ticks.astype("i8") + 1970
    since = ticks - ticks.astype(f"M8[{wider[unit]}]").astype(ticks.dtype)
    return since.astype("i8") + (unit in ("month", "day"))


C = COLUMNS
SINCE_2000 = np.datetime64("2000-01-01", "s") + C["seconds"].astype("m8[s]")
EXPRESSIONS: dict[str, np.ndarray] = {
    "floor(lat * 2) / 2": np.floor(C["lat"] * 2) / 2,
    "ceil(lat / 30)": np.ceil(C["lat"] / 30),
    "round(n / 4)": np.round(C["n"] / 4),
    "abs(n) % 7": np.abs(C["n"].astype("f8")) % 7,
    "floor(sqrt(abs(n)))": np.floor(np.sqrt(np.abs(C["n"].astype("f8")))),
    "floor(log(abs(n) + 1))": np.floor(np.log(np.abs(C["n"].astype("f8")) + 1)),
    "round(sin(n) + cos(n))": np.round(np.sin(C["n"].astype("f8")) + np.cos(C["n"].astype("f8"))),
    "min(n, 5, -n)": np.minimum(np.minimum(C["n"].astype("f8"), 5), -C["n"].astype("f8")),
    "max(n, 0)": np.maximum(C["n"].astype("f8"), 0),
    "floor(exp(n / 50))": np.floor(np.exp(C["n"] / 50)),
    'floor("a, b" / 45)': np.floor(C["lat"] / 45),
} | {
    f"{unit}({name})": calendar(values, unit).astype("f8")
    for unit in ("year", "month", "day", "hour", "minute", "second")
    for name, values in (("when", C["when"]), ("seconds", SINCE_2000))
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_keys(table: Any, text: str) -> None:
    keys, places = np.unique(EXPRESSIONS[text], return_inverse=True)
    found = table.reduce(f"count, mean:tb by {text} as k").to_numpy()
    np.testing.assert_array_equal(found["k"], keys)
    np.testing.assert_array_equal(found["count"], np.bincount(places))
    there = ~np.isnan(C["tb"])
    sums = np.bincount(places[there], C["tb"][there].astype("f8"), len(keys))
    np.testing.assert_allclose(found["mean:tb"], sums / np.bincount(places[there], minlength=len(keys)))


def test_values(table: Any) -> None:
    found = table.reduce("count:tb * 2, max:tb - 273.15 as celsius, histogram:n * 2:4:-200:200")[0]
    assert found["count:tb * 2"] == np.count_nonzero(~np.isnan(C["tb"]))
    assert found["celsius"] == np.nanmax(C["tb"].astype("f8") - 273.15)
    counts = np.histogram(C["n"] * 2.0, 4, (-200, 200))[0].tolist()
    assert found["histogram:n * 2:4:-200:200"]["counts"] == counts


def test_null_gives_the_key_null(table: Any) -> None:
    found = table.reduce("count by floor(tb / 1000)")
    assert found[-1] == {"floor(tb / 1000)": None, "count": np.count_nonzero(np.isnan(C["tb"]))}


def test_a_clause_and_several_keys(table: Any) -> None:
    found = table.reduce("count by floor(lat / 60) as y, n % 2 as odd", where="floor(lat / 60) >= 0")
    rows = C["lat"] >= 0
    both = np.stack([np.floor(C["lat"][rows] / 60), C["n"][rows] % 2.0], 1)
    keys, counts = np.unique(both, axis=0, return_counts=True)
    assert [[row["y"], row["odd"]] for row in found] == keys.tolist()
    assert [row["count"] for row in found] == counts.tolist()


@pytest.mark.parametrize(
    ("what", "kind", "message"),
    [
        ("count by floor(latt)", "not-found", "there is no column latt"),
        ("count by floor(lat", "invalid", "expected ,"),
        ("count by hour(lat)", "dtype", "hour needs times"),
        ("count by hour(lat * 2)", "invalid", "needs a column of times"),
        ("count by nope(lat)", "not-found", "unknown function nope"),
        ("count by lat > 3", "invalid", "expected the end of the expression"),
        ("count by min(lat)", "invalid", "two or more"),
        ("count by floor(lat) as x, floor(n) as x", "invalid", "two result columns"),
    ],
)
def test_mistakes(table: Any, what: str, kind: str, message: str) -> None:
    with pytest.raises(icecore.Error, match=message) as caught:
        table.reduce(what)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    "what", ["count", "count, mean:tb by n", "max:when by floor(lat)", "histogram:n:4:0:1"]
)
def test_reductions_do_not_import_pandas(table: Any, what: str) -> None:
    place = Path(table._group.repo.url.removeprefix("file://"))
    code = (
        "import sys; from icecore import cli; "
        f"status = cli.run(['query', {str(place)!r}, '/t', '--reduce', {what!r}]); "
        "sys.exit(status or 'pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
