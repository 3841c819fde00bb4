"""`icecore serve --writable` as h5pyd writes to it: h5py reads the same from a file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest

h5pyd = pytest.importorskip("h5pyd")
pytestmark = pytest.mark.integration


def launch(folder: Path) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "icecore", "serve", "--port", "0", "--writable", str(folder)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ)
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith("serving at "), line
    return process, line.split()[2]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    process, endpoint = launch(tmp_path)
    yield endpoint, tmp_path
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


def fill(file: Any) -> None:
    """The same objects for h5py and h5pyd."""
    group = file.create_group("g")
    group.attrs["title"] = "a title"
    data = group.create_dataset(
        "a", data=np.arange(200.0).reshape(20, 10), chunks=(7, 4), maxshape=(None, 10)
    )
    data.attrs["scale"] = np.float32(0.5)
    data.attrs["list"] = np.array([1, 2, 3], "<i2")
    file.create_dataset("texts", data=["ab", "", "é"], dtype=h5py.string_dtype())
    record = np.array([(1, 0.5, b"xy"), (2, 1.5, b"z")], [("i", "<i4"), ("x", "<f8"), ("s", "S2")])
    file.create_dataset("records", data=record)
    file.create_dataset("scalar", data=np.int16(7))
    file["again"] = data


def test_values_types_links_and_attributes_round_trip(served: tuple[str, Path], tmp_path: Path) -> None:
    endpoint, _folder = served
    with h5py.File(tmp_path / "expected.h5", "w") as expected:
        fill(expected)
    with h5pyd.File("/made", "w", endpoint=endpoint) as file:
        fill(file)
    for _ in range(2):
        with (
            h5pyd.File("/made", "r", endpoint=endpoint) as ours,
            h5py.File(tmp_path / "expected.h5") as theirs,
        ):
            assert sorted(ours) == sorted(theirs)
            for name in ("g/a", "again", "records", "scalar"):
                np.testing.assert_array_equal(ours[name][()], theirs[name][()])
                assert ours[name].dtype == theirs[name].dtype
            assert [bytes(text) for text in ours["texts"][:]] == [bytes(text) for text in theirs["texts"][:]]
            assert ours["g/a"].attrs["scale"] == np.float32(0.5)
            np.testing.assert_array_equal(ours["g/a"].attrs["list"], theirs["g/a"].attrs["list"])
            assert ours["g/a"].maxshape == (None, 10)
            assert ours["g"].attrs["title"] == "a title"
    with h5pyd.File("/made", "a", endpoint=endpoint) as file:
        file["g/a"].resize(25, axis=0)
        file["g/a"][22:, 3] = 1.0
    with h5pyd.File("/made", "r", endpoint=endpoint) as file:
        assert file["g/a"][22:, 3].tolist() == [1.0, 1.0, 1.0]
        assert file["g/a"][20].tolist() == [0.0] * 10


def test_a_commit_is_plain_zarr(tmp_path: Path) -> None:
    process, endpoint = launch(tmp_path)
    with h5pyd.File("/made", "w", endpoint=endpoint) as file:
        fill(file)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    repo = icecore.open(tmp_path / "made")
    np.testing.assert_array_equal(repo["g/a"][:], np.arange(200.0).reshape(20, 10))
    assert repo["texts"][:].tolist() == ["ab", "", "é"]
    assert repo["g/a"].attrs["scale"] == 0.5
