"""Trees that the tests of ROOT files are about, written by uproot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

ak = pytest.importorskip("awkward")
uproot = pytest.importorskip("uproot")

BASKETS, ENTRIES = 3, 400


def batch(seed: int, entries: int = ENTRIES) -> dict[str, Any]:
    """Flat, fixed-shape, jagged and boolean columns."""
    random = np.random.default_rng(seed)
    counts = random.poisson(1.5, entries)
    total = int(counts.sum())
    return {
        "Muon": ak.zip(
            {
                "pt": ak.unflatten(random.exponential(20, total).astype("f4"), counts),
                "charge": ak.unflatten(random.choice([-1, 1], total).astype("i4"), counts),
            }
        ),
        "met": random.exponential(30, entries).astype("f4"),
        "run": random.integers(-(2**40), 2**40, entries),
        "good": random.random(entries) < 0.5,
        "vertex": random.normal(0, 1, (entries, 3)),
    }


def write(path: Path, seed: int = 0, compression: Any = "zstd", baskets: int = BASKETS) -> Path:
    """A file with the tree ``Events``."""
    codecs = {"zstd": uproot.ZSTD(3), "zlib": uproot.ZLIB(4), "lz4": uproot.LZ4(1), "lzma": uproot.LZMA(1)}
    with uproot.recreate(path, compression=codecs.get(compression)) as file:
        first = batch(seed)
        kinds = {
            name: "var * {pt: float32, charge: int32}" if name == "Muon" else value.dtype
            for name, value in first.items()
        }
        kinds["vertex"] = np.dtype(("f8", (3,)))
        tree = file.mktree("Events", kinds)
        for number in range(baskets):
            tree.extend(batch(seed + number))
    return path


def equal(ours: Any, theirs: Any) -> bool:
    """Whether two columns have the same values, NaN included, and the same types of numbers."""
    one, two = (ak.from_regular(ak.Array(each), axis=None) for each in (ours, theirs))
    plain = ak.array_equal(one, two, equal_nan=True, check_parameters=False)
    return bool(plain or ak.to_list(one) == ak.to_list(two))
