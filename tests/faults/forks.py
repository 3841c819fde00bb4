"""Run as a program: forks children while its own threads read, commit and link, and says how they ended.

forks.py busy REPO FILE [URL]     threads do everything all the time; 50 children do it too
forks.py twins REPO               children that commit at once, of a parent that has committed before
forks.py held REPO                children that only live on while their parent commits
forks.py writer REPO              a child that has its parent's writer
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable

import icecore
import numpy as np
from icecore import errors

ROWS = 2000
LIMIT = 20
warnings.simplefilter("ignore", DeprecationWarning)  # Python's own word of warning about forks


def values(number: int) -> np.ndarray:
    """What array ``number`` holds."""
    return (np.arange(ROWS, dtype="f8") + 10_000 * number).reshape(ROWS // 20, 20)


def write(url: str, names: list[str], start: int = 0, timeout: int = 100) -> None:
    """Commit arrays, one commit each."""
    for number, name in enumerate(names, start):
        with icecore.open(url, storage={"lock_timeout": str(timeout)}).writer(name) as writer:
            array = writer.array(name, dtype="f8", shape=values(0).shape, chunks=(5, 20), shards=(25, 20))
            array[...] = values(number)


def check(url: str, names: list[str], start: int = 0) -> None:
    """They are all there."""
    repo = icecore.open(url)
    for number, name in enumerate(names, start):
        np.testing.assert_array_equal(repo[name].read(), values(number))


def fork(work: Callable[[], None]) -> int:
    """A child that does ``work`` within the limit; its process id."""
    child = os.fork()
    if child:
        return child
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(LIMIT)
    try:
        work()
    except BaseException:
        os.write(2, traceback.format_exc().encode())
        os._exit(1)
    os._exit(0)


def ended(children: list[int]) -> None:
    """Wait for them; none of them may have failed or hung."""
    statuses = [os.waitpid(child, 0)[1] for child in children]
    bad = [status for status in statuses if status]
    assert not bad, f"{len(bad)} of {len(statuses)} children: {bad} (14: hung)"


def busy(url: str, file: str, far: str | None = None) -> None:
    """Threads read and write all the time; children do the same, also with what their parent had opened."""
    write(url, [f"/a{i}" for i in range(12)])
    # Everything is imported before: Python's own lock of a module that a thread is just importing stays held.
    icecore.link(file, into=url, group="/warm")
    check(url, ["/a0"])
    held = icecore.open(far or url)
    near = icecore.open(url)
    stop, failures = threading.Event(), []

    def reader(seed: int) -> None:
        rng = random.Random(seed)
        while not stop.is_set():
            at = rng.randrange(8)
            opened = icecore.open(url) if rng.random() < 0.3 else held
            rows = sorted(rng.sample(range(ROWS // 20), 2))
            np.testing.assert_array_equal(opened[f"/a{at}"][slice(*rows)], values(at)[slice(*rows)])

    def committer() -> None:
        number = 0
        while not stop.is_set():
            write(url, [f"/parent/p{number % 3}_{os.getpid()}_{number}"])
            icecore.link(file, into=url, group=f"/parent/l{number}")
            number += 1
            stop.wait(0.05)

    def guarded(work: Callable[..., None], *given: int) -> None:
        try:
            work(*given)
        except BaseException as error:
            failures.append(repr(error))

    threads = [threading.Thread(target=guarded, args=(reader, i)) for i in range(3)]
    threads.append(threading.Thread(target=guarded, args=(committer,)))
    for thread in threads:
        thread.start()

    def child(number: int) -> None:
        for at in (number % 8, 8 + number % 4):  # what threads were reading, and what nobody has read
            np.testing.assert_array_equal(held[f"/a{at}"].read(), values(at))
        check(url, [f"/a{i}" for i in range(3)])
        if number % 5 == 0:
            write(url, [f"/child/c{number}"], number)
            icecore.link(file, into=url, group=f"/child/l{number}")
            np.testing.assert_array_equal(icecore.open(url)[f"/child/l{number}/x"].read(), values(0))
            assert near.at("main").snapshot_id
            assert len(near.log(2)) == 2

    try:
        for first in range(0, 50, 5):
            ended([fork(lambda n=n: child(n)) for n in range(first, first + 5)])
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures, failures
    for number in range(0, 50, 5):
        check(url, [f"/child/c{number}"], number)


def twins(url: str) -> None:
    """Children of a parent that has committed must not take each other's names for objects and versions."""
    write(url, ["/first"])
    arrays = {n: [f"/child{n}/a{i}" for i in range(3)] for n in range(6)}
    ended([fork(lambda n=n: write(url, arrays[n], 10 * n)) for n in arrays])
    write(url, ["/last"])
    for n, names in arrays.items():
        check(url, names, 10 * n)
    assert len(icecore.open(url).log()) == 1 + 2 + 3 * len(arrays)
    assert not icecore.open(url).verify(deep=True)


def held(url: str) -> None:
    """A child that was forked in the middle of a commit doesn't keep the repository locked while it lives."""
    children: list[int] = []
    stop = threading.Event()

    def forks() -> None:
        while len(children) < 30 and not stop.is_set():
            children.append(fork(lambda: time.sleep(15)))
            time.sleep(0.01)

    thread = threading.Thread(target=forks)
    thread.start()
    try:
        number = 0
        while thread.is_alive():
            write(url, [f"/a{number}"], timeout=3)
            number += 1
    finally:
        stop.set()
        thread.join()
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def refused(work: Callable[[], object]) -> str:
    """The kind of error that it ends with."""
    try:
        work()
    except errors.Error as error:
        return error.kind
    return "nothing"


def writer(url: str) -> None:
    """A writer is its process's: a child gets an error, may drop it, and its parent goes on."""
    repo = icecore.open(url)
    with repo.writer("parent") as writer:
        array = writer.array("/x", dtype="f8", shape=values(0).shape, chunks=(5, 20))
        array[...] = values(3)

        def child() -> None:
            assert refused(lambda: array.__setitem__(..., values(1))) == "unsupported"
            assert refused(lambda: array.append(values(0)[0])) == "unsupported"
            assert refused(lambda: writer.commit("child")) == "unsupported"
            writer.__dict__.clear()  # its native part goes, as it does when the child ends
            write(url, ["/child"])

        ended([fork(child)])
    check(url, ["/x"], 3)
    check(url, ["/child"])


if __name__ == "__main__":
    {"busy": busy, "twins": twins, "held": held, "writer": writer}[sys.argv[1]](*sys.argv[2:])
