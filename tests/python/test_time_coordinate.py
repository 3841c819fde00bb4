"""Time coordinate of channels in xarray: lazy, in UTC, with the leap seconds of the table."""

from __future__ import annotations

import pickle
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.repository.leap_seconds import gps_of_utc, utc_of_gps
from icecore.samples.gwf import write_frame
from icecore.timeseries.gps import gps_ns

xr = pytest.importorskip("xarray")
NS = 10**9
#: 2016-12-31 23:59:58 UTC, two seconds before the leap second
BEFORE = 1_167_264_015


def channel(count: int, step: list[int], t0: int = BEFORE) -> icecore.Repo:
    """An array that was never written."""
    repo = icecore.create("memory://")
    axis = {"epoch": "GPS", "t0_ns": t0 * NS, "step": step, "segments": []}
    with repo.writer() as w:
        attrs = {"icecore_time": axis}
        w.array("/H1/X", "f4", (count,), ("time",), chunks=(1 << 20,), shards=(1 << 20,), attrs=attrs)
    return repo.at("main")


def test_a_year_at_16_khz_has_a_coordinate_that_is_not_in_memory() -> None:
    count = 16384 * 86400 * 365
    dataset = channel(count, [1, 16384]).to_xarray("/H1")
    time = dataset["X"]["time"]
    assert (time.dtype, time.size) == (np.dtype("M8[ns]"), count)
    part = dataset["X"].sel(time=slice("2017-06-01T00:00:00", "2017-06-01T00:00:01"))
    assert part.sizes["time"] == 16384 + 1
    assert part["time"].values[0] == np.datetime64("2017-06-01T00:00:00")
    assert part["time"].values[-1] == np.datetime64("2017-06-01T00:00:01")
    last = dataset.isel(time=-1)["time"].values
    assert last == np.datetime64("2017-12-31T23:59:57") - np.timedelta64(round(NS / 16384), "ns")


def test_samples_of_a_leap_second_are_told_as_the_last_nanosecond_before() -> None:
    times = channel(16, [1, 4]).to_xarray("/H1")["time"].values
    seconds = times.astype("M8[s]").astype(str)
    assert list(dict.fromkeys(seconds)) == [
        "2016-12-31T23:59:58",
        "2016-12-31T23:59:59",
        "2017-01-01T00:00:00",
    ]
    assert (times[8:12] == np.datetime64("2016-12-31T23:59:59.999999999")).all()
    assert times[12] == np.datetime64("2017-01-01T00:00:00")
    assert (np.diff(times) >= np.timedelta64(0)).all()


def test_the_table_agrees_with_astropy() -> None:
    Time = pytest.importorskip("astropy.time").Time
    seconds = np.random.default_rng(3).integers(0, 1_500_000_000, 300)
    labels = Time(seconds, format="gps").utc.isot
    ours = utc_of_gps(seconds * NS).view("M8[ns]")
    for second, label, mine in zip(seconds, labels, ours, strict=True):
        assert mine == np.datetime64(label)
        assert gps_ns(label) == second * NS
    np.testing.assert_array_equal(gps_of_utc(utc_of_gps(seconds * NS)), seconds * NS)


@pytest.mark.parametrize("step", [[1, 16384], [1, 4], [3, 7], [7, 1], [1, 3]])
def test_labels_are_those_of_the_axis(step: list[int]) -> None:
    repo = channel(2000, step, 1_000_000_000)
    axis = icecore.repository.time_axis.TimeAxis.of(repo["/H1/X"].attrs)
    dataset = repo.to_xarray("/H1")
    expected = utc_of_gps(np.array([axis.time(i) for i in range(2000)])).view("M8[ns]")
    np.testing.assert_array_equal(dataset["time"].values, expected)
    for part in (slice(3, 900), slice(7, None, 5), slice(None, None, -1), [4, 9, 3], slice(50, 50)):
        found = dataset.isel(time=part)["time"].values
        np.testing.assert_array_equal(found, expected[part])
        again = dataset.isel(time=slice(2, None)).isel(time=part)["time"].values
        np.testing.assert_array_equal(again, expected[2:][part])
    np.testing.assert_array_equal(dataset["X"].sel(time=expected[17])["time"].values, expected[17])
    np.testing.assert_array_equal(dataset.sel(time=expected[[5, 2]])["time"].values, expected[[5, 2]])


def test_times_between_samples_need_a_method() -> None:
    dataset = channel(16, [1, 4], 1_000_000_000).to_xarray("/H1")
    times = dataset["time"].values
    between = times[3] + np.timedelta64(100, "ms")
    with pytest.raises(KeyError):
        dataset.sel(time=between)
    assert dataset.sel(time=between, method="nearest")["time"].values == times[3]
    assert dataset.sel(time=between, method="bfill")["time"].values == times[4]
    with pytest.raises(KeyError):
        dataset.sel(time=between, method="nearest", tolerance=np.timedelta64(10, "ms"))


def test_frames_open_with_times_and_dask(tmp_path: Path) -> None:
    t0, data = 1_000_000_000, np.arange(640, dtype="f4")
    channels = {"H1:FAST": (data, 64.0), "H1:SLOW": (data[:160], 16.0)}
    write_frame(tmp_path / "a.gwf", t0, channels)
    icecore.link(tmp_path / "a.gwf", tmp_path / "r.icecore")
    dataset = xr.open_dataset(tmp_path / "r.icecore", engine="icecore", group="/H1", chunks={})
    second = dataset["FAST"].sel({"time_64Hz": slice("2011-09-14T01:46:26", "2011-09-14T01:46:26.99")})
    np.testing.assert_array_equal(second.values, data[64:128])
    assert str(dataset["time_16Hz"].values[0]).startswith("2011-09-14T01:46:25")
    again = pickle.loads(pickle.dumps(dataset))
    np.testing.assert_array_equal(again["time_64Hz"].values, dataset["time_64Hz"].values)
    array = icecore.open(tmp_path / "r.icecore")["/H1/SLOW"].to_xarray()
    assert array["time_16Hz"].size == 160
    tree = xr.open_datatree(tmp_path / "r.icecore", engine="icecore")
    assert "time_64Hz" in tree["H1"].coords
