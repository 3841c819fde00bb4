"""W2: the linked archive behind HTTP: 30 ms to the first byte, 100 MB/s per connection."""

from __future__ import annotations

import json
import subprocess
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import icechunk_peer
import tracks
import wire
from child import Absent, Meter, touch
from data import folder, forget
from harness import Side, spawn
from report import Goal, Measure, Ratio, Results

TITLE = "W2: the same archive over HTTP, 30 ms to the first byte, 100 MB/s per connection"
ABOUT = (
    "The file and the repositories lie behind `latsrv` on loopback, which shares the cores. `cold`: open "
    "the repository over HTTP and read 100,000 elements of 5 variables of 6 tracks (330 chunks). `warm`: "
    "the next 100,000 from the same handle. `all`: open and read all 72 datasets. Requests and MB as the "
    "server counted them; peak is the most in flight at once."
)
REPS = 5
LABELS = {"cold": "cold", "warm": "warm", "all": "all"}
EXTRAS = {label: ["requests", "MB", "peak"] for label in LABELS}
CONNECTIONS = 32
TUNED = "async.concurrency 128, 8 threads, one request an object (StorageConcurrencySettings)"
SIDES = [
    Side("icecore", "icecore", config="`repo.read` of 30 paths in one call"),
    Side("icecore, all", "icecore_all", 3, config="`repo.read` of 72 paths in one call"),
    Side("icechunk + zarr-python, tuned", "icechunk_tuned", config=TUNED),
    Side("icechunk + zarr-python, tuned, all", "icechunk_tuned_all", 2, TUNED),
    Side(
        "icechunk + zarr-python, as it comes",
        "icechunk_default",
        1,
        "default settings, one array after the other",
    ),
    Side("h5coro", "h5coro", 3, "`HTTPDriver`, `readDatasets` with hyperslices"),
    Side("h5coro, all", "h5coro_all", 2, "`HTTPDriver`, `readDatasets`"),
    Side(
        "limit",
        "limit",
        config=f"chunk list known, {CONNECTIONS} connections, adjacent chunks in one request",
    ),
    Side(
        "limit, all",
        "limit_all",
        3,
        f"chunk list known, {CONNECTIONS} connections, requests of 2 MiB at most",
    ),
]


def extra(side: str, label: str, name: str) -> Measure:
    return lambda results: results[side].extra(label, name)


def bytes_over_wanted(results: Results) -> float | None:
    """What the data of a subset cost over what the chunks themselves weigh (as the limit reads them)."""
    mine, least = results["icecore"].extra("warm", "MB"), results["limit"].extra("warm", "MB")
    return None if mine is None or not least else mine / least


def warm_against_cold(results: Results) -> float | None:
    """How the 6 was set, from what was known then: a client with the metadata, the peer without."""
    peer, mine = results[TUNED_NAME].seconds("cold"), results["icecore"].seconds("warm")
    return None if peer is None or not mine else peer / mine


TUNED_NAME = "icechunk + zarr-python, tuned"
GOALS = [
    # 35 of metadata is what the peer needs: the repository, its snapshot, and a manifest for each array.
    Goal("cold: requests, 40 of data and 35 of metadata", extra("icecore", "cold", "requests"), "<=", 75),
    Goal("warm: requests", extra("icecore", "warm", "requests"), "<=", 40),
    Goal("warm: bytes over those of the chunks", bytes_over_wanted, "<=", 1.1),
    Goal("cold: times faster than the tuned peer", Ratio(TUNED_NAME, "icecore", "cold"), ">=", 3),
    Goal("warm: times faster than the tuned peer cold", warm_against_cold, ">=", 6),
    Goal("warm: times faster than the tuned peer as warm", Ratio(TUNED_NAME, "icecore", "warm"), ">=", 6),
    Goal("(not icecore) warm: the limit over the tuned peer", Ratio(TUNED_NAME, "limit", "warm"), ">=", 6),
    Goal("all: times faster than h5coro", Ratio("h5coro, all", "icecore, all", "all"), ">=", 3.5),
    Goal("all: requests", extra("icecore, all", "all", "requests"), "<=", 350),
]


def prepare(params: dict[str, Any], meter: Meter) -> dict[str, Any]:
    """The file, and the limit's chunk lists."""
    source = tracks.prepare(params["quick"])
    here = folder(params["quick"])
    wanted = {
        "first": dict.fromkeys(tracks.subset_names(), (tracks.STARTS[0], tracks.STARTS[0] + tracks.PICK)),
        "second": dict.fromkeys(tracks.subset_names(), (tracks.STARTS[1], tracks.STARTS[1] + tracks.PICK)),
        "all": dict.fromkeys(tracks.names(), (0, 1 << 62)),
    }
    lists = {}
    for key, datasets in wanted.items():
        path = here / f"http-{key}.chunks"
        tracks.chunk_records(source["file"], datasets).tofile(path)
        lists[key] = str(path)
    return {
        "folder": str(here),
        "file": source["file"],
        "lists": lists,
        "raw_mb": source["raw_mb"],
        "expect": source["crc"],
        "warm": [source["file"]],
        "touch_gb": 2.0,
    }


@contextmanager
def world(params: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Runs the server, and links the file at its address: a port is part of every reference."""
    with wire.serving(params["folder"], "--delay-ms", "30", "--mbps", "100") as (port, process):
        linked = spawn(__name__, "link", {**params, "port": port})
        if "checks" not in linked:
            raise SystemExit(f"{__name__}: the repositories could not be made: {linked}")
        url = f"http://127.0.0.1:{port}"
        yield {**params, **linked["checks"], "port": port, "url": url, "server": process}


def link(params: dict[str, Any], meter: Meter) -> dict[str, Any]:
    """Both repositories, with references into the server."""
    prefix = f"http://127.0.0.1:{params['port']}/"
    location = prefix + Path(params["file"]).name
    peer = Path(params["folder"]) / "http-icechunk"
    forget(peer)
    icechunk_peer.link(peer, params["file"], location, prefix)
    return {
        "prefix": prefix,
        "peer": peer.name,
        "icecore": link_icecore(Path(params["folder"]) / "http-icecore", location),
    }


def link_icecore(repo: Path, location: str) -> str:
    try:
        import icecore
    except ImportError:
        return ""
    forget(repo)
    icecore.link([location], into=str(repo), group="/")
    return repo.name


def chain(arrays: Iterable[Any]) -> int:
    crc = 0
    for array in arrays:
        crc = zlib.crc32(array, crc)
    return crc


def subsets(
    params: dict[str, Any], meter: Meter, read: Callable[[list[str], slice], list[Any]]
) -> dict[str, int]:
    """Both subsets through one reader, whose first call opens what it needs."""
    crc = {}
    for label, key, start in (("cold", "first", tracks.STARTS[0]), ("warm", "second", tracks.STARTS[1])):
        with wire.counted(params["port"], meter, label):
            got = read(tracks.subset_names(), slice(start, start + tracks.PICK))
        crc[key] = chain(got)
    return crc


def everything(
    params: dict[str, Any], meter: Meter, read: Callable[[list[str], slice], list[Any]]
) -> dict[str, int]:
    touch(params["raw_mb"])
    with wire.counted(params["port"], meter, "all"):
        got = read(tracks.names(), slice(None))
    meter.memory["over_mb"] = (
        meter.memory["peak_mb"] - meter.memory["base_mb"] - sum(a.nbytes for a in got) / 1e6
    )
    return {"all": chain(got)}


def icecore_reader(params: dict[str, Any]) -> Callable[[list[str], slice], list[Any]]:
    import icecore
    import icecore._icecore
    import icecore.repository.repo

    if not params["icecore"]:
        raise Absent("icecore was not there when the file was linked")
    opened: list[Any] = []

    def read(names: list[str], part: slice) -> list[Any]:
        if not opened:
            opened.append(icecore.open(f"{params['url']}/{params['icecore']}"))
        return list(opened[0].read({"/" + name: part for name in names}).values())

    return read


def icecore(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    return subsets(params, meter, icecore_reader(params))


def icecore_all(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    return everything(params, meter, icecore_reader(params))


def icechunk_reader(params: dict[str, Any], tuned: bool) -> Callable[[list[str], slice], list[Any]]:
    import icechunk
    import zarr

    config = icechunk_peer.containers(params["prefix"])
    if tuned:
        zarr.config.set({"async.concurrency": 128})
        one = icechunk.StorageConcurrencySettings(
            max_concurrent_requests_for_object=1, ideal_concurrent_request_size=12 << 20
        )
        config.storage = icechunk.StorageSettings(concurrency=one)
    opened: list[Any] = []

    def read(names: list[str], part: slice) -> list[Any]:
        if not opened:
            storage = icechunk.http_storage(f"{params['url']}/{params['peer']}")
            opened.append(icechunk_peer.open_group(storage, params["prefix"], config))
        if not tuned:
            return [opened[0][name][part] for name in names]
        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(lambda name: opened[0][name][part], names))

    return read


def icechunk_tuned(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    return subsets(params, meter, icechunk_reader(params, tuned=True))


def icechunk_tuned_all(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    return everything(params, meter, icechunk_reader(params, tuned=True))


def icechunk_default(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    return subsets(params, meter, icechunk_reader(params, tuned=False))


def h5coro_reader(params: dict[str, Any]) -> Callable[[list[str], slice], list[Any]]:
    from h5coro import h5coro as reader
    from h5coro import webdriver

    opened: list[Any] = []

    def read(names: list[str], part: slice) -> list[Any]:
        if not opened:
            url = f"{params['url']}/{Path(params['file']).name}"
            opened.append(reader.H5Coro(url, webdriver.HTTPDriver, errorChecking=False))
        whole = part == slice(None)
        wanted = names if whole else [{"dataset": n, "hyperslice": [[part.start, part.stop]]} for n in names]
        promise = opened[0].readDatasets(wanted, block=True)
        return [promise[name] for name in names]

    return read


def h5coro(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    return subsets(params, meter, h5coro_reader(params))


def h5coro_all(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    return everything(params, meter, h5coro_reader(params))


def limit(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    return run_limit(params, meter, {"cold": "first", "warm": "second"})


def limit_all(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    return run_limit(params, meter, {"all": "all"})


def run_limit(params: dict[str, Any], meter: Meter, lists: dict[str, str]) -> dict[str, int]:
    """The Rust example; it measures itself."""
    crc = {}
    touch(params["raw_mb"])
    for label, key in lists.items():
        wire.reset(params["port"])
        url = f"{params['url']}/{Path(params['file']).name}"
        command = [str(wire.EXAMPLES / "limit"), params["lists"][key], url, "--threads", str(CONNECTIONS)]
        report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        meter.record(label, report["wall"], report["cpu"])
        wire.note(params["port"], meter, label)
        crc[key] = report["crc"]
    return crc
