"""Zarr stores in zip archives: the directory is read a few times, not once for each array; what is not read
here is no damage.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import icecore
import numpy as np
import pytest
import zarr
from icecore.errors import Error

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


def test_a_method_that_python_lacks_is_no_damage(tmp_path: Path) -> None:
    """Windows takes Deflate64 for files above 2 GB."""
    array = zarr.create_array(tmp_path / "x.zarr", name="a", data=np.arange(10), compressors=None)
    assert array.path == "a"
    path = tmp_path / "x.zarr.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted((tmp_path / "x.zarr").rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(tmp_path / "x.zarr"))
        last = archive.infolist()[-1]
    data = bytearray(path.read_bytes())
    for place in (last.header_offset + 8, data.rindex(b"PK\x01\x02") + 10):
        data[place : place + 2] = (9).to_bytes(2, "little")
    path.write_bytes(data)
    with pytest.raises(Error, match=rf"{last.filename} is compressed by zip's method 9") as caught:
        icecore.pack(path, into=tmp_path / "r")
    assert caught.value.kind == "unsupported"
    assert "unpack" in caught.value.hint


@pytest.mark.skipif(
    tuple(map(int, zarr.__version__.split(".")[:2])) < (3, 4),
    reason="older ones, on Python 3.11, don't say what brings a codec",
)
def test_a_note_names_what_brings_a_codec(tmp_path: Path) -> None:
    group = zarr.create_group(tmp_path / "x.zarr")
    for name in "ab":
        group.create_array(name, data=np.arange(10), compressors=None)
    metadata = tmp_path / "x.zarr" / "b" / "zarr.json"
    document = json.loads(metadata.read_text())
    document["codecs"] = [{"name": "imagecodecs_jpegxl", "configuration": {}}]
    metadata.write_text(json.dumps(document))
    report = icecore.pack(tmp_path / "x.zarr", into=tmp_path / "r")
    (note,) = [note for note in report.notes if note.kind == "unsupported"]
    assert "imagecodecs_jpegxl" in note.message
    assert "pip install" in note.message
