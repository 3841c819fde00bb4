"""Table 2, figures 4 and 5: reads with reduced precision."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import icecore
import numpy as np
from icecore.display import figures

from icecore_bench.pstore import field
from icecore_bench.study import Outcome, Table

_REPEATS = 3


def measure(folder: Path, fields: Sequence[icecore.Array], say: Callable[[str], None]) -> Outcome:
    """Read each field with 2, 3, … of its bytes; measure fetched bytes, time and largest relative error."""
    table = Table(
        "Table 2: reduced precision (bound: guaranteed relative error; found: largest relative error)",
        ["field, bytes of each number", "bound", "found", "MB fetched", "of all", "seconds", "of all"],
    )
    shares: dict[str, tuple[list[float], list[float]]] = {}
    times: dict[str, tuple[list[float], list[float]]] = {}
    outcome = Outcome("precision", [table])
    for array, label in zip(fields, field.labels(fields), strict=True):
        say(f"partial precision: {array.path}")
        size = array.dtype.itemsize
        kept = list(range(2, size + 1))
        # Plan before reading: afterwards cached chunks would not be counted.
        fetches = [array.plan(leading_bytes=k).bytes_fetched for k in kept]
        whole_bytes = array.plan().bytes_fetched
        if not whole_bytes:  # almost constant: all chunks are inline in the manifest
            outcome.notes.append(f"{label}: not in table 2, because its stored size is almost zero")
            continue
        exact = array[...]
        seconds = _clock(array, kept)
        whole = seconds[size]
        for k, fetched in zip(kept, fetches, strict=True):
            error = _error(array.read(leading_bytes=k), exact)
            row = [
                f"{label}, {k} of {size}",
                array.bound(leading_bytes=k),
                error,
                fetched / 1e6,
                fetched / whole_bytes,
            ]
            table.rows.append([*row, seconds[k], seconds[k] / whole])
        shares[label] = ([float(k) for k in kept], [fetched / whole_bytes for fetched in fetches])
        times[label] = ([float(k) for k in kept], [seconds[k] / whole for k in kept])
    x = "bytes of each number that are read"
    ticks = {float(k): str(k) for k in range(2, 1 + max(array.dtype.itemsize for array in fields))}
    outcome.figures = [
        figures.lines(
            folder / "pstore-4.png", "Figure 4: bytes fetched, of all", (x, "share"), shares, ticks=ticks
        ),
        figures.lines(
            folder / "pstore-5.png", "Figure 5: time, of that of all bytes", (x, "share"), times, ticks=ticks
        ),
    ]
    return outcome


def _clock(array: icecore.Array, kept: Sequence[int]) -> dict[int, float]:
    """Return bytes per number → median seconds of a read; variants alternate to share disturbances."""
    seconds: dict[int, list[float]] = {k: [] for k in kept}
    for k in [kept[-1], *list(kept) * _REPEATS]:
        began = time.perf_counter()
        array.read(leading_bytes=k)
        seconds[k].append(time.perf_counter() - began)
    # The first read allocates memory, so it is not counted.
    del seconds[kept[-1]][0]
    return {k: statistics.median(found) for k, found in seconds.items()}


def _error(part: np.ndarray, exact: np.ndarray) -> float:
    """Return the largest |part / exact - 1| of finite, normal, nonzero numbers."""
    normal = np.isfinite(exact) & (np.abs(exact) >= np.finfo(exact.dtype).tiny)
    if not normal.any():
        return 0.0
    return float(np.max(np.abs(part[normal].astype("f8") / exact[normal].astype("f8") - 1)))
