"""Values that stand for null: null in Arrow as in clauses, in NumPy themselves, whatever is beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.tables.summaries import write

pytest.importorskip("pyarrow")
N = 9000
AT = np.arange(N)
DATA: dict[str, Any] = {
    "lon": AT * 0.04,
    "lat": np.where(AT % 5 == 0, -999, 45).astype("f4"),
    "c": np.where(AT % 3 == 0, -999, AT).astype("i4"),
    "day": np.where(AT % 7 == 0, np.datetime64("NaT"), np.datetime64("2020-01-01", "D") + AT),
    "span": (AT * 1000).astype("m8[ms]"),
    "name": np.array(["Ä", "", "n/a", "none"])[AT % 4],
    "code": np.array([b"x", b"\xc3\x84", b"n/a"])[AT % 3],
    "word": np.array(["é", "", "n/a"], dtype=object)[AT % 3],
    "pair": np.stack([np.where(AT % 2 == 0, -1, AT), AT], axis=1),
    "codes": np.stack([np.array([b"x", b"n/a"])[AT % 2], np.full(N, b"y")], axis=1),
}
ATTRS = {
    "lat": {"_FillValue": -999},
    "c": {"_FillValue": -999},
    "name": {"missing_value": ["n/a", "none"]},
    "code": {"_FillValue": "n/a"},
    "pair": {"_FillValue": -1},
    "codes": {"_FillValue": "n/a"},
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path: Path = tmp_path_factory.mktemp("nulls") / "n.icecore"
    with icecore.create(path).writer() as w:
        for name, values in DATA.items():
            dtype = str if name == "word" else values.dtype
            chunks = (4096, *values.shape[1:])
            w.array(f"/t/{name}", dtype, values.shape, chunks=chunks, attrs=ATTRS.get(name))[...] = values
        write.write(w, "/t")
    return icecore.open(path).table("/t")


@pytest.mark.parametrize("beside", [[], ["word"]])
@pytest.mark.parametrize("where", [None, "lon >= 100"])
def test_numpy_has_what_is_stored(table: Any, beside: list[str], where: str | None) -> None:
    names = [name for name in DATA if name != "word"] + beside
    got = table.to_numpy(names, where)
    rows = slice(None) if where is None else DATA["lon"] >= 100
    for name in names:
        assert got[name].dtype == DATA[name].dtype, name
        np.testing.assert_array_equal(got[name], DATA[name][rows], name)
    none = table.to_numpy(names, "lon < 0")
    assert {name: (values.dtype, values.shape) for name, values in none.items()} == {
        name: (DATA[name].dtype, (0, *DATA[name].shape[1:])) for name in names
    }


def test_numpy_of_what_lies_inside(table: Any) -> None:
    shapely = pytest.importorskip("shapely")
    inside = (DATA["lon"] > 10) & (DATA["lon"] < 200) & (DATA["lat"] == 45)
    scan = table.scan(["c", "code", "pair"], within=shapely.box(10, -1000, 200, 90), limit=900)
    got = scan.to_numpy()
    for name, values in got.items():
        assert values.dtype == DATA[name].dtype
        np.testing.assert_array_equal(values, DATA[name][inside][:900], name)


@pytest.mark.parametrize("name", ["name", "code", "codes"])
def test_texts_that_stand_for_null_are_null(table: Any, name: str) -> None:
    fill = ATTRS[name].get("missing_value", ["n/a"])
    plain = DATA[name].astype("U") if name != "code" else np.array(["x", "Ä", "n/a"])[AT % 3]
    wanted = np.where(np.isin(plain, fill), None, plain.astype(object))  # type: ignore[call-overload]
    got = table.scan([name]).read_all()[name].to_pylist()
    assert got == wanted.tolist()
    if name != "codes":
        assert table.scan([name], f"{name} is null").count() == np.isin(plain, fill).sum()
        [row] = [row for row in table.reduce(f"count by {name}") if row[name] is None]
        assert row["count"] == np.isin(plain, fill).sum()


def test_polars_sees_the_same_nulls(table: Any) -> None:
    pl = pytest.importorskip("polars")
    rows = pl.from_arrow(table.scan(["name", "c"]).read_all())
    name = pl.col("name")
    for predicate in (name == "n/a", name.is_null(), name != "Ä", ~(name == ""), name.is_in(["none", ""])):
        got = table.to_polars().select("name", "c").filter(predicate).collect()
        assert got.equals(rows.filter(predicate)), str(predicate)
