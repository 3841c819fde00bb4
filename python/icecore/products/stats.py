"""``stats``: count, mean, standard deviation, minimum and maximum of columns over all sources."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

from icecore.products.inputs import Inputs
from icecore.products.rows import Rows
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
    Place,
    Where,
    places,
)
from icecore.tables.query.scan import arrow
from icecore.tables.query.table import Table

_FUNCTIONS = ("count", "mean", "std", "min", "max")


@dataclass
class _Moments:
    """Count, mean and sum of squared deviations, which can be combined."""

    count: int = 0
    mean: float = math.nan
    squares: float = 0.0
    least: float = math.nan
    most: float = math.nan

    def add(self, count: int, mean: float | None, std: float | None, least: Any, most: Any) -> None:
        """Add the statistics of other values (Chan, Golub and LeVeque 1983)."""
        if not count or mean is None:
            return
        if not self.count:
            self.count, self.mean, self.squares = count, mean, (std or 0.0) ** 2 * count
            self.least, self.most = float(least), float(most)
            return
        total, gap = self.count + count, mean - self.mean
        self.squares += (std or 0.0) ** 2 * count + gap * gap * self.count * count / total
        self.mean += gap * count / total
        self.count = total
        self.least, self.most = min(self.least, float(least)), max(self.most, float(most))


def stats(
    inputs: Inputs,
    table: Annotated[str | None, TABLE] = None,
    columns: Annotated[list[str] | None, COLUMNS] = None,
    where: Annotated[str | None, WHERE] = None,
    poly: Annotated[Any, POLY] = None,
    box: Annotated[list[float] | None, BOX] = None,
    t0: Annotated[str | None, T0] = None,
    t1: Annotated[str | None, T1] = None,
    time: Annotated[str | None, TIME] = None,
    xy: Annotated[list[str] | None, XY] = None,
) -> Rows:
    """Count, mean, standard deviation (of the population), minimum and maximum of columns, over all tables.

    One row for each column of numbers. Null and NaN are not counted. Without an area, summaries are used
    where columns have them.
    """
    selected = Where(where, poly, box, t0, t1, time, xy)
    found: dict[str, _Moments] = {}

    def reduced(place: Place) -> dict[str, list[Any]]:
        names = _numeric(place.table, columns)
        if not names:
            return {}
        what = ", ".join(f"{function}:{_quoted(name)}" for name in names for function in _FUNCTIONS)
        [row] = place.table.reduce(what, **selected.options(place.table))
        values = list(row.values())
        return {name: values[5 * i : 5 * i + 5] for i, name in enumerate(names)}

    def of(some: Inputs) -> list[dict[str, list[Any]]]:
        return list(some.map(reduced, places(some, table), lambda place: place.name))

    for row in (row for rows in inputs.over_sources(of) for row in rows):
        for name, values in row.items():
            found.setdefault(name, _Moments()).add(*values)
    return _rows(found)


stats.merges = True  # type: ignore[attr-defined]


def _rows(found: dict[str, _Moments]) -> Rows:
    pa = arrow()
    every = list(found.values())
    deviations = [math.sqrt(max(m.squares, 0.0) / m.count) if m.count else math.nan for m in every]
    batch = pa.record_batch(
        {
            "column": pa.array(list(found), pa.large_string()),
            "count": pa.array([m.count for m in every], pa.int64()),
            "mean": pa.array([m.mean for m in every], pa.float64()),
            "std": pa.array(deviations, pa.float64()),
            "min": pa.array([m.least for m in every], pa.float64()),
            "max": pa.array([m.most for m in every], pa.float64()),
        }
    )
    return Rows(batch.schema, [batch])


def _numeric(table: Table, columns: list[str] | None) -> list[str]:
    """Return the columns that were named, or all columns of numbers with one value per row."""
    if columns is not None:
        return columns
    return [name for name, array in table._columns.items() if array.dtype.kind in "iuf" and array.ndim == 1]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
