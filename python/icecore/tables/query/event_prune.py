"""Prune entries that a cut can't select, using only the summaries of flat columns."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore.repository.missing_values import nulls
from icecore.tables.query.event_read import Log, Rows
from icecore.tables.summaries import write, zones

if TYPE_CHECKING:
    from icecore.repository.array import Array

#: smallest and largest value of each zone of rows; NaN for zones without values
Range = tuple[np.ndarray, np.ndarray]
#: maps the name of a column to its summary, or None
RangeOf = Callable[[str], Range | None]

#: comparison of a column with a number → whether a zone may contain matching rows
_MAY: dict[type, Callable[[Range, Any], np.ndarray]] = {
    ast.Lt: lambda ends, x: ends[0] < x,
    ast.LtE: lambda ends, x: ends[0] <= x,
    ast.Gt: lambda ends, x: ends[1] > x,
    ast.GtE: lambda ends, x: ends[1] >= x,
    ast.Eq: lambda ends, x: (ends[0] <= x) & (ends[1] >= x),
}
_TURNED: dict[type, type] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
}


def pruned(tree: ast.expr, rows: Rows, range_of: RangeOf) -> Rows:
    """Return ``rows`` without the zones that contain no matching row.

    Args:
        tree: the cut's syntax tree.
        rows: a range of entries, or increasing entry numbers.
        range_of: returns the summary of a column.
    """
    may = _may(tree, range_of)
    if may is None or may.all():
        return rows
    if not isinstance(rows, slice):
        return rows[may[rows // zones.ZONE]]
    first, end = rows.start // zones.ZONE, -(-rows.stop // zones.ZONE)
    if rows.stop <= rows.start or may[first:end].all():
        return rows
    kept = np.flatnonzero(may[first:end]) + first
    entries = (kept[:, None] * zones.ZONE + np.arange(zones.ZONE)).ravel()
    return entries[(entries >= rows.start) & (entries < rows.stop)]


def load(array: Array, log: Log) -> Range | None:
    """Return the summary of a column if it is up to date; its stored bytes are appended to ``log``.

    Columns with nulls return None: summaries exclude nulls, but cuts do not.
    """
    if array.ndim != 1 or array.dtype.kind not in "biuf" or nulls(array):
        return None
    if write.state(array) != "fresh":
        return None
    parent = array._node.parent
    log.append(zones.stored_bytes(array.repo, parent, zones.entries(array.repo, parent)[array.name]))
    summary = write.read(array)
    return summary["min"], summary["max"]


def _may(node: ast.expr, range_of: RangeOf) -> np.ndarray | None:
    """Return whether each zone may contain matching rows; None if the summaries don't determine it."""
    if isinstance(node, ast.BoolOp):
        parts = [_may(value, range_of) for value in node.values]
        known = [part for part in parts if part is not None]
        if isinstance(node.op, ast.And):
            return np.logical_and.reduce(known) if known else None
        return np.logical_or.reduce(known) if len(known) == len(parts) else None
    if isinstance(node, ast.Name):
        ends = range_of(node.id)
        return ends[1] > 0 if ends is not None and ends[1].dtype.kind == "b" else None
    if not isinstance(node, ast.Compare):
        return None
    result, left = None, node.left
    for operation, right in zip(node.ops, node.comparators, strict=True):
        found = _comparison(left, type(operation), right, range_of)
        if found is not None:
            result = found if result is None else result & found
        left = right
    return result


def _comparison(left: ast.expr, operation: type, right: ast.expr, range_of: RangeOf) -> np.ndarray | None:
    if operation not in _MAY:
        return None
    if isinstance(right, ast.Name):
        left, right, operation = right, left, _TURNED[operation]
    number = _number(right)
    if not isinstance(left, ast.Name) or number is None:
        return None
    ends = range_of(left.id)
    return None if ends is None else _MAY[operation](ends, number)


def _number(node: ast.expr) -> int | float | None:
    """Return the value of a numeric literal, which may have a sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _number(node.operand)
        return None if number is None else -number
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) else None
