"""Index many files on the workers of a Dask cluster."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from icecore.cluster.tasks import Cluster
from icecore.repository.storage_options import without_secrets
from icecore.sources.files import object_stores
from icecore.sources.index_pool import Indexed, open_one

#: largest number of files of a task, and smallest number of tasks per thread of the workers
_MOST, _TASKS = 64, 4


def open_on_workers(cluster: Cluster, sources: Sequence[str], options: dict[str, Any]) -> Iterator[Indexed]:
    """Yield for each source, in order, the result of :func:`open_source` or the error that it raised."""
    size = max(min(len(sources) // (_TASKS * cluster.threads), _MOST), 1)
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
