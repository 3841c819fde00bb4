"""How much of the shorter of fetching and decoding is hidden behind the longer one, at 20 ms latency."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import fields
import numpy as np
import pstore_data
import wire
from child import Meter
from data import folder
from harness import Side
from report import Goal, Results

TITLE = "PStore: prefetch on a store with 20 ms to the first byte"
ABOUT = (
    "The 904 MB field behind `latsrv` on loopback, 20 ms to the first byte and 25 MB/s per connection, or 3 "
    "MB/s where it says `slow`. `fetch`: a plain client gets the same objects over as many connections and "
    "drops them; `decode`: icecore reads them from the page cache; `both`: icecore reads over HTTP. Hidden = "
    "(fetch + decode - both) / min(fetch, decode). Server and clients share the two cores, so the CPU time "
    "that fetching takes can't be hidden from decoding: at 25 MB/s it is most of the time."
)
REPS = 5
LABELS = {"scan": "scan", "10 % box": "10 % box", "scan, slow": "scan, slow"}
CONNECTIONS = 64
SIDES = [
    Side("fetch", "fetch", config=f"{CONNECTIONS} connections, http.client, 2 MB a request"),
    Side("decode", "decode"),
    Side("both", "both"),
]


def hidden(label: str) -> Any:
    def share(results: Results) -> float | None:
        local = label.removesuffix(", slow")
        times = [results[s].seconds(local if s == "decode" else label) for s in ("fetch", "decode", "both")]
        if None in times:
            return None
        fetch, decode, both = (t for t in times if t is not None)
        return (fetch + decode - both) / min(fetch, decode)

    return share


GOALS = [
    Goal(f"share hidden of the shorter one: {label}", hidden(label), ">=", 0.9)
    for label in ("scan", "scan, slow")
]


def prepare(params: dict[str, Any], meter: Meter) -> dict[str, Any]:
    """The repository, zstd over shuffled bytes: decoding takes about as long as fetching."""
    codec = [{"name": "bytes", "configuration": {"endian": "little"}}, fields.CODECS["blosc"]]
    repo = pstore_data.repository(params["quick"], "blosc", chunks=fields.INNER["1.3 MB"], codec=codec)
    return {"repo": repo, "warm": [repo], "touch_gb": 3.0}


@contextmanager
def world(params: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Serves the repository."""
    root = folder(params["quick"]) / "pstore"
    with (
        wire.serving(str(root), "--delay-ms", "20", "--mbps", "25") as (port, process),
        wire.serving(str(root), "--delay-ms", "20", "--mbps", "3") as (slow, _),
    ):
        yield {**params, "port": port, "slow": slow, "server": process}


def ask(
    params: dict[str, Any], meter: Meter, where: str, *, end: str = "", box: bool = True
) -> dict[str, int]:
    os.environ["ICECORE_CACHE"] = "0"
    import icecore

    array = icecore.open(where)["/field"]
    array[0, 0, 0, 0]
    fields.touch(params["quick"])
    checks = {}
    random = np.random.default_rng(params["rep"])
    selections = {
        "scan": (slice(None),) * 4,
        "10 % box": fields.box(random, fields.shape(params["quick"]), 0.1),
    }
    for label in ("scan", "10 % box") if box else ("scan",):
        with meter(label + end):
            values = array[selections[label]]
        checks[f"{label} {params['rep']}"] = zlib.crc32(np.ascontiguousarray(values))
        del values
    return checks


def decode(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    return ask(params, meter, params["repo"])


def both(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    name = Path(params["repo"]).name
    ask(params, meter, f"http://127.0.0.1:{params['slow']}/{name}", end=", slow", box=False)
    return ask(params, meter, f"http://127.0.0.1:{params['port']}/{name}")


def fetch(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    """All objects with chunks, in ranges; in the box's case as many bytes as its plan says."""
    import icecore

    repo = Path(params["repo"])
    files = [p for p in (repo / "chunks").iterdir() if p.stat().st_size > 1 << 20]
    step = 2 << 20
    ranges = [
        (f"/{repo.name}/chunks/{p.name}", a, min(a + step, p.stat().st_size) - 1)
        for p in files
        for a in range(0, p.stat().st_size, step)
    ]
    random = np.random.default_rng(params["rep"])
    box = fields.box(random, fields.shape(params["quick"]), 0.1)
    share = icecore.open(repo)["/field"].plan(box).bytes_fetched / sum(p.stat().st_size for p in files)
    with meter("scan, slow"):
        get(params["slow"], ranges)
    get(params["port"], ranges[:CONNECTIONS])
    with meter("scan"):
        get(params["port"], ranges)
    with meter("10 % box"):
        get(params["port"], ranges[: max(1, round(len(ranges) * share))])
    return {}


def get(port: int, ranges: list[tuple[str, int, int]]) -> None:
    """Every connection takes every 64th range."""

    def run(mine: list[tuple[str, int, int]]) -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        buffer = bytearray(4 << 20)
        for path, first, last in mine:
            connection.request("GET", path, headers={"Range": f"bytes={first}-{last}"})
            answer = connection.getresponse()
            while answer.readinto(buffer):
                pass
        connection.close()

    count = min(CONNECTIONS, len(ranges))
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(run, [ranges[i::count] for i in range(count)]))
