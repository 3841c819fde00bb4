"""Processes forked from one whose threads are in the middle of something: no hang, no lost commit."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest
from forks import values, write
from latsrv import LatencyServer

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def run(*given: str | Path) -> None:
    """``forks.py`` as a process of its own."""
    program = Path(__file__).with_name("forks.py")
    command = [sys.executable, "-X", "faulthandler", str(program), *map(str, given)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A file to link."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=values(0), chunks=(10, 20), compression="gzip")
    return tmp_path / "x.h5"


@pytest.mark.slow
@pytest.mark.parametrize("far", [False, True], ids=["folder", "http"])
def test_threads_are_busy(
    repo_path: str, linked: Path, serve: Callable[..., LatencyServer], tmp_path: Path, far: bool
) -> None:
    icecore.create(repo_path)
    url = [f"{serve(tmp_path).url}/{Path(repo_path).name}"] if far else []
    run("busy", repo_path, linked, *url)


@pytest.mark.parametrize("what", ["twins", "held", "writer"])
def test_commits(repo_path: str, what: str) -> None:
    icecore.create(repo_path)
    run(what, repo_path)


class Rows:
    """What a DataLoader iterates over: opened before its workers are."""

    def __init__(self, url: str) -> None:
        self.array = icecore.open(url)["/a0"]

    def __getitem__(self, at: int) -> np.ndarray:
        return self.array[at]


def batch(given: tuple[Rows, list[int]]) -> float:
    """What a worker makes of some rows."""
    rows, wanted = given
    return float(sum(rows[at].sum() for at in wanted))


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_pools_of_processes(repo_path: str, method: str) -> None:
    """Arrays travel to workers by pickle; under ``fork`` the pool's own threads run while it forks."""
    icecore.create(repo_path)
    write(repo_path, ["/a0"])
    rows = Rows(repo_path)
    expected = values(0).sum(axis=1)
    np.testing.assert_array_equal(rows.array.read(), values(0))
    wanted = [list(range(first, first + 10)) for first in range(0, 100, 10)]
    with multiprocessing.get_context(method).Pool(2, maxtasksperchild=3) as pool:
        found = pool.map(batch, [(rows, part) for part in wanted], chunksize=1)
    assert found == [float(expected[part].sum()) for part in wanted]


def loader(rows: Rows, indexes: multiprocessing.Queue, results: multiprocessing.Queue) -> None:
    """A worker as those of a DataLoader: it has the dataset from the fork, and gets only indexes."""
    while (wanted := indexes.get()) is not None:
        results.put((wanted, np.stack([rows[at] for at in wanted])))


def test_workers_that_inherit_the_dataset(repo_path: str) -> None:
    """Two epochs, each with fresh workers; the parent reads between them, so that its threads run."""
    icecore.create(repo_path)
    write(repo_path, ["/a0"])
    rows = Rows(repo_path)
    context = multiprocessing.get_context("fork")
    for _ in range(2):
        np.testing.assert_array_equal(rows.array[::7], values(0)[::7])
        results = context.Queue()
        queues = [context.Queue() for _ in range(3)]
        workers = [context.Process(target=loader, args=(rows, queue, results)) for queue in queues]
        for worker in workers:
            worker.start()
        order = np.random.default_rng(1).permutation(100).reshape(20, 5).tolist()
        for number, wanted in enumerate(order):
            queues[number % 3].put(wanted)
        for _ in order:
            wanted, found = results.get(timeout=60)
            np.testing.assert_array_equal(found, values(0)[wanted])
        for queue, worker in zip(queues, workers, strict=True):
            queue.put(None)
            worker.join(60)
            assert worker.exitcode == 0


LEAVING = """
import sys, threading, time
import icecore
array = icecore.open(sys.argv[1])["/a0"]
begun = threading.Event()
def read():
    while True:
        array.read()
        begun.set()
for _ in range(4):
    threading.Thread(target=read, daemon=True).start()
begun.wait(60)
time.sleep(0.05)
print("left")
"""


def test_leaving_while_threads_read(repo_path: str) -> None:
    """The interpreter ends while daemon threads are inside a read: neither a crash nor a hang."""
    icecore.create(repo_path)
    write(repo_path, ["/a0"])
    for _ in range(5):
        command = [sys.executable, "-X", "faulthandler", "-c", LEAVING, repo_path]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "left\n", "")
