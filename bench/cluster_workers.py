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

CODECS = ("zstd:6", "auto")
ALONE = """
import os, sys, time; os.sched_setaffinity(0, {{0}}); os.environ["ICECORE_THREADS"] = "1"
import icecore
began = time.perf_counter()
icecore.pack({source!r}, {into!r}, codec={codec!r})
print(time.perf_counter() - began)
"""


def alone(source: str, into: str, codec: str) -> float:
    code = ALONE.format(source=source, into=into, codec=codec)
    return float(
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    )


def pinned(dask_worker: Any) -> None:
    """Give each worker a core of its own."""
    cores = sorted(os.sched_getaffinity(0))
    core = cores[int(dask_worker.name) % len(cores)]
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {core})


def on_workers(client: Any, source: str, into: str, codec: str) -> float:
    began = time.perf_counter()
    icecore.pack(source, into, codec=codec, client=client)
    return time.perf_counter() - began


def main() -> None:
    from distributed import Client, LocalCluster

    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 768
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    codecs = sys.argv[3:] or CODECS
    folder = Path(tempfile.mkdtemp(prefix="cluster-"))
    source, into = str(folder / "x.npy"), str(folder / "r.icecore")
    rows = megabytes * 1_000_000 // (512 * 512 * 4)
    field = np.random.default_rng(0).normal(size=(rows, 512, 512)).cumsum(0).astype("f4")
    np.save(source, field)
    times: dict[tuple[str, str], list[float]] = {}
    options: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(n_workers=1, **options) as one, LocalCluster(n_workers=2, **options) as two:
        clients = {"1 worker": Client(one), "2 workers": Client(two)}
        for client in clients.values():
            client.run(pinned)
        for codec in codecs:
            for _ in range(rounds):
                for name in ("alone", *clients):
                    shutil.rmtree(into, ignore_errors=True)
                    seconds = (
                        alone(source, into, codec)
                        if name == "alone"
                        else on_workers(clients[name], source, into, codec)
                    )
                    times.setdefault((codec, name), []).append(seconds)
                    print(f"{codec}, {name}: {seconds:.2f} s", flush=True)
                    assert np.array_equal(icecore.open(into)["/x/x"].read(), field)
        for client in clients.values():
            client.close()
    print(f"{field.nbytes / 1e6:.0f} MB of float32, medians of {rounds}")
    for codec in codecs:
        of = {name: statistics.median(times[codec, name]) for name in ("alone", *clients)}
        print(
            f"{codec}: "
            + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in of.items())
            + f"; 2 workers against 1: {of['1 worker'] / of['2 workers']:.2f} x"
            + f"; 1 worker against none: {of['1 worker'] / of['alone']:.2f} x"
        )
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
