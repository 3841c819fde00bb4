"""Table 7: write speed and size of a simulation's snapshots."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import icecore

from icecore_bench.pstore import field
from icecore_bench.study import Outcome, Table

#: largest number of time steps
_STEPS = 96


def measure(work: Path, count: int, say: Callable[[str], None]) -> Outcome:
    """Append time steps one by one, with a commit every 16; CPU time is the sum over all threads."""
    count = min(count, _STEPS)
    table = Table(
        f"Table 7: {count} time steps of 3.8 MB, appended one by one, a commit every 16",
        ["codec", "MB/s", "MB/s of CPU time", "ratio"],
    )
    steps = [step for first in range(0, count, field.SHARD[0]) for step in field.slab(first)]
    raw = sum(step.nbytes for step in steps) / 1e6
    for goal in ("speed", "balanced"):
        say(f"ingestion: {goal}")
        path = work / f"ingest-{goal}.icecore"
        began, cpu = time.perf_counter(), sum(os.times()[:2])
        with icecore.create(path).writer(message="steps", commit_every=field.SHARD[0]) as writer:
            shape = (0, *field.SHAPE[1:])
            array = writer.array("/field", "f4", shape, field.DIMS, field.CHUNK, field.SHARD, goal=goal)
            for step in steps:
                array.append(step)
        seconds, cpu = time.perf_counter() - began, sum(os.times()[:2]) - cpu
        stored = field.opened(path, "/field")
        table.rows.append([goal, raw / seconds, raw / cpu, stored.nbytes / stored.nbytes_stored])
    return Outcome("ingestion", [table])
