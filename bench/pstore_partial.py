"""Two and three of the four bytes of a float32 array, stored losslessly once."""

from __future__ import annotations

import os
from typing import Any

import fields
import numpy as np
import pstore_data
from child import Meter
from harness import Outcome, Side
from report import Goal, Ratio

TITLE = "PStore: two of four bytes of a float32 array"
ABOUT = (
    "Eight random boxes of 10 % and one scan of the 904 MB field (`icecore.byteplanes`: two, one and one "
    "bytes; chunks of 1.3 MB), page cache warm, caches of decoded chunks off. Every value is compared with "
    "the exact one: the largest relative error must be within the bound that icecore states."
)
REPS = 5
LABELS = {"10 % box": "10 % box", "scan": "scan"}
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
    Goal("time, 2 of 4 over all: scan", Ratio("2 bytes", "4 bytes", "scan"), "<=", 0.5),
    Goal("time, 2 of 4 over all: 10 % box", Ratio("2 bytes", "4 bytes", "10 % box"), "<=", 0.5),
]


def planes() -> list[dict[str, Any]]:
    """The planes' codecs: what is nearly noise is stored raw, as the codec finds out itself."""
    zstd = fields.CODECS["zstd"]
    wide = {"name": "bytes", "configuration": {"endian": "little"}}
    shuffled = {**fields.CODECS["blosc"]["configuration"], "typesize": 2}
    top = {"bytes": 2, "codecs": [wide, {"name": "blosc", "configuration": shuffled}]}
    low = {"bytes": 1, "codecs": [{"name": "bytes"}, zstd]}
    return [{"name": "icecore.byteplanes", "configuration": {"planes": [top, low, low]}}]


def prepare(params: dict[str, Any], meter: Meter) -> dict[str, Any]:
    """The field with planes and without."""
    import pstore_prefetch

    inner = fields.INNER["1.3 MB"]
    split = pstore_data.repository(params["quick"], "planes", chunks=inner, codec=planes())
    plain = pstore_prefetch.prepare(params, meter)["repo"]
    return {"planes": split, "blosc": plain, "warm": [split, plain], "touch_gb": 3.0}


def ask(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    """The queries at one precision, each compared with the exact values."""
    os.environ["ICECORE_CACHE"] = "0"
    import icecore

    array = icecore.open(params[params["repo"]])["/field"]
    rtol = params["rtol"]
    array.read((0, 0, 0, 0), rtol=rtol)
    random = np.random.default_rng(params["rep"])
    boxes = [fields.box(random, fields.shape(params["quick"]), 0.1) for _ in range(8)]
    for label, selections in (("10 % box", boxes), ("scan", [(slice(None),) * 4])):
        worst, size = 0.0, 0
        for selection in selections:
            size += array.plan(selection, rtol=rtol).bytes_fetched
            with meter(label):
                values = array.read(selection, rtol=rtol)
            exact = array.read(selection)
            worst = max(worst, float(np.max(np.abs(values / exact - 1))))
            del values, exact
        assert worst <= (rtol or 0) * 1.0001, (worst, rtol)
        meter.extra[label] = {"MB fetched": size / 1e6 / len(selections), "largest error": worst}
    return {}
