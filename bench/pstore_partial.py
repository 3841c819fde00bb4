"""Two and three of the four bytes of a float32 array, stored losslessly once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fields
import numpy as np
import pstore_data
import wire
from child import Meter
from data import folder
from harness import Outcome, Side
from report import Goal, Ratio

TITLE = "PStore: two of four bytes of a float32 array"
ABOUT = (
    "Eight random boxes of 10 % and one scan of the 904 MB field (`icecore.byteplanes`: two, one and one "
    "bytes; chunks of 1.3 MB), page cache warm, caches of decoded chunks off. Every value is compared with "
    "the exact one: the largest relative error must be within the bound that icecore states. `away`: the "
    "same over HTTP from a store with 20 ms to the first byte and 64 x 3 MB/s, about the 200 MB/s that "
    "`icecore pack --for balanced` reckons with."
)
REPS = 5
LABELS = {name: name for name in ("10 % box", "scan", "10 % box, away", "scan, away")}
EXTRAS = {label: ["MB fetched", "largest error"] for label in LABELS}
SIDES = [
    Side("4 bytes", "ask", args={"repo": "planes", "rtol": None}),
    Side("3 bytes", "ask", args={"repo": "planes", "rtol": 2.0**-16}),
    Side("2 bytes", "ask", args={"repo": "planes", "rtol": 2.0**-8}),
    Side("4 bytes, no planes", "ask", config="shuffle + zstd 3", args={"repo": "blosc", "rtol": None}),
]


def fetched(results: dict[str, Outcome]) -> float | None:
    part, whole = (results[side].extra("scan", "MB fetched") for side in ("2 bytes", "4 bytes"))
    return None if part is None or not whole else part / whole


GOALS = [
    Goal("bytes fetched, 2 of 4 over all: scan", fetched, "<=", 0.35),
    *(
        Goal(f"time, 2 of 4 over all: {label}", Ratio("2 bytes", "4 bytes", label), "<=", 0.5)
        for label in LABELS
    ),
]


def prepare(params: dict[str, Any], meter: Meter) -> dict[str, Any]:
    """The field with planes and without."""
    import pstore_prefetch

    inner = fields.INNER["1.3 MB"]
    split = pstore_data.repository(params["quick"], "planes", chunks=inner, codec="planes")
    plain = pstore_prefetch.prepare(params, meter)["repo"]
    return {"planes": split, "blosc": plain, "warm": [split, plain], "touch_gb": 3.0}


@contextmanager
def world(params: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Serves the repositories."""
    with wire.serving(str(folder(params["quick"]) / "pstore"), "--delay-ms", "20", "--mbps", "3") as (
        port,
        process,
    ):
        yield {**params, "port": port, "server": process}


def ask(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    """The queries at one precision, from the disk and from away, each compared with the exact values."""
    os.environ["ICECORE_CACHE"] = "0"
    import icecore

    place = params[params["repo"]]
    near = icecore.open(place)["/field"]
    far = icecore.open(f"http://127.0.0.1:{params['port']}/{Path(place).name}")["/field"]
    rtol = params["rtol"]
    random = np.random.default_rng(params["rep"])
    boxes = [fields.box(random, fields.shape(params["quick"]), 0.1) for _ in range(8)]
    for array, end in ((near, ""), (far, ", away")):
        array.read((0, 0, 0, 0), rtol=rtol)
        for label, selections in (("10 % box", boxes), ("scan", [(slice(None),) * 4])):
            worst, size = 0.0, 0
            for selection in selections:
                if not end:
                    fields.touch(params["quick"])
                with meter(label + end):
                    values = array.read(selection, rtol=rtol)
                size += array.plan(selection, rtol=rtol).bytes_fetched
                worst = max(worst, error(values, near.read(selection)))
                del values
            assert worst <= (rtol or 0) * 1.0001, (worst, rtol)
            meter.extra[label + end] = {"MB fetched": size / 1e6 / len(selections), "largest error": worst}
    return {}


def error(values: np.ndarray, exact: np.ndarray) -> float:
    """The largest relative one."""
    values -= exact
    values /= exact
    return float(np.max(np.abs(values, out=values)))
