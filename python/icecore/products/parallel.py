"""Run work on all cores, with results in order and a bounded number of them waiting."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

#: results per thread that may wait for their turn
_AHEAD = 2


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], threads: int | None = None
) -> Iterator[tuple[Item, Callable[[], Result]]]:
    """Yield each item with a function that returns its result or raises its exception.

    If the iteration ends early, work that has not started is cancelled, and running work is waited for.
    """
    threads = threads or cores()
    waiting: deque[tuple[Item, Future[Result]]] = deque()
    pool = ThreadPoolExecutor(threads, "icecore-product")
    try:
        for item in items:
            waiting.append((item, pool.submit(work, item)))
            if len(waiting) >= _AHEAD * threads:
                done, future = waiting.popleft()
                yield done, future.result
        while waiting:
            done, future = waiting.popleft()
            yield done, future.result
    finally:
        for _, future in waiting:
            future.cancel()
        pool.shutdown(wait=True)
