"""Connect to a Dask cluster, and check its workers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from icecore import errors
from icecore.cluster.tasks import Cluster, version_and_threads

#: seconds to wait for the scheduler, and for the first worker
_PATIENCE = 30.0


@contextmanager
def connected(client: Any) -> Iterator[Cluster]:
    """Yield the cluster of a ``distributed.Client``, of a cluster object or of a scheduler's address.

    A client that was passed in stays open; one made for an address is closed at the end.

    Raises:
        Error: ``unsupported`` if distributed is not installed here, or icecore on a worker; ``network`` if
            the scheduler can't be reached or has no workers; ``invalid`` for another object.
    """
    distributed = _distributed()
    if isinstance(client, distributed.Client):
        yield _checked(client)
        return
    if not isinstance(client, str) and not hasattr(client, "scheduler_address"):
        message = f"client must be a distributed.Client or the address of a scheduler (got {client!r})"
        raise errors.make("invalid", message, 'client="tcp://127.0.0.1:8786"')
    try:
        made = distributed.Client(client, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        message = f"no Dask scheduler at {client}: {error}"
        raise errors.make("network", message, "start one: dask scheduler; or check the address") from error
    with made:
        yield _checked(made)


def _distributed() -> Any:
    try:
        import distributed
    except ModuleNotFoundError:
        message = "work on many machines needs dask and distributed"
        raise errors.needs("dask", message) from None
    return distributed


def _checked(client: Any) -> Cluster:
    """Return the cluster after a check of its workers: each must have this version of icecore."""
    from icecore import _icecore

    name = client.scheduler.address
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        hint = f"start some: dask worker {name}"
        raise errors.make("network", f"the scheduler at {name} has no workers", hint) from None
    found = client.run(version_and_threads, on_error="return")
    for worker, answer in found.items():
        if isinstance(answer, BaseException):
            message = f"worker {worker} can't run icecore: {answer}"
            raise errors.make("unsupported", message, "install icecore on every worker") from answer
        if answer[0] != _icecore.__version__:
            message = f"worker {worker} has icecore {answer[0]}, this process {_icecore.__version__}"
            raise errors.make("unsupported", message, "install the same version everywhere")
    return Cluster(client, sum(threads for _, threads in found.values()), os.getpid())


@contextmanager
def connected_if(client: Any) -> Iterator[Cluster | None]:
    """Yield the cluster of :func:`connected`; None without a client."""
    if client is None:
        yield None
        return
    with connected(client) as cluster:
        yield cluster
