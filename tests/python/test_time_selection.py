"""``icecore read`` by time: gaps at both ends and inside, flags of masks, the times of written files."""

from __future__ import annotations

import csv
import json
from decimal import Decimal
from pathlib import Path

import h5py
import icecore
import numpy as np
import pyarrow.parquet as pq
import pytest
from icecore import cli
from icecore.samples.gwf import write_frame

T0 = 1_000_000_000
RATE = 8
NS = 10**9


@pytest.fixture
def repo(tmp_path: Path) -> str:
    """Seconds 0, 1 and 4 of a channel; its mask has the flag GOOD in seconds 0 and 4."""
    for second in (0, 1, 4):
        data = np.arange(RATE, dtype="f4") + second * RATE
        write_frame(tmp_path / f"H-{second}.gwf", T0 + second, {"H1:X": (data, float(RATE))})
    where = str(tmp_path / "r.icecore")
    icecore.link(sorted(tmp_path.glob("*.gwf")), where)
    axis = {"epoch": "GPS", "t0_ns": T0 * NS, "step": [1, 1], "segments": [[T0 * NS, (T0 + 5) * NS]]}
    attrs = {"icecore_time": axis, "flag_masks": [1, 2], "flag_meanings": "GOOD BETTER"}
    with icecore.open(where).writer() as w:
        w.array("/H1/MASK", "i4", (5,), ("time_1Hz",), attrs=attrs)[...] = [3, 2, 0, 0, 1]
    return where


def read(capsys: pytest.CaptureFixture[str], repo: str, *more: str) -> list[float | None]:
    """The samples that the command prints as JSON."""
    assert cli.run(["read", repo, "/H1/X", *more, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["data"]


def refused(capsys: pytest.CaptureFixture[str], repo: str, *more: str) -> str:
    """The error of a command."""
    assert cli.run(["read", repo, "/H1/X", *more]) != 0
    return capsys.readouterr().err


def span(first: float, last: float) -> str:
    return f"time={T0 + first}..{T0 + last}"


def test_gaps_inside_and_at_both_ends(repo: str, capsys: pytest.CaptureFixture[str]) -> None:
    everything = span(-0.5, 5.5)
    padded = read(capsys, repo, everything, "--gaps", "pad")
    present = [*range(2 * RATE), *range(4 * RATE, 5 * RATE)]
    assert len(padded) == 6 * RATE
    assert [x for x in padded if x is not None] == present
    assert padded[: RATE // 2] == padded[-RATE // 2 :] == [None] * (RATE // 2)
    assert read(capsys, repo, everything, "--gaps", "ignore") == present
    assert "no samples at GPS" in refused(capsys, repo, everything, "--gaps", "raise")
    assert refused(capsys, repo, everything) == refused(capsys, repo, everything, "--gaps", "raise")


def test_samples_whose_flags_are_not_set_are_missing(repo: str, capsys: pytest.CaptureFixture[str]) -> None:
    good = [*range(RATE), *range(4 * RATE, 5 * RATE)]
    assert read(capsys, repo, span(0, 5), "--valid", "GOOD", "--gaps", "ignore") == good
    both = read(capsys, repo, span(0, 2), "--valid", "GOOD,/H1/MASK:BETTER", "--gaps", "pad")
    assert both == [*range(RATE), *[None] * RATE]
    assert read(capsys, repo, span(0, 1), "--valid", "BETTER") == list(range(RATE))
    assert "no valid samples" in refused(capsys, repo, span(0, 2), "--valid", "GOOD")
    assert "has the flag BAD" in refused(capsys, repo, span(0, 1), "--valid", "BAD")


def test_options_without_a_time_or_of_another_word_are_refused(
    repo: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in (["0:3", "--gaps", "pad"], ["--valid", "GOOD"]):
        said = refused(capsys, repo, *more)
        assert "error[invalid]: --gaps and --valid need a stretch of time" in said
        assert "time=START..STOP" in said
    assert "gaps: raise, pad, ignore (got 'fill')" in refused(capsys, repo, span(0, 1), "--gaps", "fill")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_rows_have_times_also_outside(
    repo: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    for gaps, stretch in (("pad", span(-0.5, 1)), ("ignore", span(1.5, 4.5))):
        file = tmp_path / f"{gaps}.{suffix}"
        assert cli.run(["read", repo, "/H1/X", stretch, "--gaps", gaps, "-o", str(file)]) == 0
        if suffix == "csv":
            header, *rows = csv.reader(file.open())
            times = [round(Decimal(time) * NS) for time, _ in rows]
        else:
            found = pq.read_table(file)
            header, rows = found.column_names, [list(row.values()) for row in found.to_pylist()]
            times = [time for time, _ in rows]
        assert header == ["gps" if suffix == "csv" else "gps_ns", "X"]
        numbers = [*range(-4, 8)] if gaps == "pad" else [*range(12, 16), *range(32, 36)]
        assert times == [T0 * NS + number * NS // RATE for number in numbers]
        for number, (_, value) in zip(numbers, rows, strict=True):
            assert np.isnan(float(value)) if number < 0 else float(value) == number


def stored_axis(path: Path) -> dict[str, object] | None:
    with h5py.File(path) as file:
        found = file["X"].attrs.get("icecore_time")
        return None if found is None else json.loads(found)


@pytest.mark.parametrize("suffix", ["nc", "h5"])
def test_files_with_attributes_state_the_times_of_the_selection(
    repo: str, tmp_path: Path, suffix: str
) -> None:
    file = tmp_path / f"out.{suffix}"
    cut = [(T0 + 0.5) * NS, (T0 + 2) * NS], [(T0 + 4) * NS, (T0 + 4.5) * NS]
    whole = [(T0) * NS, (T0 + 2) * NS], [(T0 + 4) * NS, (T0 + 5) * NS]
    cases = [
        ([span(0.5, 4.5), "--gaps", "pad"], T0 + 0.5, [1, 8], cut),
        ([span(-1, 6), "--gaps", "pad"], T0 - 1, [1, 8], whole),
        ([span(0.5, 1.5)], T0 + 0.5, [1, 8], [[(T0 + 0.5) * NS, (T0 + 1.5) * NS]]),
        (["4:12:2"], T0 + 0.5, [1, 4], [[(T0 + 0.5) * NS, (T0 + 1.5) * NS]]),
    ]
    for more, start, step, segments in cases:
        assert cli.run(["read", repo, "/H1/X", *more, "-o", str(file)]) == 0
        assert stored_axis(file) == {
            "epoch": "GPS",
            "t0_ns": int(start * NS),
            "step": step,
            "segments": [list(map(int, part)) for part in segments],
        }
    for more in ([span(0, 5), "--gaps", "ignore"], ["[1,5,9]"], ["8:0:-1"]):
        assert cli.run(["read", repo, "/H1/X", *more, "-o", str(file)]) == 0
        assert stored_axis(file) is None


def test_a_stretch_can_be_explained(repo: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["explain", repo, "/H1/X", span(0, 1), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bytes_wanted"] > 0


def test_coordinates_have_no_values_outside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = str(tmp_path / "cf.icecore")
    with icecore.create(where).writer() as w:
        time = {"units": "seconds since 2000-01-01"}
        w.array("/time", "i8", (4,), ["time"], attrs=time)[...] = [0, 1, 2, 3]
        w.array("/t2m", "f4", (4,), ["time"])[...] = [1, 2, 3, 4]
    stretch = "time=1999-12-31T23:59:58..2000-01-01T00:00:02"
    command = ["read", where, "/t2m", stretch, "--gaps", "pad", "-o"]
    assert cli.run([*command, str(tmp_path / "o.nc")]) != 0
    assert "/time has no values outside /t2m" in capsys.readouterr().err
    assert cli.run([*command, str(tmp_path / "o.npy")]) == 0
    assert np.load(tmp_path / "o.npy")[2:].tolist() == [1, 2]
