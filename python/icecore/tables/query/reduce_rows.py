"""Reduction of rows without keys, from summaries where these suffice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore.tables.query import moments
from icecore.tables.query.partial_group import Group
from icecore.tables.query.reduction_spec import Wish
from icecore.tables.query.scan import arrow, arrow_type
from icecore.tables.summaries import write
from icecore.tables.summaries.zones import ZONE

if TYPE_CHECKING:
    from icecore.repository.array import Array
    from icecore.tables.query.scan import Scan
    from icecore.tables.query.table import Table


def reduce_rows(
    table: Table, wishes: Sequence[Wish], columns: Sequence[str], where: str | None, options: dict[str, Any]
) -> tuple[Group, Scan, bool]:
    """Reduce without keys; return the accumulators, the scan, and whether summaries were used."""
    is_known = _known(table, wishes, options)
    scan = table._scan(columns, where, **options, unsure_only=is_known)
    whole = _whole(table, wishes, scan.whole()) if is_known else None
    if is_known and whole is None:
        scan = table._scan(columns, where, **options)
    group = whole or Group()
    if not columns:
        group.rows += scan.count()
    for batch in scan.batches() if columns else ():
        group.add_rows(batch, wishes)
    return group, scan, whole is not None


def _known(table: Table, wishes: Sequence[Wish], options: dict[str, Any]) -> bool:
    """Whether zones in which all rows match are computed from summaries."""
    possible = options.get("prune", True) and options.get("within") is None
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
