"""Index many files in worker processes, because libhdf5 serializes all calls in a process."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from time import perf_counter
from typing import Any

from icecore import errors
from icecore.cluster.tasks import Cluster
from icecore.repository.storage.storage_options import without_secrets
from icecore.sources import open_source
from icecore.sources.files import object_stores
from icecore.sources.files.identity import is_remote
from icecore.sources.mapping.array_map import ArrayMap

#: seconds of serial work before an estimate is made; smallest remaining seconds that justify processes
_TRIAL = 0.5
_WORTHWHILE = 2.0
_MOST = 32
#: processes for remote files, which wait for their server most of the time
_REMOTE = 8

Indexed = ArrayMap | errors.Error


def open_sources(sources: Sequence[str], **options: Any) -> Iterator[Indexed]:
    """Yield for each source, in order, the result of :func:`open_source` or the error that it raised.

    The first sources are indexed in this process. If the rest will take long, it is shared among as many
    processes as there are cores (``ICECORE_THREADS``).
    """
    began = perf_counter()
    for done, source in enumerate(sources):
        spent, left = perf_counter() - began, len(sources) - done
        if (
            spent > _TRIAL
            and spent * left > _WORTHWHILE * done
            and (workers := _workers(left, is_remote(source)))
        ):
            yield from _shared(sources[done:], workers, options)
            return
        yield open_one(source, options)


def open_one(source: str, options: dict[str, Any]) -> Indexed:
    """Return the result of :func:`open_source`, or the error that it raised."""
    try:
        return open_source(source, **options)
    except errors.Error as error:
        return error


def _workers(left: int, remote: bool = False) -> list[Worker]:
    """Return worker processes for the remaining files; none if they would not help or can't be started."""
    asked = os.environ.get("ICECORE_THREADS", "")
    cores = (int(asked) if asked.isdecimal() else 0) or _cores()
    if remote and not asked:
        cores = max(cores, _REMOTE)
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
            yield open_one(source, options) if answer is None else answer
    finally:
        for worker in workers:
            worker.kill()  # so that no caller waits for an answer
        pool.shutdown(cancel_futures=True)
        for worker in workers:
            worker.close()


class Worker:
    """A process that indexes one file at a time: pickled requests on stdin, answers on stdout.

    It does not use ``multiprocessing``, which would run the user's script again, or fork its threads.
    """

    def __init__(self) -> None:
        start = (
            f"import sys; sys.path[:] = {sys.path!r}; from icecore.sources.index_pool import serve; serve()"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", start],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # only the parent receives Ctrl-C
        )
        self._requests: Any = self._process.stdin
        self._answers: Any = self._process.stdout

    def ask(self, source: str, options: dict[str, Any]) -> Indexed | None:
        """Index a source in the worker; return None if the worker could not be asked or crashed."""
        try:
            pickle.dump((source, options, object_stores.remembered()), self._requests)
            self._requests.flush()
            answer: Indexed | None = pickle.load(self._answers)
        except (OSError, ValueError, EOFError, pickle.UnpicklingError):
            return None
        return answer

    def kill(self) -> None:
        """Kill the worker; pending requests return None."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Close the pipes of a killed worker."""
        self._answers.close()
        with suppress(OSError):
            self._requests.close()  # the last request may not have been sent


def serve() -> None:
    """Loop of a worker: answers requests until its input is closed."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # libraries may print to stdout
    while True:
        try:
            source, options, stores = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            object_stores.inherit(stores)
            answer: Indexed | None = open_one(source, options)
            reply = pickle.dumps(answer)
        except Exception:
            reply = pickle.dumps(None)  # the one that asks tries itself, and sees what is wrong
        answers.write(reply)
        answers.flush()


# Index many files on the workers of a Dask cluster.

#: largest number of files of a task, and smallest number of tasks per thread of the workers
_MOST_A_TASK, _TASKS = 64, 4


def open_on_workers(cluster: Cluster, sources: Sequence[str], options: dict[str, Any]) -> Iterator[Indexed]:
    """Yield for each source, in order, the result of :func:`open_source` or the error that it raised."""
    size = max(min(len(sources) // (_TASKS * cluster.threads), _MOST_A_TASK), 1)
    batches = [sources[at : at + size] for at in range(0, len(sources), size)]
    # Graphs carry no keys: workers have their own.
    stores = {place: without_secrets(given) for place, given in object_stores.remembered().items()}
    for batch, result in cluster.in_order(partial(_opened, options, stores), batches):
        for source, answer in zip(batch, result(), strict=True):
            yield open_one(source, options) if answer is None else pickle.loads(answer)


def _opened(
    options: dict[str, Any], stores: dict[str, dict[str, str]], sources: Sequence[str]
) -> list[bytes | None]:
    """Return the pickled index of each source; None if it can't be pickled."""
    object_stores.inherit(stores)
    return [_pickled(open_one(source, options)) for source in sources]


def _pickled(indexed: Indexed) -> bytes | None:
    try:
        return pickle.dumps(indexed)
    except Exception:  # of any reader; the source is then opened where its index is needed
        return None
