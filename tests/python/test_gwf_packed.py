"""Packed frames: whole seconds in a chunk, bit for bit, and linear prediction among the candidates."""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.samples.gwf import write_frame

T0 = 1_000_000_000


def noise(count: int, rate: int, dtype: str) -> np.ndarray:
    """Noise with a steep spectrum, as strain has it."""
    spectrum = np.fft.rfft(np.random.default_rng(1).normal(size=count))
    f = np.maximum(np.fft.rfftfreq(count, 1 / rate), 10.0)
    return np.fft.irfft(spectrum * (1 + (40 / f) ** 7), count).astype(dtype) * np.dtype(dtype).type(1e-21)


def frames(folder: Path, seconds: int, rates: dict[str, int]) -> dict[str, np.ndarray]:
    data = {name: noise(rate * seconds, rate, "f8") for name, rate in rates.items()}
    for i in range(seconds):
        part = {n: (data[n][i * r : (i + 1) * r], float(r)) for n, r in rates.items()}
        write_frame(folder / f"H-T-{T0 + i}-1.gwf", T0 + i, part)
    return data


@pytest.mark.parametrize("goal", ["balanced", "speed"])
def test_chunks_hold_whole_seconds(tmp_path: Path, goal: str) -> None:
    data = frames(tmp_path, 32, {"H1:FAST": 16384, "H1:SLOW": 1000})
    icecore.pack(tmp_path, tmp_path / "r.icecore", goal=goal)
    repo = icecore.open(tmp_path / "r.icecore")
    for name, rate in (("FAST", 16384), ("SLOW", 1000)):
        array = repo[f"/H1/{name}"]
        assert array.chunks[0] % rate == 0
        assert array.chunks[0] < array.shape[0] or rate == 1000
        assert array.shards is None or array.shards[0] % array.chunks[0] == 0
        assert array[...].tobytes() == data[f"H1:{name}"].tobytes()
        assert array.between(T0 + 3, T0 + 5).tobytes() == data[f"H1:{name}"][3 * rate : 5 * rate].tobytes()


def test_an_assay_considers_linear_prediction(tmp_path: Path) -> None:
    frames(tmp_path, 8, {"H1:STRAIN": 16384})
    icecore.link(tmp_path, tmp_path / "r.icecore")
    [found] = icecore.assay(icecore.open(tmp_path / "r.icecore")["/H1/STRAIN"]).arrays
    ratios = {candidate.label: candidate.ratio for candidate in found.candidates}
    assert ratios["predict lpc+pco-8"] > ratios["predict lorenzo+pco-8"] > 1
    best = max(ratio for label, ratio in ratios.items() if "lpc" not in label and "auto" not in label)
    assert ratios["predict lpc+pco-8"] > best
