"""``subset``: rows and variables of tables inside an area and a time span."""

from __future__ import annotations

from typing import Annotated, Any

from icecore.products.inputs import Inputs
from icecore.products.rows import Rows
from icecore.products.signature import Field
from icecore.products.table_rows import (
    BOX,
    COLUMNS,
    POLY,
    T0,
    T1,
    TABLE,
    TIME,
    WHERE,
    XY,
    Where,
    concatenated,
)


def subset(
    inputs: Inputs,
    table: Annotated[str | None, TABLE] = None,
    variables: Annotated[list[str] | None, COLUMNS] = None,
    poly: Annotated[Any, POLY] = None,
    box: Annotated[list[float] | None, BOX] = None,
    t0: Annotated[str | None, T0] = None,
    t1: Annotated[str | None, T1] = None,
    where: Annotated[str | None, WHERE] = None,
    time: Annotated[str | None, TIME] = None,
    xy: Annotated[list[str] | None, XY] = None,
    limit: Annotated[int | None, Field("Largest number of rows of each table.", low=0)] = None,
) -> Rows:
    """Rows and variables of tables inside a box or polygon and a time span.

    Zones of rows outside are skipped if the coordinates have summaries (`icecore link --summaries`). The
    columns source and table name the origin of each row where there may be several.
    """
    selected = Where(where, poly, box, t0, t1, time, xy)
    scan = lambda found: found.scan(variables, limit=limit, **selected.options(found))  # noqa: E731
    return concatenated(inputs, table, None, scan)


subset.by_source = True  # type: ignore[attr-defined]
