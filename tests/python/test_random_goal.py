"""Packs for single entries: `--for random` stores small pages, and assays take branches of trees."""

from __future__ import annotations

import icecore
import numpy as np
import pytest

ROWS = 100_000


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """Columns of several types, and where they are packed."""
    random = np.random.default_rng(3)
    columns = {
        "pt": (np.round(random.exponential(20, ROWS) * 256) / 256).astype("f4"),
        "n": random.poisson(3, ROWS).astype("i4"),
        "good": random.random(ROWS) < 0.3,
        "time": np.arange(ROWS).astype("M8[ns]"),
        "vertex": random.normal(0, 1, (ROWS, 3)),
        "label": np.array([f"run{n % 17:03}" for n in range(ROWS)], "S8"),
        "complex": random.normal(0, 1, ROWS) + 1j,
    }
    path = tmp_path_factory.mktemp("random") / "p.icecore"
    icecore.pack(columns, path, "/t", goal="random")
    return columns, path


def test_codecs(packed):
    repo = icecore.open(packed[1])
    names = {name: repo[f"/t/{name}"].codecs[0]["name"] for name in packed[0]}
    assert all(names[name] == "icecore.pages" for name in names if name != "complex")
    assert names["complex"] != "icecore.pages"
    assert repo["/t/vertex"].codecs[0]["configuration"]["page"] % 3 == 0


def test_all_ways_of_reading(packed):
    columns, path = packed
    repo = icecore.open(path)
    some = np.sort(np.random.default_rng(1).choice(ROWS, 300, replace=False))
    for name, values in columns.items():
        array = repo[f"/t/{name}"]
        assert np.array_equal(array[:], values)
        assert np.array_equal(array[some], values[some])
        assert np.array_equal(array[some[::-1]], values[some[::-1]])
        assert np.array_equal(array[12_345:70_001:977], values[12_345:70_001:977])
        assert np.array_equal(array[99_999], values[99_999])
    assert np.array_equal(repo["/t/vertex"][some, 1], columns["vertex"][some, 1])


def test_pages_cost_at_most_five_percent(packed, tmp_path):
    """Against baskets of 32 kB: zlib-6 over chunks of as many bytes, as ROOT stores them."""
    columns, path = packed
    for name in ("pt", "n"):
        with icecore.create(tmp_path / f"{name}.icecore").writer() as w:
            w.array("/a", columns[name].dtype, (ROWS,), chunks=(8192,), codec="zlib:6")[...] = columns[name]
        plain = icecore.open(tmp_path / f"{name}.icecore").plan({"/a": slice(None)}).bytes_fetched
        pages = icecore.open(path).plan({f"/t/{name}": slice(None)}).bytes_fetched
        assert 0 < pages <= 1.05 * plain, name


def test_random_is_not_portable(packed, tmp_path):
    with pytest.raises(icecore.Error, match="not portable") as caught:
        icecore.pack({"a": np.arange(9)}, tmp_path / "p.icecore", "/t", goal="random", portable=True)
    assert caught.value.kind == "invalid"


def test_assay_of_branches(tmp_path):
    pytest.importorskip("uproot")
    from root_kit import write

    path = write(tmp_path / "events.root", baskets=60)
    found = icecore.assay(f"{path}:Events", seconds=4)
    assert {array.path.rsplit("/", 1)[-1] for array in found.arrays} >= {"content", "run", "vertex"}
    icecore.pack(f"{path}:Events", tmp_path / "p.icecore", group="/Events", goal="random")
    repo = icecore.open(tmp_path / "p.icecore")
    assert repo["/Events/met"].codecs[0]["name"] == "icecore.pages"
    assert repo["/Events/Muon_pt/content"].codecs[0]["name"] == "icecore.pages"
