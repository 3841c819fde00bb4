"""Every real float array in byte planes: exact as a whole, within the stated bound in part."""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np
import pytest
from files import HDF5, NETCDF3, params

FILES = [path for path in [*HDF5, *NETCDF3] if path.parent.name in ("climate", "frames", "hdf5")]


def bits(values: np.ndarray) -> np.ndarray:
    """The numbers as integers, so that NaN are compared too."""
    return values.view(f"u{values.dtype.itemsize}")


@pytest.mark.parametrize("path", params(FILES))
def test_within_the_bound(path: Path, repo_path: str) -> None:
    icecore.link(path, repo_path, group="/exact")
    icecore.pack(path, repo_path, group="/planes", codec="planes")
    repo, seen = icecore.open(repo_path), 0
    for name, array in repo.arrays.items():
        if not name.startswith("/planes/") or array.dtype.kind != "f" or not array.size:
            continue
        seen += 1
        want = repo._array(name.replace("/planes/", "/exact/", 1)).read()
        assert np.array_equal(bits(array.read()), bits(want)), name
        normal = np.isfinite(want) & (np.abs(want) >= np.finfo(want.dtype).tiny)
        for count in range(1, want.dtype.itemsize):
            got, bound = array.read(leading_bytes=count), array.bound(leading_bytes=count)
            assert bound > 0 or count > want.dtype.itemsize // 2, (name, count)
            assert np.array_equal(bits(got[~normal]), bits(want[~normal])), (name, count)
            numbers = want[normal].astype("f8")
            assert np.all(np.abs(got[normal].astype("f8") - numbers) <= bound * np.abs(numbers)), (
                name,
                count,
            )
    if not seen:
        pytest.skip("no floats in this file")
