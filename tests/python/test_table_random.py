"""Random clauses over random rows: the same rows as pandas finds, with and without pruning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from icecore.errors import Error
from icecore.tables.summaries import write

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
N = 20_000
NULL = -999


def rows() -> Any:
    """Columns that wander, so that zones differ; with nulls, infinities and a zone of nothing but nulls."""
    rng = np.random.default_rng(11)
    walk = np.cumsum(rng.normal(size=N))
    f = np.round(walk, 1)
    f[rng.random(N) < 0.02] = np.nan
    f[4096:8192] = np.nan
    f[rng.integers(0, N, 5)] = np.inf
    i = (walk * 3).astype("i2")
    i[rng.random(N) < 0.1] = NULL
    return pd.DataFrame({"f": f, "g": rng.integers(0, 40, N).astype("f4") / 4, "i": i, "j": np.arange(N)})


@pytest.fixture(scope="module")
def frame() -> Any:
    return rows()


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory, frame: Any) -> Any:
    path = tmp_path_factory.mktemp("random") / "r.icecore"
    with icecore.create(path).writer() as w:
        for name in frame:
            values = frame[name].to_numpy()
            attrs = {"_FillValue": NULL} if name == "i" else {}
            w.array(f"/t/{name}", values.dtype, values.shape, chunks=(3000,), attrs=attrs)[...] = values
        write.write(w, "/t")
    return icecore.open(path).table("/t")


# A condition is a clause and, for a frame, where it is true and where it is false (the rest is unknown).
Both = tuple[Any, Any]
COLUMN = st.sampled_from("fgij")
NUMBER = st.one_of(
    st.integers(-300, 300), st.integers(-3000, 3000).map(lambda n: n / 10), st.sampled_from([1e300, NULL])
)


def known(frame: Any, name: str) -> Any:
    """A column with its nulls as NaN."""
    return frame[name].where(frame[name] != NULL).astype("f8") if name == "i" else frame[name]


def rounded(name: str, number: float) -> Any:
    """A constant as the column sees it."""
    with np.errstate(over="ignore"):
        return np.float32(number) if name == "g" else number


OPS = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">=": lambda a, b: a >= b,
    ">": lambda a, b: a > b,
}


@st.composite
def comparison(draw: Any) -> tuple[str, Any]:
    name, op, number = draw(COLUMN), draw(st.sampled_from(sorted(OPS))), draw(NUMBER)

    def ask(frame: Any) -> Both:
        values = known(frame, name)
        truth = OPS[op](values, rounded(name, number))
        return truth & values.notna(), ~truth & values.notna()

    return f"{name} {op} {number!r}", ask


@st.composite
def between(draw: Any) -> tuple[str, Any]:
    name, low, high, negated = draw(COLUMN), draw(NUMBER), draw(NUMBER), draw(st.booleans())

    def ask(frame: Any) -> Both:
        values = known(frame, name)
        truth = values.between(rounded(name, low), rounded(name, high))
        both = truth & values.notna(), ~truth & values.notna()
        return both[::-1] if negated else both

    return f"{name} {'not ' * negated}between {low!r} and {high!r}", ask


@st.composite
def within(draw: Any) -> tuple[str, Any]:
    name, numbers = draw(COLUMN), draw(st.lists(NUMBER, min_size=1, max_size=5))

    def ask(frame: Any) -> Both:
        values = known(frame, name)
        truth = values.isin([rounded(name, number) for number in numbers])
        return truth & values.notna(), ~truth & values.notna()

    return f"{name} in ({', '.join(map(repr, numbers))})", ask


@st.composite
def null(draw: Any) -> tuple[str, Any]:
    name, negated = draw(COLUMN), draw(st.booleans())

    def ask(frame: Any) -> Both:
        gone = known(frame, name).isna()
        return (~gone, gone) if negated else (gone, ~gone)

    return f"{name} is {'not ' * negated}null", ask


@st.composite
def arithmetic(draw: Any) -> tuple[str, Any]:
    a, b, op = draw(COLUMN), draw(COLUMN), draw(st.sampled_from(sorted(OPS)))
    factor, number = draw(st.integers(-4, 4)), draw(NUMBER)

    def ask(frame: Any) -> Both:
        with np.errstate(invalid="ignore"):
            values = known(frame, a).astype("f8") * factor - known(frame, b).astype("f8")
        truth = OPS[op](values, number)
        return truth & values.notna(), ~truth & values.notna()

    return f"{a} * {factor} - {b} {op} {number!r}", ask


def joined(inner: Any) -> Any:
    def negation(one: tuple[str, Any]) -> tuple[str, Any]:
        return f"not ({one[0]})", lambda frame: one[1](frame)[::-1]

    def both(pair: tuple[tuple[str, Any], tuple[str, Any]]) -> tuple[str, Any]:
        def ask(frame: Any) -> Both:
            (a, not_a), (b, not_b) = pair[0][1](frame), pair[1][1](frame)
            return a & b, not_a | not_b

        return f"({pair[0][0]}) and ({pair[1][0]})", ask

    def either(pair: tuple[tuple[str, Any], tuple[str, Any]]) -> tuple[str, Any]:
        def ask(frame: Any) -> Both:
            (a, not_a), (b, not_b) = pair[0][1](frame), pair[1][1](frame)
            return a | b, not_a & not_b

        return f"({pair[0][0]}) or ({pair[1][0]})", ask

    return st.one_of(
        inner.map(negation), st.tuples(inner, inner).map(both), st.tuples(inner, inner).map(either)
    )


CLAUSE = st.recursive(
    st.one_of(comparison(), between(), within(), null(), arithmetic()), joined, max_leaves=5
)
MODEST = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@MODEST
@given(CLAUSE)
def test_the_same_rows_as_pandas(table: Any, frame: Any, clause: tuple[str, Any]) -> None:
    text, ask = clause
    wanted = np.flatnonzero(ask(frame)[0].to_numpy())
    for prune in (True, False):
        got = table.to_numpy(["j"], text, prune=prune)["j"]
        np.testing.assert_array_equal(got, wanted, err_msg=text)


WORDS = ["f", "g", "i", "<", ">", "=", "(", ")", "and", "or", "not", "1", "'x'", ",", "is", "null"]


@MODEST
@given(st.text(max_size=40) | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_any_text_is_a_clause_or_an_error(table: Any, text: str) -> None:
    kind = "none"
    try:
        table.scan(["j"], text, limit=1).count()
    except Error as error:
        kind = error.kind
    assert kind in ("none", "invalid", "not-found", "dtype", "unsupported")


def test_a_box_of_two_columns(tmp_path: Path) -> None:
    """Two coordinates prune as boxes would: a zone stays only where both of its intervals meet the window."""
    rng, n = np.random.default_rng(2), 64 * 4096
    zone = np.arange(n) // 4096
    x, y = zone % 8 + rng.random(n), zone // 8 + rng.random(n)
    with icecore.create(tmp_path / "b.icecore").writer() as w:
        for name, values in (("x", x), ("y", y), ("v", np.arange(n))):
            w.array(f"/t/{name}", values.dtype, (n,), chunks=(4096,))[...] = values
        write.write(w, "/t")
    scan = (
        icecore.open(tmp_path / "b.icecore")
        .table("/t")
        .scan(["v"], "x between 3.2 and 3.4 and y between 5.2 and 5.4")
    )
    got, report = scan.to_numpy()["v"], scan.report()
    np.testing.assert_array_equal(got, np.flatnonzero((x >= 3.2) & (x <= 3.4) & (y >= 5.2) & (y <= 5.4)))
    assert report["zones"] - report["zones_pruned"] == 1
    assert (report["predicate"]["chunks"], report["data"]["chunks"]) == (2, 1)
