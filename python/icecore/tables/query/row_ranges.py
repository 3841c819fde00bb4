"""Row ranges of a table, each the work of one task."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    for array in [table._array_of(name) for name in flat] or list(table.columns.values()):
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
