"""Cuts on events: summaries of flat branches and counters leave baskets unread."""

from __future__ import annotations

import icecore
import numpy as np
import pytest
from icecore import _icecore

pytest.importorskip("uproot")

from icecore.tables.summaries.write import write as summarise
from root_kit import ak, uproot

ROWS, ZONE = 20_000, 4096


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Run numbers that rise, a counter that is 0 but for a stretch, lists, and a flag of few events."""
    folder = tmp_path_factory.mktemp("cuts")
    random = np.random.default_rng(2)
    counts = np.zeros(ROWS, "i8")
    counts[9000:9500] = 3
    columns = {
        "run": np.arange(ROWS, dtype="i4") // 100,
        "met": random.exponential(30, ROWS).astype("f4"),
        "good": np.arange(ROWS) >= 19_000,
    }
    columns["met"][:ZONE] = np.nan
    with uproot.recreate(folder / "events.root") as file:
        tree = file.mktree(
            "Events", {name: c.dtype for name, c in columns.items()} | {"jet": "var * float32"}
        )
        for start in range(0, ROWS, 1000):
            part = slice(start, start + 1000)
            n = counts[part]
            jets = ak.unflatten(random.exponential(20, int(n.sum())).astype("f4"), n)
            tree.extend({name: c[part] for name, c in columns.items()} | {"jet": jets})
    for name in ("r.icecore", "bare.icecore"):
        icecore.link(folder / "events.root", folder / name, group="/")
    repo = icecore.open(folder / "r.icecore")
    summarise(repo, "/Events", ["run", "met", "good", "njet"])
    return folder / "r.icecore", columns, counts


@pytest.fixture
def no_cache():
    """Reads move the bytes of every chunk."""
    cap = _icecore.cache_info()["cap"]
    _icecore.set_cache_bytes(0)
    yield
    _icecore.set_cache_bytes(cap)


def without(path):
    """The same table without summaries."""
    return icecore.open(path.parent / "bare.icecore").table("/Events")


@pytest.mark.parametrize(
    "cut",
    [
        "run == 57",
        "run >= 197",
        "3 > run",
        "10 <= run < 12 and met > 5",
        "good",
        "njet >= 2",
        "njet > 0 and jet[:, 0] > 20",
        "run < 2 or good",
        "met > 100",
        "run > -5",
        "run == 1000",
        "run != 5 and good",
        "not good and run == 150",
        "met < 3 or any(jet > 50)",
    ],
)
@pytest.mark.parametrize("rows", [{}, {"entry_start": 5000, "entry_stop": 19_100}, {"step": 7}])
def test_pruning_changes_no_result(table, cut, rows):
    path = table[0]
    found = icecore.open(path).table("/Events").arrays(["run", "met", "jet"], cut, **rows)
    expected = without(path).arrays(["run", "met", "jet"], cut, **rows)
    assert ak.array_equal(found, expected, equal_nan=True)


def test_pruned_cuts_read_few_baskets(table, no_cache):
    """`run` has 20 baskets, `met` and `jet` too; a zone of 4,096 entries touches 5 of them."""
    path, columns, counts = table
    bare, known = without(path), icecore.open(path).table("/Events")
    cases = [
        ("met", "run == 57", int((columns["run"] == 57).sum())),
        ("jet", "njet >= 2", int((counts >= 2).sum())),
        ("met", "good", int(columns["good"].sum())),
    ]
    for column, cut, count in cases:
        assert len(bare.arrays(column, cut)) == count
        assert len(known.arrays(column, cut)) == count
        known.arrays(column, cut)  # the summaries are known now
        assert known.bytes_read * 3 < bare.bytes_read * 2, cut
    assert len(known.arrays("met", "run == 1000")) == 0
    assert known.bytes_read == 0
