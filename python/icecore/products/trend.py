"""``trend``: minimum, maximum, mean and rms of a time series in windows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from icecore.products.inputs import Inputs, Source
from icecore.products.rows import Rows
from icecore.products.signature import Field
from icecore.repository.time_axis import NS
from icecore.tables.query.scan import arrow
from icecore.timeseries.trend import Trend

if TYPE_CHECKING:
    import pyarrow as pa


def trend(
    inputs: Inputs,
    array: Annotated[str, Field("Path of a time series in each source: /H1/GDS-CALIB_STRAIN.")],
    t0: Annotated[str | None, Field("Start: GPS seconds, or UTC as 2015-09-14T09:50:29.")] = None,
    t1: Annotated[str | None, Field("End, not included.")] = None,
    points: Annotated[int, Field("Largest number of windows of each source.", low=1, high=10_000_000)] = 2000,
) -> Rows:
    """Minimum, maximum, mean, rms and count of a time series in equal windows, one row for each window.

    Windows without samples have a count of 0 and null values.
    """
    pa, is_named = arrow(), inputs.are_several
    numbers = [pa.field(name, pa.float64()) for name in ("min", "max", "mean", "rms")]
    times = [pa.field("gps", pa.float64()), pa.field("gps_ns", pa.int64())]
    origin = [pa.field("source", pa.large_string())] if is_named else []
    schema = pa.schema([*origin, *times, *numbers, pa.field("count", pa.int64())])

    def found(source: Source) -> tuple[str, Trend]:
        return source.name, source.array(array).trend(t0, t1, points)

    def batches() -> Iterator[Any]:
        for name, made in inputs.map(found, inputs, lambda source: source.name):
            yield _batch(schema, name if is_named else None, made)

    return Rows(schema, batches())


trend.by_source = True  # type: ignore[attr-defined]


def _batch(schema: pa.Schema, name: str | None, made: Trend) -> pa.RecordBatch:
    pa = arrow()
    offsets = np.round(np.arange(len(made)) * made.step * NS).astype("i8")
    columns = [pa.array([name] * len(made), pa.large_string())] if name is not None else []
    columns += [pa.array(made.times), pa.array(made.t0 + offsets)]
    columns += [pa.array(values, from_pandas=True) for values in (made.min, made.max, made.mean, made.rms)]
    return pa.RecordBatch.from_arrays([*columns, pa.array(made.count)], schema=schema)
