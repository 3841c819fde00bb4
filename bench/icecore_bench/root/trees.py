"""Trees for the study: generated events, and files that uproot writes with a codec and a size of baskets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

Columns = dict[str, np.ndarray[Any, Any]]


def compression(name: str) -> Any:
    """Return uproot's compression: ``zlib-1``, ``lz4-1``, ``zstd-5``, ``lzma-6`` or ``none``."""
    import uproot

    if name == "none":
        return None
    codec, level = name.split("-")
    return getattr(uproot, codec.upper())(int(level))


def write(path: Path, columns: Columns, codec: str, basket: int) -> Path:
    """Write a tree ``Events``, with so many entries in each basket."""
    import uproot

    rows = len(next(iter(columns.values())))
    kinds = {name: np.dtype((c.dtype, c.shape[1:])) if c.ndim > 1 else c.dtype for name, c in columns.items()}
    with uproot.recreate(path, compression=compression(codec)) as file:
        tree = file.mktree("Events", kinds, initial_basket_capacity=max(rows // basket + 1, 10))
        for start in range(0, rows, basket):
            tree.extend({name: column[start : start + basket] for name, column in columns.items()})
    return path


def detector(rows: int, count: int) -> Columns:
    """Return float32 columns as a detector gives them: noise around a signal, to some 14 significant bits."""
    random = np.random.default_rng(20)
    made = {}
    for number in range(count):
        values = random.exponential(20 + number, rows) + random.normal(0, 1, rows)
        made[f"c{number}"] = (np.round(values * 256) / 256).astype("f4")
    return made


def events(rows: int) -> Columns:
    """Return flat columns such as those of analyses: momenta, angles, counters, flags and identifiers."""
    random = np.random.default_rng(7)
    pt = random.exponential(25, rows)
    return {
        "event": np.arange(rows, dtype="u8") + 10**9,
        "run": np.sort(random.integers(297_050, 297_060, rows)).astype("u4"),
        "nMuon": random.poisson(1.8, rows).astype("u4"),
        "MET_pt": (np.round(random.exponential(30, rows) * 64) / 64).astype("f4"),
        "MET_phi": random.uniform(-np.pi, np.pi, rows).astype("f4"),
        "pt": (np.round(pt * 1024) / 1024).astype("f4"),
        "eta": random.normal(0, 1.2, rows).astype("f4"),
        "HLT_Mu": random.random(rows) < 0.7,
    }
