"""Measures on this machine the figures that `bench/scaling.py` extrapolates from.

python bench/scaling_measure.py
"""

from __future__ import annotations

import os
import pickle
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import icecore
import numpy as np
from icecore.cluster.connection import connected
from icecore.ingest.write.write_references import allow, set_links
from icecore.sources import open_source
from icecore.sources.mapping.array_map import ArrayEntry, Links
from icecore.writing.fork import Chunks

REFERENCES = 2_000_000
TASKS = 2000


def empty(number: int) -> int:
    """A task without work."""
    return number


def tasks() -> float:
    """CPU seconds of the scheduler and the client, both in this process, for each task."""
    from distributed import Client, LocalCluster

    options: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client, connected(client) as found:
        began = time.process_time()
        for _, result in found.in_order(empty, range(TASKS)):
            result()
        return (time.process_time() - began) / TASKS


def references(folder: Path) -> dict[str, float]:
    """Seconds and bytes for each reference of a link: set, committed, stored, held in memory."""
    count = REFERENCES
    source = folder / "source.bin"
    source.touch()
    os.truncate(source, 512 * count)
    stat = source.stat()
    chunks = np.arange(count, dtype="u8")
    links = Links(
        [source.as_uri()],
        np.array([stat.st_size]),
        np.array([stat.st_mtime_ns]),
        [None],
        np.zeros(count, "u4"),
        chunks,
        chunks * 512,
        np.full(count, 512, "u8"),
    )
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}]
    entry = ArrayEntry(
        "/x", (count * 64,), ("x",), "float64", np.dtype("f8"), (64,), codecs, 0.0, links=links
    )
    repo = icecore.create(folder / "links.icecore")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    with repo.writer() as writer:
        allow(writer, [entry])
        writer._native.add_array("/x", entry.zarr_json())
        set_links(writer, "/x", links)
        done = time.perf_counter()
    end = time.perf_counter()
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    stored = sum(file.stat().st_size for file in (folder / "links.icecore" / "manifests").iterdir())
    return {
        "set a reference, s": (done - began) / count,
        "commit a reference, s": (end - done) / count,
        "stored bytes of a reference": stored / count,
        "memory of a reference, bytes": memory / count,
    }


def arrays(folder: Path) -> dict[str, float]:
    """Seconds and stored bytes of the metadata of an array."""
    count = 5000
    repo = icecore.create(folder / "arrays.icecore")
    with repo.writer() as writer:
        for i in range(count):
            made = writer.array(f"/day{i // 33}/column{i % 33}", "f4", (1000,), codec="zstd")
            made[...] = np.arange(1000)
        began = time.perf_counter()
    seconds = time.perf_counter() - began
    snapshots = (folder / "arrays.icecore" / "snapshots").iterdir()
    return {
        "commit an array, s": seconds / count,
        "stored bytes of an array's metadata": max(file.stat().st_size for file in snapshots) / count,
    }


def merges(folder: Path) -> float:
    """Seconds for each reference that a worker returns."""
    count = 200_000
    with icecore.create(folder / "merge.icecore").writer() as writer:
        writer.array("/x", "f8", (count,), chunks=(1,), shards=(1,), codec="none")
        places = [(i, bytes(11) + b"\1", i, 8) for i in range(count)]
        packed = pickle.dumps(Chunks((8 * count, 8 * count, count, 0), places))
        began = time.perf_counter()
        pickle.loads(packed).merge(writer, "/x")
        seconds = time.perf_counter() - began
        writer.abort()
    return seconds / count


def indexes(folder: Path) -> dict[str, float]:
    """Seconds and bytes of the index of a file of 60 datasets and 6,000 chunks."""
    import h5py

    with h5py.File(folder / "a.h5", "w") as file:
        for i in range(60):
            file.create_dataset(f"g/x{i}", data=np.zeros(100_000, "f4"), chunks=(1000,), compression="gzip")
    began = time.process_time()
    found = open_source(str(folder / "a.h5"))
    seconds = time.process_time() - began
    packed = pickle.dumps(found)
    began = time.perf_counter()
    pickle.loads(packed)
    return {
        "index a dataset, s": seconds / 60,
        "index on the wire, bytes a chunk": len(packed) / 6000,
        "receive an index, s a dataset": (time.perf_counter() - began) / 60,
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {"a task, s": tasks(), "merge a reference, s": merges(folder)}
        found |= references(folder) | indexes(folder) | arrays(folder)
    for label, value in found.items():
        print(f"{label:36} {value:.3g}")


if __name__ == "__main__":
    main()
