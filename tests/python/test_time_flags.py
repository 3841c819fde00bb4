"""Valid samples of a stretch: bits of mask channels, dataValid of frames; checksums of linked frame files."""

from __future__ import annotations

import json
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore import cli, errors
from icecore.samples.gwf import write_frame
from sources_kit import DATA, needs_data

T0, RATE, COUNT = 1_000_000_000, 4, 40
MASK = np.array([3, 3, 1, 3, 2, 3, 3, 3, 3, 3], "i4")


def repository(kind: str = "f4", more: dict | None = None) -> icecore.Repo:
    """Ten seconds at 4 Hz; a mask of 1 Hz with the bits DATA and CBC."""
    repo = icecore.create("memory://")
    with repo.writer() as w:
        for path, data, rate in (("/H1/X", np.arange(COUNT), RATE), ("/H1/DQ", MASK, 1), ("/L1/DQ", MASK, 1)):
            segments = [[T0 * 10**9, (T0 + 10) * 10**9]]
            axis = {"epoch": "GPS", "t0_ns": T0 * 10**9, "step": [1, rate], "segments": segments}
            flags = {"flag_masks": [1, 2], "flag_meanings": "DATA CBC"} if path.endswith("DQ") else more or {}
            dtype = "i4" if path.endswith("DQ") else kind
            attrs = {"icecore_time": axis, **flags}
            w.array(path, dtype, data.shape, ("time",), attrs=attrs)[...] = data.astype(dtype)
    return repo.at("main")


def expected(*seconds: int) -> np.ndarray:
    """The samples, NaN in these seconds."""
    found = np.arange(COUNT, dtype="f4")
    for second in seconds:
        found[second * RATE : (second + 1) * RATE] = np.nan
    return found


def test_samples_that_are_not_valid_are_missing() -> None:
    array = repository()["/H1/X"]
    np.testing.assert_array_equal(array.between(T0, T0 + 10, "pad", valid="DATA"), expected(4))
    np.testing.assert_array_equal(array.between(T0, T0 + 10, "pad", valid=["DATA", "CBC"]), expected(2, 4))
    half = array.between(T0 + 1.5, T0 + 4.5, "ignore", valid="/L1/DQ:CBC")
    np.testing.assert_array_equal(half, [6, 7, 12, 13, 14, 15, 16, 17])
    np.testing.assert_array_equal(array.between(T0 + 5, T0 + 8, valid="CBC"), np.arange(20, 32))
    with pytest.raises(
        errors.Error, match=r"no valid samples at GPS 1000000004\.0+\.\.1000000005\.0+"
    ) as caught:
        array.between(T0, T0 + 10, valid="DATA")
    assert caught.value.kind == "selection"


def test_data_valid_of_frames_counts_too() -> None:
    said = {"data_valid": [[(T0 + 7) * 10**9, (T0 + 8) * 10**9, 1]]}
    array = repository(more=said)["/H1/X"]
    np.testing.assert_array_equal(array.between(T0, T0 + 10, "pad", valid="dataValid"), expected(7))
    np.testing.assert_array_equal(array.between(T0, T0 + 10, "pad", valid="DATA"), expected(4, 7))
    np.testing.assert_array_equal(array.between(T0, T0 + 10), expected())


def test_flags_that_do_not_exist_and_types_without_a_mark_are_errors() -> None:
    array = repository()["/H1/X"]
    for valid in ("BURST", "/H1/DQ:BURST"):
        with pytest.raises(errors.Error, match="flag BURST") as caught:
            array.between(T0, T0 + 1, valid=valid)
        assert caught.value.kind == "not-found"
    with pytest.raises(errors.Error, match="no value for samples") as caught:
        repository("i4")["/H1/X"].between(T0, T0 + 10, "pad", valid="DATA")
    assert caught.value.kind == "dtype"
    kept = repository("i4")["/H1/X"].between(T0, T0 + 10, "ignore", valid="DATA")
    assert kept.size == COUNT - RATE


@needs_data
@pytest.mark.parametrize("form", ["frames", "hdf5"])
def test_masks_of_real_files(tmp_path: Path, form: str) -> None:
    frames = {
        "frames": ("H-H1_LOSC_4_V2-pycbc.gwf", "/H1/LOSC-STRAIN", "/H1/LOSC-DQMASK"),
        "hdf5": ("H-H1_LOSC_4_V2-1126259446-32.hdf5", "/strain/Strain", "/quality/simple/DQmask"),
    }
    name, path, mask = frames[form]
    icecore.link(DATA / "frames" / name, tmp_path / "r.icecore", group="/")
    repo = icecore.open(tmp_path / "r.icecore")
    start = 1126259446
    bits = repo[mask].between(start, start + 32)
    for flag, bit in (("DATA", 1), ("CBC_CAT1", 2), ("BURST_CAT2", 32)):
        seconds = (bits & bit) == bit
        found = repo[path].between(start, start + 32, "ignore", valid=flag)
        assert found.size == seconds.sum() * 4096


@needs_data
def test_verify_checks_the_checksums_of_linked_frame_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = DATA / "frames" / "H-H1_O2_llhoft-1216577976-4.gwf"
    file = tmp_path / source.name
    file.write_bytes(source.read_bytes())
    from icecore import _icecore

    before = len(_icecore.gwf_verify(str(file)))
    damaged = bytearray(source.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    file.write_bytes(damaged)
    repo = tmp_path / "r.icecore"
    icecore.link(file, repo, keep_going=True)
    opened = icecore.open(repo)
    own = [p for p in opened.verify(deep=True) if "checksum" in p.message]
    assert len(own) == len(_icecore.gwf_verify(str(file))) > before
    assert all(f"{file} at offset " in str(p.where) for p in own)
    assert not any("checksum" in p.message for p in opened.verify())
    assert cli.run(["verify", str(repo), "--deep", "--json"]) == 1
    listed = json.loads(capsys.readouterr().out)["problems"]
    assert any("checksum" in each["message"] for each in listed)


def test_frames_without_damage_have_no_problems(tmp_path: Path) -> None:
    write_frame(tmp_path / "a.gwf", T0, {"H1:X": (np.arange(64, dtype="f4"), 64.0)})
    icecore.link(tmp_path / "a.gwf", tmp_path / "r.icecore")
    assert icecore.open(tmp_path / "r.icecore").verify(deep=True) == []
