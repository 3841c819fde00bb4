"""Which rows of a block say what the others are like."""

from __future__ import annotations

#: rows that the styles of the columns are taken from, and where in the block they lie
RUNS, ROWS = 8, 250


def spread(count: int, step: int) -> list[int]:
    """Offsets of rows: runs of neighbours, spread over all."""
    if count <= RUNS * ROWS:
        return [i * step for i in range(count)]
    starts = [(count - ROWS) * run // (RUNS - 1) for run in range(RUNS)]
    return [(start + i) * step for start in starts for i in range(ROWS)]
