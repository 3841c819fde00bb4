"""``histogram``: numbers of values in bins of equal width, over all sources."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from icecore import errors
from icecore.products.inputs import Inputs
from icecore.products.rows import Rows
from icecore.products.signature import Field
from icecore.products.table_rows import BOX, POLY, T0, T1, TABLE, TIME, WHERE, XY, Place, Where, places
from icecore.tables.query.scan import arrow


def histogram(
    inputs: Inputs,
    column: Annotated[str, Field("Column of numbers.")],
    bins: Annotated[int, Field("Number of bins.", low=1, high=1_000_000)] = 100,
    low: Annotated[float | None, Field("Lower end; default: the minimum.")] = None,
    high: Annotated[float | None, Field("Upper end, included; default: the maximum.")] = None,
    table: Annotated[str | None, TABLE] = None,
    where: Annotated[str | None, WHERE] = None,
    poly: Annotated[Any, POLY] = None,
    box: Annotated[list[float] | None, BOX] = None,
    t0: Annotated[str | None, T0] = None,
    t1: Annotated[str | None, T1] = None,
    time: Annotated[str | None, TIME] = None,
    xy: Annotated[list[str] | None, XY] = None,
) -> Rows:
    """Numbers of values in bins of equal width, over all tables; one row for each bin, with its ends.

    Without low or high the data are read twice, unless the column has a summary.
    """
    selected = Where(where, poly, box, t0, t1, time, xy)
    every = list(places(inputs, table)) if inputs.cluster is None else None
    name = '"' + column.replace('"', '""') + '"'

    def reduced(what: str) -> list[dict[str, Any]]:
        work = lambda place: place.table.reduce(what, **selected.options(place.table))[0]  # noqa: E731
        of = lambda some: list(some.map(work, every or places(some, table), _name))  # noqa: E731
        return [row for rows in inputs.over_sources(of) for row in rows]

    if low is None or high is None:
        ends = reduced(f"min:{name}, max:{name}")
        least = [each[f"min:{column}"] for each in ends if each[f"min:{column}"] is not None]
        most = [each[f"max:{column}"] for each in ends if each[f"max:{column}"] is not None]
        low = float(min(least, default=0.0)) if low is None else low
        high = float(max(most, default=1.0)) if high is None else high
        high = high if high > low or least else low + 1.0
        if high == low:
            high = low + max(1.0, abs(low) * 1e-6)
    if not high > low:
        raise errors.make("invalid", f"histogram: low must be below high (got {low} and {high})", "swap them")
    counts = np.zeros(bins, "i8")
    for row in reduced(f"histogram:{name}:{bins}:{low!r}:{high!r}"):
        [found] = row.values()
        counts += np.asarray(found["counts"], "i8")
    edges = np.histogram_bin_edges(np.empty(0), bins, (low, high))
    batch = arrow().record_batch({"low": edges[:-1], "high": edges[1:], "count": counts})
    return Rows(batch.schema, [batch])


histogram.merges = True  # type: ignore[attr-defined]


def _name(place: Place) -> str:
    return place.name
