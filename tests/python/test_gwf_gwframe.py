"""Frame files written by gwframe (frameCPP) in every mode and type read back bit for bit."""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.sources import open_source
from sources_kit import everything

gwframe = pytest.importorskip("gwframe")
pytestmark = pytest.mark.integration

T0 = 1_000_000_000
TYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16")
MODES = ("RAW", "GZIP", "DIFF_GZIP", "ZERO_SUPPRESS_WORD_2", "ZERO_SUPPRESS_WORD_4", "ZERO_SUPPRESS_WORD_8")
MODES += ("ZERO_SUPPRESS_OTHERWISE_GZIP",)  # frameCPP refuses BEST_COMPRESSION


def samples(rng: np.random.Generator, dtype: np.dtype, count: int) -> np.ndarray:
    """Values of one of several kinds: constant, slow, noise over the whole range, special floats."""
    kind = rng.integers(4)
    if kind == 0:
        return np.full(count, rng.integers(0, 100), dtype)
    if kind == 1:
        return np.cumsum(rng.integers(-2, 3, count)).astype(dtype)
    noise = rng.integers(0, 256, count * dtype.itemsize, dtype="u1").view(dtype)  # any bits, NaN included
    if kind == 2:
        return noise
    return np.where(rng.random(count) < 0.9, dtype.type(0), noise)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", TYPES)
def test_every_mode_and_type(tmp_path: Path, mode: str, name: str) -> None:
    rng, dtype = np.random.default_rng([MODES.index(mode), TYPES.index(name)]), np.dtype(name)
    for case, count in enumerate((1, 2, 7, 64, 65, 1024, 5000, int(rng.integers(1, 9000)))):
        data, path = samples(rng, dtype, count), tmp_path / f"{case}.gwf"
        code = getattr(gwframe.types.Compression, mode)
        gwframe.write(path, data, T0, float(count), name="X1:TEST", compression=code)
        entry = open_source(path).arrays["/X1/TEST"]
        assert entry.read is not None
        found = entry.read(everything(entry))
        assert found.dtype == dtype
        assert found.tobytes() == data.tobytes()


@pytest.mark.parametrize("kind", ["proc", "adc", "sim"])
def test_many_frames_of_each_kind_of_channel_become_one_array(tmp_path: Path, kind: str) -> None:
    rng, parts = np.random.default_rng(1), []
    with gwframe.FrameWriter(tmp_path / "many.gwf") as writer:
        for second in range(5):
            parts.append(rng.normal(size=256).astype("f4"))
            writer.write(parts[-1], T0 + second, 256.0, name="X1:TEST", channel_type=kind)
    icecore.link(tmp_path / "many.gwf", tmp_path / "r.icecore")
    array = icecore.open(tmp_path / "r.icecore")["/X1/TEST"]
    np.testing.assert_array_equal(array[:], np.concatenate(parts))
    assert array.segments == [(T0 * 10**9, (T0 + 5) * 10**9)]
