"""The measuring itself: medians, verdicts, checks, the cache of made data, and a child from start to end."""

import sys
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(BENCH))

import data  # noqa: E402
import harness  # noqa: E402
import report  # noqa: E402
from harness import Outcome, Side  # noqa: E402


def run(times, checks=None, **memory):
    return {"times": times, "memory": memory, "extra": {}, "checks": checks or {}, "others": 0.0}


def test_medians_over_repetitions_of_the_blocks_of_each():
    outcome = Outcome(
        Side("a", "a"), [run({"q": [(1, 5), (9, 1), (2, 3)]}), run({"q": [(4, 1)]}), run({"q": [(8, 7)]})]
    )
    assert outcome.seconds("q") == 4  # medians of the runs: 2, 4, 8
    assert outcome.seconds("q", "cpu") == 3  # their means: 3, 1, 7
    assert outcome.seconds("absent") is None


def test_a_wrong_value_is_found_by_the_generator_or_by_disagreement():
    right, wrong, other = (
        Outcome(Side(n, n), [run({}, c)])
        for n, c in (("r", {"x": 1, "y": 5}), ("w", {"x": 2}), ("o", {"y": 6}))
    )
    harness.check([right, wrong, other], {"x": 1})
    assert (right.wrong, wrong.wrong, other.wrong) == ([], ["x"], ["y"])


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(0.5, "**reached**"), (0.6, "**reached**"), (0.61, "**missed**"), (None, "not measured")],
)
def test_goals(value, verdict):
    assert report.Goal("g", lambda _: value, "<=", 0.6).row({})[3] == verdict


def test_a_ratio_needs_both_sides():
    results = {"a": Outcome(Side("a", "a"), [run({"q": [(6, 1)]})]), "b": Outcome(Side("b", "b"))}
    assert report.Ratio("a", "a", "q")(results) == 1
    assert report.Ratio("a", "b", "q")(results) is None


def test_data_is_made_once_a_version_and_never_half(tmp_path):
    made = []

    def make(path):
        made.append(path)
        path.write_text("x")
        return {"n": len(made)}

    target = tmp_path / "file"
    assert [data.built(target, v, make)["n"] for v in ("1", "1", "2")] == [1, 1, 2]
    with pytest.raises(ZeroDivisionError):
        data.built(target, "3", lambda path: {"n": 1 / 0})
    assert not target.exists()
    assert data.built(target, "3", make)["n"] == 3


def test_a_child_measures_and_says_why_it_cannot(tmp_path, monkeypatch):
    (tmp_path / "sides.py").write_text(
        "import time\n"
        "from child import Absent\n"
        "def good(params, meter):\n"
        "    with meter('spin'):\n"
        "        end = time.process_time() + 0.05  # however busy the machine is\n"
        "        while time.process_time() < end: pass\n"
        "        big = bytearray(50_000_000)\n"
        "        big[::4096] = b'x' * len(big[::4096])\n"
        "    return {'got': params['n']}\n"
        "def away(params, meter): raise Absent('not here')\n"
        "def missing(params, meter): import no_such_module\n"
        "def broken(params, meter): return 1 / 0\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    good = harness.spawn("sides", "good", {"n": 7})
    wall, cpu = good["times"]["spin"][0]
    assert good["checks"] == {"got": 7}
    assert wall >= 0.05
    assert cpu >= 0.04
    assert good["memory"]["peak_mb"] - good["memory"]["base_mb"] >= 45
    assert harness.spawn("sides", "away", {})["absent"] == "not here"
    assert "no_such_module" in harness.spawn("sides", "missing", {})["absent"]
    assert "ZeroDivisionError" in harness.spawn("sides", "broken", {})["error"]


def test_the_archive_is_the_same_on_every_machine(tmp_path):
    import tracks

    assert [
        f.tobytes() == s.tobytes() for f, s in [(tracks.values(1, "h_ph", 2), tracks.values(1, "h_ph", 2))]
    ] == [True]
    made = tracks.write(tmp_path / "t.h5", dict.fromkeys(tracks.TRACKS, 28))
    assert made["crc"]["first"] != made["crc"]["second"]
    records = tracks.chunk_records(
        str(tmp_path / "t.h5"), dict.fromkeys(tracks.subset_names(), (55_000, 155_000))
    )
    assert len(records) == 330  # what W2 says it reads
    ends = np.sort(records[:, 5]) + records[np.argsort(records[:, 5]), 4]
    assert ends[-1] == 30 * 100_000 * (8 + 8 + 8 + 4 + 1) // 5
    assert (np.sort(records[:, 5])[1:] == ends[:-1]).all()  # no gap, no overlap
