"""Sample rows of a block that represent all rows."""

from __future__ import annotations

#: number of runs of neighbouring sample rows, and rows per run
RUNS, ROWS = 8, 250


def spread(count: int, step: int) -> list[int]:
    """Return the offsets of sample rows: runs of neighbouring rows, spread over the block."""
    if count <= RUNS * ROWS:
        return [i * step for i in range(count)]
    starts = [(count - ROWS) * run // (RUNS - 1) for run in range(RUNS)]
    return [(start + i) * step for start in starts for i in range(ROWS)]
