"""Lists of events in scans, Arrow, Polars and DuckDB."""

from __future__ import annotations

import icecore
import numpy as np
import pytest

pytest.importorskip("uproot")

from root_kit import BASKETS, ENTRIES, uproot, write

pa = pytest.importorskip("pyarrow")
TOTAL = BASKETS * ENTRIES


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The linked table, and what uproot reads."""
    folder = tmp_path_factory.mktemp("scan")
    path = write(folder / "events.root")
    icecore.link(path, folder / "r.icecore", group="/")
    return icecore.open(folder / "r.icecore").table("/Events"), uproot.open(path)["Events"].arrays()


def test_scan_selects_rows_by_flat_columns(tree):
    table, events = tree
    some = events[(events.met > 40) & (events.nMuon >= 2)]
    found = table.scan(["Muon_pt", "met", "Muon_charge"], where="met > 40 and nMuon >= 2").read_all()
    assert found.column_names == ["Muon_pt", "met", "Muon_charge"]
    assert pa.types.is_large_list(found.schema.field("Muon_pt").type)
    assert found["Muon_pt"].to_pylist() == some.Muon_pt.to_list()
    assert found["Muon_charge"].to_pylist() == some.Muon_charge.to_list()
    assert found["met"].to_pylist() == some.met.to_list()


def test_all_columns_and_limits(tree):
    table, events = tree
    found = pa.table(table.scan())
    assert set(found.column_names) == {"good", "met", "nMuon", "run", "vertex", "Muon_pt", "Muon_charge"}
    assert found["Muon_pt"].to_pylist() == events.Muon_pt.to_list()
    assert pa.table(table)["Muon_charge"].to_pylist() == events.Muon_charge.to_list()
    first = table.scan(["Muon_pt"], limit=7).read_all()
    assert found.schema.field("vertex").type == pa.list_(pa.float64(), 3)
    assert first["Muon_pt"].to_pylist() == events.Muon_pt[:7].to_list()
    none = table.scan(["Muon_pt"], where="met < -1")
    assert none.read_all().num_rows == 0
    assert table.scan(["Muon_pt"], where="met > 40").count() == int((events.met > 40).to_numpy().sum())
    arrays = table.scan(["Muon_pt", "met"], where="met > 40").to_numpy()
    assert [part.tolist() for part in arrays["Muon_pt"]] == events.Muon_pt[events.met > 40].to_list()
    assert np.array_equal(arrays["met"], events.met[events.met > 40])


def test_mistakes(tree):
    table, _ = tree
    with pytest.raises(icecore.Error) as caught:
        table.scan(["Muon_pt"], where="nowhere > 1")
    assert caught.value.kind == "not-found"
    with pytest.raises(icecore.Error) as caught:
        table.scan(["Muon_phi"])
    assert caught.value.kind == "not-found"
    with pytest.raises(icecore.Error) as caught:
        table.scan(["Muon_pt"], within={"type": "Point", "coordinates": [0, 0]})
    assert caught.value.kind == "unsupported"


def test_polars(tree):
    pl = pytest.importorskip("polars")
    table, events = tree
    some = events[events.met > 60]
    lazy = table.to_polars()
    assert lazy.collect_schema()["Muon_pt"] == pl.List(pl.Float32)
    found = lazy.filter(pl.col("met") > 60).select("Muon_pt", "run").collect()
    assert found["Muon_pt"].to_list() == some.Muon_pt.to_list()
    most = lazy.select(pl.col("Muon_pt").list.max()).collect()["Muon_pt"]
    assert most.to_list() == [max(each) if each else None for each in events.Muon_pt.to_list()]


def test_duckdb(tree):
    duckdb = pytest.importorskip("duckdb")
    table, events = tree
    muons = table.scan(["met", "Muon_pt"], where="nMuon >= 1")
    (row,) = duckdb.sql("select count(*), sum(len(Muon_pt)) from muons where Muon_pt[1] > 20").fetchall()
    lists = [each for each in events.Muon_pt.to_list() if each and each[0] > 20]
    assert row == (len(lists), sum(map(len, lists)))
    assert muons is not None


def test_a_table_of_lists_alone(tmp_path):
    awkward = pytest.importorskip("awkward")
    hits = [[1], [], [2, 3]]
    with uproot.recreate(tmp_path / "n.root") as file:
        file.mkrntuple("Events", {"hits": awkward.Array(hits)})
    icecore.link(tmp_path / "n.root", tmp_path / "r.icecore", group="/")
    table = icecore.open(tmp_path / "r.icecore").table("/Events")
    scan = table.scan(["hits"])
    assert scan.read_all()["hits"].to_pylist() == hits
    assert scan.whole() == []
    with pytest.raises(icecore.Error, match="has only columns of lists") as caught:
        scan.report()
    assert caught.value.kind == "unsupported"
    with pytest.raises(icecore.Error, match="no flat columns that could select rows"):
        table.scan(["hits"], limit=3)


def test_the_cost_of_selecting_rows(tree):
    table, events = tree
    scan = table.scan(["Muon_pt"], where="met > 40")
    count = scan.count()
    assert count == int((events.met > 40).to_numpy().sum())
    report = scan.report()
    assert (report["rows"], report["rows_out"]) == (len(table), count)
