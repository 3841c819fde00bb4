"""``a.resize``: what is cut off is gone, new elements hold the fill value; nothing else changes."""

from __future__ import annotations

from typing import Any

import icecore
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

RNG = np.random.default_rng(3)
FILL = 7


def resized(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    result = np.full(shape, FILL, values.dtype)
    common = tuple(slice(0, min(a, b)) for a, b in zip(values.shape, shape, strict=True))
    result[common] = values[common]
    return result


@settings(max_examples=60)
@given(st.data())
def test_any_mixture(data: st.DataObject) -> None:
    """Shorter and longer along any axis, with writes, appends and commits between, against NumPy."""
    small = st.integers(1, 6)
    shape, chunk = (data.draw(small), data.draw(small)), (data.draw(small), data.draw(small))
    shard = (chunk[0] * data.draw(st.integers(1, 3)), chunk[1])
    expected = RNG.integers(10, 99, shape, "i4")
    repo = icecore.create(f"memory://resize{RNG.integers(1 << 60)}")
    w = repo.writer()
    a = w.array("/x", "i4", shape, chunks=chunk, shards=shard, codec="zstd", fill_value=FILL)
    a[...] = expected
    for _ in range(data.draw(st.integers(1, 10))):
        match data.draw(st.sampled_from(["resize", "resize", "rows", "region", "commit"])):
            case "resize":
                shape = (data.draw(st.integers(0, 12)), data.draw(st.integers(1, 9)))
                a.resize(shape)
                expected = resized(expected, shape)
            case "rows":
                rows = RNG.integers(10, 99, (data.draw(small), expected.shape[1]), "i4")
                a.append(rows)
                expected = np.concatenate([expected, rows])
            case "region" if len(expected):
                at = data.draw(st.integers(0, len(expected) - 1))
                expected[at:] = a[at:] = RNG.integers(10, 99)
            case "commit":
                w.commit()
        assert a.shape == expected.shape
    w.commit()
    now = repo.at("main")
    np.testing.assert_array_equal(now["/x"].read(), expected)
    assert now.verify(deep=True) == []


def test_what_is_on_its_way_stays_in_its_place() -> None:
    """Chunks have other numbers in a grid with other axes."""
    repo = icecore.create("memory://")
    with repo.writer() as w:
        a = w.array("/x", "i4", (4, 4), chunks=(2, 2), shards=(2, 2), fill_value=FILL)
        a[...] = expected = np.arange(16).reshape(4, 4)
        a.resize((4, 6))
    np.testing.assert_array_equal(repo.at("main")["/x"].read(), resized(expected, (4, 6)))


@pytest.mark.parametrize("commits", [False, True])
def test_text(commits: bool) -> None:
    repo = icecore.create("memory://")
    with repo.writer() as w:
        a = w.array("/x", str, (5,), chunks=(2,), shards=(4,), fill_value="none")
        a[...] = np.array(list("abcde"), "O")
        for length in (3, 5):
            a.resize((length,))
            if commits:
                w.commit()
    assert repo.at("main")["/x"].read().tolist() == ["a", "b", "c", "none", "none"]


@pytest.mark.parametrize("less", [(4, 6), (6, 0), (0, 6), (3, 3)])
def test_what_was_cut_off_stays_gone_where_something_is_written_in_between(less: tuple[int, int]) -> None:
    """Chunks behind the edge of what is compared with are not what they come out as: nothing."""
    repo = icecore.create("memory://")
    with repo.writer() as w:
        w.array("/x", "i4", (6, 6), chunks=(2, 2), shards=(2, 2), fill_value=FILL)[...] = expected = (
            RNG.integers(10, 99, (6, 6), "i4")
        )
    with repo.at("main").writer() as w:
        a = w["/x"]
        a.resize(less)
        a[:1] = 5
        expected = resized(expected, less)
        expected[:1] = 5
        a.resize((6, 6))
    np.testing.assert_array_equal(repo.at("main")["/x"].read(), resized(expected, (6, 6)))


@pytest.mark.parametrize(
    "shape", [(2.5,), (True,), None, "x", (-1,), (3, 3), np.array(3), (1 << 62,), (1 << 70,)]
)
def test_what_is_no_shape_is_refused_and_nothing_changes(shape: Any) -> None:
    repo = icecore.create("memory://")
    with repo.writer() as w:
        a = w.array("/a", "f4", (3,))
        a[...] = [1, 2, 3]
        with pytest.raises(icecore.Error) as caught:
            a.resize(shape)
        assert caught.value.kind in ("invalid", "unsupported")
        assert a.shape == (3,)
        a.resize(4)  # as NumPy takes it
        a.append(5)
    assert repo.at("main")["/a"][...].tolist() == [1, 2, 3, 0, 5]
