"""W5: linking a file with many chunks, and 1e6 references: commit, open, first element."""

from __future__ import annotations

import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from child import Meter
from data import FOLDER, built, folder
from harness import Side
from report import Goal, Measure, Results

TITLE = "W5: linking many chunks"
ABOUT = (
    "HDF5 files of 72 datasets with 500 and 2,000 chunks each (36,000 and 144,000; gzip 6, shuffle): from "
    "the file to a committed repository, or as far as the peer goes. Then references made from arrays in "
    "memory, without a file to parse: set and commit 100,000 and 1,000,000 of them, and in a fresh handle "
    "open the larger repository and read one element."
)
VERSION = "1"
REPS = 3
CHUNK = 10_000
FILES = {"36k": 500, "144k": 2000}
LABELS = {
    "36k": "36,000 chunks",
    "144k": "144,000 chunks",
    "100k refs": "100,000 references",
    "1M refs": "1,000,000 references",
    "element": "open, one element",
}
EVERY = 10  # elements a reference, 8 bytes each
SIDES = [
    Side("icecore", "icecore", config="`icecore.link`: parse, set references, commit"),
    Side("VirtualiZarr, parse", "virtualizarr", config="`HDFParser` to a ManifestStore, nothing written"),
    Side("VirtualiZarr to Icechunk", "virtualizarr_icechunk", 2, "parse, `to_icechunk`, commit"),
    Side("h5py chunk_iter", "chunk_iter", config="the chunk index alone, through a Python callback"),
    Side("icecore, references", "icecore_refs", config="`set_links` from NumPy arrays, commit"),
    Side(
        "icechunk, references",
        "icechunk_refs",
        2,
        "`set_virtual_refs_arr`, commit; zarr-python reads the element",
    ),
]


def seconds(side: str, label: str) -> Measure:
    return lambda results: results[side].seconds(label)


def growth(more: str, less: str, side: str) -> Measure:
    """How many times longer one amount takes than another."""

    def measure(results: Results) -> float | None:
        a, b = results[side].seconds(more), results[side].seconds(less)
        return None if a is None or not b else a / b

    return measure


GOALS = [
    Goal("36,000 chunks linked and committed, s", seconds("icecore", "36k"), "<=", 0.6),
    Goal("144,000 chunks over 36,000 (linear: 4)", growth("144k", "36k", "icecore"), "<=", 4.8),
    Goal(
        "1e6 references over 1e5 (linear: 10)",
        growth("1M refs", "100k refs", "icecore, references"),
        "<=",
        12,
    ),
    Goal(
        "1e6 references: open and read one element, s", seconds("icecore, references", "element"), "<=", 1.0
    ),
]


def prepare(params: dict[str, Any], meter: Meter) -> dict[str, Any]:
    here = folder(params["quick"])
    files = dict(list(FILES.items())[:1]) if params["quick"] else FILES
    paths = {label: here / f"chunks-{label}.h5" for label in files}
    for label, chunks in files.items():
        built(paths[label], VERSION, lambda path, chunks=chunks: many_chunks(path, chunks))
    numbers = here / "numbers.bin"
    built(numbers, VERSION, lambda path: {"bytes": np.arange(1_000_000 * EVERY, dtype="f8").tofile(path)})
    texts = {label: str(path) for label, path in paths.items()}
    return {"files": texts, "numbers": str(numbers), "warm": [*texts.values(), str(numbers)], "touch_gb": 1.5}


def many_chunks(path: Path, chunks: int) -> dict[str, Any]:
    """72 datasets whose chunks hold slowly changing integers."""
    import h5py

    ramps = [(np.arange(CHUNK) // 40 + k).astype("i4") for k in range(16)]
    packed = [zlib.compress(r.view("u1").reshape(CHUNK, 4).T.tobytes(), 6) for r in ramps]
    with h5py.File(path, "w") as file:
        for d in range(72):
            options = {"chunks": (CHUNK,), "compression": "gzip", "compression_opts": 6, "shuffle": True}
            dataset = file.create_dataset(f"group{d // 12}/data{d % 12}", (chunks * CHUNK,), "i4", **options)
            for k in range(chunks):
                dataset.id.write_direct_chunk((k * CHUNK,), packed[(d + k) % 16])
    return {}


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for the repositories that a measurement makes."""
    FOLDER.mkdir(exist_ok=True)
    path = Path(tempfile.mkdtemp(prefix="scratch-", dir=FOLDER))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def icecore(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    import h5py
    import icecore
    import icecore._icecore

    checks = {}
    with scratch() as here:
        for label, file in params["files"].items():
            with meter(label):
                icecore.link([file], into=str(here / label), group="/")
            part = slice(1_234_500, 1_265_000)
            got = icecore.open(str(here / label))["/group3/data5"][part]
            with h5py.File(file) as source:
                checks[f"{label} as h5py reads it"] = int((got == source["group3/data5"][part]).all())
    if not all(checks.values()):
        raise ValueError(f"wrong values: {checks}")
    return checks


def parser() -> Callable[[str], Any]:
    """VirtualiZarr's way from a file to a ManifestStore; its imports are done when this returns."""
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr.parsers import HDFParser

    return lambda file: HDFParser()(
        url=f"file://{file}", registry=ObjectStoreRegistry({"file://": LocalStore()})
    )


def virtualizarr(params: dict[str, Any], meter: Meter) -> dict[str, int]:

    parse = parser()
    for label, file in params["files"].items():
        with meter(label):
            groups = parse(file)._group.groups
        if len(groups) != 6:
            raise ValueError(f"{len(groups)} groups")
    return {}


def virtualizarr_icechunk(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    import icechunk
    import icechunk_peer

    parse = parser()
    with scratch() as here:
        for label, file in params["files"].items():
            with meter(label):
                prefix = f"file://{Path(file).parent}/"
                storage = icechunk.local_filesystem_storage(str(here / label))
                session = icechunk.Repository.create(
                    storage, icechunk_peer.containers(prefix)
                ).writable_session("main")
                tree = parse(file).to_virtual_datatree()
                tree.vz.to_icechunk(session.store)
                session.commit("link")
    return {}


def chunk_iter(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    import h5py

    for label, file in params["files"].items():
        found: list[tuple[int, int, int]] = []
        with meter(label), h5py.File(file) as source:
            for group in source.values():
                for dataset in group.values():
                    dataset.id.chunk_iter(
                        lambda c, f=found: f.append((c.chunk_offset[0], c.byte_offset, c.size))
                    )
        if len(found) != 72 * FILES[label]:
            raise ValueError(f"{len(found)} chunks")
    return {}


def counts(params: dict[str, Any]) -> dict[str, int]:
    return {"100k refs": 100_000} | ({} if params["quick"] else {"1M refs": 1_000_000})


def icecore_refs(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    import json

    import icecore
    from icecore._icecore import Repo

    file = Path(params["numbers"])
    stat = file.stat()
    with scratch() as here:
        for label, n in counts(params).items():
            which = np.arange(n, dtype="u8")
            lengths = np.full(n, EVERY * 8, "u8")
            with meter(label):
                writer = Repo.create(str(here / label)).writer("main")
                writer.allow_container(f"file://{file.parent}/")
                writer.add_array("/x", json.dumps(metadata(n)))
                urls = [f"file://{file}"]
                identity = [stat.st_size], [stat.st_mtime_ns], [None]
                writer.set_links(
                    "/x", urls, *identity, np.zeros(n, "u4"), which, which * (EVERY * 8), lengths
                )
                writer.commit("references")
        with meter("element"):
            value = icecore.open(str(here / label))["/x"][n * EVERY - 7]
    if value != n * EVERY - 7:
        raise ValueError(f"read {value}")
    return {}


def metadata(n: int) -> dict[str, Any]:
    """zarr.json of a 1-D float64 array of n chunks."""
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [n * EVERY],
        "data_type": "float64",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [EVERY]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0.0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {},
    }


def icechunk_refs(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    import icechunk
    import icechunk_peer
    import zarr

    prefix = f"file://{Path(params['numbers']).parent}/"
    with scratch() as here:
        for label, n in counts(params).items():
            storage = icechunk.local_filesystem_storage(str(here / label))
            with meter(label):
                session = icechunk.Repository.create(
                    storage, icechunk_peer.containers(prefix)
                ).writable_session("main")
                options = {"chunks": (EVERY,), "dtype": "f8", "compressors": None}
                zarr.group(session.store).create_array("x", shape=(n * EVERY,), **options)
                offsets = np.arange(n, dtype="u8") * (EVERY * 8)
                lengths = np.full(n, EVERY * 8, "u8")
                locations = [f"file://{params['numbers']}"] * n
                session.store.set_virtual_refs_arr("/x", (n,), locations, offsets, lengths)
                session.commit("references")
        with meter("element"):
            value = icechunk_peer.open_group(storage, prefix)["x"][n * EVERY - 7]
    if value != n * EVERY - 7:
        raise ValueError(f"read {value}")
    return {}
