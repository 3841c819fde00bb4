"""zfp, SZ3 and SPERR beside rounded values: their bound is checked, and they are never chosen."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.analyzer import lossy_peers
from icecore.analyzer.sample import Sample

RNG = np.random.default_rng(41)
FIELD = (280 + RNG.normal(0, 0.3, (8, 64, 96)).cumsum(1)).astype("f4")


def peer(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """Make ``coarse`` the only peer: it stores the elements, and changes them when they are decoded."""

    def pair(module: Any, bound: float) -> Any:
        return lambda values: values.tobytes(), lambda stored, like: change(np.frombuffer(stored, like.dtype))

    monkeypatch.setattr(lossy_peers, "PEERS", {"coarse": ("coarse", pair)})
    monkeypatch.setattr(lossy_peers, "_package", lambda name: SimpleNamespace())


@pytest.mark.parametrize(
    ("change", "state", "why"),
    [
        (lambda values: values + np.float32(0.009), "measured only", ""),
        (lambda values: values + np.float32(0.02), "failed", "its largest error is"),
        (lambda values: np.nan_to_num(values), "failed", "it does not keep NaN"),
        (lambda values: values[:-1], "failed", "ValueError"),
    ],
)
def test_a_result_is_compared_with_the_bound(
    monkeypatch: pytest.MonkeyPatch, change: Any, state: str, why: str
) -> None:
    peer(monkeypatch, change)
    block = RNG.normal(size=(2, 3, 4, 5)).astype("f4")
    block[0, 0, 0, :2] = np.nan, -np.inf
    [found] = lossy_peers.measure(Sample(blocks=[block]), 0.01)
    assert (found.state, found.codecs) == (state, [])
    assert found.why.startswith(why)
    assert bool(found.why) == bool(why)


def test_other_types_have_no_lossy_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    peer(monkeypatch, lambda values: values)
    blocks = [np.arange(5), np.array(["a"], object), np.ones(3, "f2")]
    assert lossy_peers.measure(Sample(blocks=blocks), 0.01) == []


def test_an_assay_of_rounded_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peer(monkeypatch, lambda values: values)
    np.save(tmp_path / "t.npy", FIELD)
    exact, rounded = (
        icecore.assay(tmp_path / "t.npy", seconds=1, loss=loss).arrays[0]
        for loss in (None, "round(abs=0.05)")
    )
    assert rounded.choices["archive"].ratio > 1.5 * exact.choices["archive"].ratio
    labels = {candidate.label: candidate for candidate in rounded.candidates}
    assert labels["coarse (abs=0.05)"].state == "measured only"
    assert not labels["coarse (abs=0.05)"].chosen_for
    assert not any("coarse" in candidate.label for candidate in exact.candidates)
    relative = icecore.assay(tmp_path / "t.npy", seconds=1, loss="round(rel=1e-3)").arrays[0]
    assert not any("coarse" in candidate.label for candidate in relative.candidates), "another kind of bound"


@pytest.mark.parametrize("loss", ["0.05", "round(abs=0)", "round(abs=1)+zstd"])
def test_rules_that_are_none(loss: str, tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", FIELD)
    with pytest.raises(icecore.Error) as error:
        icecore.assay(tmp_path / "t.npy", seconds=1, loss=loss)
    assert error.value.kind == "codec"


@pytest.mark.parametrize("label", sorted(lossy_peers.PEERS))
def test_the_packages_keep_the_bound(label: str) -> None:
    name, _ = lossy_peers.PEERS[label]
    if lossy_peers._package(name) is None:
        pytest.skip(f"{name} is not installed")
    found = {each.label: each for each in lossy_peers.measure(Sample(blocks=[FIELD, FIELD[0, 0]]), 0.05)}
    each = found[f"{label} (abs=0.05)"]
    assert each.state == "measured only", each.why
    assert each.ratio > 2
