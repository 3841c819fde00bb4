"""Reductions on a Dask cluster: a partial result for each range of rows, merged in a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.cluster.connection import connected
from icecore.cluster.tasks import Cluster
from icecore.tables.query.arrow_numbers import arrow_list
from icecore.tables.query.grouped import Grouped, is_text_type
from icecore.tables.query.reduce_rows import Group, Moments, reduce_rows, row
from icecore.tables.query.reduction import Wish
from icecore.tables.query.scan import Scan, arrow, arrow_type, row_ranges

if TYPE_CHECKING:
    import pyarrow as pa

    from icecore.tables.query.table import Table


@dataclass
class Partial:
    """Accumulators by key (an empty tuple without keys), and the reports of the scans."""

    groups: dict[tuple[Any, ...], Group] = field(default_factory=dict)
    matched: int = 0
    reports: list[dict[str, Any]] = field(default_factory=list)


def reduce_on_workers(
    cluster: Cluster,
    table: Table,
    wishes: Sequence[Wish],
    keys: Sequence[str],
    where: str | None,
    options: dict[str, Any],
) -> tuple[dict[str, Any], int, list[dict[str, Any]]]:
    """Return the columns of the result (keys in order), the number of rows and the report.

    Counts, extremes and sums of integers are exact. Sums and means of floats are added in the order of a tree
    that depends on the table alone.
    """
    sendable(table)
    columns = [*keys, *(wish.column for wish in wishes if wish.column)]
    work = partial(_reduced, table, list(wishes), list(keys), where, options)
    found = cluster.reduced(work, _merged, row_ranges(table, list(dict.fromkeys(columns)))) or Partial()
    if not keys:
        values = row(found.groups.get((), Group()), wishes)
        return {label: [value] for label, value in values.items()}, found.matched, found.reports
    order = sorted(found.groups, key=lambda key: [(value is None, value) for value in key])
    made: dict[str, Any] = {}
    for i, name in enumerate(keys):
        made[name] = _keys(table, name, [key[i] for key in order])
    rows = [row(found.groups[key], wishes) for key in order]
    return made | {w.label: [each[w.label] for each in rows] for w in wishes}, found.matched, found.reports


def _keys(table: Table, name: str, values: list[Any]) -> Any:
    """Return key values, integers for times, as an Arrow array."""
    pa, kind = arrow(), arrow_type(arrow(), *table._kind(name))
    if pa.types.is_temporal(kind):
        return arrow_list(values, pa.int64()).view(kind)
    return arrow_list(values, kind)


def _reduced(
    table: Table,
    wishes: list[Wish],
    keys: list[str],
    where: str | None,
    options: dict[str, Any],
    rows: tuple[int, int],
) -> Partial:
    """Reduce a range, on a worker."""
    columns = list(dict.fromkeys([*keys, *(wish.column for wish in wishes if wish.column)]))
    if not keys:
        group, scan, _ = reduce_rows(table, wishes, columns, where, {**options, "rows": rows})
        return Partial({(): group}, group.rows, [scan.report()])
    scan = Scan(table, columns, where, rows=rows, **options)
    base = _base(wishes)
    grouped = Grouped(keys, base)
    for batch in scan.batches():
        grouped.add(batch)
    made, matched = grouped.result()
    texts = {w.column for w in wishes if w.column and is_text_type(_type(table, w.column))}
    return Partial(_groups(made, keys, wishes, texts), matched, [scan.report()])


def _type(table: Table, column: str) -> Any:
    return arrow_type(arrow(), *table._kind(column))


def _base(wishes: Sequence[Wish]) -> list[Wish]:
    """Return the functions from which the results of ranges can be merged."""
    found = {"rows": Wish("rows", "count")}
    for wish in wishes:
        if wish.function == "histogram":
            found[wish.label] = replace(wish, label=f"histogram {wish.label}")
        if wish.column is None:
            continue
        names = {"std": ["mean", "std"], "rms": ["mean", "std"], "count": [], "histogram": []}
        for function in ["count", *names.get(wish.function, [wish.function])]:
            label = f"{function} {wish.column}"
            found[label] = Wish(label, function, wish.column)
    return list(found.values())


def _groups(
    made: dict[str, Any], keys: Sequence[str], wishes: Sequence[Wish], texts: set[str]
) -> dict[tuple[Any, ...], Group]:
    """Return accumulators by key from the results of the base functions."""
    plain = {name: _objects(values) for name, values in made.items()}
    columns = list(dict.fromkeys(wish.column for wish in wishes if wish.column))
    found: dict[tuple[Any, ...], Group] = {}
    for i, key in enumerate(zip(*(plain[name] for name in keys), strict=True)):
        group = found[key] = Group(rows=plain["rows"][i])
        for column in columns:
            at = {
                f: plain[f"{f} {column}"][i]
                for f in ("count", "mean", "std", "sum", "min", "max")
                if f"{f} {column}" in plain
            }
            ends: tuple[Any, Any] = (at.get("min"), at.get("max"))
            if column in texts:
                low, high = (ends[1] if ends[0] is None else ends[0], ends[0] if ends[1] is None else ends[1])
                if low is not None:
                    group.ends[column] = (low, high)
                ends = (None, None)
            count, deviation = at["count"], at.get("std") or 0.0
            group.moments[column] = Moments(
                count,
                at.get("mean") or 0.0,
                deviation**2 * count,
                ends[0] or 0,
                ends[1] or 0,
                at.get("sum") or 0,
            )
        for wish in wishes:
            if wish.function == "histogram":
                counts = made[f"histogram {wish.label}"][i]["counts"]
                group.histograms[wish.label] = np.asarray(counts, "i8")
    return found


def _objects(values: Any) -> list[Any]:
    """Return Python objects; times as integers."""
    pa = arrow()
    if isinstance(values, list):
        return values
    if isinstance(values, np.ndarray):
        return values.tolist()
    return (values.view(pa.int64()) if pa.types.is_temporal(values.type) else values).to_pylist()


def _merged(parts: list[Partial]) -> Partial:
    whole = Partial()
    for part in parts:
        whole.matched += part.matched
        whole.reports += part.reports
        for key, group in part.groups.items():
            whole.groups.setdefault(key, Group()).add(group)
    return Partial(whole.groups, whole.matched, [added(whole.reports)])


# Scan of a table on a Dask cluster: one task for each range of rows, results in the order of the table.

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
