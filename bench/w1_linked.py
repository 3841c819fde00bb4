"""W1: read all of 72 linked 1-D datasets from a warm page cache."""

from __future__ import annotations

import json
import subprocess
import zlib
from pathlib import Path
from typing import Any

import icechunk_peer
import tracks
from child import Absent, Meter, touch
from data import built, folder
from harness import Side
from report import Goal, Ratio
from wire import EXAMPLES

TITLE = "W1: read all of 72 linked 1-D datasets, page cache warm"
ABOUT = (
    "One HDF5 file: 72 datasets, 13,752 chunks of 10,000 elements, gzip 6, shuffle on integers. "
    "Timed: open (index or repository metadata included) and read everything into memory."
)
REPS = 5
LABELS = {"all": "open and read all"}
LIMIT = EXAMPLES / "limit"
SIDES = [
    Side("icecore", "icecore", config="linked repository, `repo.read` of all paths in one call"),
    Side("hidefix", "hidefix", config="`Index(file)` inside the time, then `index[name][:]`"),
    Side(
        "limit, fresh output", "limit_fresh", config="pread + libdeflate, chunk list known, a thread per core"
    ),
    Side("limit, warm output", "limit_warm", config="the same into memory that was touched before"),
    Side("h5py", "h5py", config="`file[name][:]`"),
    Side(
        "h5py chunk_iter + zlib threads",
        "h5py_threads",
        3,
        "30 lines of Python: pread and zlib in a thread pool",
    ),
    Side("icechunk + zarr-python", "icechunk_zarr", 3, "virtual references, default settings"),
    Side("icechunk + zarrs", "icechunk_zarrs", 1, "the zarrs pipeline over an Icechunk store"),
    Side("h5coro, local file", "h5coro", 2, "`readDatasets` of all"),
]
GOALS = [
    Goal(
        "CPU of hidefix (the limit reaches: next row)", Ratio("icecore", "hidefix", "all", "cpu"), "<=", 0.80
    ),
    Goal(
        "(not icecore) CPU of the limit over hidefix",
        Ratio("limit, fresh output", "hidefix", "all", "cpu"),
        "<=",
        0.80,
    ),
    Goal("wall time of hidefix", Ratio("icecore", "hidefix", "all"), "<=", 0.65),
    Goal("times faster than h5py", Ratio("h5py", "icecore", "all"), ">=", 4.5),
    Goal(
        "times faster than icechunk + zarr-python", Ratio("icechunk + zarr-python", "icecore", "all"), ">=", 9
    ),
    Goal("wall time of the limit (fresh output)", Ratio("icecore", "limit, fresh output", "all"), "<=", 1.15),
    Goal("memory above the output, MB", lambda r: r["icecore"].memory("over_mb"), "<=", 32),
]


def prepare(params: dict[str, Any], meter: Meter) -> dict[str, Any]:
    """The file, the limit's chunk list, and both repositories; the checksum that every side must reach."""
    source = tracks.prepare(params["quick"])
    here = folder(params["quick"])
    file = source["file"]
    peer = built(
        here / "tracks-icechunk",
        tracks.VERSION,
        lambda repo: icechunk_peer.link(repo, file, f"file://{file}", f"file://{here}/"),
    )
    linked = link(here / "tracks-icecore", file)
    chunks = here / "tracks.chunks"
    tracks.chunk_records(file, dict.fromkeys(tracks.names(), (0, 1 << 62))).tofile(chunks)
    return {
        "file": file,
        "raw_mb": source["raw_mb"],
        "icechunk": str(here / "tracks-icechunk"),
        "prefix": peer["prefix"],
        "icecore": linked,
        "chunks": str(chunks),
        "expect": {"all": source["crc"]["all"]},
        "warm": [file],
        "touch_gb": 2.0,
    }


def link(repo: Path, file: str) -> str:
    """Link the file with icecore, where it is installed; the repository's path."""
    try:
        import icecore
    except ImportError:
        return ""
    from data import forget

    forget(repo)  # made anew each time: what is measured is what this version links
    icecore.link([file], into=str(repo), group="/")
    return str(repo)


def chain(arrays: Any) -> dict[str, int]:
    """One checksum over all arrays in their order."""
    crc = 0
    for array in arrays:
        crc = zlib.crc32(array, crc)
    return {"all": crc}


def icecore(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    import icecore
    import icecore._icecore
    import icecore.repository.repo

    names = ["/" + name for name in tracks.names()]
    touch(params["raw_mb"])
    with meter("all"):
        read = icecore.open(params["icecore"]).read(dict.fromkeys(names, ...))
    over(params, meter)
    return chain(read[name] for name in names)


def over(params: dict[str, Any], meter: Meter) -> None:
    """What a reader needs beside its output."""
    meter.memory["over_mb"] = meter.memory["peak_mb"] - meter.memory["base_mb"] - params["raw_mb"]


def hidefix(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    from hidefix import Index

    touch(params["raw_mb"])
    with meter("all"):
        index = Index(params["file"])
        read = [index[name][(slice(None),)] for name in tracks.names()]
    over(params, meter)
    return chain(read)


def h5py(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    import h5py

    touch(params["raw_mb"])
    with meter("all"), h5py.File(params["file"]) as file:
        read = [file[name][:] for name in tracks.names()]
    over(params, meter)
    return chain(read)


def h5py_threads(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    """What a determined user writes around h5py's lock: its chunk index, own reads, inflate in threads."""
    import os
    from concurrent.futures import ThreadPoolExecutor

    import h5py
    import numpy as np

    read: list[Any] = []
    handle = os.open(params["file"], os.O_RDONLY)

    def one(out: Any, shuffled: bool, first: int, offset: int, size: int) -> None:
        raw = np.frombuffer(zlib.decompress(os.pread(handle, size, offset), bufsize=80_000), "u1")
        if shuffled:
            raw = raw.reshape(out.itemsize, -1).T.ravel()
        part = out[first : first + tracks.CHUNK]
        part[:] = raw.view(out.dtype)[: len(part)]

    touch(params["raw_mb"])
    with meter("all"), h5py.File(params["file"]) as file, ThreadPoolExecutor(os.cpu_count()) as pool:
        for name in tracks.names():
            dataset = file[name]
            out = np.empty(dataset.shape, dataset.dtype)
            jobs: list[tuple[int, int, int]] = []
            dataset.id.chunk_iter(
                lambda c, jobs=jobs: jobs.append((c.chunk_offset[0], c.byte_offset, c.size))
            )
            pool.map(lambda job, out=out, s=dataset.shuffle: one(out, s, *job), jobs)
            read.append(out)
    over(params, meter)
    return chain(read)


def icechunk_zarr(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    import icechunk

    touch(params["raw_mb"])
    with meter("all"):
        group = icechunk_peer.open_group(
            icechunk.local_filesystem_storage(params["icechunk"]), params["prefix"]
        )
        read = [group[name][:] for name in tracks.names()]
    over(params, meter)
    meter.notes.append(icechunk_peer.pipeline(group[tracks.names()[0]]))
    return chain(read)


def icechunk_zarrs(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    """Measured only if the zarrs pipeline is really in use: zarr-python may fall back to its own silently."""
    import zarr
    import zarrs  # noqa: F401

    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    import icechunk

    group = icechunk_peer.open_group(icechunk.local_filesystem_storage(params["icechunk"]), params["prefix"])
    array = group[tracks.names()[0]]
    array[:10]
    used = icechunk_peer.pipeline(array)
    if used != "ZarrsCodecPipeline":
        raise Absent(f"zarrs does not apply to Icechunk stores: zarr-python used {used}")
    return icechunk_zarr(params, meter)


def h5coro(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    from h5coro import filedriver
    from h5coro import h5coro as reader

    touch(params["raw_mb"])
    with meter("all"):
        opened = reader.H5Coro(params["file"], filedriver.FileDriver, errorChecking=False)
        promise = opened.readDatasets(tracks.names(), block=True)
        read = [promise[name] for name in tracks.names()]
    over(params, meter)
    return chain(read)


def limit_fresh(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    return limit(params, meter)


def limit_warm(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    return limit(params, meter, "--warm")


def limit(params: dict[str, Any], meter: Meter, *options: str) -> dict[str, int]:
    """The Rust example; it measures itself."""
    if not LIMIT.exists():
        raise Absent("cargo build --release -p icecore --examples")
    command = [str(LIMIT), params["chunks"], params["file"], *options]
    touch(params["raw_mb"])
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    meter.record("all", report["wall"], report["cpu"])
    meter.memory |= {"base_mb": 0.0, "peak_mb": report["peak_kib"] * 1024 / 1e6}
    over(params, meter)
    return {"all": report["crc"]}
