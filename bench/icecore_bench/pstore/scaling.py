"""Table 6, figure 10: queries on one core, two cores, and so on."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import icecore
from icecore.display import figures

from icecore_bench.pstore.field import opened
from icecore_bench.pstore.layouts import boxes, clock
from icecore_bench.study import Outcome, Table

_REPEATS = 3


def measure(folder: Path, array: icecore.Array, store: Path, say: Callable[[str], None]) -> Outcome:
    """Measure random boxes of 10 % of the field, warm page cache, one process per thread count."""
    table = Table(
        "Table 6: random boxes of 10 % of the field",
        ["threads", "ms a query", "times faster than one", "GB/s"],
    )
    # cores that this process may use; macOS does not report them
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    counts = [n for n in (1, 2, 4, 8, 16, 32) if n <= usable]
    for threads in counts:
        say(f"{threads} threads")
        seconds = statistics.median(_ask(store, array.path, threads) for _ in range(_REPEATS))
        first = table.rows[0][1] if table.rows else seconds * 1e3
        table.rows.append(
            [threads, seconds * 1e3, first / (seconds * 1e3), array.nbytes * 0.1 / 1e9 / seconds]
        )
    outcome = Outcome("scaling", [table])
    labels = ("threads", "times faster than one")
    series = {
        "icecore": ([float(n) for n in counts], [row[2] for row in table.rows]),
        "as many times": ([float(n) for n in counts], [float(n) for n in counts]),
    }
    ticks = {float(n): str(n) for n in counts}
    drawn = figures.lines(folder / "pstore-10.png", "Figure 10: cores", labels, series, ticks=ticks)
    outcome.figures = [drawn]
    return outcome


def _ask(store: Path, path: str, threads: int) -> float:
    environment = {**os.environ, "ICECORE_THREADS": str(threads), "ICECORE_CACHE": "0"}
    command = [sys.executable, "-m", "icecore_bench.pstore.scaling", str(store), path]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout))


if __name__ == "__main__":
    asked = opened(sys.argv[1], sys.argv[2])
    print(json.dumps(clock(asked, list(boxes(asked.shape, 0.1)))))
