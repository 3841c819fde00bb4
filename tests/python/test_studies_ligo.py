"""``icecore bench ligo`` on a few seconds, with frames of the tests' own writer in place of gwframe."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from icecore import errors
from icecore.cli.bench import study
from icecore.samples.gwf import write_frame
from icecore_bench import ligo
from icecore_bench.ligo import channels, frames, goals, readers, space, speed
from icecore_bench.ligo.clock import Time, medians
from icecore_bench.ligo.frames import Layout, Samples


def written(folder: Path, layout: Layout, data: Samples, seconds: int) -> list[str]:
    """Files of one frame each; raw where the layout is zero-suppressed."""
    folder.mkdir()
    paths = []
    for start in range(0, seconds, layout.file):
        stop = min(start + layout.file, seconds)
        part = {c.name: (v[start * c.rate : stop * c.rate], float(c.rate)) for c, v in data.items()}
        path = folder / f"H-H1_STUDY-{channels.T0 + start}-{stop - start}.gwf"
        paths.append(str(write_frame(path, channels.T0 + start, part, layout.compression == "gzip")))
    return paths


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """One channel of each kind, four seconds, three layouts; no other readers."""
    kinds = [c for c in channels.channels() if c.name.endswith(("_0", "STRAIN"))]
    monkeypatch.setattr(channels, "channels", lambda: kinds)
    monkeypatch.setattr(frames, "channels", lambda: kinds)
    monkeypatch.setattr(frames, "need", lambda: None)
    monkeypatch.setattr(frames, "write", written)
    monkeypatch.setattr(speed, "PEERS", ())
    monkeypatch.setattr(ligo, "SIZED", ())
    monkeypatch.setattr(ligo, "TIMED", (ligo.SHORT, ligo.LONG, ligo.SUPPRESSED))
    monkeypatch.setattr(ligo, "QUICK", ligo.Scale(4, 6, 1))


@pytest.mark.usefixtures("few")
def test_every_table_has_rows_and_every_figure_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    outcome = study("ligo")(tmp_path, None, lambda _: None, True)
    assert [len(table.rows) for table in outcome.tables] == [12, 12, 6, 3, 18]
    assert len(outcome.figures) == 3
    assert all(Path(figure).stat().st_size > 1000 for figure in outcome.figures)
    sizes = {row[0]: row[1:] for row in outcome.tables[2].rows}
    assert sizes["packed for balanced"][0] < sizes[ligo.SUPPRESSED.name][0]
    measured = [row for row in outcome.tables[4].rows if row[3] is not None]
    assert len(measured) == 13, "the others need gwframe and LALFrame"
    assert all(row[4] in ("yes", "no") for row in measured)


def test_channels_are_the_same_at_each_call() -> None:
    found = dict(channels.samples(2))
    assert (len(found), sum(values.nbytes for values in found.values())) == (60, 2 * 287_744)
    again = dict(channels.samples(2))
    assert all(values.tobytes() == again[channel].tobytes() for channel, values in found.items())
    strain = next(values for channel, values in found.items() if channel.name == channels.STRAIN)
    assert 1e-20 < np.abs(strain).max() < 1e-17


def test_goals_compare_in_their_direction() -> None:
    speeds = speed.Speeds(
        {
            ("s", "16 kHz", reader): Time(cpu, cpu, 1)
            for reader, cpu in ((speed.LINKED, 1.0), ("gwframe", 2.5))
        }
    )
    sizes = space.Sizes(
        {},
        {"z": dict.fromkeys(space.FAMILIES, 100), "packed for balanced": dict.fromkeys(space.FAMILIES, 95)},
    )
    times = dict.fromkeys(("index", "link", "open and read the first second"), Time(1.0, 1.0, 1))
    table = goals.table(speeds, sizes, times, {"short": "s", "long": "l", "suppressed": "z"}, 1, 100)
    reached = {(row[0], row[1]): row[4] for row in table.rows}
    assert reached["16 kHz channel, 1 s files, gzip", "gwframe / icecore, linked"] == "yes"
    assert reached["index one-second files", "files per CPU second"] == "no"
    assert reached["strain, packed for balanced", "bytes / zero-suppressed"] == "no"
    assert reached["16 kHz channel, 1 s files, gzip", "LALFrame / icecore, linked"] is None


def test_medians_take_turns_and_stop_slow_calls() -> None:
    said: list[str] = []
    found = medians({"a": lambda: said.append("a"), "b": lambda: said.append("b")}, 3, 60)
    assert (said, found["a"].runs) == (["a", "b"] * 3, 3)
    slow = medians({"a": lambda: time.sleep(0.002), "b": lambda: None}, 3, 0.001)
    assert (slow["a"].runs, slow["b"].runs) == (1, 3)


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "find_spec", lambda _: None)
    assert [line.rpartition(": ")[2] for line in readers.missing()] == [
        "pip install gwpy lalsuite",
        "pip install lalsuite",
        "pip install gwframe",
        "pip install deflate",
    ]
    with pytest.raises(errors.Error, match="ligo takes no file") as caught:
        study("ligo")(tmp_path, "x.gwf", lambda _: None, True)
    assert caught.value.kind == "invalid"
