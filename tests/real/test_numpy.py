"""NumPy files made from real data: linked and packed, they read as NumPy loads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
import zoo

VERBS = {"link": icecore.link, "pack": icecore.pack}


@pytest.fixture(params=VERBS)
def verb(request: pytest.FixtureRequest) -> Any:
    """link or pack."""
    return VERBS[request.param]


@pytest.fixture(scope="module")
def columns(real_data: Path) -> dict[str, np.ndarray]:
    """Real float64 series (each file is one column of 131,072 values)."""
    return {p.stem: np.fromfile(p, "<f8") for p in sorted((real_data / "other").glob("*.bin"))}


def test_npy(verb: Any, columns: dict[str, np.ndarray], tmp_path: Path, repo_path: str) -> None:
    for name, data in columns.items():
        np.save(tmp_path / f"{name}.npy", data)
        np.save(tmp_path / f"{name}_fortran.npy", np.asfortranarray(data.reshape(512, -1)))
        np.save(tmp_path / f"{name}_big.npy", data.astype(">f8"))
    verb(str(tmp_path / "*.npy"), repo_path, group="/n")
    repo = icecore.open(repo_path)
    assert len(repo.arrays) == 3 * len(columns)
    for name, data in columns.items():
        assert zoo.same(repo[f"/n/{name}"].read(), data)
        assert zoo.same(repo[f"/n/{name}_fortran"].read(), data.reshape(512, -1))
        assert zoo.same(repo[f"/n/{name}_big"][::-7], data[::-7])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(verb: Any, save: Any, columns: dict[str, np.ndarray], tmp_path: Path, repo_path: str) -> None:
    save(tmp_path / "x.npz", **columns)
    verb(tmp_path / "x.npz", repo_path)
    repo = icecore.open(repo_path)
    for name, data in columns.items():
        assert zoo.same(repo[f"/x/{name}"].read(), data)
        assert zoo.same(repo[f"/x/{name}"][1000:90_000:17], data[1000:90_000:17])


@pytest.mark.parametrize("dtype", zoo.FIXED)
def test_every_dtype(verb: Any, dtype: str, tmp_path: Path, repo_path: str) -> None:
    data = zoo.values(dtype, (23, 17))
    np.save(tmp_path / "x.npy", data)
    verb(tmp_path / "x.npy", repo_path)
    # interface.md: x.npy becomes /P/x, and P is the file's stem unless it is named
    arrays = icecore.open(repo_path).arrays
    assert len(arrays) == 1
    (array,) = arrays.values()
    assert zoo.same(array.read(), data), zoo.difference(array.read(), data)
