"""Data frames and Arrow tables as sources of `pack`: what is read back equals what was packed."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
import pyarrow.compute as pc  # noqa: E402
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

UTC = dt.UTC
NOON = dt.datetime(2020, 1, 1, 12, 30, 15, 250000)

#: a column for each type that can be packed, nulls included
COLUMNS: dict[str, Any] = {
    "i8": pa.array([1, None, -128, 127], pa.int8()),
    "i16": pa.array([1, 2, 3, 4], pa.int16()),
    "i32": pa.array([-(2**31), None, 2**31 - 1, 0], pa.int32()),
    "i64": pa.array([2**53 + 1, None, -(2**63) + 1, 2**63 - 1]),
    "u8": pa.array([0, 255, None, 7], pa.uint8()),
    "u64": pa.array([0, 2**64 - 1, None, 2**63], pa.uint64()),
    "f16": pa.array(np.array([1, 2.5, -0.0, 65504], "f2")),
    "f32": pa.array([1.5, None, -0.0, float("inf")], pa.float32()),
    "f64": pa.array([0.1, None, 1e300, -5e-324]),
    "truth": pa.array([True, False, True, False]),
    "maybe": pa.array([True, None, False, True]),
    "text": pa.array(["", "a", "ü\0", "x" * 300]),
    "texts": pa.array(["", None, "<null>", "<null 1>"]),
    "large": pa.array(["a", None, "c", "d"], pa.large_string()),
    "category": pa.array(["b", "a", None, "b"]).dictionary_encode(),
    "numbers": pa.array([20, 10, 20, None]).dictionary_encode(),
    "naive": pa.array([NOON, None, NOON, NOON], pa.timestamp("us")),
    "zone": pa.array([NOON, None, NOON, NOON], pa.timestamp("ns", "Europe/Berlin")),
    "day": pa.array([dt.date(1969, 12, 31), None, dt.date(9999, 1, 1), dt.date(1, 1, 1)]),
    "day64": pa.array([dt.date(1969, 12, 31), None, dt.date(2020, 1, 1), dt.date(1, 1, 1)], pa.date64()),
    "clock": pa.array([NOON.time(), None, dt.time(0), dt.time(23, 59, 59)], pa.time64("us")),
    "clock32": pa.array([dt.time(1), None, dt.time(0), dt.time(23, 59, 59)], pa.time32("s")),
    "span": pa.array([dt.timedelta(days=-1), None, dt.timedelta(0), dt.timedelta(1)], pa.duration("ms")),
    "price": pa.array([Decimal("0.10"), None, Decimal("-99.99"), Decimal(3)], pa.decimal128(10, 2)),
    "pair": pa.array([[1, 2], [3, None], [5, 6], [7, 8]], pa.list_(pa.int16(), 2)),
    "triple": pa.array([[1.0, 2, 3]] * 4, pa.list_(pa.float32())),
    "names": pa.array([["a", "b"]] * 4, pa.list_(pa.string(), 2)),
    "nothing": pa.nulls(4),
}


def packed(tmp_path: Path, item: Any, **options: Any) -> Any:
    icecore.pack(item, tmp_path / "r.icecore", group="/t", **options)
    return icecore.open(tmp_path / "r.icecore").table("/t")


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_of_each_type_comes_back(tmp_path: Path, name: str) -> None:
    table = pa.table({name: COLUMNS[name]})
    found = packed(tmp_path, table).scan().read_all()
    assert found.schema.types == table.schema.types
    assert found[name].to_pylist() == table[name].to_pylist()
    assert found[name].null_count == table[name].null_count


def test_columns_keep_their_order_and_answer_clauses(tmp_path: Path) -> None:
    table = pa.table(COLUMNS)
    found = packed(tmp_path, table)
    assert list(found) == list(COLUMNS)
    assert found.scan(where="texts is null").count() == 1
    assert found.scan(["text"], "texts = '<null>'").read_all()["text"].to_pylist() == ["ü\0"]
    assert found.scan(where="maybe is null").count() == 1
    assert found.scan(where="price > 0.05 and price < 0.2").count() == 1
    assert found.scan(where="zone < '2020-01-02'").count() == 3
    assert found.scan(where="not texts = 'a'").count() == 3  # null is unknown
    assert found.scan(where="clock >= '23:59:59'").count() == 1
    assert found.reduce("count, count:texts, max:i32").to_numpy()["count:texts"].tolist() == [3]
    assert len(found.to_polars().collect()) == 4


def numbers(rows: int = 20_000) -> Any:
    rng = np.random.default_rng(7)
    values = rng.normal(size=rows)
    return pa.table(
        {
            "n": pa.array(np.arange(rows)),
            "x": pa.array(values, mask=values > 1),
            "k": pa.array([f"k{i % 7}" for i in range(rows)]).dictionary_encode(),
        }
    )


def test_long_tables_have_chunks_and_summaries_of_tables(tmp_path: Path) -> None:
    table = numbers()
    found = packed(tmp_path, table)
    assert found["n"].chunks == (1 << 14,)
    scan = found.scan(["n"], "n >= 19000")
    assert scan.count() == 1000
    assert scan.report()["zones_pruned"] == 4
    assert found.scan().read_all().equals(table)
    short = packed(tmp_path / "short", table.slice(0, 100))
    assert not [path for path in short._group.repo._nodes if "__summary__" in path]
    assert [path for path in found._group.repo._nodes if "__summary__" in path]


def test_sliced_and_chunked_tables(tmp_path: Path) -> None:
    table = pa.concat_tables([pa.table(COLUMNS).slice(1, 2), pa.table(COLUMNS).slice(3)])
    found = packed(tmp_path, table).scan().read_all()
    assert found.to_pylist() == table.to_pylist()


def test_streams_and_batches(tmp_path: Path) -> None:
    table = numbers(100)
    assert packed(tmp_path / "a", table.to_reader(30)).scan().read_all().equals(table)
    batch = table.combine_chunks().to_batches()[0]
    assert packed(tmp_path / "b", batch).scan().read_all().equals(table)
    again = packed(tmp_path / "a2", packed(tmp_path / "a3", table).scan(where="n < 10"))
    assert again.scan().read_all()["n"].to_pylist() == list(range(10))


def test_pandas_frames(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "i": [1, 2, 3],
            "n": pd.array([1, None, 3], "Int64"),
            "s": ["a", None, "c"],
            "c": pd.Categorical(["x", "y", "x"]),
            "t": pd.date_range("2020-01-01", periods=3, tz="Europe/Berlin"),
            "b": pd.array([True, None, False], "boolean"),
        }
    )
    found = packed(tmp_path, frame).to_pandas()
    expected = pa.table(frame).to_pandas(ignore_metadata=True)
    expected[["n", "b"]] = frame[["n", "b"]]  # nulls don't make them floats and objects
    pd.testing.assert_frame_equal(found, expected, check_dtype=True)
    assert [str(found[name].dtype) for name in "inb"] == ["int64", "Int64", "boolean"]
    named = frame.set_index(["s", "i"])
    assert list(packed(tmp_path / "i", named)) == ["s", "i", "n", "c", "t", "b"]


def test_polars_frames(tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(
        {
            "n": [1, None, 3],
            "s": ["a", None, "c"],
            "c": pl.Series(["x", "y", None], dtype=pl.Categorical),
            "t": pl.Series([NOON, None, NOON]).dt.replace_time_zone("UTC"),
            "l": pl.Series([[1, 2], [3, 4], [5, None]]),
            "a": pl.Series([[1, 2], [3, 4], [5, 6]], dtype=pl.Array(pl.Int8, 2)),
        }
    )
    found = pl.DataFrame(packed(tmp_path, frame))
    assert found.schema["t"] == frame.schema["t"]
    assert found.with_columns(pl.col("c").cast(pl.Categorical)).rows() == frame.rows()


def test_tables_are_appended_and_replaced(tmp_path: Path) -> None:
    table, place = numbers(9000), tmp_path / "r.icecore"
    icecore.pack(table.slice(0, 5000), place, group="/t")
    icecore.pack(table.slice(5000), place, group="/t", concat="row", append=True)
    found = icecore.open(place).table("/t")
    assert found.scan().read_all().equals(table)
    icecore.pack(pa.table({"n": [1, 2]}), place, group="/t", replace=True)
    found = icecore.open(place).table("/t")
    assert found.scan().read_all().to_pydict() == {"n": [1, 2]}
    assert not {"/t/x", "/t/k"} & set(icecore.open(place)), "columns of the old table are gone"


def test_an_array_beside_a_replaced_table_has_its_length(tmp_path: Path) -> None:
    """It is no column that the table wrote, so it is neither deleted nor left with another length."""
    place = tmp_path / "r.icecore"
    icecore.pack(numbers(50), place, group="/t")
    with icecore.open(place).writer() as w:
        w.array("/t/mine", "i4", (50,), dims=("row",))[...] = np.arange(50)
    with pytest.raises(icecore.Error, match=r"50 in the repository \(/t/mine\)") as refused:
        icecore.pack(pa.table({"n": [1, 2]}), place, group="/t", replace=True)
    assert refused.value.kind == "mismatch"
    assert icecore.open(place).table("/t", ["n", "x", "k"]).scan().count() == 50
    np.save(tmp_path / "c.npy", np.arange(4))
    both = [pa.table({"n": [1, 2]}), tmp_path / "c.npy"]
    report = icecore.pack(both, place, group="/t", replace=True, keep_going=True)
    assert [failure.kind for failure in report.failures] == ["mismatch"]
    assert "/t/c" in icecore.open(place)
    names = ["n", "x", "k"]
    assert icecore.open(place).table("/t", names).scan().read_all().equals(numbers(50)), (
        "nothing of it is lost"
    )
    icecore.pack(numbers(50).select(["n"]), place, group="/t", replace=True)
    assert {"/t/n", "/t/mine"} <= set(icecore.open(place))
    assert "/t/k" not in icecore.open(place)


def test_nulls_are_appended_to_a_column_that_had_none(tmp_path: Path) -> None:
    place = tmp_path / "r.icecore"
    icecore.pack(pa.table({"n": [1, 2]}), place, group="/t")
    icecore.pack(pa.table({"n": [3, None]}), place, group="/t", concat="row", append=True)
    assert icecore.open(place).table("/t").scan().read_all().to_pydict() == {"n": [1, 2, 3, None]}


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array([b"a"]), "binary"),
        (pa.array([{"a": 1}]), "struct"),
        (pa.array([[1], [1, 2]]), "from 1 to 2 values"),
        (pa.array([[1], None], pa.list_(pa.int8(), 1)), "null"),
        (pa.array([[[1]]]), "list"),
        (pa.array([Decimal("0.1234567890123456789")]), "digits"),
    ],
)
def test_what_can_t_be_stored_is_refused_by_name(tmp_path: Path, column: Any, said: str) -> None:
    with pytest.raises(icecore.Error, match=said) as caught:
        icecore.pack(pa.table({"ok": pa.nulls(len(column), pa.int8()), "bad": column}), tmp_path / "r")
    assert caught.value.kind == "dtype"
    assert "/bad" in str(caught.value)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("names", [["a", "a"], ["a/b"], [""], []])
def test_names_that_no_array_has_are_refused(tmp_path: Path, names: list[str]) -> None:
    table = pa.table([pa.array([1])] * len(names), names=names)
    with pytest.raises(icecore.Error) as caught:
        icecore.pack(table, tmp_path / "r")
    assert caught.value.kind == "invalid"


def test_a_column_that_holds_every_number_is_widened(tmp_path: Path) -> None:
    table = pa.table({"n": pa.array([*range(256), None], pa.uint8())})
    icecore.pack(table, tmp_path / "r", group="/t")
    found = icecore.open(tmp_path / "r").table("/t")
    assert found["n"].dtype == np.dtype("u2")
    assert found.scan().read_all().equals(table)


TYPES = {
    pa.int8(): st.integers(-128, 127),
    pa.uint16(): st.integers(0, 2**16 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.just("<null>"),
    pa.timestamp("us", "UTC"): st.integers(-(2**50), 2**50),
    pa.duration("s"): st.integers(-(2**40), 2**40),
    pa.date32(): st.integers(-(2**20), 2**20),
    pa.time64("us"): st.integers(0, 86_399_999_999),
    pa.dictionary(pa.int32(), pa.string()): st.sampled_from(["a", "b", "<null>", ""]),
}


@st.composite
def tables(draw: st.DrawFn) -> Any:
    rows = draw(st.integers(1, 40))
    kinds = draw(st.lists(st.sampled_from(list(TYPES)), min_size=1, max_size=4))
    columns = {}
    for i, kind in enumerate(kinds):
        values = draw(st.lists(st.none() | TYPES[kind], min_size=rows, max_size=rows))
        if pa.types.is_temporal(kind):
            whole = pa.int32() if kind.bit_width == 32 else pa.int64()
            columns[f"c{i}"] = pa.array(values, whole).cast(kind)
        elif pa.types.is_dictionary(kind):
            columns[f"c{i}"] = pa.array(values, kind.value_type).dictionary_encode()
        else:
            columns[f"c{i}"] = pa.array(values, kind)
    return pa.table(columns)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables())
def test_any_table_comes_back(tmp_path_factory: pytest.TempPathFactory, table: Any) -> None:
    found = packed(tmp_path_factory.mktemp("t"), table)
    back = found.scan().read_all()
    assert back.schema.types == table.schema.types
    assert back.to_pydict() == table.to_pydict()
    for name in table.column_names:
        assert found.scan(where=f"{name} is null").count() == table[name].null_count


def test_the_command_line_queries_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from typer.testing import CliRunner

    icecore.pack(numbers(100), tmp_path / "r.icecore", group="/t")
    from icecore.cli import table

    done = CliRunner().invoke(table(), ["query", str(tmp_path / "r.icecore"), "/t", "--where", "n < 3"])
    assert done.exit_code == 0
    assert "k0" in done.output
    assert pc.sum(numbers(100)["n"]).as_py() == 4950
