"""Frames that icecore writes: read back bit for bit by gwframe, LALFrame and gwpy; gaps, names, failures."""

from __future__ import annotations

import errno
import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from frames_kit import Chan, Kit, Vector
from icecore import _icecore, cli, errors
from icecore.export import gwf
from icecore.samples.gwf import write_frame

T0, NS = 1_000_000_000, 10**9
TYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16")
KINDS = ("constant", "slow", "noise", "sparse", "extreme")


def samples(rng: np.random.Generator, dtype: np.dtype, count: int, kind: str) -> np.ndarray:
    """Values of one kind: constant, slow, any bits (NaN included), mostly zero, jumps between extremes."""
    noise = rng.integers(0, 256, count * dtype.itemsize, dtype="u1").view(dtype)
    if kind == "constant":
        return np.full(count, 42, dtype)
    if kind == "slow":
        return np.cumsum(rng.integers(-2, 3, count)).astype(dtype)
    if kind == "sparse":
        return np.where(rng.random(count) < 0.95, dtype.type(0), noise)
    if kind == "extreme" and dtype.kind in "iu":
        ends = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1], dtype)
        return ends[rng.integers(0, 4, count)]
    return noise


def every_channel(seed: int, count: int) -> list[gwf.Channel]:
    rng, made = np.random.default_rng(seed), []
    for name in TYPES:
        for kind in KINDS:
            values = samples(rng, np.dtype(name), count, kind)
            made.append(gwf.Channel(gwf.Vector(f"H1:{name.upper()}-{kind.upper()}", values, 1 / count, "m")))
    return made


def written(
    path: Path, channels: list[gwf.Channel], compress: str, start: int = T0 * NS
) -> list[tuple[int, int]]:
    with gwf.frame(str(path), start, start + NS, {"proc": len(channels)}, compress) as file:
        return file.add(channels)


@pytest.mark.parametrize("compress", gwf.COMPRESSIONS)
@pytest.mark.parametrize("count", [1, 2, 7, 64, 1023])
def test_every_type_comes_back(tmp_path: Path, compress: str, count: int) -> None:
    channels, path = every_channel(count, count), tmp_path / "H-T-1000000000-1.gwf"
    told = written(path, channels, compress)
    assert _icecore.gwf_verify(str(path)) == []
    icecore.link(path, tmp_path / "r.icecore")
    repo = icecore.open(tmp_path / "r.icecore")
    for made, (code, size) in zip(channels, told, strict=True):
        array = repo[made.data.name]
        assert array[:].tobytes() == made.data.samples.tobytes(), (made.data.name, code)
        assert array.dtype == made.data.samples.dtype
        assert array.attrs["units"] == "m"
        assert size <= made.data.samples.nbytes
        if compress == "raw":
            assert code & 0xFF == 0


def test_best_is_the_smallest(tmp_path: Path) -> None:
    channels = every_channel(5, 4096)
    sizes = {how: written(tmp_path / f"{how}.gwf", channels, how) for how in gwf.COMPRESSIONS}
    for i, made in enumerate(channels):
        others = [sizes[how][i][1] for how in gwf.COMPRESSIONS if how != "best"]
        assert sizes["best"][i][1] <= min(others), made.data.name


@pytest.mark.parametrize("compress", gwf.COMPRESSIONS)
def test_gwframe_reads_every_type(tmp_path: Path, compress: str) -> None:
    gwframe = pytest.importorskip("gwframe")
    for count in (1, 9, 1000):
        channels, path = every_channel(count, count), tmp_path / f"{count}.gwf"
        written(path, channels, compress)
        for made in channels:
            found = gwframe.read(path, made.data.name)
            values = np.asarray(found.array if hasattr(found, "array") else found)
            assert values.tobytes() == made.data.samples.tobytes(), made.data.name


#: types that LALFrame has series of
LAL = {
    "i2": "INT2", "i4": "INT4", "i8": "INT8", "u2": "UINT2", "u4": "UINT4", "u8": "UINT8", "f4": "REAL4",
    "f8": "REAL8", "c8": "COMPLEX8", "c16": "COMPLEX16",
}  # fmt: skip


@pytest.mark.parametrize("compress", gwf.COMPRESSIONS)
def test_lalframe_reads_every_type(tmp_path: Path, compress: str) -> None:
    lalframe = pytest.importorskip("lalframe")
    for count in (1, 9, 1000):
        channels, path = every_channel(count, count), tmp_path / f"H-T{count}-{T0}-1.gwf"
        written(path, channels, compress)
        file = lalframe.FrFileOpenURL(str(path))
        for made in channels:
            kind = made.data.samples.dtype.str[1:]
            if kind in LAL:
                read = getattr(lalframe, f"FrFileRead{LAL[kind]}TimeSeries")
                found = read(file, made.data.name, 0)
                assert found.data.data.tobytes() == made.data.samples.tobytes(), made.data.name
                assert (found.epoch.gpsSeconds, found.deltaT) == (T0, 1 / count)


def test_lalframe_checks_the_checksum(tmp_path: Path) -> None:
    lalframe = pytest.importorskip("lalframe")
    path = tmp_path / f"H-T-{T0}-1.gwf"
    written(path, every_channel(1, 100), "best")
    file = lalframe.FrFileOpenURL(str(path))
    assert lalframe.FrFileCksumValid(file)


def linked(folder: Path, seconds: list[int], rate: int = 64) -> tuple[icecore.Repo, np.ndarray, np.ndarray]:
    """One-second frames of a fast and a slow channel."""
    folder.mkdir()
    fast = np.random.default_rng(2).normal(size=rate * (max(seconds) + 1)).astype("f4")
    slow = np.arange(16 * (max(seconds) + 1), dtype="i4") // 3
    for i in seconds:
        part = {
            "H1:FAST": (fast[i * rate : (i + 1) * rate], float(rate)),
            "L1:SLOW": (slow[i * 16 : (i + 1) * 16], 16.0),
        }
        write_frame(folder / f"HL-TEST_R-{T0 + i}-1.gwf", T0 + i, part)
    icecore.link(folder, folder.parent / "r.icecore")
    return icecore.open(folder.parent / "r.icecore"), fast, slow


def test_short_frames_become_long_ones(tmp_path: Path) -> None:
    repo, *_ = linked(tmp_path / "f", list(range(100)))
    done = icecore.reframe(tmp_path / "f", tmp_path / "long", 32)
    # GPS multiples of 32: 999999968, 1000000000, …
    names = [os.path.basename(file) for file in done.files]
    assert names == [f"HL-TEST_R-{T0 + i}-{n}.gwf" for i, n in ((0, 32), (32, 32), (64, 32), (96, 4))]
    icecore.link(tmp_path / "long", tmp_path / "l.icecore")
    back = icecore.open(tmp_path / "l.icecore")
    for name in ("H1:FAST", "L1:SLOW"):
        assert back[name][:].tobytes() == repo[name][:].tobytes()
        assert back[name].segments == repo[name].segments
        assert back[name].attrs["units"] == repo[name].attrs["units"]
    assert done.bytes == sum(os.path.getsize(file) for file in done.files)
    assert "4 files of 2 channels" in str(done)


def test_frames_end_at_gaps(tmp_path: Path) -> None:
    repo, *_ = linked(tmp_path / "f", [i for i in range(40) if i not in (10, 11, 33)])
    done = icecore.reframe(repo, tmp_path / "long", 16, description="X")
    spans = [tuple(map(int, os.path.basename(file)[:-4].split("-")[2:])) for file in done.files]
    assert [(a - T0, n) for a, n in spans] == [(0, 10), (12, 4), (16, 16), (32, 1), (34, 6)]
    icecore.link(tmp_path / "long", tmp_path / "l.icecore")
    for name in ("H1:FAST", "L1:SLOW"):
        back = icecore.open(tmp_path / "l.icecore")[name]
        assert back.segments == repo[name].segments
        assert (
            back.between(T0, T0 + 40, gaps="ignore").tobytes()
            == repo[name].between(T0, T0 + 40, gaps="ignore").tobytes()
        )


def test_channels_and_stretches_are_chosen(tmp_path: Path) -> None:
    repo, fast, _ = linked(tmp_path / "f", list(range(20)))
    done = icecore.reframe(repo, tmp_path / "a", 8, channels="H1:*", start=T0 + 3, stop=T0 + 14)
    assert [os.path.basename(file) for file in done.files] == [
        f"H-ICECORE-{T0 + 3}-5.gwf", f"H-ICECORE-{T0 + 8}-6.gwf",
    ]  # fmt: skip
    icecore.link(tmp_path / "a", tmp_path / "l.icecore")
    back = icecore.open(tmp_path / "l.icecore")
    assert list(back.arrays) == ["/H1/FAST"]
    np.testing.assert_array_equal(back["H1:FAST"][:], fast[3 * 64 : 14 * 64])
    with pytest.raises(errors.Error, match=r"no channels that match V1:\*"):
        icecore.reframe(repo, tmp_path / "b", channels="V1:*")
    assert not (tmp_path / "b").exists()


def test_facts_of_converters_are_kept(tmp_path: Path) -> None:
    frames = []
    for i in range(4):
        values = np.arange(8, dtype="i2") + 8 * i
        good = Vector(np.zeros(8, "u2") + (i == 2), 8.0, "dataValid")
        adc = Chan(
            "V1:ADC", [Vector(values, 8.0, unit="V")], "FrAdcData", [good], slope=0.5, bias=2.0, unit="V"
        )
        bad = Chan("V1:BAD", [Vector(values, 8.0)], "FrAdcData", valid=int(i == 1))
        mask = Chan("V1:MASK", [Vector(values.astype("i4"), 8.0, unit="0:DATA 3:CAT1")])
        frames.append(((T0 + i) * NS, NS, [adc, bad, mask]))
    for i, each in enumerate(frames):
        Kit().write(tmp_path / "f" / f"{i}.gwf", [each])
    icecore.link(tmp_path / "f", tmp_path / "r.icecore")
    icecore.reframe(tmp_path / "r.icecore", tmp_path / "long", 4)
    icecore.link(tmp_path / "long", tmp_path / "l.icecore")
    one, other = icecore.open(tmp_path / "r.icecore"), icecore.open(tmp_path / "l.icecore")
    for name in ("V1:ADC", "V1:BAD", "V1:MASK"):
        assert other[name][:].tobytes() == one[name][:].tobytes()
        for key in ("units", "scale_factor", "add_offset", "flag_masks", "flag_meanings"):
            assert other[name].attrs.get(key) == one[name].attrs.get(key), (name, key)
        found = [
            each[name].between(T0, T0 + 4, gaps="ignore", valid="dataValid").tobytes()
            for each in (one, other)
        ]
        assert found[0] == found[1]
    assert len(found[0]) == 4 * 32  # the mask states no validity
    assert len(one["V1:BAD"].between(T0, T0 + 4, gaps="ignore", valid="dataValid")) == 24


def test_trend_frames_hold_the_trends(tmp_path: Path) -> None:
    repo, fast, _ = linked(tmp_path / "f", [i for i in range(130) if not 40 <= i < 45])
    done = icecore.reframe(repo, tmp_path / "t", trend="second", channels="H1:*")
    [file] = done.files
    assert os.path.basename(file) == f"H-ICECORE_T-{T0}-130.gwf"
    icecore.link(file, tmp_path / "t.icecore")
    back = icecore.open(tmp_path / "t.icecore")
    rows = fast.reshape(-1, 64)
    there = np.array([not 40 <= i < 45 for i in range(130)])
    np.testing.assert_array_equal(back["H1:FAST.max"][:][there], rows.max(axis=1)[there])
    np.testing.assert_allclose(back["H1:FAST.mean"][:][there], rows.mean(axis=1, dtype="f8")[there])
    assert np.isnan(back["H1:FAST.min"][:][~there]).all()
    np.testing.assert_array_equal(back["H1:FAST.n"][:], np.where(there, 64, 0))
    minutes = icecore.reframe(repo, tmp_path / "m", trend="minute").files
    assert [os.path.basename(each)[:14] for each in minutes] == ["HL-ICECORE_M-9"]


def test_a_stretch_is_written_by_read(tmp_path: Path, run: Any) -> None:
    _, fast, _ = linked(tmp_path / "f", list(range(10)))
    target = tmp_path / "x.gwf"
    status, _, err = run("read", tmp_path / "r.icecore", "/H1/FAST", f"time={T0 + 2}..{T0 + 5}", "-o", target)
    assert (status, "x.gwf" in err) == (0, True)
    icecore.link(target, tmp_path / "x.icecore")
    back = icecore.open(tmp_path / "x.icecore")["H1:FAST"]
    np.testing.assert_array_equal(back[:], fast[128:320])
    assert back.segments == [((T0 + 2) * NS, (T0 + 5) * NS)]
    assert run("read", tmp_path / "r.icecore", "/H1/FAST", "::7", "-o", tmp_path / "y.gwf")[0] == 0
    with icecore.create(tmp_path / "o.icecore").writer() as w:
        w.array("/x", "f4", (3,))[...] = 1
    status, _, err = run("read", tmp_path / "o.icecore", "/x", "-o", tmp_path / "z.gwf")
    assert (status, "no time axis in GPS" in err, (tmp_path / "z.gwf").exists()) == (2, True, False)


def test_gwpy_reads_long_frames(tmp_path: Path) -> None:
    timeseries = pytest.importorskip("gwpy.timeseries")
    repo, fast, _ = linked(tmp_path / "f", list(range(40)))
    files = icecore.reframe(repo, tmp_path / "long", 16).files
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = timeseries.TimeSeries.read(files, "H1:FAST", T0 + 3, T0 + 39)
    except ImportError:
        pytest.skip("gwpy has no reader of frames")
    assert found.value.tobytes() == fast[3 * 64 : 39 * 64].tobytes()


def test_samples_between_frames_keep_their_times(tmp_path: Path) -> None:
    start = T0 * NS + 250_000_000
    span = [start, start + 8 * NS]
    axis = {"epoch": "GPS", "t0_ns": start, "step": [1, 4], "segments": [span]}
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        w.array("/H1/X", "f8", (32,), ("time",), attrs={"icecore_time": axis})[...] = np.arange(32)
    done = icecore.reframe(tmp_path / "r.icecore", tmp_path / "long", 3)
    icecore.link(tmp_path / "long", tmp_path / "l.icecore")
    back = icecore.open(tmp_path / "l.icecore")["/H1/X"]
    assert back.segments == [tuple(span)]
    np.testing.assert_array_equal(back[:], np.arange(32))
    assert os.path.basename(done.files[0]) == f"H-ICECORE-{T0}-2.gwf"


def stored(place: Path, **steps: tuple[int, int]) -> str:
    """Channels of 240 s with steps (numerator, denominator)."""
    with icecore.create(place).writer() as w:
        for name, (over, under) in steps.items():
            count = 240 * under // over
            axis = {"epoch": "GPS", "t0_ns": 999_999_960 * NS, "step": [over, under]}
            axis["segments"] = [[999_999_960 * NS, 1_000_000_200 * NS]]
            attrs = {"icecore_time": axis, "channel": f"H1:{name.strip('_')}"}
            w.array(f"/H1/{name}", "f4", (count,), (name,), attrs=attrs)[...] = range(count)
    return str(place)


def test_wrong_requests_write_nothing(tmp_path: Path) -> None:
    place = stored(tmp_path / "r.icecore", A=(1, 16), M=(60, 1), A_=(1, 4))
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({"channels": "H1:M"}, "invalid", "H1:M has a sample every 60 s, which does not fit a frame of"),
        ({"channels": "/H1/A*", "seconds": 60}, "invalid", "are both the channel H1:A"),
        ({"channels": "H1:M", "seconds": 0}, "invalid", "seconds"),
        ({"channels": "H1:M", "seconds": 60, "compress": "zip"}, "invalid", "compress"),
        ({"trend": "hour"}, "invalid", "trend"),
        ({"channels": "H1:M", "seconds": 60, "start": 5, "stop": 9}, "not-found", "no channel has samples"),
    ]
    for given, kind, said in cases:
        with pytest.raises(errors.Error) as caught:
            icecore.reframe(place, tmp_path / "out", **given)
        assert (caught.value.kind, said in caught.value.message) == (kind, True), caught.value
        assert not (tmp_path / "out").exists(), given
    done = icecore.reframe(place, tmp_path / "out", 60, channels="H1:M")
    before = {file: Path(file).read_bytes() for file in done.files}
    with pytest.raises(errors.Error) as caught:
        icecore.reframe(place, tmp_path / "out", 60, channels="H1:M", compress="raw")
    assert caught.value.kind == "exists"
    assert {file: Path(file).read_bytes() for file in done.files} == before
    icecore.reframe(place, tmp_path / "out", 60, channels="H1:M", compress="raw", replace=True)


def test_names_that_the_format_does_not_hold(tmp_path: Path) -> None:
    values = np.zeros(4, "f4")
    for name, said in (("H1:" + "X" * 70_000, "at most 65534"), ("H1:\0", "NUL")):
        with pytest.raises(errors.Error) as caught:
            written(tmp_path / "x.gwf", [gwf.Channel(gwf.Vector(name, values, 0.25))], "best")
        assert caught.value.kind == "invalid"
        assert said in caught.value.message
        assert os.listdir(tmp_path) == []


def test_a_failing_disk_leaves_no_file(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    target = tmp_path / "full.gwf"
    target.symlink_to("/dev/full")
    with pytest.raises(errors.Error) as caught:
        written(target, every_channel(1, 100_000)[:20], "raw")
    assert caught.value.kind == "io"
    assert errno.errorcode[errno.ENOSPC] in caught.value.message or "space" in str(caught.value)


def test_memory_is_bounded_by_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from icecore.frames import reframe

    repo, *_ = linked(tmp_path / "f", list(range(32)))
    whole = icecore.reframe(repo, tmp_path / "a", 16).files
    monkeypatch.setattr(reframe, "BATCH", 1)
    sizes: list[int] = []
    read = icecore.Repo.read

    def counted(self: icecore.Repo, items: Any, *rest: Any) -> Any:
        sizes.append(len(items))
        return read(self, items, *rest)

    monkeypatch.setattr(icecore.Repo, "read", counted)
    parts = icecore.reframe(repo, tmp_path / "b", 16).files
    assert sizes == [1] * 4
    shutil.copytree(tmp_path / "a", tmp_path / "both")
    for one, other in zip(whole, parts, strict=True):
        icecore.link([one], tmp_path / f"{os.path.basename(one)}.a")
        icecore.link([other], tmp_path / f"{os.path.basename(one)}.b")
        found = [icecore.open(tmp_path / f"{os.path.basename(one)}.{each}") for each in "ab"]
        for path in found[0].arrays:
            assert found[0][path][:].tobytes() == found[1][path][:].tobytes()


def test_the_command_line(tmp_path: Path, run: Any) -> None:
    linked(tmp_path / "f", list(range(10)))
    status, out, _ = run("reframe", tmp_path / "f", "-o", tmp_path / "out", "--seconds", "8", "--json")
    assert status == 0
    assert '"channels": 2' in out
    assert cli.run(["reframe", str(tmp_path / "f"), "-o", str(tmp_path / "out"), "--seconds", "8"]) == 2
