"""Cuts on events: Python expressions over columns, evaluated without ``eval``."""

from __future__ import annotations

import ast
import copy
import operator
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.repository.missing_values import nulls
from icecore.tables.query.column import column
from icecore.tables.query.event_read import Log, Rows, awkward

if TYPE_CHECKING:
    from icecore.repository.array import Array


_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.FloorDiv: operator.floordiv,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_COMPARE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_UNARY: dict[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: np.logical_not,
}
_ELEMENTS = ("sqrt", "exp", "log", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arctan2", "hypot")
_LISTS = ("min", "max", "sum", "any", "all", "argmin", "argmax")
_HINT = "columns, numbers, + - * / % **, < <= == != >= >, and, or, not, x[:, 0], abs, sum, any, all, num, …"


#: a column's name between backquotes, and the variable that replaces it while the text is parsed
_QUOTED, _STANDS = re.compile(r"`([^`]+)`"), "_column_{}_"


class Expression:
    """An expression over columns, such as ``nMuon >= 2 and Muon_pt[:,0] > 20``.

    Names with dots are written as they are (``MET.fX``), other names between backquotes (```MET/fX```) or as
    ``get("MET/fX")``.
    """

    def __init__(self, tree: ast.expr, text: str | None = None) -> None:
        self.tree, self.text = tree, ast.unparse(tree) if text is None else text
        functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        names = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in functions]
        #: the columns in the expression
        self.names = list(dict.fromkeys(names))

    @classmethod
    def parse(cls, text: str) -> Expression:
        """Parse an expression.

        Raises:
            Error: ``invalid``.
        """
        quoted = list(dict.fromkeys(_QUOTED.findall(text)))
        try:
            made = _QUOTED.sub(lambda found: _STANDS.format(quoted.index(found[1])), text.strip())
            tree = ast.parse(made, mode="eval").body
        except (SyntaxError, ValueError, RecursionError) as error:
            raise errors.make("invalid", f"can't parse {text!r}: {error}", _HINT) from None
        columns = {_STANDS.format(i): name for i, name in enumerate(quoted)}
        return cls(_Names(columns).visit(tree), text)

    @classmethod
    def of_column(cls, name: str) -> Expression:
        """Return a column as an expression; its name may contain any characters."""
        return cls(ast.Name(name, ast.Load()), name)

    def with_aliases(self, aliases: Mapping[str, str]) -> Expression:
        """Return the expression with names of ``aliases`` replaced by their expressions.

        Raises:
            Error: ``invalid`` for aliases that refer to each other in a circle, or that can't be parsed.
        """
        return (
            Expression(_Aliases(aliases, ()).visit(copy.deepcopy(self.tree)), self.text) if aliases else self
        )

    def conjuncts(self) -> list[Expression]:
        """Return the parts that ``and`` joins, in order."""
        if isinstance(self.tree, ast.BoolOp) and isinstance(self.tree.op, ast.And):
            return [Expression(part) for part in self.tree.values]
        return [self]

    def evaluate(self, columns: dict[str, Any]) -> Any:
        """Return the value for each event.

        Raises:
            Error: ``invalid`` for unsupported syntax, or for operations that the values do not support.
        """
        try:
            return _value(self.tree, columns)
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            hint = (
                "where lists may be too short, ask for their length first: `nMuon > 0 and Muon_pt[:,0] > 20`"
            )
            raise errors.make("invalid", f"{self.text}: {first}", hint) from error

    def mask(self, columns: dict[str, Any]) -> np.ndarray:
        """Return whether each event passes, as a boolean array.

        Raises:
            Error: ``dtype`` unless the expression has exactly one boolean per event.
        """
        value = self.evaluate(columns)
        if getattr(value, "ndim", 0) != 1:
            message = f"{self.text} has a truth for each element of a list, a cut needs one for each event"
            raise errors.make(
                "dtype", message, "put any(…) or all(…) around it, or choose an element: x[:, 0]"
            )
        result = np.asarray(_filled(value, False))
        if result.dtype.kind != "b":
            raise errors.make(
                "dtype", f"{self.text} is {result.dtype}, not true or false", "compare it: … > 0"
            )
        return result


class _Names(ast.NodeTransformer):
    """Replaces ``a.b``, ``get("a/b")`` and the variables of quoted names by names of columns."""

    def __init__(self, quoted: dict[str, str]) -> None:
        self._quoted = quoted

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Return the column for a variable."""
        return ast.Name(self._quoted.get(node.id, node.id), ast.Load())

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Return the column for ``a.b``; the field of any other value stays."""
        value = self.visit(node.value)
        if isinstance(value, ast.Name):
            return ast.Name(f"{value.id}.{node.attr}", ast.Load())
        return ast.Attribute(value, node.attr, ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Return the column for ``get("name")``; arguments of other functions are visited."""
        match node:
            case ast.Call(func=ast.Name("get"), args=[ast.Constant(value=str(name))], keywords=[]):
                return ast.Name(name, ast.Load())
        return ast.Call(node.func, [self.visit(each) for each in node.args], node.keywords)


class _Aliases(ast.NodeTransformer):
    """Replaces names by their expressions; ``within`` are the aliases around."""

    def __init__(self, aliases: Mapping[str, str], within: tuple[str, ...]) -> None:
        self._aliases, self._within = aliases, within

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the expression of an alias."""
        if node.id not in self._aliases:
            return node
        if node.id in self._within:
            message = f"aliases refer to each other: {' → '.join([*self._within, node.id])}"
            raise errors.make("invalid", message, "give an alias another name than the columns it uses")
        tree = Expression.parse(self._aliases[node.id]).tree
        found: ast.expr = _Aliases(self._aliases, (*self._within, node.id)).visit(tree)
        return found

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Visit the arguments, not the name of the function."""
        return ast.Call(node.func, [self.visit(each) for each in node.args], node.keywords)


def _value(node: ast.expr, columns: dict[str, Any]) -> Any:
    if isinstance(node, ast.BoolOp):
        return _logic(node, columns)
    if isinstance(node, ast.Compare):
        return _comparison(node, columns)
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _BINARY[type(node.op)](_value(node.left, columns), _value(node.right, columns))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        return _UNARY[type(node.op)](_value(node.operand, columns))
    if isinstance(node, ast.Name):
        return columns[node.id]
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str)):
        return node.value
    if isinstance(node, ast.Subscript):
        return _value(node.value, columns)[_index(node.slice, columns)]
    if isinstance(node, ast.Attribute):
        return _field(_value(node.value, columns), node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _call(node.func.id, [_value(argument, columns) for argument in node.args])
    raise errors.make("invalid", f"{ast.unparse(node)} can't be used in an expression", _HINT)


def _logic(node: ast.BoolOp, columns: dict[str, Any]) -> Any:
    """Evaluate ``and`` or ``or``: the right side only for events that the left side leaves undecided."""
    wants = isinstance(node.op, ast.And)
    result = _value(node.values[0], columns)
    for part in node.values[1:]:
        if getattr(result, "ndim", 0) != 1:
            other = _value(part, columns)
            result = result & other if wants else result | other
            continue
        done = np.array(_filled(result, False), bool)
        left = done if wants else ~done
        value = _value(part, {name: column[left] for name, column in columns.items()})
        done[left] = np.asarray(_filled(value, False))
        result = done
    return result


def _comparison(node: ast.Compare, columns: dict[str, Any]) -> Any:
    result, left = None, _value(node.left, columns)
    for operation, right_node in zip(node.ops, node.comparators, strict=True):
        if type(operation) not in _COMPARE:
            raise errors.make("invalid", f"{ast.unparse(node)}: only < <= == != >= > compare", _HINT)
        right = _value(right_node, columns)
        found = _filled(_compared(_COMPARE[type(operation)], left, right), isinstance(operation, ast.NotEq))
        result, left = found if result is None else result & found, right
    return result


def _compared(compare: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    try:
        return compare(left, right)
    except OverflowError:  # NumPy makes no float of an integer beyond 64 bits
        left, right = (float(each) if isinstance(each, int) else each for each in (left, right))
        return compare(left, right)


def _filled(value: Any, missing: bool) -> Any:
    """Return truths without missing values: those compare like NaN, so only ``!=`` is true for them.

    The largest or smallest element of an empty list is missing, and so are optional values.
    """
    layout = getattr(value, "layout", None)
    while layout is not None and not layout.is_option:
        layout = getattr(layout, "content", None)
    return value if layout is None else awkward().fill_none(value, missing, axis=None)


def _field(value: Any, node: ast.Attribute) -> Any:
    """Return a field of records."""
    fields = getattr(value, "fields", [])
    if node.attr not in fields:
        message = f"{ast.unparse(node)}: the record has no field {node.attr}"
        raise errors.make("invalid", message, f"there are {', '.join(fields)}" if fields else _HINT)
    return value[node.attr]


def _index(node: ast.expr, columns: dict[str, Any]) -> Any:
    if isinstance(node, ast.Tuple):
        return tuple(_index(part, columns) for part in node.elts)
    if isinstance(node, ast.Slice):
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else _value(part, columns) for part in parts))
    return _value(node, columns)


def _call(name: str, arguments: list[Any]) -> Any:
    if name == "abs" and len(arguments) == 1:
        return abs(arguments[0])
    if name in _ELEMENTS and arguments:
        return getattr(np, name)(*arguments)
    if name in (*_LISTS, "num", "len") and len(arguments) == 1:
        ak, value = awkward(), arguments[0]
        if getattr(value, "ndim", 0) < 2:
            raise errors.make("invalid", f"{name}(…) needs a column of lists", "leave it out")
        if name in ("num", "len"):
            return ak.to_numpy(ak.num(value, axis=1))
        return getattr(ak, name)(value, axis=-1)
    raise errors.make("invalid", f"unknown function {name} with {len(arguments)} arguments", _HINT)


# Skip zones of entries that a cut can't select, by a where-clause over its flat columns.
#
# The clause selects at least the entries of the cut, so that pruning changes no result.

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
        return None if array is None else _bounds_comparison(array, operator, number, arrays)

    def _flat(self, name: str) -> Array | None:
        """Return a column that summaries may describe.

        Columns with nulls are left out: nulls match no clause, but cuts see their stored values.
        """
        array = self._array_of(name)
        fits = array is not None and array.ndim == 1 and array.dtype.kind in "biuf" and not nulls(array)
        return array if fits else None


def _bounds_comparison(array: Array, operator: str, number: int | float, arrays: list[Array]) -> str | None:
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
    """Return the value of a numeric literal, which may have a sign; None for NaN and other expressions."""
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
