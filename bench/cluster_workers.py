"""Packs an array with one and with two Dask workers of one core each, and without Dask on one core.

    python bench/cluster_workers.py [MB] [ROUNDS] [CODEC…]

The scheduler and the process that merges share the cores with the workers. Every result is compared.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import icecore
import numpy as np

CODECS = ("zstd:9", "auto")
#: shards of 8 MB, so that there are enough of them to divide
LAYOUT: dict[str, Any] = {"chunk": (8, 128, 512), "shard": (8, 512, 512)}
ALONE = """
import os, sys, time; os.sched_setaffinity(0, {{0}}); os.environ["ICECORE_THREADS"] = "1"
import icecore
icecore.pack({source!r}, {into!r} + "-first", codec={codec!r}, **{layout!r})
began, cpu = time.perf_counter(), time.process_time()
icecore.pack({source!r}, {into!r}, codec={codec!r}, **{layout!r})
print(time.perf_counter() - began, time.process_time() - cpu)
"""


def alone(source: str, into: str, codec: str) -> tuple[float, float, float]:
    """Return wall and CPU seconds of a second pack without Dask, on one core."""
    code = ALONE.format(source=source, into=into, codec=codec, layout=LAYOUT)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    wall, cpu = map(float, found.stdout.split())
    return wall, cpu, cpu


def pinned(dask_worker: Any) -> None:
    """Give each worker a core of its own."""
    cores = sorted(os.sched_getaffinity(0))
    core = cores[int(dask_worker.name) % len(cores)]
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {core})


def on_workers(client: Any, source: str, into: str, codec: str) -> tuple[float, float, float]:
    """Return wall and CPU seconds of a pack on workers, with those of the scheduler and this process, and the
    CPU seconds of the busiest worker.
    """
    before, own = client.run(time.process_time), time.process_time()
    began = time.perf_counter()
    icecore.pack(source, into, codec=codec, client=client, **LAYOUT)
    wall = time.perf_counter() - began
    spent = [after - before[name] for name, after in client.run(time.process_time).items()]
    return wall, sum(spent) + time.process_time() - own, max(spent)


def main() -> None:
    from distributed import Client, LocalCluster

    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 768
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    codecs = sys.argv[3:] or CODECS
    folder = Path(tempfile.mkdtemp(prefix="cluster-"))
    source, into = str(folder / "x.npy"), str(folder / "r.icecore")
    rows = megabytes * 1_000_000 // (512 * 512 * 4)
    field = np.random.default_rng(0).normal(size=(rows, 512, 512)).cumsum(0).round(1).astype("f4")
    np.save(source, field)
    times: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    options: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(n_workers=1, **options) as one, LocalCluster(n_workers=2, **options) as two:
        clients = {"1 worker": Client(one), "2 workers": Client(two)}
        for client in clients.values():
            client.run(pinned)
        for codec in codecs:
            for _ in range(rounds):
                for name in ("alone", *clients):
                    shutil.rmtree(into, ignore_errors=True)
                    shutil.rmtree(into + "-first", ignore_errors=True)
                    measured = (
                        alone(source, into, codec)
                        if name == "alone"
                        else on_workers(clients[name], source, into, codec)
                    )
                    times.setdefault((codec, name), []).append(measured)
                    print(f"{codec}, {name}:", *(f"{seconds:.2f}" for seconds in measured), flush=True)
                    assert np.array_equal(icecore.open(into)["/x/x"].read(), field)
        for client in clients.values():
            client.close()
    print(f"{field.nbytes / 1e6:.0f} MB of float32, medians of {rounds}")
    for codec in codecs:
        wall = {
            name: statistics.median(each[0] for each in times[codec, name]) for name in ("alone", *clients)
        }
        cpu = {name: statistics.median(each[1] for each in times[codec, name]) for name in wall}
        both = {name: (wall[name] / wall["alone"], cpu[name] / cpu["alone"]) for name in clients}
        busy = {name: statistics.median(each[2] for each in times[codec, name]) for name in wall}
        print(f"{codec}: busiest of 2 workers: {busy['2 workers'] / busy['1 worker']:.2f} of the CPU of 1")
        print(f"{codec}: 2 workers {wall['1 worker'] / wall['2 workers']:.2f} x as fast as 1")
        for name, (time_, cpu_) in both.items():
            print(f"  {name} takes {time_:.2f} x the time and {cpu_:.2f} x the CPU of no worker")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
