"""Text form of rows: durations as times of day, structures as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore.tables.query.arrow_numbers import arrow_list

if TYPE_CHECKING:
    import pyarrow as pa

#: Arrow's unit → ticks per second, decimal digits
_TICKS = {"s": (1, 0), "ms": (1000, 3), "us": (10**6, 6), "ns": (10**9, 9)}


def clocks(batches: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Convert durations, also in lists, to times of day: ``00:05:00.123``, ``-01:00:00``, ``49:00:00``.

    The number of decimals depends on the unit, as in the times that Arrow prints.
    """
    return _changed(batches, partial(_text_type, "is_duration"), partial(_within_lists, _clock))


def times(batches: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Convert times and durations, also in lists, to text: Python supports only the years 1 to 9999."""
    return _changed(clocks(batches), partial(_text_type, "is_timestamp"), partial(_within_lists, _time))


def near(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Convert time columns to text if Arrow can't print one of their values (years beyond ±32,767)."""
    import pyarrow as pa

    if any(pa.types.is_timestamp(column.type) and _is_far(column) for column in batch.columns):
        [batch] = times(pa.RecordBatchReader.from_batches(batch.schema, [batch]))
    return batch


def cells(batches: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Convert structures to JSON text, for one cell of a CSV file."""
    import pyarrow as pa

    def kind(of: Any) -> Any:
        return pa.large_string() if pa.types.is_struct(of) else of

    return _changed(
        batches, kind, lambda column: arrow_list(list(map(json.dumps, column.to_pylist())), pa.large_string())
    )


def _changed(
    batches: pa.RecordBatchReader, kind: Callable[[Any], Any], change: Callable[[Any], Any]
) -> pa.RecordBatchReader:
    """Convert the columns whose type ``kind`` changes."""
    import pyarrow as pa

    schema = batches.schema
    made = pa.schema([field.with_type(kind(field.type)) for field in schema])
    if made.equals(schema):
        return batches

    def each() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            both = zip(batch.columns, made, strict=True)
            columns = [column if column.type == field.type else change(column) for column, field in both]
            yield pa.RecordBatch.from_arrays(columns, schema=made)

    return pa.RecordBatchReader.from_batches(made, each())


def _text_type(is_one: str, of: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_fixed_size_list(of):
        return pa.list_(_text_type(is_one, of.value_type), of.list_size)
    return pa.large_string() if getattr(pa.types, is_one)(of) else of


def _within_lists(change: Callable[[Any], Any], column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_fixed_size_list(column.type):
        return pa.FixedSizeListArray.from_arrays(change(column.flatten()), column.type.list_size)
    return change(column)


def _is_far(column: Any) -> bool:
    """Whether Arrow would print one of these times as ``<value out of range: …>``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.type.unit == "ns":
        return False
    ends = pc.min_max(column.cast(pa.int64())).as_py()
    first, last = (int(np.datetime64(year, "s").astype("i8")) for year in ("-32767", "32768"))
    second = _TICKS[column.type.unit][0]
    return ends["min"] is not None and not first * second <= ends["min"] <= ends["max"] < last * second


def _time(column: Any) -> Any:
    """Return a column of times as text."""
    import pyarrow as pa

    if not _is_far(column):
        return column.cast(pa.large_string())
    every = np.char.replace(np.datetime_as_string(column.to_numpy(zero_copy_only=False)), "T", " ")
    return pa.array(every.tolist(), pa.large_string(), mask=column.is_null().to_numpy(zero_copy_only=False))


def _clock(column: Any) -> Any:
    """Return a column of durations as text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    unit, ticks = column.type.unit, column.cast(pa.int64())
    ends = pc.min_max(ticks).as_py()
    second, digits = _TICKS[unit]
    if (
        ends["min"] is not None and ends["min"] >= 0 and ends["max"] < 86_400 * second
    ):  # Arrow's time type prints these
        narrow = pa.time32(unit) if digits < 6 else pa.time64(unit)
        return ticks.cast(pa.int32() if digits < 6 else pa.int64()).cast(narrow).cast(pa.large_string())
    texts = [None if tick is None else _text(tick, second, digits) for tick in ticks.to_pylist()]
    return arrow_list(texts, pa.large_string())


def _text(ticks: int, second: int, digits: int) -> str:
    whole, fraction = divmod(abs(ticks), second)
    minutes, seconds = divmod(whole, 60)
    clock = f"{'-' if ticks < 0 else ''}{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
    return f"{clock}.{fraction:0{digits}}" if digits else clock
