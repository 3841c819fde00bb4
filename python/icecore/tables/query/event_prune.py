"""Skip zones of entries that a cut can't select, by a where-clause over its flat columns.

The clause selects at least the entries of the cut, so that pruning changes no result.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from icecore import errors
from icecore.repository.missing_values import nulls
from icecore.tables.query.column import column
from icecore.tables.query.event_read import Log, Rows

if TYPE_CHECKING:
    from icecore.repository.array import Array

#: maps the name of a column to its array, or None if it is not a plain one
ArrayOf = Callable[[str], "Array | None"]

_OPERATORS: dict[type, str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "="}
_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
#: integers up to here are exact in float64
_EXACT = 2**53


class CutPruner:
    """Finds the entries that the summaries of a cut's flat columns don't rule out."""

    def __init__(self, array_of: ArrayOf) -> None:
        self._array_of = array_of
        self._kept: dict[str, list[tuple[int, int]] | None] = {}

    def pruned(self, tree: ast.expr, rows: Rows, log: Log) -> Rows:
        """Return ``rows`` without the zones that contain no matching entry.

        Args:
            tree: the cut's syntax tree.
            rows: a range of entries, or increasing entry numbers.
            log: receives the number of stored bytes of summaries that are read.
        """
        text = ast.dump(tree)
        if text not in self._kept:
            self._kept[text] = self._ranges(tree, log)
        kept = self._kept[text]
        return rows if kept is None else _within(rows, kept)

    def _ranges(self, tree: ast.expr, log: Log) -> list[tuple[int, int]] | None:
        """Return the ranges of entries that can match; None if the summaries rule out none."""
        arrays: list[Array] = []
        clause = self._clause(tree, arrays)
        if clause is None:
            return None
        from icecore import _icecore

        try:
            scan = _icecore.Table([column(f"c{i}", a) for i, a in enumerate(arrays)]).scan([], clause)
        except errors.Error as error:
            if error.kind in ("source-changed", "source-missing"):
                raise
            return None  # the cut itself says what is wrong
        report = scan.report()
        log.append(int(report["summaries"]["bytes_fetched"]))
        return list(scan.kept()) if report["zones_pruned"] else None

    def _clause(self, node: ast.expr, arrays: list[Array]) -> str | None:
        """Return a clause that holds wherever the expression does; None if there is none."""
        match node:
            case ast.BoolOp(op=ast.And(), values=parts):
                return _joined(" and ", [self._clause(part, arrays) for part in parts], needs_all=False)
            case ast.BoolOp(op=ast.Or(), values=parts):
                return _joined(" or ", [self._clause(part, arrays) for part in parts], needs_all=True)
            case ast.BinOp(left=left, op=ast.BitAnd(), right=right) if _is_truth(left) and _is_truth(right):
                sides = [self._clause(left, arrays), self._clause(right, arrays)]
                return _joined(" and ", sides, needs_all=False)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right) if _is_truth(left) and _is_truth(right):
                sides = [self._clause(left, arrays), self._clause(right, arrays)]
                return _joined(" or ", sides, needs_all=True)
            case ast.Name(id=name):
                array = self._flat(name)
                return _named(array, arrays) if array is not None and array.dtype.kind == "b" else None
            case ast.Compare(left=first, ops=operations, comparators=others):
                pairs = zip([first, *others[:-1]], operations, others, strict=True)
                tests = [self._test(left, type(op), right, arrays) for left, op, right in pairs]
                return _joined(" and ", tests, needs_all=False)
        return None

    def _test(self, left: ast.expr, kind: type, right: ast.expr, arrays: list[Array]) -> str | None:
        operator = _OPERATORS.get(kind)
        if isinstance(right, ast.Name):
            left, right = right, left
            operator = _MIRROR[operator] if operator else None
        number = _number(right)
        if operator is None or number is None or not isinstance(left, ast.Name):
            return None
        array = self._flat(left.id)
        return None if array is None else _comparison(array, operator, number, arrays)

    def _flat(self, name: str) -> Array | None:
        """Return a column that summaries may describe.

        Columns with nulls are left out: nulls match no clause, but cuts see their stored values.
        """
        array = self._array_of(name)
        fits = array is not None and array.ndim == 1 and array.dtype.kind in "biuf" and not nulls(array)
        return array if fits else None


def _comparison(array: Array, operator: str, number: int | float, arrays: list[Array]) -> str | None:
    """Return a comparison that holds wherever NumPy's does, which rounds as the dtype asks for."""
    kind, name = array.dtype.kind, _named(array, arrays)
    if kind == "f":
        with np.errstate(over="ignore"):
            try:
                return f"{name} {operator} {_written(float(array.dtype.type(number)))}"
            except OverflowError:
                return None
    if isinstance(number, int):
        return f"{name} {operator} {int(number)}"
    if kind == "b":
        return None
    test = f"({name} + 0) {operator} {_written(number)}"  # in float64, as in NumPy
    return test if abs(number) < _EXACT else f"({test} or {name} {operator} {_written(number)})"


def _named(array: Array, arrays: list[Array]) -> str:
    """Return the clause's name of a column."""
    paths = [each.path for each in arrays]
    if array.path not in paths:
        arrays.append(array)
        paths.append(array.path)
    return f"c{paths.index(array.path)}"


def _written(number: float) -> str:
    """Return a float as a clause has it; infinities are numbers beyond the range."""
    return repr(number).replace("inf", "1e999")


def _joined(word: str, parts: list[str | None], needs_all: bool) -> str | None:
    known = [part for part in parts if part is not None]
    if not known or (needs_all and len(known) < len(parts)):
        return None
    return f"({word.join(known)})"


def _is_truth(node: ast.expr) -> bool:
    """Whether an expression is a truth: of other operands ``&`` and ``|`` combine bits."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
        return _is_truth(node.left) and _is_truth(node.right)
    return isinstance(node, (ast.Compare, ast.BoolOp))


def _number(node: ast.expr) -> int | float | None:
    """Return the value of a numeric literal, which may have a sign; NaN is none."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _number(node.operand)
        return None if number is None else -number
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) else None


def _within(rows: Rows, kept: list[tuple[int, int]]) -> Rows:
    """Return the entries inside of the ranges."""
    if not isinstance(rows, slice):
        starts, stops = (np.array([each[i] for each in kept], "i8") for i in (0, 1))
        place = np.searchsorted(stops, rows, "right")
        inside = place < len(kept)
        inside[inside] = rows[inside] >= starts[place[inside]]
        return rows if inside.all() else rows[inside]
    parts = [(max(start, rows.start), min(stop, rows.stop)) for start, stop in kept]
    parts = [(start, stop) for start, stop in parts if start < stop]
    if len(parts) == 1:
        return slice(*parts[0])
    return np.concatenate([np.empty(0, "i8"), *(np.arange(*part) for part in parts)])
