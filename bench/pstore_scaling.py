"""Decode-bound dicing queries on one core and on two."""

from __future__ import annotations

import os
import zlib
from typing import Any

import fields
import numpy as np
from child import Meter
from harness import Side
from report import Goal, Ratio

TITLE = "PStore: dicing queries on one core and on two"
ABOUT = (
    "Eight random boxes of 10 % and one scan of the 904 MB field (shuffle + zstd 3, chunks of 1.3 MB), "
    "page cache warm, caches of decoded chunks off. The number of decoding threads is all that differs. "
    "Much of the scan is a gigabyte of new memory, whose price varies on a virtual machine: more than "
    "twofold is that, not icecore. The boxes count."
)
REPS = 5
LABELS = {"10 % box": "10 % box", "scan": "scan"}
SIDES = [Side(f"{n} threads", "ask", args={"threads": n}) for n in (1, 2)]
GOALS = [
    Goal(f"from 1 to 2 cores: {label}", Ratio("1 threads", "2 threads", label), ">=", 1.8) for label in LABELS
]


def prepare(params: dict[str, Any], meter: Meter) -> dict[str, Any]:
    """The repository of the prefetch bench."""
    import pstore_prefetch

    return pstore_prefetch.prepare(params, meter)


def ask(params: dict[str, Any], meter: Meter) -> dict[str, int]:
    """The queries, with `threads` threads."""
    os.environ["ICECORE_CACHE"], os.environ["ICECORE_THREADS"] = "0", str(params["threads"])
    import icecore

    array = icecore.open(params["repo"])["/field"]
    array[0, 0, 0, 0]
    fields.touch(params["quick"])
    random = np.random.default_rng(params["rep"])
    boxes = [fields.box(random, fields.shape(params["quick"]), 0.1) for _ in range(8)]
    checks: dict[str, int] = {}
    for label, selections in (("10 % box", boxes), ("scan", [(slice(None),) * 4])):
        for selection in selections:
            with meter(label):
                values = array[selection]
            key = f"{label} {params['rep']}"
            checks[key] = zlib.crc32(np.ascontiguousarray(values), checks.get(key, 0))
    return checks
