"""Gravitational-wave frame files: listed, linked in time, read by GPS."""

from __future__ import annotations

import json
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore import cli, errors
from icecore.samples.gwf import write_frame
from sources_kit import DATA, needs_data

T0 = 1_000_000_000
NAME = "H1:GDS-CALIB_STRAIN"
PATH = "/H1/GDS-CALIB_STRAIN"


def strain(start: int, seconds: int = 1, rate: int = 64) -> np.ndarray:
    """Samples whose values are their index since T0."""
    return np.arange((start - T0) * rate, (start - T0 + seconds) * rate, dtype="f4")


def frames(folder: Path, starts: list[int], **channels: np.ndarray) -> list[Path]:
    """One-second files."""
    return [
        write_frame(folder / f"H-T-{s}-1.gwf", s, {NAME: (strain(s), 64.0)}, gzip=s % 2 == 0) for s in starts
    ]


def test_files_of_mixed_compression_become_one_regular_array(tmp_path: Path) -> None:
    files = frames(tmp_path, [T0 + 2, T0, T0 + 1])
    report = icecore.link(files, tmp_path / "r.icecore")
    assert [(row.path, row.how, row.chunks) for row in report.rows] == [(PATH, "linked", 3)]
    array = icecore.open(tmp_path / "r.icecore")[PATH]
    assert (array.shape, array.chunks, array.dims, array.attrs["units"]) == (
        (192,),
        (64,),
        ("time",),
        "strain",
    )
    np.testing.assert_array_equal(array[:], strain(T0, 3))
    assert array.segments == [(T0 * 10**9, (T0 + 3) * 10**9)]
    np.testing.assert_array_equal(array.between(T0 + 1, T0 + 2.5), strain(T0, 3)[64:160])


def test_gaps_are_filled_recorded_and_refused(tmp_path: Path) -> None:
    icecore.link(frames(tmp_path, [T0, T0 + 1, T0 + 4]), tmp_path / "r.icecore")
    array = icecore.open(tmp_path / "r.icecore")[PATH]
    assert array.segments == [(T0 * 10**9, (T0 + 2) * 10**9), ((T0 + 4) * 10**9, (T0 + 5) * 10**9)]
    expected = strain(T0, 5)
    expected[128:256] = np.nan
    np.testing.assert_array_equal(array[:], expected)
    with pytest.raises(errors.Error, match=r"no samples at GPS 1000000002\.0+\.\.1000000004\.0+") as caught:
        array.between(T0, T0 + 5)
    assert caught.value.kind == "selection"
    padded = array.between(T0 - 1, T0 + 6, gaps="pad")
    nothing = np.full(64, np.nan, "f4")
    np.testing.assert_array_equal(padded, np.concatenate([nothing, expected, nothing]))
    there = array.between(T0 + 1, T0 + 6, gaps="ignore")
    np.testing.assert_array_equal(there, np.concatenate([strain(T0 + 1), strain(T0 + 4)]))
    for start, stop in ((T0 - 1, T0 + 1), (T0 + 4, T0 + 6), (T0 + 9, T0 + 10)):
        with pytest.raises(errors.Error, match="no samples"):
            array.between(start, stop)


def test_frames_of_other_lengths_make_a_rectilinear_grid(tmp_path: Path) -> None:
    for start, seconds in ((T0, 1), (T0 + 1, 4), (T0 + 6, 2)):
        data = strain(start, seconds)
        write_frame(tmp_path / f"H-T-{start}-{seconds}.gwf", start, {NAME: (data, 64.0)})
    icecore.link(tmp_path, tmp_path / "r.icecore")
    array = icecore.open(tmp_path / "r.icecore")[PATH]
    expected = strain(T0, 8)
    expected[5 * 64 : 6 * 64] = np.nan
    np.testing.assert_array_equal(array[:], expected)
    np.testing.assert_array_equal(array[300:420:7], expected[300:420:7])


def test_changes_overlaps_and_missing_channels_are_reported(tmp_path: Path) -> None:
    aux = (np.arange(16, dtype="i4"), 16.0)
    write_frame(tmp_path / "a.gwf", T0, {NAME: (strain(T0), 64.0), "H1:AUX": aux})
    write_frame(tmp_path / "b.gwf", T0 + 1, {NAME: (strain(T0 + 1, rate=32), 32.0)})
    write_frame(tmp_path / "c.gwf", T0, {NAME: (strain(T0), 64.0)})
    report = icecore.link(tmp_path, tmp_path / "r.icecore")
    assert {row.path for row in report.rows} == {PATH, f"{PATH}.{T0 + 1}", "/H1/AUX"}
    kinds = {(note.kind, note.name.rsplit("/", 1)[-1]) for note in report.notes}
    assert {kind for kind, _ in kinds} >= {"changed", "overlap", "missing"}
    repo = icecore.open(tmp_path / "r.icecore")
    np.testing.assert_array_equal(repo[PATH][:], strain(T0))
    np.testing.assert_array_equal(repo[f"{PATH}.{T0 + 1}"][:], strain(T0 + 1, rate=32))
    np.testing.assert_array_equal(repo["/H1/AUX"][:], aux[0])


def test_a_damaged_file_is_named_and_the_others_link(tmp_path: Path) -> None:
    files = frames(tmp_path, [T0, T0 + 1])
    files[1].write_bytes(files[1].read_bytes()[:80])
    with pytest.raises(errors.Error, match=files[1].name):
        icecore.link(files, tmp_path / "r.icecore")
    report = icecore.link(files, tmp_path / "r.icecore", keep_going=True)
    assert len(report.failures) >= 1
    np.testing.assert_array_equal(icecore.open(tmp_path / "r.icecore")[PATH][:], strain(T0))


def test_later_files_are_appended_behind_a_gap(tmp_path: Path) -> None:
    repo = tmp_path / "r.icecore"
    icecore.link(frames(tmp_path, [T0, T0 + 1]), repo)
    icecore.link(frames(tmp_path, [T0 + 2]), repo, concat="time", append=True)
    icecore.link(frames(tmp_path, [T0 + 5, T0 + 6]), repo, concat="time", append=True)
    array = icecore.open(repo)[PATH]
    expected = strain(T0, 7)
    expected[3 * 64 : 5 * 64] = np.nan
    np.testing.assert_array_equal(array[:], expected)
    seconds = [(start // 10**9 - T0, stop // 10**9 - T0) for start, stop in array.segments]
    assert seconds == [(0, 3), (5, 7)]
    icecore.link(frames(tmp_path, [T0 + 4]), repo, concat="time", append=True)  # late
    expected[4 * 64 : 5 * 64] = strain(T0 + 4)
    np.testing.assert_array_equal(icecore.open(repo)[PATH][:], expected)


@pytest.mark.parametrize("form", ["lal.cache", "virgo.ffl"])
def test_lists_of_files(tmp_path: Path, form: str) -> None:
    files = frames(tmp_path, [T0, T0 + 1])
    lal = [f"H T {T0 + i} 1 file://localhost{file}\n" for i, file in enumerate(files)]
    ffl = [f"{file} {T0 + i}.0 1.0 0 0\n" for i, file in enumerate(files)]
    (tmp_path / form).write_text("".join(lal if form == "lal.cache" else ffl))
    icecore.link(tmp_path / form, tmp_path / "r.icecore")
    np.testing.assert_array_equal(icecore.open(tmp_path / "r.icecore")[PATH][:], strain(T0, 2))


def test_pack_keeps_the_samples_and_the_axis(tmp_path: Path) -> None:
    files = frames(tmp_path, [T0, T0 + 1, T0 + 4])
    icecore.pack(files, tmp_path / "r.icecore")
    array = icecore.open(tmp_path / "r.icecore")[PATH]
    np.testing.assert_array_equal(array.between(T0 + 4, T0 + 5), strain(T0 + 4))
    assert len(array.segments) == 2


def test_the_command_line_lists_links_and_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(file) for file in frames(tmp_path, [T0, T0 + 1])]
    assert cli.run(["ls", files[0], "--find", "H1:*STRAIN*", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)[0]
    assert (row["channel"], row["rate"], row["dtype"], row["start"]) == (NAME, 64.0, "float32", T0)
    repo = str(tmp_path / "r.icecore")
    assert cli.run(["link", *files, "--into", repo]) == 0
    capsys.readouterr()
    assert cli.run(["read", repo, PATH, f"time={T0 + 1}..{T0 + 1.5}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"] == strain(T0 + 1)[:32].tolist()
    assert cli.run(["read", repo, PATH, f"time={T0}..{T0 + 3}"]) != 0
    assert "no samples at GPS" in capsys.readouterr().err


def test_notes_of_many_channels_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for start in (T0, T0 + 2):
        channels = {f"H1:X{i}": (np.ones(4, "f4"), 4.0) for i in range(30)}
        files.append(str(write_frame(tmp_path / f"{start}.gwf", start, channels)))
    for more, lines, rest in (([], 20, 1), (["-v"], 30, 0)):
        assert cli.run(["link", *files, "--into", str(tmp_path / f"r{lines}.icecore"), *more]) == 0
        said = capsys.readouterr().err
        assert said.count("1 gap\n") == lines
        assert said.count("note[gaps]: 10 more (-v or --json lists them)") == rest


def test_diff_of_two_repositories_asks_for_arrays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = frames(tmp_path, [T0])
    for name in ("a", "b"):
        icecore.link(files, tmp_path / f"{name}.icecore")
    one, two = str(tmp_path / "a.icecore"), str(tmp_path / "b.icecore")
    assert cli.run(["diff", one, two]) != 0
    assert f"icecore diff {one}:/PATH {two}:/PATH" in capsys.readouterr().err
    assert cli.run(["diff", f"{one}:{PATH}", f"{two}:{PATH}"]) == 0
    assert "0 differ" in capsys.readouterr().out


REAL = {
    "F-TEST-600000000-60_v6_big_endian.gwf": ("int32", 1),
    "H-CAL_FAC-600000000-6000.gwf": ("complex64", 1),
    "HLV-HW100916-968654552-1.gwf": ("float64", 3),
    "cbc-mbta_events_only.gwf": ("", 0),
}


@needs_data
@pytest.mark.parametrize("name", list(REAL))
def test_real_files_are_indexed(name: str) -> None:
    from icecore.sources import open_source

    dtype, least = REAL[name]
    arrays = open_source(DATA / "frames" / name, keep_going=True).arrays
    assert len(arrays) >= least
    assert not dtype or dtype in {str(entry.dtype) for entry in arrays.values()}


@needs_data
def test_the_same_second_as_frames_and_as_hdf5(tmp_path: Path) -> None:
    folder = DATA / "frames"
    icecore.link(folder / "HLV-HW100916-968654552-1.gwf", tmp_path / "g.icecore")
    icecore.link(folder / "HLV-HW100916-968654552-1.hdf", tmp_path / "h.icecore", group="/")
    repo, other = icecore.open(tmp_path / "g.icecore"), icecore.open(tmp_path / "h.icecore")
    np.testing.assert_array_equal(repo["/H1/LDAS-STRAIN"][:], other["/H1:LDAS-STRAIN"][:])


@needs_data
def test_masks_of_frames_and_of_hdf5_name_their_bits(tmp_path: Path) -> None:
    folder = DATA / "frames"
    icecore.link(folder / "H-H1_LOSC_4_V2-pycbc.gwf", tmp_path / "g.icecore")
    icecore.link(folder / "H-H1_LOSC_4_V2-1126259446-32.hdf5", tmp_path / "h.icecore", group="/")
    mask = icecore.open(tmp_path / "g.icecore")["/H1/LOSC-DQMASK"]
    other = icecore.open(tmp_path / "h.icecore")["/quality/simple/DQmask"]
    for array in (mask, other):
        assert array.attrs["flag_masks"] == [1, 2, 4, 8, 16, 32, 64]
        assert array.attrs["flag_meanings"].startswith("DATA CBC_CAT1 CBC_CAT2")
    strain_frames = icecore.open(tmp_path / "g.icecore")["/H1/LOSC-STRAIN"]
    strain_hdf5 = icecore.open(tmp_path / "h.icecore")["/strain/Strain"]
    stretch = ("2015-09-14T09:50:35", "2015-09-14T09:50:36.5")
    np.testing.assert_array_equal(strain_frames.between(*stretch), strain_hdf5.between(*stretch))


def test_trends_have_gaps_and_become_samples_where_they_are_few(tmp_path: Path) -> None:
    icecore.link(frames(tmp_path, [T0, T0 + 1, T0 + 4]), tmp_path / "r.icecore")
    array = icecore.open(tmp_path / "r.icecore")[PATH]
    found = array.trend(points=5)
    assert (found.window, found.step, found.t0) == (64, 1.0, T0 * 10**9)
    values = strain(T0, 5).astype("f8").reshape(5, 64)
    there = [0, 1, 4]
    assert found.count.tolist() == [64, 64, 0, 0, 64]
    np.testing.assert_array_equal(found.min[there], values.min(axis=1)[there])
    np.testing.assert_array_equal(found.max[there], values.max(axis=1)[there])
    np.testing.assert_array_equal(found.mean[there], values.mean(axis=1)[there])
    np.testing.assert_allclose(found.rms[there], np.sqrt((values**2).mean(axis=1))[there], rtol=1e-14)
    assert np.isnan([found.min[2], found.max[2], found.mean[2], found.rms[3]]).all()
    few = array.trend(T0, T0 + 1, points=100)
    np.testing.assert_array_equal(few.mean, strain(T0))
    assert cli.run(["trend", str(tmp_path / "r.icecore"), PATH, "-o", str(tmp_path / "t.csv")]) == 0
    table = np.loadtxt(tmp_path / "t.csv", delimiter=",", skiprows=1)
    assert table.shape == (320, 6)
    assert cli.run(["trend", str(tmp_path / "r.icecore"), PATH, "-o", str(tmp_path / "t.png")]) == 0
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")


def test_times_of_any_form_are_exact() -> None:
    from icecore.timeseries.gps import gps_ns

    pytest.importorskip("astropy")
    assert gps_ns("2015-09-14T09:50:45.39") == 1126259462390000000
    assert gps_ns("2016-12-31T23:59:60") == 1167264017 * 10**9
    assert gps_ns("2017-01-01T00:00:00Z") == 1167264018 * 10**9
    assert gps_ns("1126259446.000000001") == 1126259446000000001
    assert gps_ns(1126259446) == 1126259446 * 10**9
    with pytest.raises(errors.Error, match="not a time"):
        gps_ns("yesterday")


def test_gwpy_gets_a_time_series(tmp_path: Path) -> None:
    timeseries = pytest.importorskip("gwpy.timeseries")
    from icecore.integrations.gwpy import register

    icecore.link(frames(tmp_path, [T0, T0 + 1]), tmp_path / "r.icecore")
    array = icecore.open(tmp_path / "r.icecore")[PATH]
    series = icecore.gwpy(array, T0 + 0.5, T0 + 1.5)
    np.testing.assert_array_equal(series.value, strain(T0, 2)[32:96])
    assert (float(series.t0.value), series.sample_rate.value, str(series.unit)) == (T0 + 0.5, 64, "strain")
    assert str(series.channel) == NAME
    register()
    again = timeseries.TimeSeries.read(
        icecore.open(tmp_path / "r.icecore"), PATH, T0, T0 + 1, format="icecore"
    )
    np.testing.assert_array_equal(again.value, strain(T0))
