"""A Polars LazyFrame over a table: pushes down projections, and of predicates what a where-clause can say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.tables.scan import arrow, arrow_type

if TYPE_CHECKING:
    import polars

    from icecore.tables.table import Table

_COMPARE = {"Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">=", "Eq": "="}
_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def lazy(table: Table) -> polars.LazyFrame:
    """See :meth:`icecore.tables.table.Table.to_polars`."""
    try:
        import polars as pl
        from polars.io.plugins import register_io_source
    except ModuleNotFoundError:
        raise errors.make("unsupported", "a LazyFrame needs polars", "pip install 'icecore[table]'") from None
    pa = arrow()
    fields = [pa.field(name, arrow_type(pa, dtype)) for name, dtype in table.dtypes.items()]
    empty = pl.from_arrow(pa.schema(fields).empty_table())
    assert isinstance(empty, pl.DataFrame)

    def source(
        columns: list[str] | None, predicate: polars.Expr | None, rows: int | None, _batch: int | None
    ) -> Iterator[polars.DataFrame]:
        wanted = list(table) if columns is None else columns
        tested = [] if predicate is None else predicate.meta.root_names()
        read = [*wanted, *(name for name in dict.fromkeys(tested) if name not in wanted)]
        where = None if predicate is None else clause(predicate, table)
        scan = table.scanning(read, where, limit=rows if predicate is None else None)
        left = rows
        for batch in scan.batches():
            frame = pl.from_arrow(batch)
            assert isinstance(frame, pl.DataFrame)
            if predicate is not None:
                frame = frame.filter(predicate)
            frame = frame.select(wanted) if left is None else frame.select(wanted).head(left)
            if left is not None:
                left -= len(frame)
            yield frame
            if left == 0:
                return

    return register_io_source(source, schema=empty.schema)


def clause(predicate: polars.Expr, table: Table) -> str | None:
    """A where-clause that is true at least wherever the predicate is; None where nothing can be said.

    Polars says about itself how an expression is serialised, and may change it: what isn't understood is
    left to Polars, which filters the rows again in any case.
    """
    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
    except Exception:  # whatever a later Polars raises: then nothing is pushed down
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
            # Open ends are closed here: a superset is enough.
            ends = (_compare(">=", value, low, table), _compare("<=", value, high, table))
            return " and ".join(f"({end})" for end in ends if end) or None
    return None


def _compare(op: str, left: Any, right: Any, table: Table) -> str | None:
    name, value = _column(left), _number(right)
    if name is None:
        name, value, op = _column(right), _number(left), _MIRROR[op]
    if name is None or value is None or name not in table or table.dtypes[name].kind not in "iuf":
        return None
    quoted = '"' + name.replace('"', '""') + '"'
    # Polars counts NaN as larger than every number, and compares in the wider of two types.
    if table.dtypes[name].kind == "f" and table.dtypes[name].itemsize < 8:
        quoted = f"({quoted} + 0)"
    test = f"{quoted} {op} {value!r}"
    return f"{test} or {quoted} is null" if table.dtypes[name].kind == "f" and op in (">", ">=") else test


def _column(node: Any) -> str | None:
    return node["Column"] if isinstance(node, dict) and isinstance(node.get("Column"), str) else None


def _number(node: Any) -> int | float | None:
    """The number in ``{"Literal": {"Dyn": {"Float": 120.0}}}`` and the like."""
    if not isinstance(node, dict) or "Literal" not in node:
        return None
    value = node["Literal"]
    while isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300
    return value if good else None
