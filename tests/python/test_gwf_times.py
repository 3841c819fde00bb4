"""Times of samples: ``startX``, offsets, overlaps, starts off the grid, and a property of random files."""

from __future__ import annotations

import random
import re
from fractions import Fraction
from pathlib import Path

import icecore
import numpy as np
import pytest
from frames_kit import NS, Chan, Kit, Vector
from icecore import errors

T0 = 1_400_000_000
RATE = 16


def series(count: int, first: float = 0, dtype: str = "f8") -> np.ndarray:
    return (np.arange(count) + first).astype(dtype)


def frame(
    path: Path, start: int, data: np.ndarray, rate: float = RATE, kit: Kit | None = None, **at: float
) -> Path:
    """A frame at ``start`` nanoseconds since T0."""
    vector = Vector(data, rate, start_x=at.get("start_x", 0.0))
    chan = Chan("H1:X", [vector], offset=at.get("offset", 0.0))
    return (kit or Kit()).write(path, [(T0 * NS + start, round(len(data) / rate * NS), [chan])])


@pytest.mark.parametrize("version", [4, 6, 8])
@pytest.mark.parametrize("verb", ["link", "pack"])
def test_offset_and_start_of_the_vector_are_added(tmp_path: Path, version: int, verb: str) -> None:
    frame(tmp_path / "0.gwf", 0, series(RATE), kit=Kit(version), offset=-0.5, start_x=0.25)
    getattr(icecore, verb)(tmp_path / "0.gwf", tmp_path / "r.icecore")
    [(start, stop)] = icecore.open(tmp_path / "r.icecore")["/H1/X"].segments
    assert (start, stop) == (T0 * NS - NS // 4, T0 * NS + 3 * NS // 4)


@pytest.mark.parametrize("start_x", [np.nan, np.inf, 1e300])
def test_starts_that_are_no_times_are_reported(tmp_path: Path, start_x: float) -> None:
    frame(tmp_path / "0.gwf", 0, series(RATE), start_x=start_x)
    report = icecore.link(tmp_path / "0.gwf", tmp_path / "r.icecore", keep_going=True)
    assert not report.rows
    assert any("first sample" in note.message for note in report.notes)


@pytest.mark.parametrize("compress", [0, 1, 3])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "i2", "c8"])
@pytest.mark.parametrize("verb", ["link", "pack"])
def test_samples_that_only_an_overlapping_file_has_are_used(
    tmp_path: Path, dtype: str, compress: int, verb: str
) -> None:
    spans = ((0, 4), (3, 4), (3, 2), (7, 4), (7, 6), (15, 1))
    for i, (start, seconds) in enumerate(spans):
        data = series(seconds * RATE, start * RATE, dtype)
        chan = Chan("H1:X", [Vector(data, RATE, compress=compress)])
        Kit().write(tmp_path / f"f/{i}.gwf", [((T0 + start) * NS, seconds * NS, [chan])])
    report = getattr(icecore, verb)(tmp_path / "f", tmp_path / "r.icecore")
    array = icecore.open(tmp_path / "r.icecore")["/H1/X"]
    expected = np.concatenate([series(13 * RATE, 0, dtype), series(RATE, 15 * RATE, dtype)])
    np.testing.assert_array_equal(array.between(T0, T0 + 16, gaps="ignore"), expected)
    np.testing.assert_array_equal(array.between(T0 + 3.5, T0 + 11.5), series(8 * RATE, 3.5 * RATE, dtype))
    notes = [note.message for note in report.notes if note.kind == "overlap"]
    assert [re.findall(r"(\d+) samples from.*?(?:the file's (\d+) others|$)", note)[0] for note in notes] == [
        ("16", "48"),
        ("32", ""),
        ("64", "32"),
    ]
    assert not [note for note in report.notes if note.kind == "missing"]


def test_starts_off_the_grid(tmp_path: Path) -> None:
    minute = 60 * NS
    for i, late in enumerate((0, NS // 2, 9_000_000, 2_000, 1)):
        frame(tmp_path / f"f/{i}.gwf", i * 60 * minute + late, series(60, 60 * i), 1 / 60)
    report = icecore.link(tmp_path / "f", tmp_path / "r.icecore")
    repo = icecore.open(tmp_path / "r.icecore")
    starts = {
        path: [(start - T0 * NS) % minute for start, _ in array.segments]
        for path, array in repo.arrays.items()
    }
    assert sorted(starts.values()) == [[0, 0], [9_000_000], [NS // 2]]
    [note] = [note.message for note in report.notes if note.kind == "times"]
    assert note == "1 vectors start up to 2000 ns off the samples' grid and were moved onto it"


def test_arrays_that_begin_in_the_same_second_have_names(tmp_path: Path) -> None:
    for i, (late, rate) in enumerate(((0, 16), (NS // 4, 32), (NS // 2, 64), (NS // 2, 128))):
        frame(tmp_path / f"f/{i}.gwf", late, series(rate), rate)
    icecore.link(tmp_path / "f", tmp_path / "r.icecore")
    names = [f"/H1/X{tail}" for tail in ("", f".{T0}", f".{T0}.5", f".{T0}.5.2")]
    assert sorted(icecore.open(tmp_path / "r.icecore").arrays) == names


@pytest.mark.parametrize("step", [0.4, 0.1, 1 / 3, 2.5, 1 / 16384, 3.0, 0.0123])
def test_grids_of_any_step_do_not_drift(tmp_path: Path, step: float) -> None:
    exact = Fraction(step).limit_denominator(1 << 20)
    for i in (0, 10**6, 10**7):
        frame(tmp_path / f"f/{i}.gwf", round(50 * i * exact * NS), series(50), 1 / step)
    report = icecore.link(tmp_path / "f", tmp_path / "r.icecore")
    array = icecore.open(tmp_path / "r.icecore")["/H1/X"]
    assert len(report.rows) == 1
    assert len(array.segments) == 3
    assert array.segments[-1][0] == T0 * NS + round(50 * 10**7 * exact * NS)
    assert not [note for note in report.notes if note.kind == "times"]


def test_messages_have_all_digits(tmp_path: Path) -> None:
    frame(tmp_path / "0.gwf", 123_456_789, series(RATE))
    icecore.link(tmp_path / "0.gwf", tmp_path / "r.icecore")
    array = icecore.open(tmp_path / "r.icecore")["/H1/X"]
    with pytest.raises(errors.Error, match=rf"spans GPS {T0}\.123456789\.\.{T0 + 1}\.123456789"):
        array.between(T0 - 1, T0 + 1)


class Model:
    """Random frames, and the value of each sample by its time: the first file that has it."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.samples: dict[tuple[str, str, int, int], float] = {}
        self.repeated = 0

    def write(self, folder: Path) -> None:
        rng = self.rng
        phases = [0, rng.randrange(10_000, NS // 1000)]
        frames = []
        for _ in range(rng.randrange(2, 12)):
            rate = rng.choice([1, 16, 16, 10])
            frames.append(
                {
                    "start": rng.randrange(0, 40) * NS + rng.choice(phases),
                    "count": rate * rng.randrange(1, 6),
                    "rate": rate,
                    "dtype": rng.choice(["f8", "f8", "i4"]),
                    "unit": rng.choice(["V", "V", "A"]),
                    "offset": rng.choice([0.0, 0.0, 0.5, -1.0]),
                    "start_x": rng.choice([0.0, 0.0, 2.0]),
                }
            )
        for i, each in enumerate(frames):
            each["at"] = each["start"] + round((each["offset"] + each["start_x"]) * NS)
            each["value"] = 1000 * (i + 1)
        for i, each in enumerate(sorted(frames, key=lambda each: each["at"])):
            data = np.arange(each["count"]) + each["value"]
            chan = Chan(
                "H1:X",
                [
                    Vector(
                        data.astype(each["dtype"]),
                        each["rate"],
                        start_x=each["start_x"],
                        compress=rng.choice([0, 1]),
                    )
                ],
                rng.choice(["FrProcData", "FrAdcData"]),
                unit=each["unit"],
                offset=each["offset"],
            )
            chan.vectors[0].unit = each["unit"]
            kit = Kit(rng.choice([4, 6, 8]), rng.random() < 0.5, rng.random() < 0.8)
            kit.write(
                folder / f"{i:02}.gwf",
                [(T0 * NS + each["start"], round(each["count"] / each["rate"] * NS), [chan])],
            )
            for k, value in enumerate(data.tolist()):
                time = T0 * NS + each["at"] + round(Fraction(k, each["rate"]) * NS)
                key = (each["dtype"], each["unit"], each["rate"], time)
                self.repeated += key in self.samples
                self.samples.setdefault(key, value)


@pytest.mark.parametrize("verb", ["link", "pack"])
@pytest.mark.parametrize("seed", range(20))
def test_every_sample_is_at_its_time_or_counted(tmp_path: Path, seed: int, verb: str) -> None:
    model = Model(seed)
    model.write(tmp_path / "f")
    report = getattr(icecore, verb)(
        tmp_path / "f", tmp_path / "r.icecore", **({"windows": "none"} if verb == "pack" else {})
    )
    found: dict[tuple[str, str, int, int], float] = {}
    for array in icecore.open(tmp_path / "r.icecore").arrays.values():
        stated = array.attrs["icecore_time"]
        step, values = Fraction(*stated["step"]), array[...]
        for start, stop in array.segments:
            first = round(Fraction(start - stated["t0_ns"], NS) / step)
            last = round(Fraction(stop - stated["t0_ns"], NS) / step)
            for i in range(first, last):
                time = stated["t0_ns"] + round(i * step * NS)
                key = (array.dtype.str[1:], array.attrs["units"], int(1 / step), time)
                assert key not in found
                found[key] = float(values[i])
    assert found == model.samples
    said = [
        int(re.search(r"(\d+) samples from", note.message)[1])
        for note in report.notes
        if note.kind == "overlap"
    ]  # type: ignore[index]
    assert sum(said) == model.repeated
