"""``query``: rows that a where-clause selects, or statistics of them by key."""

from __future__ import annotations

from typing import Annotated, Any

from icecore import errors
from icecore.products.inputs import Inputs
from icecore.products.rows import Rows
from icecore.products.signature import Field
from icecore.products.table_rows import COLUMNS, POLY, TABLE, WHERE, XY, Where, concatenated
from icecore.tables.query.table import Table


def query(
    inputs: Inputs,
    table: Annotated[str | None, TABLE] = None,
    where: Annotated[str | None, WHERE] = None,
    columns: Annotated[list[str] | None, COLUMNS] = None,
    reduce: Annotated[
        str | None, Field("Statistics of each table instead of rows: count, mean:tb, max:tb by channel.")
    ] = None,
    poly: Annotated[Any, POLY] = None,
    xy: Annotated[list[str] | None, XY] = None,
    limit: Annotated[int | None, Field("Largest number of rows of each table.", low=0)] = None,
) -> Rows:
    """Rows that a where-clause selects, or statistics of them by key, as `icecore query` computes them.

    Each table is queried by itself: the columns source and table name it where there may be several.
    """
    if reduce is not None and columns is not None:
        raise errors.make("invalid", "columns can't be combined with reduce", "name the columns in reduce")
    selected = Where(where, poly, xy=xy)

    def scan(found: Table) -> Any:
        options = selected.options(found)
        if reduce is not None:
            return found.reduce(reduce, limit=limit, **options)
        return found.scan(columns, limit=limit, **options)

    return concatenated(inputs, table, None, scan)


query.by_source = True  # type: ignore[attr-defined]
