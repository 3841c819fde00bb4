"""Scan of a table on a Dask cluster: one task for each range of rows, results in the order of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.cluster.connection import connected
from icecore.tables.query.row_ranges import row_ranges
from icecore.tables.query.scan import Scan, arrow, plain

if TYPE_CHECKING:
    import pyarrow as pa

    from icecore.tables.query.table import Table

_READS = ("summaries", "predicate", "data")


class ClusterScan(Scan):
    """A scan whose rows are selected by the workers of a cluster."""

    def __init__(
        self, table: Table, columns: Sequence[str], where: str | None, client: Any, **options: Any
    ) -> None:
        super().__init__(table, columns, where, **options)
        sendable(table)
        self._client, self._options = client, {**options, "where": where}
        self._reports: list[dict[str, Any]] = []

    def report(self) -> dict[str, Any]:
        """Return the cost of the ranges that were scanned so far."""
        return added(self._reports) if self._reports else super().report()

    def count(self) -> int:
        """Return the number of selected rows."""
        return sum(batch.num_rows for batch in self._batches())

    def to_numpy(self) -> dict[str, np.ndarray]:
        """Return all rows: name → array."""
        table = arrow().Table.from_batches(self._batches(stored=True), self.schema)
        kinds = [self._table._kind(name) for name in self.columns]
        return {name: plain(table[name], *kind) for name, kind in zip(self.columns, kinds, strict=True)}

    def _batches(self, stored: bool = False) -> Iterator[pa.RecordBatch]:
        left = self._limit
        work = partial(_scanned, self._table, self.columns, self._options, stored)
        with connected(self._client) as cluster:
            for _, result in cluster.in_order(work, row_ranges(self._table, self._read)):
                batches, report = result()
                self._reports.append(report)
                for batch in batches:
                    taken = batch if left is None else batch.slice(0, left)
                    left = None if left is None else left - taken.num_rows
                    if taken.num_rows:
                        yield taken
                if left == 0:
                    return


def sendable(table: Table) -> None:
    """Reject a table that other processes can't read.

    Raises:
        Error: ``invalid`` for a repository in memory.
    """
    url = table._group.repo.url
    if url.startswith("memory://"):
        message = f"{url} is in memory: the workers of a cluster can't read it"
        raise errors.make("invalid", message, "use a directory that all workers see, or s3://bucket/name")


def added(reports: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the sum of the reports of ranges of one table."""
    total = dict(reports[0])
    for name, value in total.items():
        if name in _READS:
            total[name] = {count: sum(each[name][count] for each in reports) for count in value}
        elif name != "rows" and isinstance(value, int) and not isinstance(value, bool):
            total[name] = sum(each[name] for each in reports)
    return total


def _scanned(
    table: Table, columns: Sequence[str], options: dict[str, Any], stored: bool, rows: tuple[int, int]
) -> tuple[list[pa.RecordBatch], dict[str, Any]]:
    """Scan a range, on a worker."""
    scan = Scan(table, columns, rows=rows, **options)
    return list(scan._batches(stored)), scan.report()
