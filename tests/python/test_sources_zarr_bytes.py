"""Zarr v2 arrays of bytes of any length, as zarr-python 2 and 3 write them."""

from __future__ import annotations

import json
from pathlib import Path

import icecore
import numpy as np
import pytest

pytest.importorskip("zarr")
numcodecs = pytest.importorskip("numcodecs")

VALUES = [b"a", b"", b"\x00\xff", b"abc"]


def store(folder: Path, fill: object, parts: int = 2) -> Path:
    """An array of two chunks, of which so many are there."""
    folder.mkdir(parents=True)
    metadata = {"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|O", "order": "C"}
    metadata |= {"compressor": None, "fill_value": fill, "filters": [{"id": "vlen-bytes"}]}
    (folder / ".zarray").write_text(json.dumps(metadata))
    for i in range(parts):
        values = np.array(VALUES[2 * i : 2 * i + 2], object)
        (folder / str(i)).write_bytes(bytes(numcodecs.VLenBytes().encode(values)))
    return folder


@pytest.mark.parametrize("fill", [0, "", None])
@pytest.mark.parametrize("parts", [1, 2])
def test_bytes_of_any_length(tmp_path: Path, fill: object, parts: int) -> None:
    """0 was called corrupt, as zarr-python 3 refuses it; with the others bytes were no text."""
    icecore.pack(store(tmp_path / "x", fill, parts), into=tmp_path / "r")
    array = icecore.open(tmp_path / "r")["/x/x"]
    assert array[...].tolist() == VALUES[: 2 * parts] + [b""] * (4 - 2 * parts)


def test_such_an_array_in_a_group(tmp_path: Path) -> None:
    (tmp_path / "g").mkdir()
    (tmp_path / "g" / ".zgroup").write_text('{"zarr_format": 2}')
    store(tmp_path / "g" / "a" / "x", 0)
    icecore.pack(tmp_path / "g", into=tmp_path / "r", group="/")
    assert icecore.open(tmp_path / "r")["/a/x"][...].tolist() == VALUES


def test_a_fill_value_that_makes_no_sense_is_damage(tmp_path: Path) -> None:
    with pytest.raises(icecore.Error, match="can't read it") as caught:
        icecore.pack(store(tmp_path / "x", 7), into=tmp_path / "r")
    assert caught.value.kind == "corrupt"
