"""Stretches that begin between samples, compared with gwpy on real files."""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np
import pytest
from sources_kit import DATA, needs_data

T0 = 1126259446


@needs_data
@pytest.mark.parametrize("offset", [0.0, 0.00001, 0.0001, 0.000244, 0.00024414, 0.5, 0.50012, 3.3333333])
def test_starts_between_samples_are_those_of_gwpy(tmp_path: Path, offset: float) -> None:
    series = pytest.importorskip("gwpy.timeseries").TimeSeries
    file = DATA / "frames" / "H-H1_LOSC_4_V2-1126259446-32.hdf5"
    whole = series.read(file, format="hdf5.gwosc")
    icecore.link(file, tmp_path / "r.icecore", group="/")
    array = icecore.open(tmp_path / "r.icecore")["/strain/Strain"]
    start, end = T0 + offset, T0 + 4 + offset
    peer, ours = whole.crop(start, end), icecore.gwpy(array, start, end)
    np.testing.assert_array_equal(ours.value, peer.value)
    assert float(ours.t0.value) == float(peer.t0.value)
    assert ours.sample_rate == peer.sample_rate


@needs_data
def test_the_registry_reads_real_frames(tmp_path: Path) -> None:
    series = pytest.importorskip("gwpy.timeseries").TimeSeries
    from icecore.integrations.gwpy import register

    register()
    icecore.link(DATA / "frames" / "H-H1_LOSC_4_V2-pycbc.gwf", tmp_path / "r.icecore")
    repo = icecore.open(tmp_path / "r.icecore")
    found = series.read(repo, "/H1/LOSC-STRAIN", T0 + 1, T0 + 2, format="icecore")
    np.testing.assert_array_equal(found.value, repo["/H1/LOSC-STRAIN"].between(T0 + 1, T0 + 2))
    assert (float(found.t0.value), found.sample_rate.value) == (T0 + 1, 4096)
    named = series.read(repo, "H1:LOSC-STRAIN", T0 + 1, T0 + 2, format="icecore")
    np.testing.assert_array_equal(named.value, found.value)
    padded = icecore.gwpy(repo["/H1/LOSC-STRAIN"], T0 - 1, T0 + 33, gaps="pad")
    assert len(padded) == 34 * 4096
    assert np.isnan(padded.value[:4096]).all()
    assert np.isnan(padded.value[-4096:]).all()
