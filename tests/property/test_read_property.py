"""Any selection of any array reads as NumPy reads it, whatever the layout, the dtype and the codec."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import icecore
import numpy as np
import pytest
import zoo
from hypothesis import given, note
from hypothesis import strategies as st
from strategies import (
    Layout,
    examples,
    layouts,
    numpy_selections,
    orthogonal_selections,
)


@contextmanager
def written(*many: Layout) -> Iterator[icecore.Repo]:
    """A repository on disk with one array per layout: /a0, /a1, …"""
    with tempfile.TemporaryDirectory() as folder:
        repo = icecore.create(f"{folder}/x.icecore")
        with repo.writer() as writer:
            for i, layout in enumerate(many):
                array = writer.array(
                    f"/a{i}",
                    dtype=zoo.numpy_dtype(layout.dtype),
                    shape=layout.shape,
                    chunks=layout.chunk,
                    shards=layout.shard or layout.chunk,
                    codec=layout.codec,
                )
                array[...] = layout.data()
        yield icecore.open(f"{folder}/x.icecore")


def check(ours: Any, theirs: Any) -> None:
    assert zoo.same(ours, theirs), zoo.difference(ours, theirs)


@examples(250)
@given(st.data())
def test_selections_are_numpys(data: st.DataObject) -> None:
    layout = data.draw(layouts())
    expected = layout.data()
    with written(layout) as repo:
        array = repo["/a0"]
        assert array.shape == layout.shape
        check(array.read(), expected)
        for _ in range(6):
            sel = data.draw(numpy_selections(layout.shape))
            note(f"{sel!r}")
            check(array[sel], expected[sel])


@examples(80)
@given(st.data())
def test_outer_indexing(data: st.DataObject) -> None:
    layout = data.draw(layouts())
    expected = layout.data()
    with written(layout) as repo:
        for _ in range(4):
            sel = data.draw(orthogonal_selections(layout.shape))
            note(f"{sel!r}")
            theirs = expected
            for axis in reversed(range(len(sel))):
                theirs = theirs[(*[slice(None)] * axis, sel[axis])]
            check(repo["/a0"].oindex[sel], theirs)


@examples(80)
@given(st.data())
def test_points(data: st.DataObject) -> None:
    layout = data.draw(layouts().filter(lambda made: made.shape and 0 not in made.shape))
    count = data.draw(st.integers(0, 30))
    coordinates = [[data.draw(st.integers(-n, n - 1)) for n in layout.shape] for _ in range(count)]
    with written(layout) as repo:
        points = repo["/a0"].points(coordinates)
    check(points, layout.data()[tuple(np.array(coordinates, "i8").reshape(count, len(layout.shape)).T)])


@examples(80)
@given(st.data())
def test_one_plan_for_many_arrays_reads_what_single_reads_do(data: st.DataObject) -> None:
    many = data.draw(st.lists(layouts(), min_size=1, max_size=5))
    with written(*many) as repo:
        asked = {f"/a{i}": data.draw(numpy_selections(layout.shape)) for i, layout in enumerate(many)}
        note(f"{asked!r}")
        got = repo.read(asked)
        assert list(got) == list(asked)
        for (path, sel), layout in zip(asked.items(), many, strict=True):
            check(got[path], layout.data()[sel])
            check(got[path], repo[path].read(sel))


@examples(120)
@given(st.data())
def test_into_the_callers_array(data: st.DataObject) -> None:
    layout = data.draw(layouts(dtypes=zoo.FIXED))
    sel = data.draw(numpy_selections(layout.shape))
    expected = layout.data()[sel]
    how = data.draw(st.sampled_from(["contiguous", "fortran", "strided", "reversed", "byte-swapped"]))
    out, untouched = target(expected, how)
    with written(layout) as repo:
        assert repo["/a0"].read(sel, out=out) is out
    check(out.astype(out.dtype.newbyteorder("=")), expected)
    assert untouched() == b"\x5a" * len(untouched()), "elements between those of `out` were written"


def target(like: np.ndarray, how: str) -> tuple[np.ndarray, Any]:
    """An array to read into, and what lies around it: bytes that must stay 0x5a."""
    dtype = like.dtype.newbyteorder(">") if how == "byte-swapped" else like.dtype
    if how in ("contiguous", "byte-swapped"):
        out = np.empty(like.shape, dtype)
        return out, lambda: b""
    if how == "fortran":
        return np.empty(like.shape, dtype, order="F"), lambda: b""
    room = np.frombuffer(bytearray(b"\x5a" * (like.nbytes * 2 ** max(like.ndim, 1))), dtype)
    room = room.reshape(tuple(2 * n for n in like.shape) or (2,))
    step = -2 if how == "reversed" else 2
    out = room[tuple(slice(None, None, step) for _ in room.shape)]
    gaps = np.ones(room.shape, "?")
    gaps[tuple(slice(None, None, step) for _ in room.shape)] = False
    return (out if like.ndim else out[0, ...]), lambda: room[gaps].tobytes()


@pytest.mark.parametrize("wrong", ["shape", "dtype", "read-only", "a list"])
def test_an_unusable_target_is_refused(repo_path: str, wrong: str) -> None:
    with icecore.create(repo_path).writer() as writer:
        writer.array("/x", dtype="f8", shape=(4, 5))[...] = np.ones((4, 5))
    out: Any = np.zeros((4, 6) if wrong == "shape" else (4, 5), "i4" if wrong == "dtype" else "f8")
    out.flags.writeable = wrong != "read-only"
    before = out.tobytes()
    with pytest.raises(icecore.Error) as caught:
        icecore.open(repo_path)["/x"].read(out=out.tolist() if wrong == "a list" else out)
    assert caught.value.kind == "mismatch"
    assert "/x" in caught.value.message
    assert out.tobytes() == before


def test_a_wider_target_is_converted(repo_path: str) -> None:
    data = np.arange(20, dtype="f4").reshape(4, 5)
    with icecore.create(repo_path).writer() as writer:
        writer.array("/x", dtype="f4", shape=(4, 5))[...] = data
    out = np.zeros((4, 5), "f8")
    assert icecore.open(repo_path)["/x"].read(out=out) is out
    np.testing.assert_array_equal(out, data)


@examples(150)
@given(st.data())
def test_what_numpy_refuses_is_refused(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(0, 6), min_size=0, max_size=3).map(tuple))
    item = (
        st.integers(-9, 9)
        | st.just(Ellipsis)
        | st.lists(st.integers(-9, 9), max_size=3)
        | st.just(slice(None))
    )
    sel = tuple(data.draw(st.lists(item, max_size=4)))
    expected = np.zeros(shape, "i4")
    try:
        theirs = expected[tuple(np.array(i, "i8") if isinstance(i, list) else i for i in sel)]
    except IndexError:
        theirs = None
    with written(Layout(shape, tuple(max(n, 1) for n in shape), None, "i4", "none", 0)) as repo:
        array = repo["/a0"]
        if theirs is not None:
            assert array[sel].shape == theirs.shape
            return
        with pytest.raises(icecore.Error) as caught:
            array[sel]
    assert caught.value.kind == "selection"
    assert isinstance(caught.value, IndexError)
