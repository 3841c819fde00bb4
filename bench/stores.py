"""Object stores at 30 ms: linking remote files, appending to many arrays, tiles, many references.

python bench/stores.py [link|tile|append|references]...   prints a line for each

The store of `append` is versitygw (`make integration-deps`) behind a proxy that waits 30 ms for each
request; `link` and `tile` use `latsrv` (`cargo build --release --example latsrv -p icecore`).
"""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "integration")]

from fault_proxy import FaultProxy  # noqa: E402
from latsrv import LatencyServer  # noqa: E402

LATSRV = ROOT / "target" / "release" / "examples" / "latsrv"
GATEWAY = ROOT / ".integration" / "bin" / "versitygw"
DELAY = 0.03
KEYS = {"region": "us-east-1", "access_key_id": "user", "secret_access_key": "password"}


@contextmanager
def bucket(folder: Path) -> Iterator[FaultProxy]:
    """A bucket ``moon`` in ``folder``, 30 ms away."""
    (folder / "data" / "moon").mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [str(GATEWAY), "--access", "user", "--secret", "password", "--port", f"127.0.0.1:{port}"]
    # Without --sidecar, with which its conditional writes are not atomic.
    command += ["posix", str(folder / "data")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    proxy = FaultProxy(port)
    proxy.fault = lambda *_: None

    def wait(*_: object) -> None:
        time.sleep(DELAY)

    proxy.before = wait
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    try:
        yield proxy
    finally:
        proxy.shutdown()
        process.terminate()
        process.wait()


def link(folder: Path) -> str:
    """Link 100 remote HDF5 files of 2 MB."""
    for k in range(100):
        with h5py.File(folder / f"{k:03}.h5", "w") as file:
            for name in range(12):
                values = np.random.default_rng(k).integers(0, 255, (400, 420), "u1")
                file.create_dataset(f"a{name}", data=values, chunks=(40, 420), compression="gzip")
    size = (folder / "000.h5").stat().st_size
    with LatencyServer(LATSRV, folder, delay_ms=30, mbps=100) as server:
        sources = [f"{server.url}/{k:03}.h5" for k in range(100)]
        began = time.perf_counter()
        icecore.link(sources, folder / "r.icecore")
        seconds = time.perf_counter() - began
        stats = server.stats()
    return f"100 files of {size / 1e6:.2f} MB: {stats['requests'] / 100:.2f} requests a file, {seconds:.1f} s"


def tile(folder: Path) -> str:
    """A tile of 25 chunks in a file of 1,600: chunks of 20 kB (gaps pay off) and of 500 kB (they don't)."""
    lines = []
    for name, side in (("small gaps", 100), ("large gaps", 500)):
        with h5py.File(folder / f"{side}.h5", "w") as file:
            data = file.create_dataset("x", (40 * side, 40 * side), "u2", chunks=(side, side))
            for row in range(40):
                data[row * side : (row + 1) * side] = np.random.default_rng(row).integers(
                    0, 65535, (side, 40 * side), "u2"
                )
        icecore.link(folder / f"{side}.h5", folder / f"{side}.icecore")
        with LatencyServer(LATSRV, folder, delay_ms=30, mbps=100) as server:
            into = folder / f"r{side}.icecore"
            icecore.link(f"{server.url}/{side}.h5", into)
            array = icecore.open(into)[f"/{side}/x"]
            tile = (slice(10 * side, 15 * side), slice(10 * side, 15 * side))
            plan = array.plan(tile)
            server.reset()
            began = time.perf_counter()
            array.read(tile)
            seconds, stats = time.perf_counter() - began, server.stats()
        lines.append(
            f"{name}: {stats['requests']} requests, {stats['bytes'] / 1e6:.2f} MB for "
            f"{plan.bytes_wanted / 1e6:.2f} MB, {seconds * 1e3:.0f} ms"
        )
    return "; ".join(lines)


def append(folder: Path) -> str:
    """Append one step to 142 arrays in a bucket: icecore, and Icechunk with zarr-python."""
    with bucket(folder) as proxy:
        storage = {**KEYS, "endpoint_url": proxy.url}
        steps = np.random.default_rng(1).normal(size=(142, 1, 100, 100)).astype("f4")
        with icecore.create("s3://moon/ours", storage=storage).writer() as writer:
            for k in range(142):
                writer.array(f"/a{k:03}", "f4", (0, 100, 100), chunks=(1, 100, 100)).append(steps[k])
        proxy.seen.clear()
        began = time.perf_counter()
        with icecore.open("s3://moon/ours", storage=storage).writer() as writer:
            for k in range(142):
                writer[f"/a{k:03}"].append(steps[k])
        ours = f"icecore {time.perf_counter() - began:.2f} s, {len(proxy.seen)} requests"
        return f"142 arrays: {ours}; {append_icechunk(proxy, steps)}"


def append_icechunk(proxy: FaultProxy, steps: np.ndarray) -> str:
    """The same with Icechunk and zarr-python, asynchronous writes of all arrays at once."""
    try:
        import asyncio

        import icechunk
        import zarr
    except ImportError as error:
        return f"Icechunk not installed ({error.name})"
    place = icechunk.s3_storage(
        bucket="moon",
        prefix="theirs",
        endpoint_url=proxy.url,
        allow_http=True,
        force_path_style=True,
        region="us-east-1",
        access_key_id="user",
        secret_access_key="password",
    )
    repo = icechunk.Repository.create(place)
    session = repo.writable_session("main")
    group = zarr.open_group(session.store, mode="a")
    for k in range(142):
        group.create_array(f"a{k:03}", shape=(1, 100, 100), chunks=(1, 100, 100), dtype="f4")[...] = steps[k]
    session.commit("one")

    async def all_at_once(store: Any) -> None:
        opened = await zarr.api.asynchronous.open_group(store=store, mode="a")

        async def one(k: int) -> None:
            array = await opened.getitem(f"a{k:03}")
            await array.resize((2, 100, 100))
            await array.setitem((slice(1, 2),), steps[k])

        await asyncio.gather(*(one(k) for k in range(142)))

    proxy.seen.clear()
    began = time.perf_counter()
    session = icechunk.Repository.open(place).writable_session("main")
    asyncio.run(all_at_once(session.store))
    session.commit("two")
    return f"Icechunk {time.perf_counter() - began:.2f} s, {len(proxy.seen)} requests"


def references(folder: Path, count: int = int(os.environ.get("REFERENCES", "10000000"))) -> str:
    """Set references in commits of 2,500,000; open and read one chunk in a fresh process; stored bytes."""
    import json

    place, rows = folder / "many.icecore", 2_500_000
    file = folder / "x.bin"
    file.write_bytes(bytes(1 << 20))
    repo, began = icecore.create(place), time.perf_counter()
    for first in range(0, count, rows):
        with repo.at("main").writer() as writer:
            if first == 0:
                writer._native.add_array("/x", json.dumps(metadata(count)))
            numbers = np.arange(first, first + rows, dtype="u8")
            offsets = (numbers * 64) % (1 << 20)
            set_references(writer, file, numbers, offsets)
    seconds = time.perf_counter() - began
    stored = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    code = (
        "import icecore, time, json; began = time.perf_counter();"
        f"icecore.open({str(place)!r})['/x'][{count - 5}];"
        "status = open('/proc/self/status').read().split();"
        "print(json.dumps([time.perf_counter() - began, int(status[status.index('VmHWM:') + 1]) / 1024]))"
    )
    opened, memory = json.loads(subprocess.check_output([sys.executable, "-c", code]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"{count:,} references: written in {seconds:.0f} s (peak {peak:.0f} MB), "
        f"{stored / count:.2f} bytes each; open and read one: {opened:.2f} s, {memory:.0f} MB"
    )


def metadata(count: int) -> dict[str, Any]:
    """zarr.json of an array of ``count`` chunks of 64 bytes."""
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [count, 64],
        "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 64]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes"}],
        "attributes": {},
    }


def set_references(writer: Any, file: Path, numbers: np.ndarray, offsets: np.ndarray) -> None:
    """Set references to one local file."""
    status, lengths = file.stat(), np.full(len(numbers), 64, "u8")
    known = ([file.as_uri()], [status.st_size], [status.st_mtime_ns], [None])
    writer._native.allow_container(file.parent.as_uri() + "/")
    writer._native.set_links("/x", *known, np.zeros(len(numbers), "u4"), numbers, offsets, lengths)


def main() -> None:
    """Run the named measurements, or all."""
    for name in sys.argv[1:] or ("link", "tile", "append", "references"):
        with tempfile.TemporaryDirectory(prefix="stores-") as folder:
            print(f"{name}: {globals()[name](Path(folder))}", flush=True)


if __name__ == "__main__":
    main()
