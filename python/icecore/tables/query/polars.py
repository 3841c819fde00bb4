"""Polars LazyFrame over a table; pushes down projections and the predicates that where-clauses support."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from icecore import errors
from icecore.tables.query.scan import arrow, arrow_type

if TYPE_CHECKING:
    import polars

    from icecore.tables.query.table import Table

_COMPARE = {"Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">=", "Eq": "="}
_UNITS: dict[str, Any] = {"Nanoseconds": "ns", "Microseconds": "us", "Milliseconds": "ms"}
#: integers up to here are exact in float64
_EXACT = 2**53
_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def lazy(table: Table) -> polars.LazyFrame:
    """See :meth:`icecore.tables.query.table.Table.to_polars`."""
    try:
        import polars as pl
        from polars.io.plugins import register_io_source
    except ModuleNotFoundError:
        raise errors.needs("table", "a LazyFrame needs polars") from None
    pa = arrow()
    fields = [pa.field(name, arrow_type(pa, *table._kind(name))) for name in table._columns]
    names = list(table)
    fields += list(table.scan(table._lists).schema) if table._lists else []
    empty = pl.from_arrow(pa.schema(fields).empty_table())
    assert isinstance(empty, pl.DataFrame)

    def source(
        columns: list[str] | None, predicate: polars.Expr | None, rows: int | None, _batch: int | None
    ) -> Iterator[polars.DataFrame]:
        wanted = names if columns is None else columns
        tested = [] if predicate is None else predicate.meta.root_names()
        read = [*wanted, *(name for name in dict.fromkeys(tested) if name not in wanted)]
        # With both, Polars applies the predicate to the first n rows of the table.
        where = None if predicate is None or rows is not None else clause(predicate, table)
        for batch in table.scan(read, where, limit=rows).batches():
            frame = pl.from_arrow(batch)
            assert isinstance(frame, pl.DataFrame)
            if predicate is not None:
                frame = frame.filter(predicate)
            yield frame.select(wanted)

    return register_io_source(source, schema=empty.schema)


def clause(predicate: polars.Expr, table: Table) -> str | None:
    """Return a where-clause that selects at least the rows of the predicate; None if there is none.

    The serialised form of expressions may change between versions of Polars. Parts that are not recognised
    are ignored: Polars filters the rows again in any case.
    """
    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
    except Exception:  # later versions of Polars may raise anything: push nothing down
        return None
    return _clause(tree, table)


def _clause(node: Any, table: Table) -> str | None:
    match node:
        case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
            sides = [side for part in (left, right) if (side := _clause(part, table))]
            return " and ".join(f"({side})" for side in sides) or None
        case {"BinaryExpr": {"left": left, "op": "Or" | "LogicalOr", "right": right}}:
            either = [side for part in (left, right) if (side := _clause(part, table))]
            return " or ".join(f"({side})" for side in either) if len(either) == 2 else None
        case {"BinaryExpr": {"left": left, "op": op, "right": right}} if op in _COMPARE:
            return _compare(_COMPARE[op], left, right, table)
        case {"Function": {"input": [value, low, high], "function": {"Boolean": {"IsBetween": _}}}}:
            # Open intervals become closed: a superset is enough.
            ends = (_compare(">=", value, low, table), _compare("<=", value, high, table))
            return " and ".join(f"({end})" for end in ends if end) or None
        case {"Function": {"input": [value], "function": {"Boolean": "IsNull" | "IsNan"}}}:
            # NaN counts as null in clauses: a superset is enough.
            name = _column(value)
            return (
                f"{_quoted(name)} is null"
                if name and name in table._columns and table[name].ndim == 1
                else None
            )
    return None


def _compare(op: str, left: Any, right: Any, table: Table) -> str | None:
    name, value = _column(left), _literal(right)
    if name is None:
        name, value, op = _column(right), _literal(left), _MIRROR[op]
    if name is None or name not in table._columns or table[name].ndim != 1:
        return None
    kind, quoted = table.dtypes[name], _quoted(name)
    match value:
        case (int() | float()) as number if kind.kind in "iuf":
            # Polars orders NaN above all numbers and compares in the wider of the two dtypes.
            wide = f"({quoted} + 0)" if kind.kind == "f" and kind.itemsize < 8 else quoted
            test = f"{wide} {op} {number!r}"
            if kind.kind in "iu" and abs(number) >= _EXACT:  # Polars may compare in float64
                test = f"({test} or ({quoted} + 0) {op} {number!r})"
            return f"{test} or {quoted} is null" if kind.kind == "f" and op in (">", ">=") else test
        case np.datetime64() as time if kind.kind == "M":
            # Polars may compare in the coarser of two units: one second more gives a superset.
            second = np.timedelta64(1, "s")
            ends = [f"{quoted} >= '{time - second}'"] if op in (">", ">=", "=") else []
            ends += [f"{quoted} <= '{time + second}'"] if op in ("<", "<=", "=") else []
            return " and ".join(ends)
        case str() as text if kind.kind in "OSU" and op == "=":
            return f"{quoted} = '{text.replace(chr(39), chr(39) * 2)}'"
    return None


def _quoted(name: str | None) -> str:
    return '"' + (name or "").replace('"', '""') + '"'


def _column(node: Any) -> str | None:
    return node["Column"] if isinstance(node, dict) and isinstance(node.get("Column"), str) else None


def _literal(node: Any) -> int | float | str | np.datetime64 | None:
    """Return the value of a serialised literal such as ``{"Literal": {"Dyn": {"Float": 120.0}}}``."""
    match node:
        case {"Literal": {"Scalar": {"String": str(text)}}}:
            return text
        case {"Literal": {"Scalar": {"Datetime": [int(ticks), str(unit), None]}}} if unit in _UNITS:
            return np.datetime64(ticks, _UNITS[unit])
        case {"Literal": {"Scalar": {"Float16": int(bits)}}}:
            return _finite(np.uint16(bits % 2**16).view("f2"))
        case {"Literal": {"Scalar": {"Float32": int() | float() as shortest}}}:
            return _finite(np.float32(shortest))  # Polars writes -1.450099 for -1.450098991394043
        case {"Literal": {"Dyn": {**kinds}}} | {"Literal": {"Scalar": {**kinds}}}:
            kind, value = cast(tuple[str, Any], next(iter(kinds.items()), ("", None)))
            good = kind.startswith(("Int", "UInt", "Float")) and isinstance(value, (int, float))
            return value if good and abs(value) < 1e300 else None
    return None


def _finite(value: np.floating[Any]) -> float | None:
    return float(value) if np.isfinite(value) else None
