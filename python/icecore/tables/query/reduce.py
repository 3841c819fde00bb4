"""Reductions of rows: count, sum, mean, min, max, std, rms, histogram; optionally by key columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.cluster.connection import connected
from icecore.tables.query.arrow_numbers import arrow_list
from icecore.tables.query.cluster import reduce_on_workers
from icecore.tables.query.grouped import Grouped
from icecore.tables.query.reduce_rows import reduce_rows, row
from icecore.tables.query.reduction import Reduced, Wish, parse
from icecore.tables.query.scan import arrow, arrow_type

if TYPE_CHECKING:
    from icecore.tables.query.scan import Batches
    from icecore.tables.query.table import Table


def reduced(
    table: Table,
    what: str,
    where: str | None = None,
    *,
    limit: int | None = None,
    client: Any = None,
    **options: Any,
) -> Reduced:
    """Compute ``Table.reduce``.

    Args:
        table, what, where: as for ``Table.reduce``.
        limit: the largest number of rows of the result.
        client: a Dask cluster on which to compute.
        options: within, xy, source and prune.
    """
    if limit is not None and limit < 0:
        raise errors.make("invalid", f"limit must not be negative (got {limit})", "give 0 or more")
    wishes, keys = parse(what, table)
    reports: list[dict[str, Any]] = []
    wishes = [_spanned(table, wish, where, {**options, "client": client}, reports) for wish in wishes]
    by = list(dict.fromkeys(key.column for key in keys))
    columns = list(dict.fromkeys([*by, *(wish.column for wish in wishes if wish.column)]))
    summed: list[str] = []
    if client is not None:
        with connected(client) as cluster:
            made, matched, found = reduce_on_workers(cluster, table, wishes, by, where, options)
        reports += found
    elif keys:
        scan = table._scan(columns, where, **options)
        made, matched = _keyed(scan, by, wishes)
        reports.append(scan.report())
    else:
        group, batches, is_known = reduce_rows(table, wishes, columns, where, options)
        made, matched = {label: [value] for label, value in row(group, wishes).items()}, group.rows
        reports.append(batches.report())
        summed = columns if is_known else []
    made = {name: values[:limit] for name, values in made.items()}
    made |= _as_times(table, wishes, made)
    made = {key.name: made[key.column] for key in keys} | {wish.label: made[wish.label] for wish in wishes}
    return Reduced(table, keys, wishes, made, matched, summed, reports)


def _keyed(scan: Batches, keys: Sequence[str], wishes: Sequence[Wish]) -> tuple[dict[str, Any], int]:
    grouped = Grouped(keys, wishes)
    for batch in scan.batches():
        grouped.add(batch)
    return grouped.result()


def _as_times(table: Table, wishes: Sequence[Wish], made: dict[str, Any]) -> dict[str, Any]:
    """Convert the extremes of time columns from Arrow's integers to times."""
    pa, found = arrow(), {}
    for wish in wishes:
        kind = table._kind(wish.column)[0] if wish.column is not None else None
        if kind is not None and kind.kind in "mM" and wish.function in ("min", "max"):
            numbers = arrow_list(list(made[wish.label]), pa.int64())
            found[wish.label] = numbers.view(arrow_type(pa, kind))
    return found


def _spanned(
    table: Table, wish: Wish, where: str | None, options: dict[str, Any], reports: list[dict[str, Any]]
) -> Wish:
    """Set the ends of a histogram, if not given, from a first pass over its column or its summary."""
    if wish.function != "histogram":
        return wish
    if wish.span is None:
        ends = reduced(table, f"min:{wish.column}, max:{wish.column}", where, **options)
        reports.append(ends.report())
        low, high = (0.0 if value is None else float(value) for value in ends.rows[0].values())
        wish = replace(wish, span=(low, high if high > low else low + max(1.0, abs(low) * 1e-6)))
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            edges = np.histogram_bin_edges(np.empty(0), wish.bins, wish.span)
            cut = bool((edges[1:] > edges[:-1]).all())
    except ValueError:  # raised since NumPy 2.0
        cut = False
    if not cut:
        low, high = wish.span or (0.0, 0.0)
        message = f"{wish.label}: {low} to {high} can't be divided into {wish.bins} bins"
        hint = f"give other ends: histogram:{wish.column}:{wish.bins}:0:400"
        raise errors.make("invalid", message, hint)
    return wish
