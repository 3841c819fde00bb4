"""ROOT trees and ntuples: listed, linked, chained, packed and read as uproot reads them."""

from __future__ import annotations

import json
import subprocess
import sys

import icecore
import numpy as np
import pytest
from icecore.sources import open_source

pytest.importorskip("uproot")

from root_kit import BASKETS, ENTRIES, ak, batch, equal, uproot, write

TOTAL = BASKETS * ENTRIES


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The file, uproot's view of its tree, and a repository that links it."""
    folder = tmp_path_factory.mktemp("root")
    path = write(folder / "events.root")
    icecore.link(path, folder / "r.icecore", group="/")
    return path, uproot.open(path)["Events"].arrays(), icecore.open(folder / "r.icecore")


def test_every_branch_is_linked_and_equal(tree):
    path, expected, repo = tree
    arrays = open_source(path).arrays
    assert all(entry.linked for entry in arrays.values())
    assert sorted(arrays) == sorted(
        f"/Events/{name}"
        for name in ("Muon_charge/content", "Muon_pt/content", "good", "met", "nMuon", "run", "vertex")
    )
    found = repo.table("/Events").arrays()
    assert set(found.fields) == set(expected.fields)
    assert all(equal(found[name], expected[name]) for name in expected.fields)


@pytest.mark.parametrize("compression", ["none", "zlib", "lz4", "lzma"])
def test_compressions(tmp_path, compression):
    path = write(tmp_path / "x.root", compression=compression)
    icecore.link(path, tmp_path / "r.icecore", group="/")
    found = icecore.open(tmp_path / "r.icecore").table("/Events").arrays()
    expected = uproot.open(path)["Events"].arrays()
    assert all(equal(found[name], expected[name]) for name in expected.fields)


def test_linking_reads_no_basket_of_flat_branches(tree):
    path, _, repo = tree
    entry = open_source(path).arrays["/Events/met"]
    assert entry.links is not None
    assert len(entry.links) == BASKETS
    assert entry.shape == (TOTAL,)
    assert repo["/Events/met"].plan().chunks == BASKETS


def listed(*arguments: str) -> str:
    """What `icecore ls` prints."""
    command = [sys.executable, "-m", "icecore", "ls", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_ls_lists_a_file_and_one_of_its_trees(tree):
    path, _, _ = tree
    rows = json.loads(listed(f"{path}:Events", "--json"))
    assert {"path": "/met", "type": "array", "dtype": "float32", "shape": [TOTAL], "dims": ["entry"]} in rows
    assert "Events/" in listed(str(path))


@pytest.mark.parametrize(
    ("start", "stop"), [(0, 10), (390, 410), (400, 800), (799, 1200), (5, 5), (-3, None)]
)
def test_ranges(tree, start, stop):
    _, expected, repo = tree
    table = repo.table("/Events")
    found = table.arrays(["Muon_pt", "met", "vertex"], entry_start=start, entry_stop=stop)
    assert equal(found.Muon_pt, expected.Muon_pt[start:stop])
    assert equal(found.vertex, expected.vertex[start:stop])


def test_single_entries_in_any_order_and_strides(tree):
    _, expected, repo = tree
    table = repo.table("/Events")
    entries = np.random.default_rng(1).integers(0, TOTAL, 50)
    assert equal(table.arrays("Muon_pt", entries=entries).Muon_pt, expected.Muon_pt[entries])
    assert equal(table.arrays("Muon_pt", entries=[-1]).Muon_pt, expected.Muon_pt[[-1]])
    assert equal(table.arrays("Muon_pt", step=100).Muon_pt, expected.Muon_pt[::100])
    with pytest.raises(icecore.Error) as caught:
        table.arrays("Muon_pt", entries=[TOTAL])
    assert caught.value.kind == "selection"


def test_cuts(tree):
    _, expected, repo = tree
    table = repo.table("/Events")
    found = table.arrays(["met", "Muon_pt"], cut="nMuon >= 2 and Muon_pt[:,0] > 20 and not good")
    some = expected[(expected.nMuon >= 2) & ~expected.good]
    some = some[some.Muon_pt[:, 0] > 20]
    assert 0 < len(some) < TOTAL
    assert equal(found.met, some.met)
    assert equal(found.Muon_pt, some.Muon_pt)
    either = table.arrays("met", cut="met < 1 or nMuon > 0 and Muon_pt[:,0] < 2")
    first = ak.fill_none(ak.firsts(expected.Muon_pt), 10)
    assert equal(either.met, expected.met[(expected.met < np.float32(1)) | (first < 2)])
    summed = table.arrays("met", cut="sum(Muon_pt) > 100 and any(Muon_charge < 0)")
    mask = (ak.sum(expected.Muon_pt, axis=1) > 100) & ak.any(expected.Muon_charge < 0, axis=1)
    assert equal(summed.met, expected.met[mask])
    assert len(table.arrays("met", cut="met < 0")) == 0


@pytest.mark.parametrize(
    ("cut", "kind"),
    [
        ("Muon_pt > 20", "dtype"),
        ("met", "dtype"),
        ("Muon_pt[:,0] > 20", "invalid"),
        ("nMoun > 2", "not-found"),
        ("met >", "invalid"),
        ("__import__('os')", "invalid"),
        ("met.real > 1", "invalid"),
    ],
)
def test_cuts_that_cannot_be(tree, cut, kind):
    with pytest.raises(icecore.Error) as caught:
        tree[2].table("/Events").arrays("met", cut=cut)
    assert caught.value.kind == kind


def test_a_cut_reads_further_columns_only_where_it_holds(tmp_path):
    path = write(tmp_path / "x.root")
    icecore.link(path, tmp_path / "r.icecore", group="/")
    table = icecore.open(tmp_path / "r.icecore").table("/Events")
    assert len(table.arrays("Muon_charge", cut="met > 1e9")) == 0
    met = open_source(path).arrays["/Events/met"].links
    assert 0 < table.bytes_read <= met.nbytes + 4096


def test_columns_by_glob_regular_expression_and_expression(tree):
    _, expected, repo = tree
    table = repo.table("/Events")
    assert table.arrays("Muon_*").fields == ["Muon_charge", "Muon_pt"]
    assert set(table.arrays(filter_name="/^N|T$/i").fields) == {"met", "nMuon", "Muon_pt"}
    assert set(table.arrays(filter_name="/^n|t$/").fields) == {"met", "nMuon", "Muon_pt"}
    assert equal(table.arrays("met * 2")["met * 2"], expected.met * 2)
    with pytest.raises(icecore.Error) as caught:
        table.arrays("mett")
    assert caught.value.kind == "not-found"


def test_libraries(tree):
    _, expected, repo = tree
    table = repo.table("/Events")
    columns = ["met", "Muon_pt"]
    plain = table.arrays(columns, library="np")
    assert plain["met"].dtype == "f4"
    assert all(np.array_equal(a, b) for a, b in zip(plain["Muon_pt"], expected.Muon_pt, strict=True))
    arrow = table.arrays(columns, library="arrow")
    assert arrow["Muon_pt"].to_pylist() == expected.Muon_pt.to_list()
    frame = table.arrays(columns, library="pl")
    assert frame["Muon_pt"].to_list() == expected.Muon_pt.to_list()
    assert list(table.arrays(columns, library="pd").columns) == columns
    with pytest.raises(icecore.Error):
        table.arrays(columns, library="root")


def test_iterate(tree):
    _, expected, repo = tree
    table = repo.table("/Events")
    batches = list(table.iterate("Muon_pt", step_size=250))
    assert [len(each) for each in batches] == [250, 250, 250, 250, 200]
    assert equal(ak.concatenate(batches).Muon_pt, expected.Muon_pt)
    assert len(list(table.iterate("Muon_pt", step_size="5 kB"))) > 1
    one, two, other = (
        ak.concatenate(list(table.iterate(["met", "Muon_pt"], step_size=100, shuffle=seed)))
        for seed in (1, 1, 2)
    )
    assert equal(one.met, two.met)
    assert not equal(one.met, other.met)
    assert not equal(one.met, expected.met)
    assert sorted(one.met.to_list()) == sorted(expected.met.to_list())


def test_files_chain_into_one_tree(tmp_path):
    paths = [write(tmp_path / f"f{i}.root", seed=10 * i, baskets=i + 1) for i in range(3)]
    report = icecore.link(f"{tmp_path}/f*.root:Events", tmp_path / "r.icecore")
    assert {row.how for row in report.rows} == {"linked"}
    table = icecore.open(tmp_path / "r.icecore").table("/Events")
    expected = uproot.concatenate([f"{path}:Events" for path in paths])
    assert len(table) == 6 * ENTRIES
    found = table.arrays()
    assert all(equal(found[name], expected[name]) for name in expected.fields)
    entries = [2399, 0, 1200, 401]
    assert equal(table.arrays("Muon_pt", entries=entries).Muon_pt, expected.Muon_pt[entries])


def test_files_without_the_tree_or_a_branch_are_named_or_left_out(tmp_path):
    write(tmp_path / "f0.root")
    with uproot.recreate(tmp_path / "f1.root") as file:
        file.mktree("Other", {"x": "f4"}).extend({"x": np.zeros(3, "f4")})
    with uproot.recreate(tmp_path / "f2.root") as file:
        file.mktree("Events", {"met": "f4"}).extend({"met": batch(1)["met"]})
    source = f"{tmp_path}/f*.root:Events"
    with pytest.raises(icecore.Error, match=r"f1\.root has no tree Events"):
        icecore.link(source, tmp_path / "r.icecore")
    icecore.link(source, tmp_path / "r.icecore", allow_missing=True)
    table = icecore.open(tmp_path / "r.icecore").table("/Events")
    assert list(table) == ["met"]
    assert len(table) == TOTAL + ENTRIES


def test_trees_pack(tree, tmp_path):
    path, expected, repo = tree
    icecore.pack(path, tmp_path / "p.icecore", group="/")
    icecore.pack(f"{repo.url}:/Events", tmp_path / "q.icecore", group="/Events")
    for packed in ("p.icecore", "q.icecore"):
        found = icecore.open(tmp_path / packed).table("/Events").arrays()
        assert all(equal(found[name], expected[name]) for name in expected.fields)


def test_ntuples(tmp_path):
    path = tmp_path / "n.root"
    columns = {name: value for name, value in batch(3).items() if name not in ("Muon", "vertex")}
    columns["jet"] = batch(4)["Muon"].pt
    columns["name"] = ak.Array([f"é{i}" * (i % 3) for i in range(ENTRIES)])
    with uproot.recreate(path) as file:
        ntuple = file.mkrntuple("Events", columns)
        ntuple.extend(columns)
    report = icecore.link(path, tmp_path / "r.icecore", group="/")
    assert {row.path: row.how for row in report.rows}["/Events/jet/content"] == "linked"
    table = icecore.open(tmp_path / "r.icecore").table("/Events")
    expected = uproot.open(path)["Events"].arrays()
    assert len(expected) == 2 * ENTRIES
    found = table.arrays()
    assert all(equal(found[name], expected[name]) for name in expected.fields)
    assert equal(table.arrays("jet", entries=[399, 400, 401]).jet, expected.jet[[399, 400, 401]])


def test_repositories_of_lists_are_described(tree):
    repo = tree[2]
    stated = repo["/Events/Muon_pt"].attrs["jagged"]
    assert stated["counts"] == "../nMuon"
    assert stated["content"] == "content"
    assert stated["bounds"][0] == [0, 400, 800, 1200]
    assert stated["bounds"][1][-1] == repo["/Events/Muon_pt/content"].shape[0]


def test_skims(tree, tmp_path):
    _, expected, repo = tree
    table = repo.table("/Events")
    some = expected[expected.nMuon >= 3]
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = ["met", "Muon_pt"]
    assert table.skim(f"{tmp_path}/s.parquet", columns, "nMuon >= 3", step_size=500) == len(some)
    found = parquet.read_table(tmp_path / "s.parquet")
    assert found["Muon_pt"].to_pylist() == some.Muon_pt.to_list()
    assert table.skim(f"{tmp_path}/s.root", columns, "nMuon >= 3", step_size=500) == len(some)
    written = uproot.open(tmp_path / "s.root")["Events"].arrays()
    assert equal(written.met, some.met)
    assert equal(written.Muon_pt, some.Muon_pt)
    with pytest.raises(icecore.Error):
        table.skim(f"{tmp_path}/s.csv", columns)


def test_joining_lists_the_branches_of_each_file_once(tmp_path, monkeypatch) -> None:
    """Listing them again for each branch took three CPU seconds for each file of 1,479 branches."""
    from icecore.sources.root import chain

    for number in range(4):
        with uproot.recreate(tmp_path / f"f{number}.root") as file:
            file["t"] = {f"b{i}": np.arange(5.0) for i in range(8)}
    calls = []
    branches = chain._branches

    def counted(each):
        calls.append(each.source)
        return branches(each)

    monkeypatch.setattr(chain, "_branches", counted)
    icecore.link(f"{tmp_path}/f*.root:t", into=tmp_path / "r")
    assert len(calls) == 4


def test_chained_files_are_opened_once_for_all_copied_branches(tmp_path, monkeypatch) -> None:
    """Each branch is read from all files in turn; five files were opened again for every branch."""
    from icecore import _icecore
    from icecore.sources.root.readers import root_file

    expected = []
    for number in range(6):
        with uproot.recreate(tmp_path / f"f{number}.root") as file:
            file["t"] = {f"s{i}": ak.Array([f"{number}é{i}", "", "x" * i]) for i in range(4)}
        expected += [f"{number}é3", "", "xxx"]
    opened = []
    monkeypatch.setattr(
        _icecore, "RootFile", lambda path, real=_icecore.RootFile: opened.append(path) or real(path)
    )
    root_file.cache_clear()
    report = icecore.link(f"{tmp_path}/f*.root:t", into=tmp_path / "r")
    assert {row.how for row in report.rows} == {"copied"}
    assert sorted(opened) == [str(tmp_path / f"f{number}.root") for number in range(6)]
    found = icecore.open(tmp_path / "r").table("/t").arrays("s3")
    assert found.s3.to_list() == expected
