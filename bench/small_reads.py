"""Small reads from the service: python bench/small_reads.py [CONNECTIONS...].

1,000 elements of a cached chunk a request, over loopback. The load comes from the example small_reads of the
crate icecore-server (cargo build --release -p icecore-server --example small_reads), one thread a connection.
Then one value of 1 GB, from an array without compression, and the server's memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import icecore
import numpy as np
from icecore_bench.hsds.servers import Running, icecore_server

ROOT = Path(__file__).resolve().parents[1]
LOAD = ROOT / "target/release/examples/small_reads"
SECONDS = 5


def made(folder: Path) -> None:
    with icecore.create(folder / "d").writer(message="made") as writer:
        rng = np.random.default_rng(0)
        writer.array("/a", dtype="f4", shape=(1_000_000,), chunks=(100_000,))[...] = rng.random(
            1_000_000, "f4"
        )
        large = writer.array("/raw", dtype="f8", shape=(128 << 20,), chunks=(1 << 20,), codec="none")
        for start in range(0, 128 << 20, 16 << 20):
            large[start : start + (16 << 20)] = rng.random(16 << 20)


def ids(server: Running) -> dict[str, str]:
    with urllib.request.urlopen(f"{server.endpoint}/?domain=/d&getobjs=1") as reply:
        body = json.load(reply)
    links = body["domain_objs"][body["root"]]["links"]
    return {name: link["id"] for name, link in links.items()}


def streamed(server: Running, dataset: str) -> dict[str, float]:
    """Read a whole value; returns its bytes a second, and the server's largest memory meanwhile."""
    url = f"{server.endpoint}/datasets/{dataset}/value?domain=/d"
    request = urllib.request.Request(url, headers={"Accept": "application/octet-stream"})
    total, peak, begun, cpu = 0, 0, time.perf_counter(), server.cpu()
    buffer = bytearray(1 << 20)
    with urllib.request.urlopen(request) as reply:
        while count := reply.readinto(buffer):
            total += count
            if total % (64 << 20) < len(buffer):
                peak = max(peak, server.peak())
    seconds = time.perf_counter() - begun
    return {
        "GB_per_s": total / seconds / 1e9,
        "server_cpu_s": server.cpu() - cpu,
        "MB": total / 1e6,
        "server_MB": peak / 1e6,
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        made(Path(folder))
        with icecore_server(Path(folder)) as server:
            found = ids(server)
            address = server.endpoint.removeprefix("http://")
            target = f"/datasets/{found['a']}/value?domain=/d&select=[50000:51000]"
            for connections in sys.argv[1:] or ["64", "512"]:
                done = subprocess.run(
                    [LOAD, address, target, connections, str(SECONDS)],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                print(connections, "connections:", done.stdout.strip())
            for _ in range(3):
                print({key: round(value, 2) for key, value in streamed(server, found["raw"]).items()})


if __name__ == "__main__":
    main()
