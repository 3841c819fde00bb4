"""CPU and wall time of calls that run in turn."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Time:
    """Medians in seconds; ``cpu`` is user and system time of all threads of the process."""

    cpu: float
    wall: float
    runs: int


def medians(calls: Mapping[str, Callable[[], object]], most: int, seconds: float) -> dict[str, Time]:
    """Run calls in turn, so that a disturbance affects all of them, and return their medians.

    Args:
        calls: name → call; its result is released before the next call.
        most: largest number of runs of each call.
        seconds: wall time in seconds after which a call does not run again.
    """
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(most):
        for name, call in calls.items():
            if sum(wall for _, wall in taken[name]) <= seconds:
                taken[name].append(once(call))
    return {
        name: Time(median(cpu for cpu, _ in runs), median(wall for _, wall in runs), len(runs))
        for name, runs in taken.items()
    }


def once(call: Callable[[], object]) -> tuple[float, float]:
    """Return CPU and wall seconds of one call."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    del result
    return cpu, wall
