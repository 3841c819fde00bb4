"""A pruned answer is the unpruned one: each clause with and without summaries, through every face of a table.

The values are those that bounds lose: infinities, NaN, -0.0, integers beyond 2**53, nulls, empty zones.
"""

from __future__ import annotations

import json
import warnings

import icecore
import numpy as np
import pytest
from icecore.tables.summaries.write import write as summarise

ak = pytest.importorskip("awkward")
pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")

ZONE = 4096
ROWS = 3 * ZONE + 100
#: values that one zone of a column has beside its ordinary ones
SPECIAL = {
    "f8": [np.inf, -np.inf, np.nan, -0.0, 5e-324, 1.7976931348623157e308, 9007199254740993.0, 0.1],
    "f4": [np.inf, -np.inf, np.nan, -0.0, 1e-45, 3.4e38, 16777217.0, 0.1],
    "f2": [np.inf, -np.inf, np.nan, -0.0, 6e-8, 65504.0, 2049.0, 0.1],
    "i8": [2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 0],
    "u8": [2**53 + 1, 2**63, 2**64 - 1, 2**64 - 2, 0, 1],
    "i1": [-128, 127, 0, -1],
    "?": [True, False],
}
NUMBERS = [
    *(
        0,
        -0.0,
        0.1,
        -1,
        50,
        127.5,
        -128,
        2049,
        65504,
        16777217,
        1e-45,
        3.4e38,
        3.5e38,
        1e300,
        -1e300,
        1e999,
        -1e999,
    ),
    *(2**53, 2**53 + 1, 9007199254740993.0, 2**63 - 1, 2**63, 2**64 - 1, 1.8446744073709552e19),
]
OPERATORS = ["<", "<=", ">", ">=", "==", "!="]


def column(kind, random):
    """Three zones: ordinary values, one special value among them, special values only."""
    special = np.array(SPECIAL[kind], kind)
    values = random.integers(0, 2 if kind == "?" else 100, ROWS).astype(kind)
    values[ZONE + 17] = random.choice(special)
    values[2 * ZONE : 3 * ZONE] = random.choice(special, ZONE)
    values[3 * ZONE :] = random.choice(special)
    return values


def columns(seed):
    random = np.random.default_rng(seed)
    made = {f"c_{np.dtype(kind).name}": column(kind, random) for kind in SPECIAL}
    made["empty"] = np.where(np.arange(ROWS) < 2 * ZONE, np.nan, 7.0)
    rows = np.arange(ROWS)
    made["nulled"] = np.where(rows // ZONE == 1, -999, column("i1", random).astype("i4"))
    made["nulled_real"] = np.where(rows % 3 == 0, np.float32(-999), column("f4", random))
    return made


@pytest.fixture(scope="module", params=range(3))
def tables(request, tmp_path_factory):
    """The same table with and without summaries: flat columns, text, times, fixed shapes and lists."""
    place, data = tmp_path_factory.mktemp("pruning"), columns(request.param)
    random = np.random.default_rng(request.param + 100)
    counts = np.where(np.arange(ROWS) // ZONE == 1, 0, random.integers(0, 3, ROWS))
    for name in ("bare", "known"):
        repo = icecore.create(place / name)
        with repo.writer() as w:
            w.group("/t", {"entries": ROWS})
            for each, values in data.items():
                attrs = (
                    {"_FillValue": -999.0 if values.dtype.kind == "f" else -999} if "nulled" in each else {}
                )
                w.array(f"/t/{each}", values.dtype, values.shape, attrs=attrs)[...] = values
            w.array("/t/nx", "i4", (ROWS,))[...] = counts
            w.array("/t/row", "i8", (ROWS,))[...] = np.arange(ROWS)
            w.array("/t/three", "f4", (ROWS, 3))[...] = random.normal(0, 1, (ROWS, 3))
            x = np.where(np.arange(counts.sum()) % 7 == 0, np.inf, np.arange(counts.sum()) % 50)
            w.group("/t/x", {"jagged": {"offsets": "offsets", "content": "content"}})
            w.array("/t/x/offsets", "i8", (ROWS + 1,))[...] = np.concatenate([[0], np.cumsum(counts)])
            w.array("/t/x/content", "f4", x.shape)[...] = x
            random = np.random.default_rng(request.param + 100)
            random.integers(0, 3, ROWS)
        if name == "known":
            summarise(repo.at("main"), "/t")
    return tuple(icecore.open(place / name).table("/t") for name in ("bare", "known"))


def clauses(names, count, seed):
    """Comparisons of columns with numbers, and some that join two."""
    random = np.random.default_rng(seed)
    one = [(name, op, number) for name in names for op in OPERATORS for number in NUMBERS]
    for index in random.choice(len(one), count, replace=False):
        yield [one[index]]
    for pair in random.choice(len(one), (count // 4, 2)):
        yield [one[index] for index in pair]


FLAT = [*(f"c_{np.dtype(kind).name}" for kind in SPECIAL), "empty", "nulled", "nulled_real", "nx"]


def written(number):
    return repr(number).replace("inf", "1e999")


@pytest.mark.parametrize("word", ["and", "or"])
def test_where_clauses(tables, word):
    bare, known = tables
    pruned = 0
    for parts in clauses(FLAT, 300, 1):
        where = f" {word} ".join(
            f"{n} {'<>' if o == '!=' else o.replace('==', '=')} {written(x)}" for n, o, x in parts
        )
        try:
            expected = bare.to_numpy(["row"], where)["row"]
        except icecore.Error as error:
            with pytest.raises(icecore.Error, match=error.kind):
                known.to_numpy(["row"], where)
            continue
        scan = known.scan(["row"], where)
        assert np.array_equal(scan.to_numpy()["row"], expected), where
        pruned += scan.report()["zones_pruned"]
        assert known.scan(["row", "x"], where).count() == len(expected), where
        assert known.reduce("count", where=where)[0]["count"] == len(expected), where
    assert pruned > 100  # the summaries are used


@pytest.mark.parametrize("word", ["and", "or", "&", "|"])
def test_cuts(tables, word):
    bare, known = tables
    pruned = 0
    for parts in clauses(FLAT, 200, 2):
        tests = [f"{n} {o} {written(x)}" for n, o, x in parts]
        cut = f" {word} ".join(f"({each})" for each in tests)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                expected = bare.arrays(["row", "x", "three"], cut)
            except icecore.Error:
                continue
            found = known.arrays(["row", "x", "three"], cut)
        assert np.array_equal(found["row"], expected["row"]), cut
        assert ak.to_list(found["x"][:5]) == ak.to_list(expected["x"][:5]), cut
        assert ak.array_equal(found["three"], expected["three"]), cut
        pruned += known.bytes_read < bare.bytes_read
    assert pruned > 20


def test_cuts_on_lists_and_shapes(tables):
    bare, known = tables
    for cut in (
        "c_float64 > 1e308 and any(x > 40)",
        "nx > 0 and x[:, 0] > 1e30",
        "max(x) > 1e30",
        "three[:, 0] > 3 or c_int64 > 9e18",
        "not (c_float32 < 1e30)",
        "c_bool and c_uint64 >= 18446744073709551614",
        "0 < c_float16 <= 1e999",
    ):
        assert ak.to_list(known.arrays(["row"], cut)) == ak.to_list(bare.arrays(["row"], cut)), cut


def test_polars_and_sql(tables):
    bare, known = tables
    names = ["row", *FLAT]
    frame = pl.from_arrow(bare.scan(names).read_all())
    lazy = known.to_polars()
    compare = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
    for parts in clauses(FLAT[:6] + FLAT[7:], 150, 3):
        test = None
        for name, op, number in parts:
            each = getattr(pl.col(name), compare[op])(number)
            test = each if test is None else test & each
        try:
            expected = frame.filter(test)["row"].to_list()
        except Exception:  # numbers that Polars can't compare with the column
            continue
        assert lazy.filter(test).select("row").collect()["row"].to_list() == expected, str(test)
        first = parts[0]
        if abs(first[2]) < 2**63 and not np.isinf(first[2]):
            query = f"select row from t where {first[0]} {first[1].replace('==', '=')} {first[2]!r}"
            want = pl.SQLContext(t=frame).execute(query).collect()["row"].to_list()
            assert pl.SQLContext(t=lazy).execute(query).collect()["row"].to_list() == want, query


def test_duckdb(tables):
    bare, known = tables
    names = [name for name in FLAT if name != "c_float16"]
    for (name, op, number), *_ in clauses(names, 60, 4):
        if name == "c_bool" or np.isinf(number):
            continue
        counts = []
        for table in (bare, known):
            t = table.scan(["row", name])
            assert t is not None
            query = f"select count(*) from t where {name} {op.replace('==', '=')} {number!r}"
            try:
                counts.append(duckdb.sql(query).fetchall())
            except duckdb.Error as error:
                counts.append(type(error))
        assert counts[0] == counts[1], query


def test_texts_and_times(tmp_path):
    """Columns without bounds, and times with not-a-time."""
    times = np.arange(ROWS).astype("M8[s]")
    times[ZONE : 2 * ZONE] = np.datetime64("NaT")
    texts = np.array([f"r{i % 5}" for i in range(ROWS)], object)
    for name in ("bare", "known"):
        repo = icecore.create(tmp_path / name)
        with repo.writer() as w:
            w.array("/t/time", "M8[s]", (ROWS,))[...] = times
            w.array("/t/name", str, (ROWS,))[...] = texts
            w.array("/t/row", "i8", (ROWS,))[...] = np.arange(ROWS)
        if name == "known":
            summarise(repo.at("main"), "/t")
    bare, known = (icecore.open(tmp_path / name).table("/t") for name in ("bare", "known"))
    for where in (
        "time < '1970-01-01T00:10:00'",
        "time is null",
        "not time > '1970-01-01T01:00:00'",
        "name = 'r3' and row > 9000",
    ):
        assert np.array_equal(known.to_numpy(["row"], where)["row"], bare.to_numpy(["row"], where)["row"]), (
            where
        )
    for cut in ('name == "r3"', 'name == "r3" and row > 9000', "row > 12300"):
        assert ak.to_list(known.arrays(["row"], cut)) == ak.to_list(bare.arrays(["row"], cut)), cut
    assert json.dumps(known.arrays(["row"], "row > 12300")["row"].to_list())
