"""Pack text tables on a Dask cluster: one task for each new table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from icecore.cluster.tasks import Cluster
from icecore.repository.nodes import Node
from icecore.tables.text.pack_table import pack_table
from icecore.tables.text.table_job import Done, TableJob, TableOptions
from icecore.writing.fork import Chunks, Fork, taken
from icecore.writing.writer import Writer


@dataclass(frozen=True)
class PackedTable:
    """A table that a worker wrote: its groups and arrays, their chunks, and the result for the report."""

    nodes: list[tuple[str, bool, str]]
    chunks: dict[str, Chunks]
    done: Done


def pack_on_workers(
    writer: Writer, jobs: Sequence[TableJob], options: TableOptions, cluster: Cluster
) -> Callable[[TableJob], Done]:
    """Return a function that returns the result of each job, called once for each in order.

    New tables are packed by workers, all rows of a table by one; tables that are extended or replaced by this
    process.
    """
    if not jobs:
        return partial(pack_table, writer, options=options)
    fork = Fork.of(writer)
    new = [job for job in jobs if not job.append and not job.delete]
    results = cluster.in_order(partial(_packed, fork, options), new)

    def packed(job: TableJob) -> Done:
        if job.append or job.delete:
            return pack_table(writer, job, options)
        _, result = next(results)
        return _merge(writer, result())

    return packed


def _packed(fork: Fork, options: TableOptions, job: TableJob) -> PackedTable:
    """Pack a table, on a worker."""
    writer = fork.writer()
    done = pack_table(writer, job, options)
    chunks = taken(writer)
    nodes = [(node.path, node.is_array, node.zarr_json) for node in _below(writer, job.path)]
    return PackedTable(nodes, chunks, done)


def _below(writer: Writer, top: str) -> Iterator[Node]:
    for path, node in sorted(writer._view()._nodes.items()):
        if path == top or path.startswith(top.rstrip("/") + "/"):
            yield node


def _merge(writer: Writer, packed: PackedTable) -> Done:
    for path, is_array, document in packed.nodes:
        writer._parents(path)
        if is_array:
            writer._native.add_array(path, document)
        else:
            attributes = json.dumps(json.loads(document).get("attributes", {}))
            if writer._native.exists(path):
                writer._native.set_attrs(path, attributes)
            else:
                writer._native.add_group(path, attributes)
    for path, chunks in packed.chunks.items():
        chunks.merge(writer, path)
    return packed.done
