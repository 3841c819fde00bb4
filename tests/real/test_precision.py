"""Every real float array in byte planes: exact as a whole, within the stated bound in part."""

from __future__ import annotations

from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest
from files import DATA, datasets, params

FILES = [
    path
    for folder in ("climate", "frames", "hdf5")
    for path in sorted((DATA / folder).glob("*"))
    if h5py.is_hdf5(path)
]
WIDTHS = {"f2": (1, 1), "f4": (2, 1, 1), "f8": (2, 1, 1, 4)}
_LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
_ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}


def floats(file: h5py.File) -> list[tuple[str, np.ndarray]]:
    """The float arrays of a file in native order, no more of each than its first 2 million numbers."""
    found = []
    for name, data in datasets(file):
        if data.dtype.kind == "f" and data.dtype.itemsize in (2, 4, 8) and data.size:
            flat = np.asarray(data[()]).reshape(-1)[:2_000_000]
            found.append((name, flat.astype(flat.dtype.newbyteorder("="))))
    return found


@pytest.mark.parametrize("path", params(FILES))
def test_within_the_bound(path: Path, repo_path: str) -> None:
    with h5py.File(path) as file:
        arrays = floats(file)
    if not arrays:
        pytest.skip("no floats in this file")
    with icecore.create(repo_path).writer() as w:
        for name, data in arrays:
            planes = [{"bytes": n, "codecs": [_LITTLE, _ZSTD]} for n in WIDTHS[data.dtype.str[1:]]]
            codec = [{"name": "icecore.byteplanes", "configuration": {"planes": planes}}]
            w.array(name, data.dtype, data.shape, codec=codec)[...] = data
    repo = icecore.open(repo_path)
    for name, want in arrays:
        array, bits = repo[name], f"u{want.dtype.itemsize}"
        assert np.array_equal(array[...].view(bits), want.view(bits)), name
        normal = np.isfinite(want) & (np.abs(want) >= np.finfo(want.dtype).tiny)
        for count in range(1, want.dtype.itemsize):
            got, bound = array.read(bytes=count), array.bound(bytes=count)
            assert np.array_equal(got[~normal].view(bits), want[~normal].view(bits)), name
            exact = want[normal].astype("f8")
            assert np.all(np.abs(got[normal].astype("f8") - exact) <= bound * np.abs(exact)), (name, count)
