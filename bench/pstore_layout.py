"""Random slices in several layouts: one level of chunks, two levels, and what the planner makes of them."""

from __future__ import annotations

import itertools
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fields
import numpy as np
import pstore_data
from child import Meter, cpu_seconds
from data import built, folder
from harness import Side
from report import Goal, Ratio, Results

TITLE = "PStore: layouts for random slices"
ABOUT = (
    "1,000 slices of a 48 x 35 x 138 x 195 float32 field (181 MB, shuffle + zstd 3): two random axes at a "
    "random index, the other two whole, page cache warm, cache of decoded chunks off. One level: chunks of "
    "16 x 35 x 138 x 195 (60 MB); two: 16 x 7 x 46 x 65 (1.3 MB) inside them; planned: `--access` with these "
    "slices; measured: `--measure` too. `search` packs the field in all layouts of a coarse grid (chunks of "
    "64 kB to 4 MB) into memory and compares the planned one with the best of them, by CPU time."
)
REPS = 2
QUERIES, TRIED = 1000, 120
LABELS = {"slice": "slice", "planned": "search: planned", "best": "search: best"}
EXTRAS = {"slice": ["chunk kB"], "best": ["layouts", "chunk kB"], "planned": ["chunk kB"]}
#: the six kinds of slices, all as likely
PAIRS = list(itertools.combinations(range(4), 2))
ACCESS = "; ".join(",".join("1" if axis in pair else "all" for axis in range(4)) for pair in PAIRS)
SIDES = [
    Side("one level", "ask", config="60 MB", args={"repo": "one"}),
    Side("two levels", "ask", config="1.3 MB in 60 MB", args={"repo": "two"}),
    Side("planned", "ask", config="--access", args={"repo": "planned"}),
    Side("measured", "ask", config="--access --measure", args={"repo": "measured"}),
    Side("search", "search"),
]


def beside_the_best(results: Results) -> float | None:
    found = [results["search"].seconds(label, "cpu") for label in ("planned", "best")]
    return found[0] / found[1] if found[0] is not None and found[1] else None


GOALS = [
    Goal("times faster, two levels than one", Ratio("one level", "two levels", "slice"), ">=", 2),
    Goal("times faster, planned than one level", Ratio("one level", "planned", "slice"), ">=", 2),
    Goal("CPU time, planned over the best of all", beside_the_best, "<=", 1.1),
]


def prepare(params: dict[str, Any], meter: Meter) -> dict[str, Any]:
    """The field in each layout."""
    import icecore
    import icecore._icecore as engine

    codec = [{"name": "bytes", "configuration": {"endian": "little"}}, fields.CODECS["blosc"]]
    two = pstore_data.repository(True, "layout-two", chunks=fields.INNER["1.3 MB"], codec=codec)
    made = {"two": two}
    options: dict[str, dict[str, Any]] = {
        "one": {"chunk": fields.SHARD, "shard": fields.SHARD},
        "planned": {"access": ACCESS},
        "measured": {"access": ACCESS, "measure": True},
    }
    for name, how in options.items():

        def write(path: Path, how: dict[str, Any] = how) -> dict[str, Any]:
            icecore.pack(f"{two}:/field", path, "/", codec=codec, **how)
            return {}

        path = folder(True) / "pstore" / f"layout-{name}"
        built(path, f"{pstore_data.VERSION} {how} {Path(engine.__file__).stat().st_mtime_ns}", write)
        made[name] = str(path)
    return {**made, "warm": list(made.values()), "touch_gb": 1.0}


def slices(shape: tuple[int, ...], count: int, seed: Any) -> Iterator[tuple[int | slice, ...]]:
    """Random slices, the six kinds in turn."""
    random = np.random.default_rng(seed)
    for number in range(count):
        pair = PAIRS[number % len(PAIRS)]
        yield tuple(int(random.integers(n)) if axis in pair else slice(None) for axis, n in enumerate(shape))


def ask(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    """All slices, one after the other."""
    os.environ["ICECORE_CACHE"] = "0"
    import icecore

    array = icecore.open(params[params["repo"]])["/field"]
    array.read((0, 0, 0, 0))
    crc = 0
    for selection in slices(array.shape, QUERIES // 10 if params["quick"] else QUERIES, params["rep"]):
        with meter("slice"):
            values = array.read(selection)
        crc = zlib.crc32(np.ascontiguousarray(values), crc)
    meter.extra["slice"] = {"chunk kB": np.prod(array.chunks) * 4 / 1e3}
    return {f"slices #{params['rep']}": crc}


def layouts(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Chunks of a coarse grid over all layouts: each axis whole, or cut into a few equal parts."""
    parts = [
        [-(-n // k) for k in ks]
        for n, ks in zip(shape, [(1, 3, 8), (1, 5), (1, 3, 6), (1, 3, 6)], strict=True)
    ]
    for chunk in itertools.product(*parts):
        if 64e3 <= np.prod(chunk) * 4 <= 4e6:
            yield chunk


def search(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    """The planned layout and all others, each packed into memory."""
    os.environ["ICECORE_CACHE"] = "0"
    import icecore

    data = icecore.open(params["two"])["/field"].read()
    planned = icecore.open(params["planned"])["/field"]
    codec = [{"name": "bytes", "configuration": {"endian": "little"}}, fields.CODECS["blosc"]]
    timed = {}
    chunks = [planned.chunks, *(c for c in layouts(data.shape) if c != planned.chunks)]
    for chunk in chunks[:4] if params["quick"] else chunks:
        repo = icecore.create("memory://")
        with repo.writer() as writer:
            writer.array("/x", "f4", data.shape, chunks=chunk, shards=chunk, codec=codec)[...] = data
        array = repo.at("main")["/x"]
        array.read((0, 0, 0, 0))
        spent = []
        for _ in range(2):
            began = cpu_seconds()
            for selection in slices(array.shape, TRIED, params["rep"]):
                array.read(selection)
            spent.append((cpu_seconds() - began) / TRIED)
        timed[chunk] = min(spent)
    best = min(timed, key=lambda chunk: timed[chunk])
    for label, chunk in (("planned", planned.chunks), ("best", best)):
        meter.record(label, timed[chunk], timed[chunk])
        meter.extra[label] = {"chunk kB": np.prod(chunk) * 4 / 1e3, "layouts": len(timed)}
    meter.notes.append(f"planned {planned.chunks}, best {best}")
    return {}
