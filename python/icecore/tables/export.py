"""Rows of a scan to the terminal, to stdout, or to a file, batch by batch."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.landing import landing
from icecore.tables.scan import arrow, flat

if TYPE_CHECKING:
    from icecore.tables.scan import Scan


def export(scan: Scan, output: str | None, json: bool = False, shown: int = 20) -> int:
    """Write a scan out and return the number of its rows.

    ``output`` names a ``.csv``, ``.parquet``, ``.arrow`` or ``.npy`` file, which appears only when it is
    complete; ``-`` is CSV on stdout. Without it: JSON where asked for, a short table on a terminal, else CSV.

    Raises:
        Error: ``unsupported`` for another suffix or a missing package, ``io`` or ``permission`` where the
            file can't be written.
    """
    if output is None or output == "-":
        if output is None and json:
            return _json(scan)
        if output is None and sys.stdout.isatty():
            return _show(scan, shown)
        return _csv(scan, sys.stdout.buffer)
    suffix = os.path.splitext(output)[1].lower()
    write = _FORMATS.get(suffix)
    if write is None:
        raise errors.make(
            "unsupported", f"can't write {suffix or output!r} files", f"one of {', '.join(_FORMATS)}"
        )
    with landing(output) as part:
        return write(scan, part)


def _csv(scan: Scan, sink: Any) -> int:
    arrow()
    import pyarrow.csv as pc

    rows, batches = 0, flat(scan.reader())
    with pc.CSVWriter(sink, batches.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _csv_file(scan: Scan, path: str) -> int:
    with open(path, "wb") as sink:
        return _csv(scan, sink)


def _parquet(scan: Scan, path: str) -> int:
    arrow()
    import pyarrow.parquet as pq

    rows = 0
    with pq.ParquetWriter(path, scan.schema, compression="zstd") as writer:
        for batch in scan.batches():
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _arrow(scan: Scan, path: str) -> int:
    pa, rows = arrow(), 0
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, scan.schema) as writer:
        for batch in scan.batches():
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _npy(scan: Scan, path: str) -> int:
    """A structured array; text of any length becomes fixed-size text."""
    columns = scan.to_numpy()
    columns = {name: data.astype("U") if data.dtype.kind == "O" else data for name, data in columns.items()}
    rows = len(next(iter(columns.values())))
    table = np.empty(rows, [(name, data.dtype, data.shape[1:]) for name, data in columns.items()])
    for name, data in columns.items():
        table[name] = data
    np.save(path, table, allow_pickle=False)
    return rows


_FORMATS: dict[str, Callable[[Scan, str], int]] = {
    ".csv": _csv_file,
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".npy": _npy,
}


def _json(scan: Scan) -> int:
    """One array of objects, written row by row; NaN and infinities are null, which JSON lacks."""
    import json

    rows = 0
    sys.stdout.write("[")
    for batch in scan.batches():
        for row in batch.to_pylist():
            row = {name: _plain(value) for name, value in row.items()}
            sys.stdout.write(("," if rows else "") + "\n " + json.dumps(row, default=str))
            rows += 1
    sys.stdout.write("\n]\n")
    return rows


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _show(scan: Scan, shown: int) -> int:
    from rich.console import Console
    from rich.table import Table as Pretty

    pretty, rows = Pretty(box=None, header_style="bold"), 0
    for name in scan.columns:
        pretty.add_column(name, justify="right")
    for batch in scan.batches():
        for row in batch.slice(0, max(shown - rows, 0)).to_pylist():
            pretty.add_row(*("" if value is None else str(value) for value in row.values()))
        rows += batch.num_rows
    console = Console(soft_wrap=False, highlight=False)
    console.print(pretty)
    if rows > shown:
        console.print(f"… {rows:,} rows; -o out.csv writes all of them")
    return rows
