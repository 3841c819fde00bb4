"""Tasks on a cluster: results in order or as they finish, with a bounded number in flight."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from icecore import errors

Item = TypeVar("Item")
Result = TypeVar("Result")

#: tasks per thread of the workers that are submitted ahead
_AHEAD = 3
#: partial results that one task of a tree merges
_FAN = 8


@dataclass(frozen=True)
class Cluster:
    """A connected cluster.

    Dask runs the tasks of a worker that dies again on the others. After several deaths with the same task
    the task fails.

    Attributes:
        client: a ``distributed.Client``.
        threads: threads of all workers.
        process: id of the process that connected.
    """

    client: Any
    threads: int
    process: int

    @property
    def ahead(self) -> int:
        """The number of tasks in flight: enough to keep all workers busy."""
        return max(_AHEAD * self.threads, _FAN)

    def submit(self, work: Callable[..., Result], *given: Any) -> Any:
        """Submit a call; the future's result is that of ``work``."""
        return self.client.submit(_called, Sealed((work, given)), pure=False)

    def in_order(
        self, work: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Callable[[], Result]]]:
        """Yield each item, in order, with a function that returns its result or raises its error.

        If the iteration ends early, the tasks that are left are cancelled.
        """
        waiting: deque[tuple[Item, Any]] = deque()
        try:
            for item in items:
                waiting.append((item, self.submit(work, item)))
                if len(waiting) >= self.ahead:
                    done, future = waiting.popleft()
                    yield done, _result_of(future)
            while waiting:
                done, future = waiting.popleft()
                yield done, _result_of(future)
        finally:
            self.client.cancel([future for _, future in waiting], force=True)

    @contextmanager
    def running(self) -> Iterator[Running]:
        """Context of tasks whose results are taken as they finish; those left at its end are cancelled."""
        running = Running(self)
        try:
            yield running
        finally:
            running.cancel()

    def reduced(
        self, work: Callable[[Item], Result], merge: Callable[[list[Result]], Result], items: Iterable[Item]
    ) -> Result | None:
        """Return the merged results of ``work``; None without items.

        Results are merged in a tree on the workers, in the order of the items. The tree depends on the items
        alone, so that rounding is the same on any number of workers. Few results exist at a time.
        """
        levels: list[list[Any]] = []
        running: deque[Any] = deque()
        for item in items:
            if len(running) >= self.ahead:
                _result_of(running.popleft(), gather=False)()
            leaf = self.submit(work, item)
            running.append(leaf)
            self._rise(levels, 0, leaf, merge)
        rest: list[Any] = []
        for level in levels:
            rest = [*level, *([self._merge(merge, rest)] if len(rest) > 1 else rest)]
        if not rest:
            return None
        return _result_of(self._merge(merge, rest))()

    def _merge(self, merge: Callable[[list[Any]], Any], parts: list[Any]) -> Any:
        return self.client.submit(_merged, Sealed(merge), parts, pure=False)

    def _rise(self, levels: list[list[Any]], at: int, result: Any, merge: Callable[[list[Any]], Any]) -> None:
        """Add a result to a level of the tree; a full level is merged into the next one."""
        if at == len(levels):
            levels.append([])
        levels[at].append(result)
        if len(levels[at]) == _FAN:
            full, levels[at] = levels[at], []
            self._rise(levels, at + 1, self._merge(merge, full), merge)


class Running:
    """Tasks in flight, each with a name for its result."""

    def __init__(self, cluster: Cluster) -> None:
        from distributed import as_completed

        self._cluster = cluster
        self._completed: Any = as_completed(loop=cluster.client.loop)
        self._items: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self._items)

    @property
    def is_full(self) -> bool:
        """Whether results must be taken before more is submitted."""
        return len(self) >= self._cluster.ahead

    def submit(self, item: Any, work: Callable[..., Any], *given: Any) -> None:
        """Submit a call whose result belongs to ``item``."""
        future = self._cluster.submit(work, *given)
        self._items[future.key] = (future, item)
        self._completed.add(future)

    def take(self) -> tuple[Any, Callable[[], Any]]:
        """Wait for one task; return its item and a function that returns its result or raises its error."""
        future = next(self._completed)
        _, item = self._items.pop(future.key)
        return item, _result_of(future)

    def cancel(self) -> None:
        """Cancel everything that is left."""
        futures = [future for future, _ in self._items.values()]
        self._items.clear()
        if futures:
            self._cluster.client.cancel(futures, force=True)


def version_and_threads(dask_worker: Any) -> tuple[str, int]:
    """Return the version of icecore on a worker (Dask passes it), and the worker's threads."""
    from icecore import _icecore

    return _icecore.__version__, _prepared(dask_worker)


def _called(sealed: Sealed) -> Any:
    """Run a task on a worker."""
    from distributed import get_worker

    _prepared(get_worker())
    work, given = sealed.value
    return work(*given)


def _merged(merge: Sealed, parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else merge.value(parts)


def _prepared(worker: Any) -> int:
    """Let the engine of a worker process use as many threads as the worker has; return their number."""
    threads: int = worker.state.nthreads
    os.environ.setdefault("ICECORE_THREADS", str(threads))
    return threads


def _result_of(future: Any, gather: bool = True) -> Callable[[], Any]:
    """Return a function that waits for a future and returns its result or raises its error."""

    def result() -> Any:
        from distributed import wait
        from distributed.scheduler import KilledWorker

        try:
            if gather:
                return future.result()
            wait([future])
            if future.status == "error":
                future.result()
        except KilledWorker as error:
            message = f"a task failed because its worker died, {error.allowed_failures + 1} times"
            hint = "look at the worker's log; too little memory is the usual reason"
            raise errors.make("io", message, hint) from error
        return None

    return result


# Values that are unpickled where they are used: Dask's scheduler unpickles graphs, but can't open stores.


class Sealed:
    """A value that is pickled as bytes, and unpickled when it is first used."""

    def __init__(self, value: Any = None, pickled: bytes | None = None) -> None:
        self._value, self._pickled = value, pickled

    @property
    def value(self) -> Any:
        """The value."""
        if self._pickled is not None:
            import cloudpickle

            self._value, self._pickled = cloudpickle.loads(self._pickled), None
        return self._value

    def __reduce__(self) -> tuple[Any, ...]:
        import cloudpickle

        pickled = self._pickled if self._pickled is not None else cloudpickle.dumps(self._value)
        return (Sealed, (None, pickled))
