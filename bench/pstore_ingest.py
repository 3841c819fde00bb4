"""Appending to a store, step by step as a model runs, while another process reads it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import fields
import numpy as np
import pstore_data
from child import Meter, touch
from data import folder
from harness import Side
from report import Goal, Results

TITLE = "PStore: ingestion in step with the model"
ABOUT = (
    "96 time steps of 35 x 138 x 195 float32 (3.8 MB each, 362 MB) appended one by one to a store on "
    "disk, all of it committed or flushed at the end. `append`: the whole of it. icecore's second side "
    "commits every 16 steps, and another process opens the newest version and reads its last step all "
    "the while: it must see whole commits only."
)
REPS = 3
LABELS = {"append": "append"}
STEPS = 96
EXTRAS = {"append": ["MB stored", "MB/s per core", "reads"]}
SIDES = [
    Side("icecore, speed", "icecore", config="`--for speed`, one commit", args={"codec": "speed"}),
    Side("icecore, blosc lz4", "icecore", config="shuffle + lz4, one commit", args={"codec": "lz4"}),
    Side(
        "icecore, read meanwhile", "icecore_read", config="shuffle + lz4, six commits", args={"codec": "lz4"}
    ),
    Side("zarr-python", "zarr_python", config="shuffle + lz4, chunks of 16 x 7 x 46 x 65, 16 steps at once"),
    Side("h5py", "h5py", config="shuffle + lzf, one step a time"),
    Side("b2nd", "b2nd", config="blosc2, shuffle + lz4, 16 steps at once"),
]
LZ4 = {
    "name": "blosc",
    "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0},
}


def per_core(side: str) -> Any:
    def value(results: Results) -> float | None:
        return results[side].extra("append", "MB/s per core")

    return value


GOALS = [
    Goal("MB/s per core: icecore, speed", per_core("icecore, speed"), ">=", 300),
    Goal("MB/s per core: icecore, blosc lz4", per_core("icecore, blosc lz4"), ">=", 300),
]


def prepare(params: dict[str, Any], meter: Meter) -> dict[str, Any]:
    """Nothing but a place for the stores."""
    here = folder(params["quick"]) / "ingest"
    here.mkdir(exist_ok=True)
    return {"here": str(here), "touch_gb": 2.0}


def steps() -> np.ndarray:
    """What the model hands over, made before the clock starts."""
    data = np.concatenate([pstore_data.slab(first) for first in range(0, STEPS, fields.SHARD[0])])
    touch(2e-6 * data.nbytes)  # as much as a side holds on its way, and writes
    return data


def codecs(name: str) -> Any:
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    return [little, LZ4] if name == "lz4" else name


def done(meter: Meter, data: np.ndarray, place: Path, reads: int = 0) -> None:
    """Notes what was stored and the speed per core."""
    stored = sum(p.stat().st_size for p in place.rglob("*") if p.is_file()) / 1e6
    cpu = sum(c for _, c in meter.times["append"])
    meter.extra["append"] = {"MB stored": stored, "MB/s per core": data.nbytes / 1e6 / cpu, "reads": reads}


def icecore(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    """One commit at the end."""
    return ingest(params, meter, STEPS)


def ingest(params: dict[str, Any], meter: Meter, every: int, reader: bool = False) -> dict[str, int]:
    import icecore

    data = steps()
    with tempfile.TemporaryDirectory(dir=params["here"]) as folder:
        repo = icecore.create(Path(folder) / "r")
        reads = 0
        with repo.writer(message="spin-up") as writer:
            options: dict[str, Any] = (
                {"goal": "speed"} if params["codec"] == "speed" else {"codec": codecs("lz4")}
            )
            array = writer.array(
                "/t",
                dtype="f4",
                shape=(0, *data.shape[1:]),
                shards=fields.SHARD,
                dims=pstore_data.DIMS,
                **options,
            )
        watcher = None
        if reader:
            watcher = subprocess.Popen(
                [sys.executable, "-c", WATCH, str(Path(folder) / "r"), str(every)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
        with meter("append"):
            for first in range(0, STEPS, every):
                with repo.writer(message=f"from {first}") as writer:
                    array = writer["/t"]
                    for step in data[first : first + every]:
                        array.append(step)
        if watcher:
            said, _ = watcher.communicate("stop\n", timeout=60)
            reads = int(said.split()[-1])
        done(meter, data, Path(folder), reads)
        return {"sum": int(icecore.open(Path(folder) / "r")["/t"].read().view("u4").sum(dtype="u8"))}


WATCH = """
import sys, threading, icecore
path, every, stop, reads = sys.argv[1], int(sys.argv[2]), threading.Event(), 0
threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
while not stop.wait(0.05):
    array = icecore.open(path)["/t"]
    assert len(array) % every == 0, len(array)
    if len(array):
        assert (array[-1] > 100).all()
        reads += 1
print(reads)
"""


def icecore_read(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    """A commit every 16 steps, with a reader beside it."""
    return ingest(params, meter, fields.SHARD[0], reader=True)


def zarr_python(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    """Whole shards at once: the best that it offers."""
    import zarr

    data = steps()
    with tempfile.TemporaryDirectory(dir=params["here"]) as folder:
        array = zarr.create_array(
            folder, name="t", shape=(0, *data.shape[1:]), dtype="f4", shards=fields.SHARD,
            chunks=fields.INNER["1.3 MB"], compressors=[LZ4],
        )  # fmt: skip
        with meter("append"):
            for first in range(0, STEPS, fields.SHARD[0]):
                array.append(data[first : first + fields.SHARD[0]])
        done(meter, data, Path(folder))
        return {"sum": int(array[:].view("u4").sum(dtype="u8"))}


def h5py(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    """As people do it."""
    import h5py

    data = steps()
    with tempfile.TemporaryDirectory(dir=params["here"]) as folder:
        with h5py.File(Path(folder) / "x.h5", "w") as file, meter("append"):
            array = file.create_dataset(
                "t", (0, *data.shape[1:]), "f4", maxshape=(None, *data.shape[1:]), chunks=(1, 7, 138, 195),
                compression="lzf", shuffle=True,
            )  # fmt: skip
            for i, step in enumerate(data):
                array.resize(i + 1, axis=0)
                array[i] = step
            file.flush()
        done(meter, data, Path(folder))
        with h5py.File(Path(folder) / "x.h5") as file:
            return {"sum": int(file["t"][:].view("u4").sum(dtype="u8"))}


def b2nd(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    """Grows by whole chunks."""
    import blosc2

    data = steps()
    with tempfile.TemporaryDirectory(dir=params["here"]) as folder:
        how = blosc2.CParams(codec=blosc2.Codec.LZ4, clevel=5, filters=[blosc2.Filter.SHUFFLE])
        array = blosc2.empty(
            (0, *data.shape[1:]), dtype="f4", chunks=fields.SHARD, blocks=fields.INNER["1.3 MB"], cparams=how,
            urlpath=str(Path(folder) / "x.b2nd"), mode="w",
        )  # fmt: skip
        with meter("append"):
            for first in range(0, STEPS, fields.SHARD[0]):
                array.resize((first + fields.SHARD[0], *data.shape[1:]))
                array[first : first + fields.SHARD[0]] = data[first : first + fields.SHARD[0]]
        done(meter, data, Path(folder))
        return {"sum": int(array[:].view("u4").sum(dtype="u8"))}
