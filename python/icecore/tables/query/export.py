"""Write rows of a scan or a reduction to the terminal, to stdout or to a file, batch by batch."""

from __future__ import annotations

import io
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol, TextIO

import numpy as np

from icecore import errors
from icecore.display import text
from icecore.filesystem.atomic_output import landing, printing
from icecore.tables.query.row_text import cells, clocks, near, times
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

    from icecore.tables.query.geoparquet import Points

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
