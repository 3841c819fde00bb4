"""``repo.writer(memory=…)``: what a writer holds stays within it, counted in bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.writing.writer import Writer

RNG = np.random.default_rng(8)
MB = 1 << 20
#: of the package's own parts, and what encoders work with; as the docstring of ``Repo.writer`` says
CONSTANT = 40_000_000


def most(writer: Writer) -> int:
    """The most that the encoders held, data and what was made of them."""
    return writer._native.held()[1]


def waiting(writer: Writer) -> int:
    """Bytes of the rows that wait."""
    return sum(a._tail._rows.nbytes for a in writer._arrays.values() if a._tail is not None)


@pytest.mark.parametrize("names", [["/x"], ["/x", "/y", "/z"]])
def test_appended_rows(tmp_path: Path, names: list[str]) -> None:
    """Of noise, so that what is encoded is as long as the data; ten times the budget and more."""
    memory, rows = 2 * MB, 0
    row = RNG.integers(0, 256, (100, 160), "u1")
    with icecore.create(tmp_path / "r").writer(memory="2MiB") as w:
        arrays = [w.array(name, "u1", (0, *row.shape), codec="zstd") for name in names]
        for step in range(1500):
            for array in arrays:
                array.append(row + np.uint8(step % 256))
            rows = max(rows, waiting(w))
        w.commit()
        assert memory // 16 < rows <= memory // 4
        assert memory // 16 < most(w)
        assert most(w) + rows <= memory
        assert w.bytes_raw >= 10 * memory
    repo = icecore.open(tmp_path / "r")
    np.testing.assert_array_equal(repo[names[-1]][1499], row + np.uint8(1499 % 256))


def test_regions(tmp_path: Path) -> None:
    """A whole array at once, and boxes across its shards."""
    memory = 4 * MB
    data = RNG.integers(0, 256, (64, 700, 700), "u1")
    with icecore.create(tmp_path / "r").writer(memory=memory) as w:
        array = w.array("/x", "u1", data.shape, codec="zstd")
        array[...] = data
        array[3:50, 10:600] = data[3:50, 10:600] = 255 - data[3:50, 10:600]
        w.commit()
        assert most(w) + memory // 8 <= memory, "a box that is copied comes on top"
    np.testing.assert_array_equal(icecore.open(tmp_path / "r")["/x"].read(), data)


def test_shards_that_are_larger(tmp_path: Path) -> None:
    """Three of them: one fills, one is on its way, and what that one becomes."""
    shard = (16, 256, 1024)
    size = int(np.prod(shard))
    row = RNG.integers(0, 256, shard[1:], "u1")
    with icecore.create(tmp_path / "r").writer(memory=MB) as w:
        array = w.array("/x", "u1", (0, *row.shape), chunks=(4, 256, 256), shards=shard, codec="zstd")
        for _ in range(4 * shard[0]):
            array.append(row)
            assert waiting(w) <= size
        w.commit()
        assert w.bytes_raw == 4 * size, "each shard was written once"
        assert most(w) <= 2.2 * size


CODE = """
import re, sys
import numpy as np
import icecore

def kilobytes(what):
    return 1024 * int(re.search(what + r":\\s+(\\d+) kB", open("/proc/self/status").read())[1])

row = np.random.default_rng(0).standard_normal((35, 138, 195), "f4")
before = kilobytes("VmRSS")
with icecore.create(sys.argv[1]).writer(memory="32MiB") as w:
    array = w.array("/x", "f4", (0, *row.shape), goal="speed")
    for _ in range(40):
        array.append(row)
print(kilobytes("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_memory_of_the_process(tmp_path: Path) -> None:
    """150 MB go through 32 MiB."""
    command = [sys.executable, "-c", CODE, str(tmp_path / "r")]
    grown = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert grown <= 32 * MB + CONSTANT, f"{grown / 1e6:.0f} MB"


def test_nonsense_is_refused(tmp_path: Path) -> None:
    repo = icecore.create(tmp_path / "r")
    for bad in ("much", 0, "-1MB"):
        with pytest.raises(icecore.Error) as caught:
            repo.writer(memory=bad)
        assert caught.value.kind == "invalid"
        assert caught.value.hint
