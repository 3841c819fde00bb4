"""Rows of 1 % of the tracks: as a product of the service, and by reading the datasets through h5pyd."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from icecore import errors

from icecore_bench.hsds.granule import BEAMS
from icecore_bench.hsds.servers import Running, icecore_server
from icecore_bench.study import Table

_COLUMNS = ("lat_ph", "lon_ph", "h_ph")
_SHARE = 0.01
#: returns the bytes received and the columns
Way = Callable[[], tuple[int, dict[str, np.ndarray]]]
_HEADS = ("1 % of the tracks, lat, lon and height", "wall s", "server CPU s", "MB received", "requests")


@dataclass
class Run:
    """One way to the rows: seconds, bytes received, requests and the rows' checksum."""

    wall: float
    server: float
    received: int
    requests: int | None
    checksum: tuple[int, float]


def tables(path: Path, cache: Path, runs: int, say: Callable[[str], None]) -> list[Table]:
    """Return the table of the generated granule in ``linked`` and ``packed``; none of a given granule."""
    if path.is_symlink():
        return []
    say("product")
    with icecore_server(path.parent, "--cache", str(cache)) as server:
        return [table(server, runs)]


def table(server: Running, runs: int) -> Table:
    """Measure both ways, and check that they give the same rows.

    Raises:
        Error: ``corrupt`` if they do not.
    """
    box = _box(server)
    ways: list[tuple[str, Way]] = [
        (f"POST /products/subset.arrows, {name}", _product(server, name, box))
        for name in ("linked", "packed")
    ]
    if find_spec("h5pyd") is not None:
        ways.append(("h5pyd, datasets of linked", _datasets(server, "linked", box)))
    rows, expected = [], None
    for name, way in ways:
        found = [_measured(server, way) for _ in range(runs + 1)][1:]  # the first warms up
        expected = expected or found[0].checksum
        if any(each.checksum != expected for each in found):
            raise errors.make("corrupt", f"{name} found other rows than {ways[0][0]}")
        walls, cpu = [each.wall for each in found], [each.server for each in found]
        rows.append([name, median(walls), median(cpu), found[0].received / 1e6, found[0].requests])
    return Table("Product", _HEADS, rows)


def _measured(server: Running, way: Way) -> Run:
    cpu, requests, began = server.cpu(), server.requests(), time.perf_counter()
    received, columns = way()
    wall = time.perf_counter() - began
    after = server.requests()
    count = None if requests is None or after is None else after - requests
    checksum = (columns["h_ph"].size, float(np.sort(columns["h_ph"]).astype("f8").sum()))
    return Run(wall, server.cpu() - cpu, received, count, checksum)


def _box(server: Running) -> list[float]:
    """Return west, south, east, north around the middle 1 % of the first beam."""
    body = {
        "sources": ["/packed"],
        "parameters": {"table": f"granule/{BEAMS[0]}/heights", "columns": "lat_ph"},
    }
    reply = _posted(server, "stats.csv", body).decode().splitlines()
    row = dict(zip(reply[0].replace('"', "").split(","), reply[1].split(","), strict=True))
    low, high = float(row["min"]), float(row["max"])
    middle, half = (low + high) / 2, _SHARE * (high - low) / 2
    return [-180.0, middle - half, 180.0, middle + half]


def _posted(server: Running, name: str, body: dict[str, Any]) -> bytes:
    request = urllib.request.Request(
        f"{server.endpoint}/products/{name}",
        json.dumps(body).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as reply:
        return bytes(reply.read())


def _product(server: Running, source: str, box: list[float]) -> Way:
    parameters = {"table": "granule/*/heights", "variables": list(_COLUMNS), "box": box}
    body = {"sources": [f"/{source}"], "parameters": parameters}

    def asked() -> tuple[int, dict[str, np.ndarray]]:
        import pyarrow as pa

        reply = _posted(server, "subset.arrows", body)
        found = pa.ipc.open_stream(reply).read_all()
        return len(reply), {name: found[name].to_numpy() for name in _COLUMNS}

    return asked


def _datasets(server: Running, source: str, box: list[float]) -> Way:
    def read() -> tuple[int, dict[str, np.ndarray]]:
        import h5pyd

        parts: dict[str, list[np.ndarray]] = {name: [] for name in _COLUMNS}
        received = 0
        with h5pyd.File(f"/{source}", "r", endpoint=server.endpoint, use_cache=False) as file:
            for beam in BEAMS:
                columns = {name: file[f"granule/{beam}/heights/{name}"][:] for name in _COLUMNS}
                received += sum(values.nbytes for values in columns.values())
                inside = (columns["lat_ph"] >= box[1]) & (columns["lat_ph"] <= box[3])
                for name, values in columns.items():
                    parts[name].append(values[inside])
        return received, {name: np.concatenate(each) for name, each in parts.items()}

    return read
