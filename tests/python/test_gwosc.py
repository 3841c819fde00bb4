"""GWOSC's HDF5 files: strain and masks of several files joined in time, and appended."""

from __future__ import annotations

from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest
from icecore import errors
from sources_kit import DATA, needs_data

T0, RATE = 1_126_259_446, 256


def strain(start: int, seconds: int) -> np.ndarray:
    """Samples whose values are their index since T0."""
    return np.arange((start - T0) * RATE, (start - T0 + seconds) * RATE, dtype="f8")


def mask(start: int, seconds: int) -> np.ndarray:
    """Bits that depend on the second."""
    return np.arange(start - T0, start - T0 + seconds, dtype="u4") % 8


def gwosc(folder: Path, start: int, seconds: int = 32, detector: str = "H1", bits: str = "CBC_CAT1") -> Path:
    """A file laid out as GWOSC's."""
    path = folder / f"{detector[0]}-{detector}_LOSC_4_V2-{start}-{seconds}.hdf5"
    with h5py.File(path, "w") as file:
        file["meta/Detector"], file["meta/GPSstart"] = detector, start
        parts = (
            ("strain/Strain", strain(start, seconds), 1 / RATE, RATE * 8),
            ("quality/simple/DQmask", mask(start, seconds), 1.0, seconds),
            ("quality/injections/Injmask", mask(start, seconds) + 1, 1.0, seconds),
        )
        for name, data, spacing, chunk in parts:
            made = file.create_dataset(name, data=data, chunks=(chunk,), compression="gzip")
            made.attrs.update(Xstart=start, Xspacing=spacing, Npoints=len(data), Xunits="second")
        file["quality/simple/DQShortnames"] = np.array([b"DATA", bits.encode()])
        file["quality/injections/InjShortnames"] = np.array([b"NO_CBC_HW_INJ", b"NO_CW_HW_INJ"])
    return path


def expected(seconds: int, gaps: list[tuple[int, int]]) -> np.ndarray:
    """The strain, NaN in gaps (seconds since T0)."""
    found = strain(T0, seconds)
    for low, high in gaps:
        found[low * RATE : high * RATE] = np.nan
    return found


def test_files_become_one_channel_with_gaps(tmp_path: Path) -> None:
    files = [gwosc(tmp_path, T0 + after) for after in (128, 0, 32)]
    report = icecore.link(files, tmp_path / "r.icecore", group="/H1", concat="time")
    how = {row.path: row.how for row in report.rows}
    assert (how["/H1/strain/Strain"], how["/H1/quality/simple/DQmask"]) == ("linked", "linked")
    repo = icecore.open(tmp_path / "r.icecore")
    array, dq = repo["/H1/strain/Strain"], repo["/H1/quality/simple/DQmask"]
    np.testing.assert_array_equal(array[:], expected(160, [(64, 128)]))
    assert [(a // 10**9 - T0, b // 10**9 - T0) for a, b in array.segments] == [(0, 64), (128, 160)]
    np.testing.assert_array_equal(dq.between(T0, T0 + 64), mask(T0, 64))
    inj = repo["/H1/quality/injections/Injmask"]
    assert inj.attrs["flag_meanings"] == "NO_CBC_HW_INJ NO_CW_HW_INJ"
    np.testing.assert_array_equal(inj.between(T0 + 128, T0 + 160), mask(T0 + 128, 32) + 1)
    valid = array.between(T0, T0 + 160, "ignore", valid="CBC_CAT1")
    good = np.repeat((np.concatenate([mask(T0, 64), mask(T0 + 128, 32)]) & 2) == 2, RATE)
    samples = np.concatenate([strain(T0, 64), strain(T0 + 128, 32)])
    np.testing.assert_array_equal(valid, samples[good])
    assert {note.kind for note in report.notes} >= {"gaps"}


@pytest.mark.parametrize("how", ["link", "pack"])
@pytest.mark.parametrize("gap", [0, 5, 32])
def test_later_files_are_appended(tmp_path: Path, how: str, gap: int) -> None:
    where, ingest = tmp_path / "r.icecore", getattr(icecore, how)
    ingest([gwosc(tmp_path, T0), gwosc(tmp_path, T0 + 32)], where, group="/H1", concat="time", summaries=True)
    ingest(gwosc(tmp_path, T0 + 64 + gap), where, group="/H1", concat="time", append=True)
    repo = icecore.open(where)
    array = repo["/H1/strain/Strain"]
    np.testing.assert_array_equal(array[:], expected(96 + gap, [(64, 64 + gap)]))
    assert len(array.segments) == (2 if gap else 1)
    dq = repo["/H1/quality/simple/DQmask"]
    np.testing.assert_array_equal(dq[-32:], mask(T0 + 64 + gap, 32))
    counts = repo["/H1/strain/Strain.n,s-trend"][:]
    assert counts.tolist() == [RATE] * 64 + [0] * gap + [RATE] * 32
    with pytest.raises(errors.Error, match="begins at"):
        ingest(gwosc(tmp_path, T0 + 64), where, group="/H1", concat="time", append=True)


def test_overlaps_other_flags_and_other_detectors_are_kept_apart(tmp_path: Path) -> None:
    files = [gwosc(tmp_path, T0), gwosc(tmp_path, T0 + 16), gwosc(tmp_path, T0 + 48, bits="CBC_CAT2")]
    report = icecore.link(files, tmp_path / "r.icecore", group="/H1", concat="time")
    repo = icecore.open(tmp_path / "r.icecore")
    np.testing.assert_array_equal(repo["/H1/strain/Strain"][:], expected(80, []))
    np.testing.assert_array_equal(repo["/H1/quality/simple/DQmask"][:], mask(T0, 48))
    assert {row.path: row.how for row in report.rows}["/H1/strain/Strain"] == "linked"
    assert repo[f"/H1/quality/simple/DQmask.{T0 + 48}"].attrs["flag_meanings"] == "DATA CBC_CAT2"
    said = {note.kind: note.message for note in report.notes}
    assert f"samples from GPS {T0 + 16}.000000000 are there already; the file's" in said["overlap"]
    assert f"from GPS {T0 + 48}.000000000: the flags changed from" in said["changed"]
    both = [gwosc(tmp_path, T0), gwosc(tmp_path, T0, detector="L1"), gwosc(tmp_path, T0 + 32, detector="L1")]
    icecore.link(both, tmp_path / "b.icecore", concat="time")
    shapes = {path: a.shape for path, a in icecore.open(tmp_path / "b.icecore").arrays.items()}
    strains = {path.split("/")[1][0]: shape for path, shape in shapes.items() if path.endswith("Strain")}
    assert strains == {"H": (32 * RATE,), "L": (64 * RATE,)}


@needs_data
def test_real_files_four_weeks_apart(tmp_path: Path) -> None:
    names = ["H-H1_LOSC_4_V1-1126259446-32.hdf5", "H-H1_LOSC_4_V1-1128678884-32.hdf5"]
    files = [DATA / "frames" / name for name in names]
    icecore.link(files, tmp_path / "r.icecore", group="/H1", concat="time")
    array = icecore.open(tmp_path / "r.icecore")["/H1/strain/Strain"]
    assert array.linked
    for file, start in zip(files, (1126259446, 1128678884), strict=True):
        with h5py.File(file) as opened:
            np.testing.assert_array_equal(array.between(start, start + 32), opened["strain/Strain"][:])
            dq = icecore.open(tmp_path / "r.icecore")["/H1/quality/simple/DQmask"]
            np.testing.assert_array_equal(dq.between(start, start + 32), opened["quality/simple/DQmask"][:])
    with pytest.raises(errors.Error, match="no samples"):
        array.between(1126259446, 1128678916)
