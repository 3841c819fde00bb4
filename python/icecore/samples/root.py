"""Write a small ROOT file of events; it needs uproot."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def events(path: Path, count: int = 50_000) -> dict[str, np.ndarray]:
    """Write the tree ``Events`` of collisions; the data is identical in every run.

    Returns:
        Branch name → values that were written, shape ``(count,)``.

    Raises:
        ModuleNotFoundError: if uproot is not installed.
    """
    import uproot

    rng = np.random.default_rng(20120704)
    is_signal = rng.random(count) < 0.15
    mass = np.where(is_signal, rng.normal(91.2, 2.5, count), rng.exponential(30, count) + 40)
    branches = {
        "run": rng.integers(1, 9, count).astype("i4"),
        "nMuon": rng.poisson(1.8, count).astype("i4"),
        "mass": mass.astype("f4"),
        "MET_pt": rng.exponential(25, count).astype("f4"),
    }
    with uproot.recreate(path, compression=uproot.ZLIB(4)) as file:
        tree = file.mktree("Events", {name: values.dtype for name, values in branches.items()})
        for start in range(0, count, 10_000):
            tree.extend({name: values[start : start + 10_000] for name, values in branches.items()})
    return branches
