"""`icecore serve` as h5pyd and zarr-python see it: the values of the linked HDF5 file, as h5py reads them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

h5pyd = pytest.importorskip("h5pyd")
pytestmark = pytest.mark.integration

NUMBERS = [
    "i1",
    "i2",
    "i4",
    "i8",
    "u1",
    "u2",
    "u4",
    "u8",
    "f2",
    "f4",
    "f8",
    "c8",
    "c16",
    ">i2",
    ">i4",
    ">u8",
    ">f4",
    ">f8",
]
RECORD = np.dtype(
    [("a", "<i4"), ("b", "<f8"), ("s", "S3"), ("m", "<f4", (2, 3)), ("n", [("x", "<i2"), ("y", "<f4")])]
)


def numbers(file: h5py.File) -> None:
    random = np.random.default_rng(0)
    for name in NUMBERS:
        values = (random.random((7, 5)) * 100).astype(name)
        item = file.create_dataset(f"numbers/{name}", data=values, chunks=(3, 2), compression="gzip")
        item.attrs["list"] = np.array([1, 2, 3], name)
        item.attrs["one"] = np.array(3, name)[()]
    file["numbers/f8"][0, 0] = np.nan
    file["numbers/f8"][1, 1] = np.inf


def others(file: h5py.File) -> None:
    text = h5py.string_dtype()
    records = np.zeros(4, RECORD)
    records["a"], records["b"], records["s"] = [1, 2, 3, 4], 0.5, b"xy"
    records["m"] = np.arange(6).reshape(2, 3)
    file["plain"] = np.arange(10.0)
    file["scalar"] = np.float32(3.5)
    file["text"] = "hello"
    file["fixed"] = np.array([b"ab", b"cde", b""], "S5")
    file.create_dataset("texts", data=["ab", "", "é"], dtype=text)
    file["bool"] = np.array([[True, False], [False, True]])
    file.create_dataset(
        "enum", data=[0, 2, 1], dtype=h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": 2}, "u1")
    )
    file["records"] = records
    named = np.array([(1, "one"), (2, "two!")], [("i", "i4"), ("t", text)])
    file.create_dataset("named", data=named, dtype=named.dtype)
    file["arrays"] = np.arange(6, dtype="i4").reshape(3, 2)
    file["opaque"] = np.array([b"abcd", b"efgh"], "V4")
    file.create_dataset("empty", (0, 3), maxshape=(None, 3), dtype="i4")
    file.create_dataset("unwritten", (10,), chunks=(5,), dtype="f4", fillvalue=-1)
    file.create_dataset(
        "filters", data=np.arange(100).reshape(10, 10), chunks=(5, 5), shuffle=True, fletcher32=True
    )
    file.attrs["title"], file.attrs["list"], file.attrs["flag"] = "t", [1.5, 2.5], True


def launch(*arguments: str) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "icecore", "serve", "--port", "0", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith("serving at "), line
    return process, line.split()[2]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("served")
    source = folder / "all.h5"
    with h5py.File(source, "w") as file:
        numbers(file)
        others(file)
    link = [sys.executable, "-m", "icecore", "link", str(source), "--into", str(folder / "all.repo")]
    subprocess.run(link, check=True, capture_output=True, env=os.environ)
    process, endpoint = launch(str(folder / "all.repo"))
    yield endpoint, source
    process.send_signal(signal.SIGTERM)
    process.wait(20)


def same(ours: Any, theirs: Any) -> None:
    """The same values. h5pyd has no complex numbers: it shows datasets of them as records of their parts."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if theirs.dtype.kind == "c" and ours.dtype.names is not None:
        ours = ours["r"] + 1j * ours["i"]
    assert ours.shape == theirs.shape
    if theirs.dtype.names is not None:
        for name in theirs.dtype.names:
            same(ours[name], theirs[name])
    elif theirs.dtype.kind == "O":
        plain = [
            [x.decode() if isinstance(x, bytes) else x for x in each.reshape(-1)] for each in (ours, theirs)
        ]
        assert plain[0] == plain[1]
    elif theirs.dtype.kind == "V":
        assert ours.tobytes() == theirs.tobytes()
    else:
        np.testing.assert_array_equal(ours, theirs)


def datasets(file: h5py.File) -> dict[str, h5py.Dataset]:
    found: dict[str, h5py.Dataset] = {}
    file.visititems(lambda name, item: found.update({name: item}) if isinstance(item, h5py.Dataset) else None)
    return found


def test_every_dataset_has_its_values_types_and_attributes(served: tuple[str, Path]) -> None:
    endpoint, source = served
    with h5py.File(source) as file, h5pyd.File("/all.repo/all", "r", endpoint=endpoint) as ours:
        expected = datasets(file)
        assert len(expected) == len(NUMBERS) + 14
        for name, item in expected.items():
            got = ours[name]
            assert got.shape == item.shape, name
            if item.dtype.kind not in "cO" and item.dtype.names is None:
                assert got.dtype == item.dtype, name
            same(got[()], item[()])
            for key, value in item.attrs.items():
                same(got.attrs[key], value)
        for key, value in file.attrs.items():
            same(ours.attrs[key], value)
        assert h5py.check_enum_dtype(file["enum"].dtype) == ours["enum"].dtype.metadata["enum"]
        assert ours["empty"].maxshape == (None, 3)
        assert (ours["filters"].chunks, ours["filters"].shuffle) == ((5, 5), True)


def test_selections(served: tuple[str, Path]) -> None:
    endpoint, source = served
    with h5py.File(source) as file, h5pyd.File("/all.repo/all", "r", endpoint=endpoint) as ours:
        for name in (f"numbers/{each}" for each in NUMBERS):
            mask = np.zeros((7, 5), bool)
            mask[[1, 5], [2, 4]] = True
            for sel in (
                np.s_[1:],
                np.s_[2],
                np.s_[::2, 1],
                np.s_[1:6:2, 2:4],
                np.s_[[1, 3], :],
                np.s_[:, [0, 4]],
                mask,
            ):
                same(ours[name][sel], file[name][sel])
        same(ours["records"]["a"], file["records"]["a"])
        same(ours["records"][1:3], file["records"][1:3])
        same(ours["texts"][1:], file["texts"][1:])


def test_a_granule_opens_in_two_requests(served: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    import requests

    asked = []
    original = requests.Session.request
    monkeypatch.setattr(requests.Session, "request", lambda *a, **k: asked.append(a) or original(*a, **k))
    with h5pyd.File("/all.repo/all", "r", endpoint=served[0]) as ours:
        seen: list[Any] = []
        ours.visititems(
            lambda name, item: seen.append((name, getattr(item, "shape", None), dict(item.attrs)))
        )
        assert len(seen) > 30
    assert len(asked) == 2


def test_folders_and_missing_domains(served: tuple[str, Path]) -> None:
    folder = h5pyd.Folder("/", endpoint=served[0])
    assert list(folder) == ["all.repo"]
    with pytest.raises(FileNotFoundError, match="no domain /none"):
        h5pyd.File("/none", "r", endpoint=served[0])
    with pytest.raises(OSError, match="no append permission"):
        h5pyd.File("/all.repo", "a", endpoint=served[0])


def test_zarr_reads_linked_arrays_over_http(served: tuple[str, Path]) -> None:
    zarr = pytest.importorskip("zarr")
    pytest.importorskip("aiohttp")
    endpoint, source = served
    group = zarr.open_group(f"{endpoint}/zarr/all.repo/all", mode="r")
    with h5py.File(source) as file:
        for name in ("numbers/f8", "numbers/>i4", "bool", "filters", "unwritten", "scalar", "texts"):
            got = np.asarray(group[name][...])
            same(got.astype(object) if name == "texts" else got, file[name][()])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it(served: tuple[str, Path], number: signal.Signals) -> None:
    process, endpoint = launch(f"again={served[1].parent / 'all.repo'}")
    with urllib.request.urlopen(f"{endpoint}/health") as answer:
        assert json.load(answer)["status"] == "ok"
    process.send_signal(number)
    assert process.wait(10) == 0
    assert "Traceback" not in process.stderr.read()
