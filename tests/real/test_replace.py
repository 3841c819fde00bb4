"""Cycles and releases of real data over one another: what did not change is stored once."""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np
import pytest
from files import DATA

CYCLES = [DATA / "climate" / f"arome_metcoop_red_default2_5km_20150824_{hour}.nc" for hour in ("00", "06")]
RELEASES = [DATA / "frames" / f"H-H1_LOSC_4_{version}-1126259446-32.hdf5" for version in ("V1", "V2")]


def over(files: list[Path], into: Path) -> tuple[icecore.Repo, icecore.Repo, set[str]]:
    """Pack the second over the first; both versions, and the arrays of which something was written again."""
    if not all(file.exists() for file in files):
        pytest.skip("no real files at ../shared/data")
    icecore.pack(files[0], into, "/run")
    first = icecore.open(into)
    icecore.pack(files[1], into, "/run", replace=True)
    second = icecore.open(into)
    changes = second.diff(first.snapshot_id, values=True).chunks
    for path in second.arrays:
        if path in first.arrays and path not in changes:
            np.testing.assert_array_equal(first[path].read(), second[path].read())
    return first, second, set(changes)


def test_a_model_s_cycles_share_their_coordinates(tmp_path: Path) -> None:
    first, second, changed = over(CYCLES, tmp_path / "r.icecore")
    fixed = {"/run/x", "/run/y", "/run/latitude", "/run/longitude"}
    assert fixed <= set(second.arrays)
    assert not fixed & changed
    # all that is the same is shared, whatever it is called
    for path, array in second.arrays.items():
        same = array.shape == first[path].shape and array.read().tobytes() == first[path].read().tobytes()
        assert same == (path not in changed), path


def test_releases_of_strain(tmp_path: Path) -> None:
    first, second, changed = over(RELEASES, tmp_path / "r.icecore")
    assert "/run/strain/Strain" in second.arrays
    for path, array in second.arrays.items():
        if path in first.arrays and array.shape == first[path].shape and array.dtype == first[path].dtype:
            same = array.read().tobytes() == first[path].read().tobytes()
            assert same == (path not in changed), path
