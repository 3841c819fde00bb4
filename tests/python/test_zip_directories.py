"""The directory of a zip archive is read a few times, not once for each of its arrays."""

from __future__ import annotations

import zipfile
from pathlib import Path

import icecore
import numpy as np
import pytest

_ARRAYS = 40


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One item for each time that a directory is read."""
    found: list[None] = []
    read = zipfile.ZipFile._RealGetContents

    def counted(archive: zipfile.ZipFile) -> None:
        found.append(None)
        read(archive)

    monkeypatch.setattr(zipfile.ZipFile, "_RealGetContents", counted)
    return found


def _values(number: int) -> np.ndarray:
    return np.arange(10.0) + number


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_of_npz(tmp_path: Path, looks: list[None], save: object) -> None:
    save(tmp_path / "x.npz", **{f"a{i}": _values(i) for i in range(_ARRAYS)})  # type: ignore[operator]
    looks.clear()
    icecore.pack(tmp_path / "x.npz", into=tmp_path / "r.icecore")
    assert len(looks) <= 4
    repo = icecore.open(tmp_path / "r.icecore")
    assert all(np.array_equal(repo[f"/x/a{i}"][:], _values(i)) for i in range(_ARRAYS))


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_of_zarr(tmp_path: Path, looks: list[None], zarr_format: int) -> None:
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(tmp_path / "x.zarr", mode="w", zarr_format=zarr_format)
    for i in range(_ARRAYS):
        group.create_array(f"a{i}", data=_values(i), chunks=(5,))
    with zipfile.ZipFile(tmp_path / "x.zarr.zip", "w") as archive:
        for path in sorted((tmp_path / "x.zarr").rglob("*")):
            archive.write(path, path.relative_to(tmp_path / "x.zarr"))
    looks.clear()
    icecore.pack(tmp_path / "x.zarr.zip", into=tmp_path / "r.icecore", group="/x")
    assert len(looks) <= 8
    repo = icecore.open(tmp_path / "r.icecore")
    assert all(np.array_equal(repo[f"/x/a{i}"][:], _values(i)) for i in range(_ARRAYS))
