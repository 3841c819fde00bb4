"""Objects of gravitational-wave packages: equal to gwpy's own reading, and written back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore import errors

timeseries = pytest.importorskip("gwpy.timeseries")

from icecore.integrations import gw_objects  # noqa: E402
from icecore.integrations.gwpy import register  # noqa: E402

T0, NS = 1_000_000_000, 10**9
X = np.random.default_rng(1).normal(size=64 * 20).astype("f4")
MASK = np.where(np.arange(20) % 5 == 4, 2, 3).astype("i4")


def axis(rate: int, *spans: tuple[int, int]) -> dict[str, Any]:
    segments = [[(T0 + low) * NS, (T0 + high) * NS] for low, high in spans]
    return {"epoch": "GPS", "t0_ns": T0 * NS, "step": [1, rate], "segments": segments}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A channel with a gap from 12 to 14 s, and a mask."""
    where = tmp_path / "r.icecore"
    with icecore.create(where).writer() as w:
        attrs = {"icecore_time": axis(64, (0, 12), (14, 20)), "channel": "H1:X", "units": "m"}
        w.array("/H1/X", "f4", X.shape, ("time",), attrs=attrs)[...] = X
        attrs = {"icecore_time": axis(64, (0, 20)), "channel": "H1:Y"}
        w.array("/H1/Y", "i2", X.shape, ("time",), attrs=attrs)[...] = np.arange(len(X))
        attrs = {"icecore_time": axis(1, (0, 20)), "channel": "H1:DQ"}
        attrs |= {"flag_masks": [1, 2], "flag_meanings": "DATA CAT1"}
        w.array("/H1/DQ", "i4", MASK.shape, ("second",), attrs=attrs)[...] = MASK
    register()
    return where


def test_dictionaries_take_one_plan(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    read = icecore.Repo.read

    def counted(self: icecore.Repo, items: Any, *rest: Any) -> Any:
        calls.append(len(items))
        return read(self, items, *rest)

    monkeypatch.setattr(icecore.Repo, "read", counted)
    found = timeseries.TimeSeriesDict.read(place, ["H1:X", "H1:Y"], T0 + 2, T0 + 7, format="icecore")
    assert calls == [2]
    assert list(found) == ["H1:X", "H1:Y"]
    np.testing.assert_array_equal(found["H1:X"].value, X[128:448])
    assert (found["H1:X"].t0.value, found["H1:X"].sample_rate.value) == (T0 + 2, 64)
    assert (str(found["H1:X"].unit), found["H1:X"].channel.name) == ("m", "H1:X")
    with pytest.raises(errors.Error, match="no samples at GPS 1000000012"):
        timeseries.TimeSeriesDict.read(place, ["H1:X", "H1:Y"], T0 + 10, T0 + 15, format="icecore")


def test_paths_and_repositories_are_recognized(place: Path) -> None:
    for source in (place, str(place), icecore.open(place)):
        found = timeseries.TimeSeries.read(source, "H1:X", T0, T0 + 3, format="icecore")
        np.testing.assert_array_equal(found.value, X[:192])
    found = timeseries.TimeSeries.read(str(place), "H1:X", T0, T0 + 3)
    np.testing.assert_array_equal(found.value, X[:192])


def test_state_vectors_have_named_bits(place: Path) -> None:
    found = timeseries.StateVector.read(place, "H1:DQ", format="icecore")
    assert list(found.bits) == ["DATA", "CAT1"]
    np.testing.assert_array_equal(found.value, MASK)
    np.testing.assert_array_equal(found.boolean.value[:, 0], MASK & 1 == 1)
    with pytest.raises(errors.Error, match="need integers"):
        gw_objects.state_vector(icecore.open(place)["/H1/X"])


def test_segments_and_flags(place: Path) -> None:
    repo = icecore.open(place)
    spans = gw_objects.segment_list(repo["/H1/X"])
    assert [(float(a), float(b)) for a, b in spans] == [(T0, T0 + 12), (T0 + 14, T0 + 20)]
    found = gw_objects.quality_flag(repo["/H1/X"], "/H1/DQ:DATA", "H1:X-GOOD:1")
    assert found.name == "H1:X-GOOD:1"
    assert [tuple(map(float, each)) for each in found.known] == [(T0, T0 + 12), (T0 + 14, T0 + 20)]
    active = [(0, 4), (5, 9), (10, 12), (15, 19)]
    expected = [(T0 + low, T0 + high) for low, high in active]
    assert [tuple(map(float, each)) for each in found.active] == expected


def test_channels_state_their_facts(place: Path) -> None:
    found = gw_objects.channel(icecore.open(place)["/H1/X"])
    assert (found.name, found.sample_rate.value, str(found.unit), found.dtype) == ("H1:X", 64, "m", X.dtype)


def test_series_are_written_and_read_back(tmp_path: Path) -> None:
    register()
    series = timeseries.TimeSeries(X, t0=T0 + 0.5, sample_rate=64, name="L1:NEW", unit="m", channel="L1:NEW")
    series.write(tmp_path / "w.icecore", format="icecore")
    array = icecore.open(tmp_path / "w.icecore")["/L1/NEW"]
    assert array.segments == [((T0 * 10 + 5) * NS // 10, (T0 * 10 + 205) * NS // 10)]
    back = timeseries.TimeSeries.read(tmp_path / "w.icecore", "L1:NEW", format="icecore")
    np.testing.assert_array_equal(back.value, X)
    assert (back.t0, back.unit, back.dt) == (series.t0, series.unit, series.dt)
    with pytest.raises(errors.Error) as caught:
        series.write(tmp_path / "w.icecore", format="icecore")
    assert caught.value.kind == "exists"


def test_lal_series(place: Path) -> None:
    pytest.importorskip("lal")
    found = gw_objects.lal(icecore.open(place)["/H1/X"], T0 + 1, T0 + 4)
    np.testing.assert_array_equal(found.data.data, X[64:256])
    assert (float(found.epoch), found.deltaT) == (T0 + 1, 1 / 64)


def test_pycbc_series(place: Path) -> None:
    pytest.importorskip("pycbc.types")
    found = gw_objects.pycbc(icecore.open(place)["/H1/X"], T0 + 1, T0 + 4)
    np.testing.assert_array_equal(found.numpy(), X[64:256])
    assert (float(found.start_time), found.delta_t) == (T0 + 1, 1 / 64)
