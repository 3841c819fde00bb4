"""Reductions of rows: count, sum, mean, min, max, std, rms, histogram; optionally by key columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.tables.query import moments
from icecore.tables.query.grouped import Grouped
from icecore.tables.query.keys import is_text, stored
from icecore.tables.query.moments import Moments
from icecore.tables.query.reduction_result import Reduced
from icecore.tables.query.reduction_spec import Wish, parse
from icecore.tables.query.scan import arrow, arrow_type
from icecore.tables.summaries import write
from icecore.tables.summaries.zones import ZONE

if TYPE_CHECKING:
    import pyarrow as pa

    from icecore.repository.array import Array
    from icecore.tables.query.scan import Scan
    from icecore.tables.query.table import Table


@dataclass
class Group:
    """Accumulators of all rows."""

    rows: int = 0
    moments: dict[str, Moments] = field(default_factory=dict)
    histograms: dict[str, np.ndarray] = field(default_factory=dict)
    #: column → smallest and largest string
    ends: dict[str, tuple[str, str]] = field(default_factory=dict)


def reduced(
    table: Table, what: str, where: str | None = None, *, limit: int | None = None, **options: Any
) -> Reduced:
    """Compute ``Table.reduce``.

    Args:
        table, what, where: as for ``Table.reduce``.
        limit: the largest number of rows of the result.
        options: within, xy, source and prune.
    """
    if limit is not None and limit < 0:
        raise errors.make("invalid", f"limit must not be negative (got {limit})", "give 0 or more")
    wishes, keys = parse(what, table)
    reports: list[dict[str, Any]] = []
    wishes = [_spanned(table, wish, where, options, reports) for wish in wishes]
    columns = list(dict.fromkeys([*keys, *(wish.column for wish in wishes if wish.column)]))
    is_known = _known(table, wishes, keys, options)
    scan = table._scan(columns, where, **options, unsure_only=is_known)
    whole = _whole(table, wishes, scan.whole()) if is_known else Group()
    if whole is None:
        scan = table._scan(columns, where, **options)
    made, matched = _keyed(scan, keys, wishes) if keys else _single(scan, columns, wishes, whole or Group())
    made = {name: values[:limit] for name, values in made.items()}
    made |= _as_times(table, wishes, made)
    taken = columns if is_known and whole else []
    return Reduced(table, keys, wishes, made, matched, taken, [*reports, scan.report()])


def _keyed(scan: Scan, keys: Sequence[str], wishes: Sequence[Wish]) -> tuple[dict[str, Any], int]:
    grouped = Grouped(keys, wishes)
    for batch in scan.batches():
        grouped.add(batch)
    return grouped.result()


def _single(
    scan: Scan, columns: Sequence[str], wishes: Sequence[Wish], group: Group
) -> tuple[dict[str, Any], int]:
    if not columns:
        group.rows += scan.count()
    for batch in scan.batches() if columns else ():
        _add(group, batch, wishes)
    return {label: [value] for label, value in _row(group, wishes).items()}, group.rows


def _as_times(table: Table, wishes: Sequence[Wish], made: dict[str, Any]) -> dict[str, Any]:
    """Convert the extremes of time columns from Arrow's integers to times."""
    pa, found = arrow(), {}
    for wish in wishes:
        kind = table._kind(wish.column)[0] if wish.column is not None else None
        if kind is not None and kind.kind in "mM" and wish.function in ("min", "max"):
            numbers = pa.array(list(made[wish.label]), pa.int64())
            found[wish.label] = numbers.view(arrow_type(pa, kind))
    return found


def _known(table: Table, wishes: Sequence[Wish], keys: Sequence[str], options: dict[str, Any]) -> bool:
    """Whether zones in which all rows match are computed from summaries."""
    possible = options.get("prune", True) and options.get("within") is None and not keys
    return bool(possible) and _summed(table, wishes)


def _summed(table: Table, wishes: Sequence[Wish]) -> bool:
    """Whether the functions can be computed from summaries."""
    if any(wish.function == "histogram" for wish in wishes):
        return False
    return all(name in table and _enough(table[name], of) for name, of in _by_column(wishes).items())


def _by_column(wishes: Sequence[Wish]) -> dict[str, set[str]]:
    """Return column → functions."""
    functions: dict[str, set[str]] = {}
    for wish in wishes:
        if wish.column is not None:
            functions.setdefault(wish.column, set()).add(wish.function)
    return functions


def _enough(array: Array, functions: set[str]) -> bool:
    if write.state(array) != "fresh":
        return False
    if array.dtype.kind == "f":
        return write.finite(array)  # summaries leave infinities out of the mean, reductions don't
    if "sum" not in functions or array.dtype.itemsize < 8:
        return True
    # The sum of a zone is computed from its mean, which is exact below 2⁵¹.
    zones = write.read(array)
    return bool(max(zones["max"].max(initial=0), -int(zones["min"].min(initial=0))) < 2**51 // ZONE)


def _whole(table: Table, wishes: Sequence[Wish], runs: Sequence[tuple[int, int]]) -> Group | None:
    """Reduce zones in which all rows match from summaries; None if these are too inexact for deviations."""
    group = Group(rows=sum(stop - start for start, stop in runs))
    for column, functions in _by_column(wishes).items():
        zones = _numbers(write.read(table[column]), table[column])
        used = np.zeros(len(zones["count"]), bool)
        for start, stop in runs:
            used[start // ZONE : -(-stop // ZONE)] = True
        found = moments.of_zones(zones, used & (zones["count"] > 0))
        if "std" in functions and not found.is_sure:
            return None
        group.moments[column] = found
    return group


def _numbers(zones: dict[str, np.ndarray], array: Array) -> dict[str, np.ndarray]:
    """Return a summary with times as Arrow's integers."""
    if array.dtype.kind not in "mM":
        return zones
    unit = arrow_type(arrow(), array.dtype).unit
    ends = {name: zones[name].astype(f"{array.dtype.kind}8[{unit}]").view("i8") for name in ("min", "max")}
    return {**zones, **ends}


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


def _add(group: Group, part: pa.RecordBatch, wishes: Sequence[Wish]) -> None:
    group.rows += part.num_rows
    values = {column: _values(part[column]) for column in {wish.column for wish in wishes if wish.column}}
    for column, data in values.items():
        group.moments.setdefault(column, Moments()).add(moments.of_values(data))
    for column in {wish.column for wish in wishes if wish.column and wish.function in ("min", "max")}:
        if is_text(part[column]):
            _stretch(group, column, part[column])
    for wish in wishes:
        if wish.function == "histogram" and wish.column is not None:
            counts = np.histogram(values[wish.column].astype("f8"), wish.bins, wish.span)[0]
            group.histograms[wish.label] = group.histograms.get(wish.label, 0) + counts


def _stretch(group: Group, column: str, texts: pa.Array) -> None:
    import pyarrow.compute as pc

    low, high = pc.min_max(texts).as_py().values()
    if low is not None:
        least, greatest = group.ends.get(column, (low, high))
        group.ends[column] = min(least, low), max(greatest, high)


def _values(column: pa.Array) -> np.ndarray:
    data, valid = stored(column)
    data = data if valid is None else data[valid.view("?")]
    gone = np.isnan(data) if data.dtype.kind == "f" else np.zeros(0, bool)
    return data[~gone] if gone.any() else data


def _row(group: Group, wishes: Sequence[Wish]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for wish in wishes:
        if wish.column is None:
            row[wish.label] = group.rows
        elif wish.function == "histogram":
            counts = group.histograms.get(wish.label, np.zeros(wish.bins, "i8"))
            low, high = wish.span or (0.0, 1.0)
            row[wish.label] = {"low": low, "high": high, "counts": counts.tolist()}
        elif wish.column in group.ends and wish.function in ("min", "max"):
            row[wish.label] = group.ends[wish.column][wish.function == "max"]
        else:
            row[wish.label] = group.moments.get(wish.column, Moments()).value(wish.function)
    return row
