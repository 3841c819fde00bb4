"""How long measuring a gigabyte takes, and how near to the truth what it says comes."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import fields
import numpy as np
import pstore_data
from child import Meter
from data import built, folder
from harness import Side
from report import Goal, Measure, Results

TITLE = "PStore: assay of a gigabyte"
ABOUT = (
    "272 x 35 x 138 x 195 float32 (1.02 GB) in a .npy file: the smooth field with noise in all bits, and the "
    "same in steps of 0.01 as 16-bit integers give it back, one grid point in three missing (NaN). `assay`: "
    "`icecore.assay` with its defaults. Then the file is packed for each goal, once, and the ratio that "
    "`assay` said stands beside the one of what was stored; for `archive`, which writes 1 to 2 MB a second, "
    "of the first 32 steps (121 MB)."
)
REPS = 3
GOALS_OF_PACK = ("archive", "balanced", "speed")
LABELS = {"assay": "assay", **{goal: f"pack, {goal}" for goal in GOALS_OF_PACK}}
EXTRAS = {goal: ["predicted", "achieved", "off %"] for goal in GOALS_OF_PACK}
KINDS = {"noise": "smooth with noise", "steps": "steps of 0.01, a third missing"}
SIDES = [Side(name, "assay", args={"kind": kind}) for kind, name in KINDS.items()]
STEPS, FEW = 272, 32
VERSION = "1"


def longest(results: Results) -> float | None:
    times = [results[name].seconds("assay") for name in KINDS.values()]
    return None if None in times else max(t for t in times if t is not None)


def farthest(goal: str) -> Measure:
    def value(results: Results) -> float | None:
        off = [results[name].extra(goal, "off %") for name in KINDS.values()]
        return None if None in off else max(abs(o) for o in off if o is not None)

    return value


GOALS = [
    Goal("assay of 1 GB, s", longest, "<=", 20),
    *(Goal(f"predicted ratio off by, %: {goal}", farthest(goal), "<=", 3) for goal in GOALS_OF_PACK),
]


def prepare(params: dict[str, Any], meter: Meter) -> dict[str, Any]:
    """The two files."""
    here = folder(params["quick"]) / "assay"
    here.mkdir(exist_ok=True)
    files = {}
    for kind in KINDS:
        for steps in (FEW,) if params["quick"] else (FEW, STEPS):
            path = here / f"{kind}-{steps}.npy"
            built(path, VERSION, partial(write, kind=kind, steps=steps))
            files.setdefault(kind, []).append(str(path))
    return {
        "files": files,
        "warm": [path for paths in files.values() for path in paths],
        "here": str(here),
        "touch_gb": 2.0,
    }


def write(path: Path, kind: str, steps: int) -> dict[str, Any]:
    shape = (steps, *fields.SHARD[1:])
    array = np.lib.format.open_memmap(path, mode="w+", dtype="f4", shape=shape)
    land = np.sin(np.arange(shape[2]) / 9)[:, None] + np.cos(np.arange(shape[3]) / 14) > 0.55
    for first in range(0, steps, fields.SHARD[0]):
        values = pstore_data.slab(first)
        if kind == "steps":
            values = (np.round(values / 0.01).astype("i2") * np.float32(0.01)).astype("f4")
            values[..., land] = np.nan
        array[first : first + fields.SHARD[0]] = values
    array.flush()
    return {}


def assay(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    """Measures each time, packs once."""
    import icecore

    few, *more = params["files"][params["kind"]]
    source = more[0] if more else few
    with meter("assay"):
        found = icecore.assay(source).arrays[0]
    if params["rep"]:
        return {}
    for goal in GOALS_OF_PACK:
        packed = few if goal == "archive" else source
        said = (found if packed == source else icecore.assay(packed).arrays[0]).choices[goal].ratio
        with tempfile.TemporaryDirectory(dir=params["here"]) as place:
            with meter(goal):
                icecore.pack(packed, Path(place) / "r", goal=goal)
            repo = icecore.open(Path(place) / "r")
            (array,) = repo.arrays.values()
            achieved = array.nbytes / array.nbytes_stored
        meter.extra[goal] = {"predicted": said, "achieved": achieved, "off %": 100 * (said / achieved - 1)}
    return {}
