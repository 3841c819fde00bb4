"""Ranges of a table's rows: the work of one task, and the rows of a source file."""

from __future__ import annotations

import posixpath
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.repository.nodes import suggestion

if TYPE_CHECKING:
    from icecore.tables.query.table import Table

#: bytes of decoded data of a range
RANGE = 64 << 20


def row_ranges(table: Table, columns: list[str]) -> list[tuple[int, int]]:
    """Return ranges [start, stop) of whole shards of these columns (all if empty), in order.

    They depend on the table alone, so that results are the same on any number of workers.
    """
    rows, width, unit = len(table), 0, 1
    flat = [name for name in columns if name not in table._lists]
    for array in [table._array_of(name) for name in flat] or list(table._columns.values()):
        stored = array.shards or array.chunks or array.shape
        unit = max(unit, stored[0])
        width += max(array.dtype.itemsize, 1) * max(array.size // max(rows, 1), 1)
    width += sum(table._events.nbytes(name) // max(rows, 1) for name in columns if name not in flat)
    step = max(RANGE // max(width, 1) // unit, 1) * unit
    return [(start, min(start + step, rows)) for start in range(0, rows, step)] or [(0, 0)]


def overlap(ranges: list[tuple[int, int]], rows: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the parts of ranges inside of ``rows``."""
    cut = [(max(start, rows[0]), min(stop, rows[1])) for start, stop in ranges]
    return [(start, stop) for start, stop in cut if start < stop]


# Rows of a table by source file.

_SHOWN = 5


def of_source(table: Table, source: str) -> list[tuple[int, int]]:
    """Return the rows [start, stop) that were packed from source files.

    Args:
        table: a table that was packed from files.
        source: a file name, with or without its directory, or a glob (``"2009*.TAB"``).

    Raises:
        Error: ``invalid`` if the table does not record its source files; ``not-found`` with their names.
    """
    if not isinstance(source, str):
        message = f"source must be a file name (got {source!r})"
        raise errors.make("invalid", message, 'name a file, or several by a glob: source="2009*.TAB"')
    files = _files(table)
    if not files:
        raise errors.make(
            "invalid",
            f"{table.path} does not record which rows came from which file",
            "only tables packed from text or binary records do; leave source out",
        )
    exact = [rows for name, rows in files if name == source]
    rows = sorted(exact or [rows for name, rows in files if _is(name, source)])
    if not rows:
        names = [name for name, _ in files]
        shown = ", ".join(names[:_SHOWN]) + (f", … ({len(names):,} in all)" if len(names) > _SHOWN else "")
        hint = suggestion(source, names, f"its files are {shown}")
        raise errors.make("not-found", f"{table.path} has no source file {source} (it has {shown})", hint)
    joined = [rows[0]]
    for start, stop in rows[1:]:
        if start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
        else:
            joined.append((start, stop))
    return joined


def _is(name: str, source: str) -> bool:
    short = posixpath.basename(name)
    return source in (name, short) or fnmatchcase(name, source) or fnmatchcase(short, source)


def _files(table: Table) -> list[tuple[str, tuple[int, int]]]:
    """Return (name, rows) of each source file; entries with an unexpected form are skipped."""
    kept: Any = table._group._node.ours.get("table")
    sources = kept.get("sources") if isinstance(kept, dict) else None
    found = []
    for item in sources if isinstance(sources, list) else []:
        match item:
            case {"name": str(name), "rows": [int(start), int(stop)]} if 0 <= start <= stop <= len(table):
                found.append((name, (start, stop)))
    return found
