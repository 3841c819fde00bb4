"""Names and forms of columns: filters, dotted names, cuts on lists without elements, skims, Dask frames."""

from __future__ import annotations

import icecore
import numpy as np
import pytest
from sources_kit import DATA, needs_data

pytest.importorskip("uproot")

from root_kit import uproot


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Flat, jagged, boolean and nested columns, and a list of records as an RNTuple stores it."""
    folder = tmp_path_factory.mktemp("names")
    repo = icecore.create(folder / "r.icecore")
    counts = [2, 0, 1, 3, 0]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    with repo.writer() as w:
        w.group("/E", {"entries": 5})
        w.array("/E/met", "f4", (5,))[...] = [10, 20, 30, 40, 50]
        w.array("/E/run-number", "i4", (5,))[...] = [1, 1, 2, 2, 3]
        w.array("/E/good", "?", (5,))[...] = [True, False, True, True, False]
        w.array("/E/MET/fX", "f8", (5,))[...] = [1, -1, 2, -2, 3]
        w.array("/E/MET/fY", "f8", (5,))[...] = [0, 0, 1, 1, 2]
        w.array("/E/cov", "f4", (5, 2, 2))[...] = np.arange(20).reshape(5, 2, 2)
        w.array("/E/name", str, (5,))[...] = np.array(["a", "b", "", "dd", "e"], object)
        for name, dtype in (("Muon_pt", "f4"), ("Muon_charge", "i4")):
            w.group(f"/E/{name}", {"jagged": {"offsets": "offsets", "content": "content"}})
            w.array(f"/E/{name}/offsets", "i8", (6,))[...] = offsets
            w.array(f"/E/{name}/content", dtype, (6,))[...] = [30, 5, 12, 7, 50, 9]
        w.group("/E/Jet", {"jagged": {"offsets": "offsets", "content": "content"}})
        w.array("/E/Jet/offsets", "i8", (6,))[...] = offsets
        w.array("/E/Jet/content/pt", "f4", (6,))[...] = np.arange(6)
        w.array("/E/Jet/content/cells", "i4", (6, 3))[...] = np.arange(18).reshape(6, 3)
        w.group("/E/maybe", {"jagged": {"offsets": "offsets", "content": "content", "optional": True}})
        w.array("/E/maybe/offsets", "i8", (6,))[...] = [0, 1, 1, 2, 3, 3]
        w.array("/E/maybe/content", "i4", (3,))[...] = [5, 6, 7]
    return icecore.open(folder / "r.icecore").table("/E")


ALL = {
    "met",
    "run-number",
    "good",
    "MET/fX",
    "MET/fY",
    "cov",
    "name",
    "Muon_pt",
    "Muon_charge",
    "Jet",
    "maybe",
}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("met", {"met"}),
        (["Muon_pt", "met"], {"Muon_pt", "met"}),
        (("Muon_*", "/^met$/"), {"Muon_pt", "Muon_charge", "met"}),
        (np.array(["met", "good"]), {"met", "good"}),
        ({"met"}, {"met"}),
        (iter(["met"]), {"met"}),
        ("/muon_.*/i", {"Muon_pt", "Muon_charge"}),
        ("fX", {"MET/fX"}),
        ("MET/*", {"MET/fX", "MET/fY"}),
        (["f?", lambda name: name == "good"], {"MET/fX", "MET/fY", "good"}),
        (lambda name: name.startswith("M"), {"Muon_pt", "Muon_charge", "MET/fX", "MET/fY"}),
        ([], set()),
        ("nothing", set()),
        (None, ALL),
    ],
)
def test_filter_name(table, pattern, expected):
    assert set(table.arrays(filter_name=pattern).fields) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("float", {"met"}),
        ("float32", {"met"}),
        ("double", {"MET/fX", "MET/fY"}),
        ("float[]", {"Muon_pt"}),
        ("std::vector<float>", {"Muon_pt"}),
        ("*<int32_t>", {"Muon_charge", "maybe"}),
        (["bool", "/^int32_t$/"], {"good", "run-number"}),
        ("float[2][2]", {"cov"}),
        ("std::string", {"name"}),
        (lambda name: name == "std::optional<int>", {"maybe"}),
    ],
)
def test_filter_typename(table, pattern, expected):
    assert set(table.arrays(filter_typename=pattern).fields) == expected
    assert set(next(table.iterate(filter_typename=pattern)).fields) == expected


@pytest.mark.parametrize("pattern", [3, {"met": 1}, b"met", ["met", 4], "/(/", "/[/"])
def test_filters_that_are_none_are_refused(table, pattern):
    with pytest.raises(icecore.Error) as caught:
        table.arrays(filter_name=pattern)
    assert caught.value.kind == "invalid"
    with pytest.raises(icecore.Error):
        table.arrays(filter_typename=pattern)


@pytest.mark.parametrize(
    ("cut", "expected"),
    [
        ("MET.fX > 1", [30, 50]),
        ("`MET/fX` > 1", [30, 50]),
        ("`MET.fX` > 1 and MET.fY == 1", [30]),
        ('get("MET/fX") > 1', [30, 50]),
        ("`run-number` == 2", [30, 40]),
        ("get('run-number') == 2 and good", [30, 40]),
        ("fX > 1", [30, 50]),
        ("any(Jet.pt > 2.5)", [40]),
        ("any(`Jet/pt` > 2.5)", [40]),
        ("num(Jet) == 1", [30]),
        ("num(Jet) > 0 and Jet[:, 0].pt > 1", [30, 40]),
        ("MET.fX * 2 + met > 43", [50]),
        # lists without elements: their largest element compares like NaN
        ("max(Muon_pt) > 20", [10, 40]),
        ("not (max(Muon_pt) > 20)", [20, 30, 50]),
        ("max(Muon_pt) <= 20", [30]),
        ("max(Muon_pt) != 12", [10, 20, 40, 50]),
        ("max(Muon_pt) > 20 or met > 45", [10, 40, 50]),
        ("met > 45 or max(Muon_pt) > 20", [10, 40, 50]),
        ("good and min(Muon_pt) < 6", [10]),
        ("argmax(Muon_pt) == 1", [40]),
        ("argmin(Muon_pt) == 0", [30, 40]),
        ("sum(Muon_pt) == 0", [20, 50]),
        ("any(Muon_pt > 0)", [10, 30, 40]),
        ("all(Muon_pt > 6)", [20, 30, 40, 50]),
        ("0 < max(Muon_pt) < 40", [10, 30]),
        ("max(Muon_pt) * 2 > 30", [10, 40]),
        ("maybe > 5", [30, 40]),
        ("maybe != 6", [10, 20, 40, 50]),
    ],
)
def test_cuts(table, cut, expected):
    assert table.arrays(["met"], cut=cut)["met"].to_list() == expected
    batches = table.iterate(["met"], cut=cut, step_size=2)
    assert [met for batch in batches for met in batch["met"].to_list()] == expected


@pytest.mark.parametrize(
    "cut", ["MET.fZ > 1", "`nothing` > 1", 'get("no") > 1', "Jet.mass > 1", "get(3) > 1", "`met"]
)
def test_unknown_names_in_cuts(table, cut):
    with pytest.raises(icecore.Error) as caught:
        table.arrays(["met"], cut=cut)
    assert caught.value.kind in ("not-found", "invalid")


def test_results_have_the_names_that_were_asked_for(table):
    found = table.arrays(["MET.fX", "MET/fY", "fX", "Jet.pt", "MET.fX + 1"])
    assert found.fields == ["MET.fX", "MET/fY", "fX", "Jet.pt", "MET.fX + 1"]
    assert found["MET.fX"].to_list() == [1, -1, 2, -2, 3]
    assert found["MET.fX + 1"].to_list() == [2, 0, 3, -1, 4]
    assert found["Jet.pt"].to_list() == [[0, 1], [], [2], [3, 4, 5], []]
    assert table.arrays(["MET.*"]).fields == ["MET/fX", "MET/fY"]
    assert list(table.arrays(["MET.fX"], library="np")) == ["MET.fX"]
    assert table.arrays("MET")["MET"].fields == ["fX", "fY"]


@pytest.mark.parametrize("columns", [
    ["met", "Muon_pt"],
    ["met", "cov", "good"],
    ["MET.fX", "MET/fY", "met"],
    ["Jet.cells", "met"],
    ["name", "Muon_pt"],
    ["maybe", "run-number"],
])  # fmt: skip
@pytest.mark.parametrize("cut", [None, "met > 15", "met > 1000"])
def test_skims_to_root_are_readable(table, columns, cut, tmp_path):
    expected = table.arrays(columns, cut)
    assert table.skim(str(tmp_path / "s.root"), columns, cut) == len(expected)
    written = uproot.open(tmp_path / "s.root")["Events"]
    is_tree = isinstance(written, uproot.TTree)
    for name in columns:
        stored = name.replace("/", ".") if is_tree else name.replace("/", "_").replace(".", "_")
        assert written[stored].array().to_list() == expected[name].to_list(), name
    icecore.link(f"{tmp_path}/s.root:Events", tmp_path / "again", group="/E")
    again = icecore.open(tmp_path / "again").table("/E")
    assert len(again) == len(expected)


def test_dask_frames_have_lists(table):
    pytest.importorskip("dask.dataframe")
    frame = table.to_dask(columns=["met", "Muon_pt"]).compute()
    assert frame["met"].tolist() == [10, 20, 30, 40, 50]
    assert [list(each) for each in frame["Muon_pt"]] == [[30, 5], [], [12], [7, 50, 9], []]
    some = table.to_dask(columns=["Muon_pt"], where="met > 25").compute()
    assert [list(each) for each in some["Muon_pt"]] == [[12], [7, 50, 9], []]
    with pytest.raises(icecore.Error) as caught:
        table.to_dask(columns=["nothing"])
    assert caught.value.kind == "not-found"


@needs_data
def test_split_objects(tmp_path):
    icecore.link(f"{DATA}/root/uproot-HZZ-objects.root:events", tmp_path / "r", group="/E")
    events = icecore.open(tmp_path / "r").table("/E")
    full = events.arrays(["MET.fX"])
    assert full.fields == ["MET.fX"]
    want = int((full["MET.fX"] > 10).to_numpy().sum())
    for cut in ("MET.fX > 10", "`MET/fX` > 10", 'get("MET/fX") > 10'):
        assert len(events.arrays(["eventweight"], cut=cut)) == want
