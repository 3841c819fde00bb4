"""Two of four bytes of real float32 arrays, beside all four."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pstore_fields
from child import Meter, cpu_seconds
from data import built, folder
from harness import Outcome, Side
from report import Goal, number, table

TITLE = "PStore: two of four bytes of real fields"
ABOUT = (
    "Every float32 array of 64 KiB or more of the climate files, whole, packed with `--codec planes` and "
    "read whole, page cache warm, caches of decoded chunks off: four bytes and two by turns, at least 15 "
    "times each. Medians of the wall times of a process, and of three processes. `largest error` is relative "
    "and must be within the bound that icecore states (2^-8). Reads of half a megabyte take a tenth of a "
    "millisecond, of which a tenth to a fifth is the call itself."
)
REPS = 3
LABELS: dict[str, str] = {}
SIDES = [Side("icecore", "ours")]
BYTES = (None, 2)
#: bytes of raw data to read at each precision, in at least and at most so many reads
VOLUME, LEAST, MOST = 2e8, 15, 200
FIGURES = ("MB", "all ms", "two ms", "time", "CPU", "bytes", "largest error")


def prepare(params: dict[str, Any], meter: Meter) -> dict[str, Any]:
    """One repository with all of the files."""
    import icecore
    import icecore._icecore as engine

    files = sorted(p for p in (pstore_fields.REAL / "climate").glob("*") if p.is_file())
    files = files[:: max(len(files) // 3, 1)] if params["quick"] else files
    path = folder(params["quick"]) / "pstore-precision"

    def write(new: Path) -> dict[str, Any]:
        for file in files:
            icecore.pack(str(file), into=str(new), codec="planes")
        return {}

    if files:
        built(path, f"{[f.name for f in files]} {Path(engine.__file__).stat().st_mtime_ns}", write)
    return {"repo": str(path) if files else "", "warm": [str(path)] if files else [], "touch_gb": 0.2}


def ours(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    """Every array at both precisions."""
    os.environ["ICECORE_CACHE"] = "0"
    import icecore

    if params["repo"]:
        for path, array in arrays(icecore.open(params["repo"])):
            meter.extra[path] = figures(array)
    return {}


def arrays(repo: Any) -> Iterator[tuple[str, Any]]:
    for path, array in sorted(repo.arrays.items()):
        if array.dtype == np.float32 and array.nbytes >= pstore_fields.LEAST:
            yield path, array


def figures(array: Any) -> dict[str, float]:
    """Times of one array, and what they bought."""
    wall: dict[int | None, list[float]] = {k: [] for k in BYTES}
    cpu = dict.fromkeys(BYTES, 0.0)
    exact, part = array.read(), array.read(leading_bytes=2)
    for _ in range(int(min(max(VOLUME // array.nbytes, LEAST), MOST))):
        for k in BYTES:
            began, used = time.perf_counter(), cpu_seconds()
            values = array.read(leading_bytes=k)
            wall[k].append(time.perf_counter() - began)
            cpu[k] += cpu_seconds() - used
            del values
    error = largest(exact, part)
    assert error <= array.bound(leading_bytes=2), (array.path, error, array.bound(leading_bytes=2))
    every, two = (statistics.median(wall[k]) for k in BYTES)
    fetched = [array.plan(leading_bytes=k).bytes_fetched for k in BYTES]
    found = (
        array.nbytes / 1e6,
        every * 1e3,
        two * 1e3,
        two / every,
        cpu[2] / cpu[None],
        fetched[1] / fetched[0],
    )
    return dict(zip(FIGURES, (*found, error), strict=True))


def largest(exact: np.ndarray, part: np.ndarray) -> float:
    """The largest relative error; what isn't normal must be the same, bit for bit."""
    normal = np.isfinite(exact) & (np.abs(exact) >= np.finfo(exact.dtype).tiny)
    assert exact[~normal].tobytes() == part[~normal].tobytes()
    if not normal.any():
        return 0.0
    wanted = exact[normal].astype("f8")
    return float(np.max(np.abs((part[normal] - wanted) / wanted)))


def by_field(outcome: Outcome) -> dict[str, dict[str, float]]:
    """Array → figure → its median over the processes."""
    paths = outcome.runs[0]["extra"] if outcome.runs else {}
    return {path: {what: outcome.extra(path, what) or 0.0 for what in FIGURES} for path in paths}


def middle(what: str) -> Any:
    def measure(results: dict[str, Outcome]) -> float | None:
        values = [figures[what] for figures in by_field(results["icecore"]).values()]
        return statistics.median(values) if values else None

    return measure


GOALS = [
    Goal("bytes fetched, 2 of 4 over all: median of the fields", middle("bytes"), "<=", 0.35),
    Goal("time, 2 of 4 over all: median of the fields", middle("time"), "<=", 0.5),
    Goal("(not asked) CPU time, the same", middle("CPU"), "<=", 0.5),
]


def section(measured: dict[str, Any]) -> str:
    """The workload's part of the results: the goals, and a row a field."""
    results = {o.side.name: o for o in measured["outcomes"]}
    fields = by_field(results["icecore"])
    rows = [[path, *(number(figures[what]) for what in FIGURES)] for path, figures in fields.items()]
    asked = [goal.row(results)[:-1] for goal in GOALS]
    parts = [f"## {TITLE}", ABOUT, table(["goal of icecore", "asked", "measured", ""], asked)]
    parts.append(table(["array", *FIGURES], rows))
    error = results["icecore"].error
    return "\n\n".join(parts + ([f"Failed: {error}"] if error else []))
