"""``icecore diff A B`` of two arrays: values, aligned in time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore import errors
from icecore.repository.array import Array
from icecore.repository.history.compare_arrays import compare
from icecore.samples.gwf import write_frame

T0 = 1_000_000_000
NAME, PATH = "H1:STRAIN", "/H1/STRAIN"


def production(folder: Path, name: str, start: int, values: np.ndarray) -> Array:
    """A channel at 64 Hz, linked from one-second files."""
    place = folder / name
    place.mkdir()
    for i in range(len(values) // 64):
        write_frame(place / f"{i:03}.gwf", start + i, {NAME: (values[i * 64 : (i + 1) * 64], 64.0)})
    icecore.link(place, folder / f"{name}.icecore")
    array = icecore.open(folder / f"{name}.icecore")[PATH]
    assert isinstance(array, Array)
    return array


def test_two_productions_are_aligned_by_their_times(tmp_path: Path) -> None:
    values = np.arange(64 * 6, dtype="f4")
    changed = values[64:].copy()
    changed[[70, 200]] += np.float32([0.5, -2.0])
    one = production(tmp_path, "one", T0, values[: 64 * 5])
    other = production(tmp_path, "other", T0 + 1, changed)
    found = compare(one, other)
    assert (found.compared, found.differ, found.only_first, found.only_second) == (256, 2, 64, 64)
    assert (found.first, found.largest) == ([134], 2.0)
    assert found.stretch == ((T0 + 1) * 10**9, (T0 + 5) * 10**9)
    assert found.first_time == T0 * 10**9 + 134 * 10**9 // 64
    back = compare(other, one)
    assert (back.compared, back.differ, back.first, back.only_first) == (256, 2, [70], 64)
    span = "from GPS 1000000001.000000000 to 1000000005.000000000"
    assert f"256 elements compared {span}: 2 differ" in str(found)


def test_packed_and_linked_productions_are_equal_on_the_command_line(tmp_path: Path, run: Any) -> None:
    values = np.cumsum(np.ones(64 * 4, "f4"))
    production(tmp_path, "linked", T0, values)
    icecore.pack(tmp_path / "linked", tmp_path / "packed.icecore")
    names = [f"{tmp_path / name}.icecore:{PATH}" for name in ("linked", "packed")]
    status, out, _ = run("diff", *names, "--json")
    assert (status, json.loads(out)["differ"], json.loads(out)["compared"]) == (0, 0, 256)
    status, _, err = run("diff", names[0], "main")
    assert (status, "expected a second one (got main)" in err) == (2, True)
    status, _, err = run("diff", names[0], f"{tmp_path / 'packed'}.icecore:/H1")
    assert (status, "is a group; expected an array" in err) == (2, True)


def test_bits_and_numbers(tmp_path: Path) -> None:
    with icecore.create("memory://compare").writer() as w:
        w.array("/a", "f8", (4,))[...] = [np.nan, 0.0, 1.0, np.inf]
        w.array("/b", "f8", (4,))[...] = [np.nan, -0.0, 1.0, 2.0]
        w.array("/i", "i4", (2, 3))[...] = np.arange(6).reshape(2, 3)
        w.array("/f", "f4", (3, 2))[...] = [[0, 1], [3, 9], [6, 7]]
        w.array("/n", "f4", (0,))
    repo = icecore.open("memory://compare")
    arrays: dict[str, Array] = repo.arrays
    found = compare(arrays["/a"], arrays["/b"])
    assert (found.differ, found.first, found.largest) == (2, [1], 0.0)
    found = compare(arrays["/i"], arrays["/f"])
    assert (found.compared, found.differ, found.only_first, found.only_second) == (4, 1, 2, 2)
    assert (found.first, found.largest) == ([1, 1], 5.0)
    assert compare(arrays["/n"], arrays["/a"]).to_dict()["compared"] == 0
    with pytest.raises(errors.Error, match="2 dimensions") as caught:
        compare(arrays["/i"], arrays["/a"])
    assert caught.value.kind == "mismatch"


def test_other_rates_and_samples_between_each_other_are_refused(tmp_path: Path) -> None:
    axis = {"epoch": "GPS", "t0_ns": 0, "step": [1, 4], "segments": [[0, 10**9]]}
    axes = {"/a": axis, "/fast": {**axis, "step": [1, 8]}, "/late": {**axis, "t0_ns": 10**8}}
    with icecore.create("memory://rates").writer() as w:
        for path, found in axes.items():
            w.array(path, "f4", (4,), ("time",), attrs={"icecore_time": found})[...] = range(4)
    arrays = icecore.open("memory://rates").arrays
    for path, match in (("/fast", "4 Hz, /fast has 8 Hz"), ("/late", r"0\.4 samples apart")):
        with pytest.raises(errors.Error, match=match) as caught:
            compare(arrays["/a"], arrays[path])
        assert caught.value.kind == "mismatch"
