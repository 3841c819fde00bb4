"""Stored trends: windows equal to the samples', kept right by appends, read instead of samples."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore import cli, errors
from icecore.repository.array import Array
from icecore.samples.gwf import write_frame
from icecore.timeseries.window_sums import parse_windows

T0 = 1_000_000_020
NAME, PATH = "H1:STRAIN", "/H1/STRAIN"
RATE = 16
STATISTICS = ("min", "max", "mean", "rms", "n")


def values(start: int, seconds: int = 1, dtype: str = "f4", rate: int = RATE) -> np.ndarray:
    """Samples that depend on their time only."""
    index = np.arange((start - T0) * rate, (start - T0 + seconds) * rate)
    return (1000 * np.sin(index * 0.37) + index % 11).astype(dtype)


def frames(folder: Path, spans: list[tuple[int, int]], dtype: str = "f4") -> list[Path]:
    """A file for each (start, seconds)."""
    return [
        write_frame(folder / f"H-T-{s}-{n}.gwf", s, {NAME: (values(s, n, dtype), float(RATE))})
        for s, n in spans
    ]


def windows(array: Array, seconds: int) -> dict[int, np.ndarray]:
    """Window number → its valid samples in float64, computed in plain NumPy."""
    attrs = array.attrs["icecore_time"]
    step, t0 = Fraction(*attrs["step"]), attrs["t0_ns"]
    samples = array[:].astype("f8")
    found: dict[int, list[float]] = {}
    for begin, end in attrs["segments"]:
        for i in range(round((begin - t0) / 10**9 / step), round((end - t0) / 10**9 / step)):
            number = (t0 + round(i * step * 10**9)) // (seconds * 10**9)
            found.setdefault(number, []).append(samples[i])
    return {number: (v := np.array(part))[~np.isnan(v)] for number, part in found.items()}


def check(repo: icecore.Repo, path: str, seconds: int) -> None:
    """Compare a stored level with the samples."""
    top = f"/__summary__{path}/{seconds}s"
    stored = {name: repo[f"{top}/{name}"][:] for name in STATISTICS}
    first = repo[f"{top}/n"].attrs["icecore_time"]["t0_ns"] // (seconds * 10**9)
    expected = windows(repo[path], seconds)
    counts = np.array([len(expected.get(first + i, ())) for i in range(len(stored["n"]))])
    np.testing.assert_array_equal(stored["n"], counts)
    assert min(expected) >= first
    assert max(expected) < first + len(counts)
    for i, count in enumerate(counts):
        part = expected.get(first + i)
        if not count or part is None:
            assert all(np.isnan(stored[name][i]) for name in STATISTICS[:4])
            continue
        assert (stored["min"][i], stored["max"][i]) == (part.min(), part.max())
        np.testing.assert_allclose(stored["mean"][i], part.mean(), rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(stored["rms"][i], np.sqrt((part**2).mean()), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "i4", "u4"])
@pytest.mark.parametrize("how", ["link", "pack"])
def test_windows_hold_what_the_samples_do(tmp_path: Path, dtype: str, how: str) -> None:
    files = frames(tmp_path, [(T0, 7), (T0 + 7, 90), (T0 + 130, 200)], dtype)
    getattr(icecore, how)(files, tmp_path / "r.icecore", windows="1s,60s")
    repo = icecore.open(tmp_path / "r.icecore")
    for seconds in (1, 60):
        check(repo, PATH, seconds)
    assert list(repo) == ["/H1", PATH]
    assert repo.verify(deep=True) == []


def test_nan_counts_for_nothing(tmp_path: Path) -> None:
    data = values(T0, 130)
    data[[3, 70, 71]], data[160:320] = np.nan, np.nan
    write_frame(tmp_path / "a.gwf", T0, {NAME: (data, float(RATE))})
    icecore.link(tmp_path / "a.gwf", tmp_path / "r.icecore", summaries=True)
    repo = icecore.open(tmp_path / "r.icecore")
    check(repo, PATH, 1)
    check(repo, PATH, 60)


@pytest.mark.parametrize("how", ["link", "pack"])
def test_appends_complete_the_last_windows(tmp_path: Path, how: str) -> None:
    where = tmp_path / "r.icecore"
    ingest = getattr(icecore, how)
    ingest(frames(tmp_path, [(T0 + i, 1) for i in range(5)]), where, windows="2s,60s")
    assert "/__summary__/H1/STRAIN/60s" not in icecore.open(where)  # one window, not complete
    for spans in ([(T0 + 5, 1)], [(T0 + i, 1) for i in range(6, 90)], [(T0 + i, 1) for i in range(100, 230)]):
        before = icecore.open(where)
        ingest(frames(tmp_path, spans), where, concat="time", append=True)
        repo = icecore.open(where)
        assert repo[PATH].segments[-1][1] == (spans[-1][0] + 1) * 10**9
        check(repo, PATH, 2)
        assert not any("__summary__" in path for path in repo.diff(before.snapshot_id).chunks)
    check(repo, PATH, 60)


def test_a_level_that_is_new_takes_its_windows_from_the_finer_one(tmp_path: Path) -> None:
    where = tmp_path / "r.icecore"
    icecore.link(frames(tmp_path, [(T0, 100)]), where, windows="1s,60s,120s")
    icecore.link(frames(tmp_path, [(T0 + 100, 100), (T0 + 200, 100)]), where, concat="time", append=True)
    repo = icecore.open(where)
    for seconds in (1, 60, 120):
        check(repo, PATH, seconds)


def series(w: icecore.Writer, path: str, data: np.ndarray, step: tuple[int, int] = (1, RATE)) -> None:
    """An array with a time axis."""
    stop = T0 * 10**9 + round(len(data) * Fraction(*step) * 10**9)
    axis = {"epoch": "GPS", "t0_ns": T0 * 10**9, "step": list(step), "segments": [[T0 * 10**9, stop]]}
    w.array(path, data.dtype, data.shape, ("time",), attrs={"icecore_time": axis})[...] = data


def test_writing_over_samples_renews_their_windows() -> None:
    from icecore.ingest.write import write_trends

    repo = icecore.create("memory://")
    with repo.writer() as w:
        series(w, "/x", values(T0, 300))
        write_trends.write(w, ["/x"], (1, 60))
    with repo.at("main").writer() as w:
        w["/x"][100:2000] = np.full(1900, 5e6, "f4")
    check(repo.at("main"), "/x", 1)
    check(repo.at("main"), "/x", 60)
    assert write_trends.write(repo.at("main"), ["/x"]) == ["/x"]
    check(repo.at("main"), "/x", 60)
    with repo.at("main").writer() as w:
        w.delete("/x")
    assert not any("/x" in path for path in repo.at("main")._nodes)


def test_rates_that_do_not_divide_a_second() -> None:
    from icecore.ingest.write import write_trends

    repo = icecore.create("memory://")
    with repo.writer() as w:
        series(w, "/x", values(T0, 300), (3, 70))
        series(w, "/slow", values(T0, 40), (7, 2))
        write_trends.write(w, ["/x", "/slow"], (1, 60))
    for path in ("/x", "/slow"):
        check(repo.at("main"), path, 1)
        check(repo.at("main"), path, 60)


def test_ligo_names_are_arrays_on_the_command_line_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = tmp_path / "r.icecore"
    icecore.link(frames(tmp_path, [(T0, 200)]), where, summaries=True)
    repo = icecore.open(where)
    minute = repo["/H1/STRAIN.mean,m-trend"]
    assert repo["H1:STRAIN.mean,m-trend"].path == minute.path
    assert (minute.attrs["channel"], minute.attrs["units"]) == ("H1:STRAIN.mean", "strain")
    np.testing.assert_array_equal(minute.between(T0, T0 + 120), minute[:2])
    assert cli.run(["read", str(where), "/H1/STRAIN.rms,s-trend", "0:3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["data"]
    np.testing.assert_array_equal(found, repo["/H1/STRAIN.rms,s-trend"][:3])
    with pytest.raises(errors.Error, match="does not store this trend") as caught:
        repo["/H1/STRAIN.mean,h-trend"]
    assert caught.value.kind == "not-found"


def test_a_trend_of_many_windows_reads_no_samples(tmp_path: Path) -> None:
    where = tmp_path / "r.icecore"
    files = frames(tmp_path, [(T0, 1200)])
    icecore.link(files, where, summaries=True)
    array = icecore.open(where)[PATH]
    sampled = array.trend(T0 + 10, T0 + 12, points=100)
    files[0].unlink()
    for points, step in ((1200, 1), (20, 60), (10, 120), (7, 180), (1500, 1)):
        found = array.trend(points=points)
        assert (found.step, found.source) == (step, "1s" if step == 1 else "60s")
        every = windows_of(values(T0, 1200), step)
        assert found.count.tolist() == [len(part) for part in every]
        np.testing.assert_array_equal(found.max, [part.max() for part in every])
        np.testing.assert_allclose(found.mean, [part.mean() for part in every], rtol=1e-12, atol=1e-9)
    part = array.trend(T0 + 61, T0 + 1000, points=10)
    assert (part.source, part.t0, part.step, len(part)) == ("60s", (T0 + 60) * 10**9, 120, 8)
    assert part.expanded == (1, 20)
    assert (sampled.source, sampled.window, len(sampled)) == ("samples", 1, 32)
    assert sampled.bytes_read > 0
    with pytest.raises(errors.Error) as caught:
        array.trend(T0 + 10, T0 + 12, points=100)
    assert caught.value.kind == "source-missing"


def windows_of(data: np.ndarray, seconds: int) -> list[np.ndarray]:
    """The samples of each window, counted from T0, a whole minute."""
    numbers = np.arange(len(data)) // (RATE * seconds)
    return [data[numbers == number].astype("f8") for number in np.unique(numbers)]


def test_cf_series_have_trends_and_stretches(tmp_path: Path) -> None:
    from icecore.ingest.write import write_trends

    repo, count = icecore.create("memory://"), 3000
    data = values(T0, 300)[:count]
    data[5] = -999
    with repo.writer() as w:
        w.array("/t/time", "i4", (count,), ("time",), attrs={"units": "seconds since 2016-12-31 23:00"})[
            ...
        ] = np.arange(count)
        attrs = {"_FillValue": np.float32(-999), "scale_factor": 2.0, "units": "K"}
        w.array("/t/x", "f4", (count,), ("time",), fill_value=-999, attrs=attrs)[...] = data
        assert write_trends.write(w, ["/t/time", "/t/x"], (60,)) == ["/t/x"]
    array = repo.at("main")["/t/x"]
    minute = repo.at("main")["/t/x.max,m-trend"][:]
    expected = np.where(data == -999, np.nan, data.astype("f8") * 2).reshape(-1, 60)
    np.testing.assert_array_equal(minute, np.nanmax(expected, axis=1))
    assert repo.at("main")["/t/x.n,m-trend"][:3].tolist() == [59, 60, 60]
    found = array.trend(points=50)
    assert (found.source, found.epoch, found.step) == ("60s", "UTC", 60.0)
    stretch = array.between("2016-12-31T23:10", "2016-12-31T23:10:10")
    np.testing.assert_array_equal(stretch, data[600:610])
    assert pytest.importorskip("astropy") is not None
    np.testing.assert_array_equal(array.between(1167260417 + 17, 1167260417 + 27), data[17:27])


def test_irregular_times_are_searched_and_reduced() -> None:
    from icecore.ingest.write import write_trends

    rng, repo = np.random.default_rng(7), icecore.create("memory://")
    times = np.sort(rng.choice(100_000, 2000, replace=False))
    data = rng.normal(size=2000)
    with repo.writer() as w:
        w.array("/time", "f8", (2000,), ("time",), attrs={"units": "seconds since 1970-01-01"})[...] = times
        w.array("/x", "f8", (2000,), ("time",))[...] = data
        write_trends.write(w, ["/x"], (60,))
    array = repo.at("main")["/x"]
    first, count = times[0] // 60, repo.at("main")["/x.n,m-trend"][:]
    np.testing.assert_array_equal(count, np.bincount(times // 60 - first))
    inside = (times >= 3600) & (times < 7200)
    stretch = array.between("1970-01-01T01:00", "1970-01-01T02:00", gaps="ignore")
    np.testing.assert_array_equal(stretch, data[inside])
    with pytest.raises(errors.Error, match="not equally spaced"):
        array.between("1970-01-01T01:00", "1970-01-01T02:00")
    found = array.trend("1970-01-01T01:00", "1970-01-01T02:00", points=1000)
    assert (found.source, int(found.count.sum())) == ("samples", int(inside.sum()))


def test_windows_are_named_in_seconds() -> None:
    assert parse_windows("60s,1s") == (1, 60)
    assert parse_windows("none") == ()
    for wrong in ("1s,1.5s", "2s,3s", "0s", "minute"):
        with pytest.raises(errors.Error, match="windows"):
            parse_windows(wrong)


def test_packed_channels_have_trends_unless_they_are_as_long_as_the_samples(tmp_path: Path) -> None:
    channels = {NAME: (values(T0, 8, rate=1024), 1024.0), "H1:SLOW": (values(T0, 8), float(RATE))}
    write_frame(tmp_path / "a.gwf", T0, channels)
    icecore.pack(tmp_path / "a.gwf", tmp_path / "r.icecore")
    icecore.pack(tmp_path / "a.gwf", tmp_path / "none.icecore", windows="none")
    nodes = icecore.open(tmp_path / "r.icecore")._nodes
    assert "/__summary__/H1/STRAIN/1s/mean" in nodes
    assert "/__summary__/H1/SLOW/1s" not in nodes
    assert "/__summary__/H1/SLOW/60s/mean" in nodes
    assert not any("1s" in path for path in icecore.open(tmp_path / "none.icecore")._nodes)


def test_a_netcdf_series_gets_trends_by_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    xr = pytest.importorskip("xarray")
    data, times = np.arange(7200, dtype="f8"), np.datetime64("2020-01-01", "ns") + np.arange(7200) * 10**9
    xr.Dataset({"t": ("time", data)}, {"time": times}).to_netcdf(tmp_path / "s.nc", engine="h5netcdf")
    where = str(tmp_path / "r.icecore")
    assert cli.run(["link", str(tmp_path / "s.nc"), "--into", where, "--summaries"]) == 0
    repo = icecore.open(where)
    np.testing.assert_array_equal(repo["/s/t.mean,m-trend"][:], data.reshape(-1, 60).mean(axis=1))
    assert repo["/s/t.n,h-trend"][:].tolist() == [3600, 3600]
    capsys.readouterr()
    assert cli.run(["info", where, "/s/t", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["trends"] == "fresh, windows of 60s, 3600s"
    assert cli.run(["trend", where, "/s/t", "--points", "100", "-o", str(tmp_path / "t.png")]) == 0
    assert "stored windows of 60s" in capsys.readouterr().out
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")


def test_trends_are_out_of_the_way_of_listings_and_of_garbage_collection(tmp_path: Path) -> None:
    from datetime import timedelta

    where = tmp_path / "r.icecore"
    icecore.link(frames(tmp_path, [(T0, 130)]), where, summaries=True)
    before = icecore.open(where)
    icecore.link(frames(tmp_path, [(T0 + 130, 130)]), where, concat="time", append=True)
    repo = icecore.open(where)
    found = repo.diff(before.snapshot_id, values=True)
    assert list(found.chunks) == [PATH]
    assert not [path for path in (*found.new_arrays, *found.new_groups) if "__summary__" in path]
    repo.gc(timedelta(0))
    repo = icecore.open(where)
    check(repo, PATH, 1)
    assert list(repo) == ["/H1", PATH]
    assert "__summary__" not in repr(repo)


def test_pictures_have_dates_and_need_no_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from icecore.timeseries import trend_picture

    pytest.importorskip("PIL")
    (tmp_path / "f").mkdir()
    frames(tmp_path / "f", [(T0, 40), (T0 + 60, 30)])
    icecore.link(tmp_path / "f", tmp_path / "r.icecore")
    found = icecore.open(tmp_path / "r.icecore")[PATH].trend(points=90)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    drawn: list[str] = []
    text = trend_picture._Plot._text

    def noted(self: trend_picture._Plot, at: tuple[float, float], shown: str, *rest: Any) -> None:
        drawn.append(shown)
        text(self, at, shown, *rest)

    monkeypatch.setattr(trend_picture._Plot, "_text", noted)
    trend_picture.draw(found, str(tmp_path / "t.png"))
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    assert "from 2011-09-14 01:46:45 UTC = GPS 1000000020" in drawn
    assert {"01:47", "01:48", "-1000", "0"} <= set(drawn)


@pytest.mark.parametrize("seconds", [4, 59, 3600, 90_000, 40 * 86400, 800 * 86400, 40 * 365 * 86400])
def test_dates_are_few_and_inside(seconds: int) -> None:
    from icecore.timeseries.trend_picture import _dates

    low = 1_316_000_123 * 10**9
    dates, style = _dates(low, low + seconds * 10**9)
    assert 2 <= len(dates) <= 10
    shown = [style(date) for date in dates]
    assert all(one != other for one, other in pairwise(shown))


@pytest.mark.parametrize("case", [(np.nan, np.nan), (5.0, 5.0), (0.0, 0.0), (1e-21, 3e-21), (1e9, 1e9 + 1)])
def test_pictures_of_constant_missing_and_tiny_values(tmp_path: Path, case: tuple[float, float]) -> None:
    pytest.importorskip("PIL")
    axis = {
        "epoch": "GPS",
        "t0_ns": T0 * 10**9,
        "step": [1, 2],
        "segments": [[T0 * 10**9, (T0 + 50) * 10**9]],
    }
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        w.array("/x", "f8", (100,), ("time",), attrs={"icecore_time": axis})[...] = np.resize(case, 100)
    for points in ("10", "1000"):
        target = tmp_path / f"{points}.png"
        where = str(tmp_path / "r.icecore")
        assert cli.run(["trend", where, "/x", "--points", points, "-o", str(target)]) == 0
        assert target.read_bytes().startswith(b"\x89PNG")
