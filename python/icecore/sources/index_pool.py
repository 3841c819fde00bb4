"""Many files, indexed in processes beside this one: libhdf5 does one thing at a time in each."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from time import perf_counter
from typing import Any

from icecore import errors
from icecore.sources import open_source
from icecore.sources.files import object_stores
from icecore.sources.mapping.array_map import ArrayMap

#: Seconds after which the rest is estimated, and of work ahead that are worth starting processes for.
_TRIAL = 0.5
_WORTHWHILE = 2.0
_MOST = 32

Indexed = ArrayMap | errors.Error


def open_sources(sources: Sequence[str], **options: Any) -> Iterator[Indexed]:
    """What :func:`open_source` makes of each source, in order: its map, or the error that it raises.

    The first ones are indexed here. Where the others will take long by their measure, they are shared among
    as many processes as there are cores (``ICECORE_THREADS``).
    """
    began = perf_counter()
    for done, source in enumerate(sources):
        spent, left = perf_counter() - began, len(sources) - done
        if spent > _TRIAL and spent * left > _WORTHWHILE * done and (workers := _workers(left)):
            yield from _shared(sources[done:], workers, options)
            return
        yield _open(source, options)


def _open(source: str, options: dict[str, Any]) -> Indexed:
    try:
        return open_source(source, **options)
    except errors.Error as error:
        return error


def _workers(left: int) -> list[Worker]:
    """Processes to share the files that are left; none where they would not help, or can't be started."""
    asked = os.environ.get("ICECORE_THREADS", "")
    cores = (int(asked) if asked.isdecimal() else 0) or _cores()
    if cores < 2 or getattr(sys, "frozen", False):
        return []
    try:
        return [Worker() for _ in range(min(cores, left, _MOST))]
    except OSError:
        return []


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _shared(sources: Sequence[str], workers: list[Worker], options: dict[str, Any]) -> Iterator[Indexed]:
    idle: SimpleQueue[Worker] = SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def ask(source: str) -> Indexed | None:
        worker = idle.get()
        try:
            return worker.ask(source, options)
        finally:
            idle.put(worker)

    pool = ThreadPoolExecutor(len(workers))
    try:
        for source, answer in zip(sources, pool.map(ask, sources), strict=True):
            yield _open(source, options) if answer is None else answer
    finally:
        for worker in workers:
            worker.kill()  # so that no caller waits for an answer
        pool.shutdown(cancel_futures=True)
        for worker in workers:
            worker.close()


class Worker:
    """A process that indexes a file at a time: pickled requests on its stdin, answers on its stdout.

    It does not use ``multiprocessing``, which would run the user's own script again, or fork its threads.
    """

    def __init__(self) -> None:
        start = (
            f"import sys; sys.path[:] = {sys.path!r}; from icecore.sources.index_pool import serve; serve()"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", start],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the one that asks
        )
        self._requests: Any = self._process.stdin
        self._answers: Any = self._process.stdout

    def ask(self, source: str, options: dict[str, Any]) -> Indexed | None:
        """What it makes of a source; None where it could not be asked, or broke down over it."""
        try:
            pickle.dump((source, options, object_stores.remembered()), self._requests)
            self._requests.flush()
            answer: Indexed | None = pickle.load(self._answers)
        except (OSError, ValueError, EOFError, pickle.UnpicklingError):
            return None
        return answer

    def kill(self) -> None:
        """Stop it, whatever it does; who waits for an answer gets None."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Close the pipes of one that was stopped."""
        self._answers.close()
        with suppress(OSError):
            self._requests.close()  # the last request may not have been sent


def serve() -> None:
    """Loop of a worker: answers requests until its input is closed."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    while True:
        try:
            source, options, stores = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            object_stores.inherit(stores)
            answer: Indexed | None = _open(source, options)
            reply = pickle.dumps(answer)
        except Exception:
            reply = pickle.dumps(None)  # the one that asks tries itself, and sees what is wrong
        answers.write(reply)
        answers.flush()
