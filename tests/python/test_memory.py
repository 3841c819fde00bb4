"""Memory of large results: kept for the next read, never seen by it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import icecore
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from icecore import _icecore
from strategies import examples, numpy_selections

MB = 1 << 20
SHAPE = (12, 300, 170)


@pytest.fixture
def pool() -> Iterator[None]:
    """An empty pool of 64 MB, and the one before afterwards."""
    cap = _icecore.memory_info()["cap"]
    _icecore.set_result_pool(0)
    _icecore.set_result_pool(64 * MB)
    yield
    _icecore.set_result_pool(0)
    _icecore.set_result_pool(cap)


@pytest.fixture(scope="module")
def array(tmp_path_factory: pytest.TempPathFactory) -> icecore.Array:
    path = tmp_path_factory.mktemp("memory") / "r.icecore"
    with icecore.create(path).writer() as w:
        w.array("/x", "f4", SHAPE, chunks=(5, 64, 64))[...] = np.arange(np.prod(SHAPE), dtype="f4").reshape(
            SHAPE
        )
    return icecore.open(path)["/x"]


def address(values: np.ndarray) -> int:
    return int(values.__array_interface__["data"][0])


def test_dropped_memory_serves_the_next_read(pool: None, array: icecore.Array) -> None:
    before = _icecore.memory_info()
    first = array[...]
    assert first.flags.owndata
    assert first.flags.writeable
    assert first.base is None
    where, expected = address(first), first.copy()
    first[...] = np.nan
    del first
    assert 0 < _icecore.memory_info()["idle"] <= 64 * MB
    again, more = array[1:], array[...]
    assert address(again) == where, "one of them got the block"
    assert address(more) != where, "the other a new one"
    np.testing.assert_array_equal(again, expected[1:])
    np.testing.assert_array_equal(more, expected)
    after = _icecore.memory_info()
    assert (after["reused"] - before["reused"], after["fresh"] - before["fresh"]) == (1, 2)


def test_a_view_keeps_the_memory(pool: None, array: icecore.Array) -> None:
    whole = array[...]
    view, expected = whole[3, ::7], whole[3, ::7].copy()
    del whole
    for _ in range(3):
        other = array[...]
        other[...] = -1
        del other
    np.testing.assert_array_equal(view, expected)


def test_the_cap_holds_and_zero_turns_it_off(pool: None, array: icecore.Array) -> None:
    _icecore.set_result_pool(5 * MB)  # two results of 2.4 MB
    held = [array[...] for _ in range(5)]
    held.clear()
    assert 4 * MB < _icecore.memory_info()["idle"] <= 5 * MB
    _icecore.set_result_pool(0)
    assert _icecore.memory_info()["idle"] == 0
    before = _icecore.memory_info()
    np.testing.assert_array_equal(array[...], array[...])
    assert _icecore.memory_info() == before, "nothing goes through it"


def test_arrays_may_be_resized_and_outlive_the_pool(pool: None, array: icecore.Array) -> None:
    values = array[...]
    expected = values.copy().reshape(-1)
    values.resize(2 * expected.size, refcheck=False)
    np.testing.assert_array_equal(values[: expected.size], expected)
    assert not values[expected.size :].any(), "NumPy's word for what is new"
    values.resize(10, refcheck=False)
    np.testing.assert_array_equal(values, expected[:10])
    _icecore.set_result_pool(0)
    values.resize(MB, refcheck=False)
    np.testing.assert_array_equal(values[:10], expected[:10])


def test_other_arrays_are_numpys_own(pool: None, array: icecore.Array) -> None:
    before = _icecore.memory_info()
    copy = array[:1].copy() + np.empty(MB)[:1, None, None] * 0
    assert _icecore.memory_info() == before, "small results and NumPy's arrays don't come from the pool"
    del copy
    with pytest.raises(icecore.Error):
        array.read(out=np.empty(MB))
    big = np.empty(4 * MB)
    big[...] = 1
    del big
    assert _icecore.memory_info()["idle"] == before["idle"]


def test_threads_share_it(pool: None, array: icecore.Array) -> None:
    expected = array[...]
    wrong: list[int] = []

    def work(seed: int) -> None:
        for i in range(20):
            got = array[i % 3 :]
            if not np.array_equal(got, expected[i % 3 :]):
                wrong.append(seed)
            got[...] = seed

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert _icecore.memory_info()["idle"] <= 64 * MB


FORKED = """
import os, sys, warnings
import icecore
from icecore import _icecore
warnings.simplefilter("ignore", DeprecationWarning)
array = icecore.open(sys.argv[1])["/x"]
held = array[...]
expected = held.tobytes()
array[...]  # leaves an idle block behind
child = os.fork()
reused = _icecore.memory_info()["reused"]
mine = array[...]
right = mine.tobytes() == expected and _icecore.memory_info()["reused"] == reused + 1
mine[...] = -1
del mine
right = right and array[...].tobytes() == expected == held.tobytes()
if child == 0:
    os._exit(0 if right else 1)
sys.exit(0 if os.waitpid(child, 0)[1] == 0 and right else 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_reads_on(array: icecore.Array) -> None:
    done = subprocess.run([sys.executable, "-c", FORKED, str(array.repo.url)], timeout=120, check=False)
    assert done.returncode == 0


def test_the_environment_sets_the_cap(array: icecore.Array) -> None:
    code = (
        "import sys, icecore; from icecore import _icecore\n"
        "icecore.open(sys.argv[1])['/x'][...]; print(_icecore.memory_info())"
    )
    for value, kept in (("0", False), ("100000000", True)):
        environment = {**os.environ, "ICECORE_RESULT_POOL": value}
        command = [sys.executable, "-c", code, str(array.repo.url)]
        out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        assert f"'cap': {value}," in out
        assert ("'idle': 0," not in out) == kept


@examples(40)
@given(data=st.data())
def test_every_byte_is_written(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Into memory full of other numbers: missing chunks, edges, fill values, any selection."""
    shape = tuple(data.draw(st.integers(0, 12)) for _ in range(data.draw(st.integers(1, 3))))
    chunks = tuple(data.draw(st.integers(1, n + 2)) for n in shape)
    sharded = data.draw(st.booleans())
    codec = data.draw(st.sampled_from(["planes", "default", None]))
    path = tmp_path_factory.mktemp("every") / "r.icecore"
    expected = np.full(shape, 7.5, "f4")
    with icecore.create(path).writer() as w:
        layout = {"chunks": chunks, **({"shards": tuple(2 * n for n in chunks)} if sharded else {})}
        target = w.array("/x", "f4", shape, fill_value=7.5, codec=codec or [{"name": "bytes"}], **layout)
        for _ in range(data.draw(st.integers(0, 2))):
            box = tuple(slice(data.draw(st.integers(0, n)), data.draw(st.integers(0, n))) for n in shape)
            target[box] = expected[box] = np.float32(data.draw(st.integers(1, 9)))
    array = icecore.open(path)["/x"]
    for options in ({}, {"leading_bytes": 2}):
        sel = data.draw(numpy_selections(shape))
        want = np.asarray(expected[sel])
        out = np.full(want.shape, np.frombuffer(b"\xa5" * 4, "f4")[0])
        array.read(sel, out=out, **options)
        if options:
            np.testing.assert_allclose(out, want, rtol=0.01)
        else:
            np.testing.assert_array_equal(out, want)


def test_large_results_in_used_memory(pool: None, tmp_path: Path) -> None:
    """Missing chunks, edges and turned axes, in blocks that held other numbers before."""
    values = np.full(SHAPE, -3.5, "f4")
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        target = w.array("/x", "f4", SHAPE, chunks=(5, 64, 64), fill_value=-3.5)
        box = (slice(2, 9), slice(70, 200), slice(0, 90))
        target[box] = values[box] = np.random.default_rng(3).random(values[box].shape, "f4")
    array = icecore.open(tmp_path / "r.icecore")["/x"]
    order = np.random.default_rng(4).permutation(SHAPE[1])
    for sel in (
        (...,),
        (slice(None, None, -1),),
        (slice(1, None), slice(None), slice(None, None, -1)),
        (slice(None), order),
    ):
        poison = array[...]
        poison.view("u1")[...] = 0xA5
        del poison
        before = _icecore.memory_info()["reused"]
        np.testing.assert_array_equal(array[sel], values[sel])
        assert _icecore.memory_info()["reused"] == before + 1


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's account of memory")
@pytest.mark.parametrize("index", ["ones.nonzero()[0]", "ones"])
def test_long_ascending_lists_are_not_copied_to_be_sorted(tmp_path: Path, index: str) -> None:
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        w.array("/x", "u1", (8_000_000,), chunks=(1 << 20,))
    script = f"""
import icecore, numpy as np, re
def kb(name):
    return int(re.search(name + r":\\s+(\\d+)", open("/proc/self/status").read())[1])
x = icecore.open({str(tmp_path / "r.icecore")!r})["/x"]
ones = np.random.default_rng(1).random(8_000_000) > 0.5
index, count = {index}, int(ones.sum())
x[:10], x[[1, 5, 6]]
open("/proc/self/clear_refs", "w").write("5")
before = kb("VmRSS")
x[index]
print((kb("VmHWM") - before) * 1024 / count)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert float(ran.stdout) < 32, "8 bytes for an index, 16 for where it goes, and what is read"
