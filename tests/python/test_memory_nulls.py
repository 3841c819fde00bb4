"""Null values of tables in memory that are appended to each other."""

from __future__ import annotations

from typing import Any

import icecore
import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

SOME = {
    "i": ([1, 2], [None, 3], pa.int32()),
    "f": ([1.5, 2.5], [None, float("nan")], pa.float64()),
    "h": ([1.5, 2.5], [None, 0.5], pa.float32()),
    "s": (["a", "b"], [None, "c"], pa.string()),
    "t": ([0, 10**9], [None, 5], pa.timestamp("ns")),
}


def tables(which: int) -> Any:
    """Rows without nulls (0), or with one in each column (1)."""
    return pa.table({name: pa.array(given[which], given[2]) for name, given in SOME.items()})


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 1, 0, 1), (1, 1)])
@pytest.mark.parametrize("at_once", [False, True])
def test_rows_come_back_whichever_of_them_have_nulls(order: tuple[int, ...], at_once: bool) -> None:
    repo = icecore.create("memory://")
    parts = [tables(which) for which in order]
    if at_once:
        icecore.pack(parts, repo, "/t", "row")
    else:
        for i, part in enumerate(parts):
            icecore.pack(part, repo, "/t", "row" if i else None, append=i > 0)
    found = repo.at("main").table("/t").scan().read_all()
    expected = pa.concat_tables(parts)
    for name in SOME:
        assert found[name].is_null().to_pylist() == expected[name].is_null().to_pylist(), name
        np.testing.assert_equal(found[name].to_pylist(), expected[name].to_pylist())
    assert repo.at("main").table("/t").reduce("count:i, count:s")[0] == {
        "count:i": sum(2 - which for which in order),
        "count:s": sum(2 - which for which in order),
    }


def test_a_value_of_new_rows_that_stands_for_null_is_an_error() -> None:
    repo = icecore.create("memory://")
    icecore.pack(pa.table({"i": pa.array([1, None], pa.int8())}), repo, "/t")
    held = pa.table({"i": pa.array([-128], pa.int8())})
    with pytest.raises(icecore.Error, match="/i: -128 represents null in the repository") as caught:
        icecore.pack(held, repo, "/t", "row", append=True)
    assert caught.value.kind == "mismatch"
    assert len(repo.at("main").table("/t")) == 2


def test_a_stored_value_never_becomes_null() -> None:
    repo = icecore.create("memory://")
    icecore.pack(pa.table({"i": pa.array([-128, 127, 5], pa.int8())}), repo, "/t")
    nulls = pa.table({"i": pa.array([None, 4], pa.int8())})
    with pytest.raises(icecore.Error, match="represents null") as caught:
        icecore.pack(nulls, repo, "/t", "row", append=True)
    assert caught.value.kind == "mismatch"
    assert repo.at("main").table("/t").scan().read_all()["i"].to_pylist() == [-128, 127, 5]


def test_truth_values_take_nulls_only_where_there_were_some() -> None:
    repo = icecore.create("memory://")
    icecore.pack(pa.table({"b": [True, None]}), repo, "/some")
    icecore.pack(pa.table({"b": [False, True]}), repo, "/some", "row", append=True)
    assert repo.at("main").table("/some").scan().read_all()["b"].to_pylist() == [True, None, False, True]
    icecore.pack(pa.table({"b": [True]}), repo, "/none")
    with pytest.raises(icecore.Error, match="/b") as caught:
        icecore.pack(pa.table({"b": [None, True]}), repo, "/none", "row", append=True)
    assert caught.value.kind == "mismatch"
