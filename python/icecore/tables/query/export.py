"""Write rows of a scan or a reduction to the terminal, to stdout or to a file, batch by batch."""

from __future__ import annotations

import io
import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TextIO

import numpy as np

from icecore import errors
from icecore.display import text
from icecore.filesystem.atomic_output import landing, printing
from icecore.tables.query.arrow_numbers import arrow_list, floats
from icecore.tables.query.region import X, Y
from icecore.tables.query.scan import arrow, flat, null_numbers

if TYPE_CHECKING:
    import pyarrow as pa


#: characters of a cell on a terminal, and of the list of columns that do not fit
_CELL, _MORE = 40, 120


class Rows(Protocol):
    """Interface of the rows: a scan or a reduction."""

    @property
    def columns(self) -> list[str]: ...

    @property
    def schema(self) -> pa.Schema: ...

    def reader(self) -> pa.RecordBatchReader: ...

    def batches(self) -> Iterator[pa.RecordBatch]: ...

    def to_numpy(self) -> dict[str, np.ndarray]: ...


def export(rows: Rows, output: str | None, json: bool = False, shown: int = 20) -> int:
    """Write rows and return their number.

    Args:
        rows: a scan or a reduction.
        output: a ``.csv``, ``.json``, ``.parquet``, ``.geoparquet``, ``.arrow`` or ``.npy`` file, which
            appears when it is complete; or ``-`` for stdout. None also writes to stdout, but prints a short
            table if stdout is a terminal.
        json: write JSON to stdout instead of CSV.
        shown: rows of the short table.

    Durations in text formats are times of day, ``00:05:00.123``.

    Raises:
        Error: ``unsupported`` for another suffix or a missing package; ``io`` or ``permission`` if the file
            can't be written.
    """
    if output is None or output == "-":
        with printing():
            if json:
                return _json(rows, sys.stdout)
            if output is None and sys.stdout.isatty():
                return _show(rows, shown)
            return sum(_csv(rows, sys.stdout.buffer))
    write = writer(output)
    with landing(output) as part:
        return write(rows, part)


def writer(output: str) -> Callable[[Rows, str], int]:
    """Return the function that writes a file with this suffix.

    Raises:
        Error: ``unsupported`` for another suffix than those of :func:`export`.
    """
    if output == "-":
        return lambda rows, _: sum(_csv(rows, sys.stdout.buffer))
    suffix = os.path.splitext(output)[1].lower()
    if suffix not in _FORMATS:
        raise errors.make(
            "unsupported", f"can't write {suffix or output!r} files", f"one of {', '.join(_FORMATS)}"
        )
    return _FORMATS[suffix]


def _csv(scan: Rows, sink: Any) -> Iterator[int]:
    arrow()
    import pyarrow.csv as pc

    batches = cells(clocks(flat(scan.reader())))
    with pc.CSVWriter(sink, batches.schema) as writer:
        for each in batches:
            batch = near(each)
            if batch.num_columns == 1 and batch[0].null_count:
                _lone(pc, sink, batch)
            elif batch is each:
                writer.write_batch(batch)
            else:
                pc.write_csv(batch, sink, pc.WriteOptions(include_header=False))
            yield batch.num_rows


def _lone(pc: Any, sink: Any, batch: pa.RecordBatch) -> None:
    """Write a single column; null is ``""`` here, because CSV readers skip empty lines."""
    import pyarrow as pa

    if pa.types.is_large_string(batch[0].type):
        filled = batch.set_column(0, batch.schema[0].name, batch[0].fill_null(""))
    else:
        filled = batch
    made = io.BytesIO()
    pc.write_csv(filled, made, pc.WriteOptions(include_header=False))
    lines = made.getvalue()
    if filled is batch:  # no empty strings, so every empty line is a null
        lines = b"".join(line if line != b"\n" else b'""\n' for line in lines.splitlines(keepends=True))
    sink.write(lines)


def _parquet(scan: Rows, sink: Any) -> Iterator[int]:
    arrow()
    import pyarrow.parquet as pq

    with pq.ParquetWriter(sink, scan.schema, compression="zstd") as writer:
        for batch in scan.batches():
            writer.write_batch(batch)
            yield batch.num_rows


def _geoparquet(scan: Rows, sink: Any) -> Iterator[int]:
    arrow()
    import pyarrow.parquet as pq

    points = Points(scan.schema)
    with pq.ParquetWriter(sink, points.schema, compression="zstd") as writer:
        for batch in points.batches(scan.batches()):
            writer.write_batch(batch)
            yield batch.num_rows
        writer.add_key_value_metadata(points.metadata())


def _arrow(scan: Rows, sink: Any) -> Iterator[int]:
    pa = arrow()
    with pa.ipc.new_file(sink, scan.schema) as writer:
        for batch in scan.batches():
            writer.write_batch(batch)
            yield batch.num_rows


def _arrow_stream(scan: Rows, sink: Any) -> Iterator[int]:
    pa = arrow()
    with pa.ipc.new_stream(sink, scan.schema) as writer:
        for batch in scan.batches():
            writer.write_batch(batch)
            yield batch.num_rows


def _streamed(steps: Callable[[Rows, Any], Iterator[int]]) -> Callable[[Rows, str], int]:
    """Return the function that writes a whole file in the steps of a format."""

    def write(rows: Rows, path: str) -> int:
        with open(path, "wb") as sink:
            return sum(steps(rows, sink))

    return write


def _npy(scan: Rows, path: str) -> int:
    """Write a structured array; variable-length strings become fixed-size strings, null floats NaN."""
    columns = scan.to_numpy()
    for name, marks in null_numbers(scan).items():
        columns[name] = _marked(name, columns[name], marks)
    columns = {name: data.astype("U") if data.dtype.kind == "O" else data for name, data in columns.items()}
    rows = len(next(iter(columns.values())))
    table = np.empty(rows, [(name, data.dtype, data.shape[1:]) for name, data in columns.items()])
    for name, data in columns.items():
        table[name] = data
    np.save(path, table, allow_pickle=False)
    return rows


def _marked(name: str, data: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """Return a column with NaN for null floats; integers keep their stored value, with a warning."""
    missing = np.isin(data, marks)
    if data.dtype.kind == "f":
        return np.where(missing, data.dtype.type(np.nan), data)
    if missing.any():
        values = ", ".join(map(str, np.unique(data[missing]).tolist()))
        note(f"{name}: {np.count_nonzero(missing):,} missing values are {values} in .npy, which has no null")
    return data


def _json(scan: Rows, sink: TextIO) -> int:
    """Write one array of objects, row by row; NaN and infinities become null, infinities with a warning."""
    import json

    rows, plain = 0, _Plain()
    for batch in times(scan.reader()):
        for row in batch.to_pylist():
            # The opening bracket comes with the first row, so that a failing read leaves no partial document.
            sink.write(("," if rows else "[") + "\n " + json.dumps(plain(row), default=str))
            rows += 1
    sink.write("\n]\n" if rows else "[\n]\n")
    if plain.infinite:
        numbers = text.plural(plain.infinite, "infinite number")
        note(f"JSON has no infinity: {numbers} written as null; .csv, .parquet and .npy have it")
    return rows


def _json_file(scan: Rows, path: str) -> int:
    with open(path, "w", encoding="utf-8") as sink:
        return _json(scan, sink)


def note(message: str) -> None:
    """Print a warning about written values to stderr."""
    print(f"icecore: {message}", file=sys.stderr)


class _Plain:
    """Converts values for JSON; counts the infinities, which become null."""

    def __init__(self) -> None:
        self.infinite = 0

    def __call__(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self(item) for item in value]
        if isinstance(value, Decimal):  # an integer of more than 64 bits
            return int(value)
        if not isinstance(value, float) or math.isfinite(value):
            return value
        self.infinite += math.isinf(value)
        return None


#: formats that need no seeking: each writes a batch to a binary sink and yields its number of rows
STREAMS: dict[str, Callable[[Rows, Any], Iterator[int]]] = {
    ".csv": _csv,
    ".parquet": _parquet,
    ".geoparquet": _geoparquet,
    ".arrow": _arrow,
    ".arrows": _arrow_stream,
}
_FORMATS: dict[str, Callable[[Rows, str], int]] = {
    ".csv": _streamed(_csv),
    ".json": _json_file,
    ".parquet": _streamed(_parquet),
    ".geoparquet": _streamed(_geoparquet),
    ".arrow": _streamed(_arrow),
    ".npy": _npy,
}


def _show(scan: Rows, shown: int) -> int:
    """Print the first rows with the columns that fit the terminal; numbers are never cut."""
    first: list[list[str]] = []
    rows = 0
    for batch in times(scan.reader()):
        for row in batch.slice(0, max(shown - rows, 0)).to_pylist():
            *front, last = row.values()
            first.append([*map(_cell, front), _cell(last, is_last=True)])
        rows += batch.num_rows
    names = [text.visible(name) for name in scan.columns]
    wide = shutil.get_terminal_size().columns
    fit = _fitting([max(map(text.width, column)) for column in zip(names, *first, strict=True)], wide)
    lines = [text.table(names[:fit], [row[:fit] for row in first], range(fit))]
    if rows > shown:
        lines.append(f"… {rows:,} rows; -o out.csv writes all of them")
    if rest := names[fit:]:
        more = text.shorten(", ".join(rest), _MORE)
        lines.append(f"… {text.plural(len(rest), 'more column')}: {more}; -o out.csv writes all of them")
    print(text.folded("\n".join(lines), wide))
    return rows


def _cell(value: Any, is_last: bool = False) -> str:
    """Return a value as text; long lists and histograms are cut after a complete number."""
    if isinstance(value, str):
        return text.shorten(text.visible(value), _CELL)
    cell = "" if value is None else str(value)
    if is_last or len(cell) <= _CELL:
        return cell
    return cell[: cell.rfind(", ", 0, _CELL - 2) + 2] + "…"


def _fitting(widths: list[int], wide: int) -> int:
    """Return how many columns fit the terminal, at least one; the last one may be wrapped."""
    ends = np.cumsum(np.array(widths) + 2) - 2
    fit = max(int((ends <= wide).sum()), 1)
    return len(widths) if fit >= len(widths) - 1 and widths[-1] > wide // 2 else fit


# GeoParquet: rows with longitude and latitude as points.
#
# Source: GeoParquet specification 1.1. The points are well-known binary in the column ``geometry``.

GEOMETRY = "geometry"
#: a point in well-known binary, little-endian
_POINT = np.dtype([("order", "u1"), ("type", "<u4"), ("x", "<f8"), ("y", "<f8")])


def coordinates(schema: pa.Schema) -> tuple[str, str]:
    """Return the columns of longitude and latitude.

    Raises:
        Error: ``unsupported`` if the rows have none.
    """
    if GEOMETRY in schema.names:
        message = f"a column is named {GEOMETRY} already"
        raise errors.make("unsupported", f"can't write GeoParquet: {message}", "-o out.parquet")
    lower = {name.lower(): name for name in schema.names}
    found = [next((lower[name] for name in names if name in lower), None) for names in (X, Y)]
    if found[0] is None or found[1] is None:
        message = f"GeoParquet needs columns of longitude and latitude (got {', '.join(schema.names)})"
        raise errors.make("unsupported", message, "select them too, or -o out.parquet")
    return found[0], found[1]


class Points:
    """Adds the column of points to batches, and collects their extent."""

    def __init__(self, schema: pa.Schema) -> None:
        import pyarrow

        self._names = coordinates(schema)
        self.schema = schema.append(pyarrow.field(GEOMETRY, pyarrow.binary()))
        self._low = np.full(2, math.inf)
        self._high = np.full(2, -math.inf)

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches with points; the point of a row without a coordinate is null."""
        import pyarrow

        for batch in batches:
            xy = [floats(batch[name]) for name in self._names]
            both = np.column_stack(xy)
            known = np.isfinite(both).all(axis=1)
            if known.any():
                self._low = np.minimum(self._low, both[known].min(axis=0))
                self._high = np.maximum(self._high, both[known].max(axis=0))
            arrays = [*batch.columns, _points(both, known)]
            yield pyarrow.RecordBatch.from_arrays(arrays, schema=self.schema)

    def metadata(self) -> dict[str, str]:
        """Return the file's metadata ``geo``; the coordinates are WGS 84 (OGC:CRS84, the default)."""
        column: dict[str, Any] = {"encoding": "WKB", "geometry_types": ["Point"]}
        if np.isfinite(self._low).all():
            column["bbox"] = [*self._low.tolist(), *self._high.tolist()]
        return {
            "geo": json.dumps({"version": "1.1.0", "primary_column": GEOMETRY, "columns": {GEOMETRY: column}})
        }


def _points(both: np.ndarray, known: np.ndarray) -> pa.Array:
    import pyarrow

    points = np.empty(len(both), _POINT)
    points["order"], points["type"], points["x"], points["y"] = 1, 1, both[:, 0], both[:, 1]
    offsets = np.arange(len(both) + 1, dtype="i4") * _POINT.itemsize
    valid = np.packbits(known, bitorder="little")
    buffers = [pyarrow.py_buffer(each.tobytes()) for each in (valid, offsets, points)]
    return pyarrow.Array.from_buffers(pyarrow.binary(), len(both), buffers)


# Text form of rows: durations as times of day, structures as JSON.

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
