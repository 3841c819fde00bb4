"""Many threads, and processes forked from one that has read already: the right data, and no hang."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest
from icecore.writing.array_writer import ArrayWriter
from latsrv import LatencyServer

DATA = np.random.default_rng(2).normal(size=(300, 400))


@pytest.fixture
def repo(repo_path: str) -> icecore.Repo:
    """A repository with one sharded array."""
    with icecore.create(repo_path).writer() as writer:
        array = writer.array("/x", dtype="f8", shape=DATA.shape, chunks=(20, 50), shards=(100, 200))
        array[...] = DATA
    return icecore.open(repo_path)


def test_threads_share_an_array(repo: icecore.Repo) -> None:
    array = repo["/x"]

    def read(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(20):
            (a, b), (c, d) = sorted(rng.integers(0, 300, 2)), sorted(rng.integers(0, 400, 2))
            out = np.empty((b - a, d - c))
            assert array.read(np.s_[a:b, c:d], out=out) is out
            np.testing.assert_array_equal(out, DATA[a:b, c:d])

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(read, range(32)))


def test_threads_write_their_own_arrays(repo: icecore.Repo) -> None:
    def write(number: int) -> None:
        with icecore.open(repo.url).writer() as writer:
            writer.array(f"/t{number}", dtype="f8", shape=(300, 400))[...] = DATA + number

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    now = icecore.open(repo.url)
    for number in range(8):
        np.testing.assert_array_equal(now[f"/t{number}"].read(), DATA + number)


@pytest.mark.parametrize("together", [False, True])
def test_threads_append_while_a_writer_commits_by_itself(together: bool) -> None:
    """A commit in one thread writes the rows of the others' arrays, which they are adding to."""
    steps, names = 200, ["/a", "/b", "/c"]
    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for trial in range(10):
            repo = icecore.create(f"memory://threads-{together}-{trial}")
            with repo.writer(commit_every=5) as writer:
                first = writer.array("/a", "i8", (0, 20), chunks=(8, 20), codec="none")

                def fill(name: str, writer: icecore.Writer = writer, first: ArrayWriter = first) -> None:
                    own = name != "/a" and not together
                    array = writer.array(name, "i8", (0, 20), chunks=(8, 20), codec="none") if own else first
                    for step in range(steps):
                        array.append(np.full(20, step))

                with ThreadPoolExecutor(3) as pool:
                    list(pool.map(fill, names))
            now = repo.at("main")
            rows = [now[name].read() for name in (["/a"] if together else names)]
            for found in rows:
                expected = np.repeat(np.arange(steps), len(names) if together else 1)
                np.testing.assert_array_equal(np.sort(found[:, 0]), expected)
                np.testing.assert_array_equal(found, found[:, :1].repeat(20, 1))
    finally:
        sys.setswitchinterval(switching)


def test_other_threads_run_while_one_reads(
    repo_path: str, tmp_path: Path, serve: Callable[..., LatencyServer]
) -> None:
    """The interpreter is free for the whole call."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=DATA, chunks=(300, 400))
    server = serve(tmp_path, delay_ms=400)
    icecore.link(f"{server.url}/x.h5", repo_path, group="/f")
    array, ticks, done = icecore.open(repo_path)["/f/x"], [], threading.Event()

    def tick() -> None:
        while not done.wait(0.005):
            ticks.append(time.monotonic())

    clock = threading.Thread(target=tick)
    clock.start()
    began = time.monotonic()
    np.testing.assert_array_equal(array.read(), DATA)
    ended = time.monotonic()
    done.set()
    clock.join()
    assert ended - began > 0.3
    inside = [at for at in ticks if began < at < ended]
    assert len(inside) > 10
    assert max(np.diff(inside)) < 0.25


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("what", ["the same array", "opened again", "written"])
def test_a_forked_process(repo: icecore.Repo, what: str) -> None:
    """multiprocessing forks by default before Python 3.14; threads don't survive that."""
    np.testing.assert_array_equal(repo["/x"].read(), DATA)
    assert in_a_child(lambda: use(repo, what)) == 0
    np.testing.assert_array_equal(repo["/x"].read(), DATA)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_reads_over_http(tmp_path: Path, serve: Callable[..., LatencyServer]) -> None:
    with icecore.create(tmp_path / "r").writer() as writer:
        writer.array("/x", dtype="f8", shape=DATA.shape, chunks=(100, 100))[...] = DATA
    opened = icecore.open(f"{serve(tmp_path).url}/r")
    np.testing.assert_array_equal(opened["/x"][:50], DATA[:50])
    assert in_a_child(lambda: np.testing.assert_array_equal(opened["/x"][100:], DATA[100:])) == 0


def use(repo: icecore.Repo, what: str) -> None:
    if what == "written":
        with repo.writer() as writer:
            writer.array("/child", dtype="f8", shape=DATA.shape, chunks=(20, 50))[...] = DATA
        np.testing.assert_array_equal(icecore.open(repo.url)["/child"].read(), DATA)
    else:
        opened = repo if what == "the same array" else icecore.open(repo.url)
        np.testing.assert_array_equal(opened["/x"][50:250:3], DATA[50:250:3])


def in_a_child(work: Callable[[], None]) -> int:
    """Status of a forked process that did ``work``; one that hangs is ended by an alarm."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(30)
        try:
            work()
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]
