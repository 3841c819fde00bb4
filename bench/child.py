"""One measurement in a process of its own: `python child.py MODULE FUNCTION JSON`.

The function gets the workload's parameters and a `Meter`, times what counts inside `with meter("label"):`,
and returns checksums of what it read, taken after the clock has stopped. The last line of stdout is the
result as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import traceback
from contextlib import contextmanager
from importlib import import_module

MARK = "bench-result:"


class Absent(Exception):
    """This side can't take part here; the message says why."""


def cpu_seconds() -> float:
    """User and system time of this process, all threads, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def memory_mb(field: str) -> float:
    """`VmRSS` (now) or `VmHWM` (peak) of this process in MB."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(field))
    return int(line.split()[1]) * 1024 / 1e6


def touch(megabytes: float) -> None:
    """Fill so much memory and give it back, just before something large is timed.

    A host takes back what a machine leaves free for seconds, and finding it again takes up to twenty times
    as long as filling it: the side that comes first after a pause would pay for all.
    """
    import numpy as np

    np.empty(int(megabytes * 1e6), "u1").fill(0)


class Meter:
    """Collects wall and CPU seconds of each timed block by label, and the memory around them.

    `extra` holds what else is worth a column, by label.
    """

    def __init__(self) -> None:
        self.times: dict[str, list[tuple[float, float]]] = {}
        self.extra: dict[str, dict[str, float]] = {}
        self.memory: dict[str, float] = {}
        self.notes: list[str] = []

    @contextmanager
    def __call__(self, label: str):
        """Time a block. May be entered many times with one label: the queries of a series."""
        if "base_mb" not in self.memory:
            self.memory["base_mb"] = memory_mb("VmRSS")
            with open("/proc/self/clear_refs", "w") as peak:
                peak.write("5")  # the peak counts from here: imports and warm-up are not the reader's memory
        wall, cpu = time.perf_counter(), cpu_seconds()
        yield
        wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
        self.record(label, wall, cpu)
        self.memory["peak_mb"] = memory_mb("VmHWM")

    def record(self, label: str, wall: float, cpu: float) -> None:
        """Note a time that something else has measured."""
        self.times.setdefault(label, []).append((wall, cpu))


def main() -> None:
    module, function, params = sys.argv[1:4]
    meter = Meter()
    result: dict[str, object]
    try:
        checks = getattr(import_module(module), function)(json.loads(params), meter)
    except (ImportError, Absent) as why:
        result = {"absent": f"{why}"}
    except Exception as why:
        traceback.print_exc()
        result = {"error": f"{type(why).__name__}: {why}"[:300]}
    else:
        result = {
            "times": meter.times,
            "memory": meter.memory,
            "extra": meter.extra,
            "notes": meter.notes,
            "checks": checks,
        }
    print(MARK + json.dumps(result), flush=True)
    os._exit(0)  # some readers leave threads behind that would hold up an ordinary exit


if __name__ == "__main__":
    from child import (
        main as measured,
    )  # the module that the workloads import `Absent` from, not this second copy of it

    measured()
