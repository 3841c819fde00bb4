"""The plan before a read: it touches the chunks it must, no others, and each wanted byte once."""

from __future__ import annotations

import tempfile
from dataclasses import replace

import icecore
import numpy as np
import zoo
from hypothesis import given, note
from hypothesis import strategies as st
from strategies import Layout, examples, layouts, numpy_selections

#: chunks of at most this many bytes may be kept inside their references
INLINE = 512
#: bytes of the CRC-32C that follows each chunk with a named codec
CHECKSUM = 4


def touched(layout: Layout, sel: tuple[object, ...]) -> np.ndarray:
    """Flat numbers of the chunks that a selection needs, by NumPy alone."""
    counts = tuple(-(-n // c) for n, c in zip(layout.shape, layout.chunk, strict=True))
    number = np.zeros(layout.shape, "i8")
    for axis, (c, count) in enumerate(zip(layout.chunk, counts, strict=True)):
        along = (np.arange(layout.shape[axis]) // c).reshape(
            [-1 if a == axis else 1 for a in range(len(counts))]
        )
        number = number * count + along
    return np.unique(number[sel])


def write(folder: str, layout: Layout, data: np.ndarray) -> icecore.Repo:
    with icecore.create(folder).writer() as writer:
        array = writer.array(
            "/x",
            dtype=np.dtype(layout.dtype),
            shape=layout.shape,
            chunks=layout.chunk,
            shards=layout.shard or layout.chunk,
            codec=layout.codec,
        )
        array[...] = data
    return icecore.open(folder)


@examples(200)
@given(st.data())
def test_counts(data: st.DataObject) -> None:
    layout = data.draw(layouts(dtypes=["u1", "f4", "c16"], codecs=["none", "zstd"]))
    sel = data.draw(numpy_selections(layout.shape))
    note(f"{sel!r}")
    expected = layout.data()
    with tempfile.TemporaryDirectory() as folder:
        array = write(f"{folder}/r", layout, expected)["/x"]
        plan = array.plan(sel)
        assert plan.chunks == len(touched(layout, sel))
        stored = plan.chunks - plan.chunks_missing - plan.chunks_inline - plan.chunks_cached
        assert 0 <= plan.requests <= stored
        assert (plan.requests == 0) == (stored == 0)
        assert plan.bytes_fetched >= plan.bytes_wanted >= 0
        assert plan.bytes_out == expected[sel].nbytes
        assert sum(item["requests"] for item in plan.objects) == plan.requests
        assert sum(item["bytes_wanted"] for item in plan.objects) == plan.bytes_wanted
        assert sum(item["bytes_fetched"] for item in plan.objects) == plan.bytes_fetched
        # but for the shard indexes, which are kept once they are known
        again = replace(array.plan(sel), index_requests=plan.index_requests, index_bytes=plan.index_bytes)
        assert again == plan
        assert str(plan)


@examples(120)
@given(st.data())
def test_every_wanted_byte_once(data: st.DataObject) -> None:
    """Uncompressed chunks and their checksums have a known size, so the bytes that are needed are known
    without our help.
    """
    layout = data.draw(layouts(dtypes=["f8"], codecs=["none"]))
    sel = data.draw(numpy_selections(layout.shape))
    note(f"{sel!r}")
    size = int(np.prod(layout.chunk)) * 8 + CHECKSUM
    # nothing is the fill value, so no chunk is left out
    expected = np.abs(zoo.values("i4", layout.shape, layout.seed).astype("f8")) + 1
    with tempfile.TemporaryDirectory() as folder:
        array = write(f"{folder}/r", layout, expected)["/x"]
        plan = array.plan(sel)
        assert plan.chunks_missing == 0
        wanted = len(touched(layout, sel)) - plan.chunks_inline
        assert plan.bytes_wanted == wanted * size
        if layout.shard is None:
            assert (plan.chunks_inline == 0) or size <= INLINE
        assert zoo.same(array.read(sel), expected[sel])


@examples(60)
@given(st.data())
def test_a_plan_for_many_is_no_worse_than_many_plans(data: st.DataObject) -> None:
    layout = data.draw(layouts(dtypes=["f4"], codecs=["none"]))
    sels = [data.draw(numpy_selections(layout.shape)) for _ in range(2)]
    with tempfile.TemporaryDirectory() as folder:
        repo = icecore.create(f"{folder}/r")
        with repo.writer() as writer:
            for name in ("/x", "/y"):
                array = writer.array(
                    name,
                    dtype="f4",
                    shape=layout.shape,
                    chunks=layout.chunk,
                    shards=layout.shard,
                    codec="none",
                )
                array[...] = layout.data()
        repo = icecore.open(f"{folder}/r")
        together = repo.plan({"/x": sels[0], "/y": sels[1]})
        alone = [repo["/x"].plan(sels[0]), repo["/y"].plan(sels[1])]
    assert together.requests <= sum(plan.requests for plan in alone)
    assert together.bytes_wanted == sum(plan.bytes_wanted for plan in alone)
    assert together.chunks == sum(plan.chunks for plan in alone)


def test_missing_chunks_cost_nothing(repo_path: str) -> None:
    with icecore.create(repo_path).writer() as writer:
        array = writer.array(
            "/x", dtype="f4", shape=(100, 100), chunks=(10, 100), shards=(10, 100), codec="none", fill_value=7
        )
        array[0:10] = np.ones((10, 100))
    array = icecore.open(repo_path)["/x"]
    plan = array.plan()
    assert (plan.chunks, plan.chunks_missing, plan.requests) == (10, 9, 1)
    assert plan.bytes_wanted == plan.bytes_fetched == 4000 + CHECKSUM
    got = array.read()
    assert (got[:10] == 1).all()
    assert (got[10:] == 7).all()


def test_neighbours_are_fetched_together(repo_path: str) -> None:
    """A thousand chunks that lie one behind the other in a shard are a few requests, not a thousand."""
    with icecore.create(repo_path).writer() as writer:
        array = writer.array(
            "/x", dtype="f8", shape=(100_000,), chunks=(100,), shards=(100_000,), codec="none"
        )
        array[...] = np.arange(100_000.0)
    array = icecore.open(repo_path)["/x"]
    plan = array.plan()
    assert plan.chunks == 1000
    assert plan.bytes_wanted == 1000 * (800 + CHECKSUM)
    assert plan.requests <= 4
    assert plan.bytes_fetched == 1000 * (800 + CHECKSUM)
    point = array.plan(slice(5000, 5001))
    assert (point.chunks, point.requests, point.bytes_fetched) == (1, 1, 800 + CHECKSUM)
