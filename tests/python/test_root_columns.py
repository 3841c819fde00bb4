"""Columns of lists as columns: tables, listings, other libraries, aliases, records, coffea and dask."""

from __future__ import annotations

import importlib
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.cli import run

pytest.importorskip("uproot")

from root_kit import ak, equal, uproot, write

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "root"
MUONS = "Run2012BC_DoubleMuParked_Muons_1000evts_rntuple_v1-0-0-0.root"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A linked and a packed table of the same tree, and uproot's tree."""
    folder = tmp_path_factory.mktemp("columns")
    path = write(folder / "events.root")
    icecore.link(path, folder / "r.icecore", group="/")
    icecore.pack(f"{folder}/r.icecore:/Events", folder / "p.icecore", group="/Events")
    tables = {name: icecore.open(folder / f"{name}.icecore").table("/Events") for name in "rp"}
    return tables, uproot.open(path)["Events"], folder


@pytest.mark.parametrize("how", ["r", "p"])
def test_lists_are_columns_of_the_table(tree, how: str) -> None:
    tables, theirs, _ = tree
    table = tables[how]
    assert set(table) == set(theirs.keys()) == set(table.columns) == set(table.dtypes)
    assert "Muon_pt" in table
    assert "Muon_pt/content" not in table
    assert "Muon" not in table
    lines = [line.split() for line in repr(table).splitlines()]
    assert ["Muon_pt", "var", "*", "float32", "(entry:", "1200)"] in lines
    assert f"{len(theirs.keys())} columns" in repr(table)
    assert "var * float32" in table._repr_html_()
    column = table["Muon_pt"]
    assert (column.type, column.shape, column.dims) == ("var * float32", (1200,), ("entry",))
    assert column.linked == (how == "r")
    assert column.nbytes == sum(part.nbytes for part in column.parts)
    assert {part.name for part in column.parts} >= {"content"}


@pytest.mark.parametrize("how", ["r", "p"])
def test_a_column_is_indexed_as_an_awkward_array(tree, how: str) -> None:
    tables, theirs, _ = tree
    column, expected = tables[how]["Muon_pt"], theirs["Muon_pt"].array()
    mask = np.arange(1200) % 7 == 3
    for index in (slice(None), slice(3, 900), slice(-5, None), slice(None, None, -100), [7, 2, 7], mask):
        assert equal(column[index], expected[index])
    assert [column[i].tolist() for i in (0, 5, -1)] == [expected[i].tolist() for i in (0, 5, -1)]
    assert equal(column[:50, :1], expected[:50, :1])
    assert [each.tolist() for each in np.asarray(column)] == expected.tolist()
    with pytest.raises(icecore.Error, match="outside of 0 to 1,199"):
        column[1200]


def test_tables_of_chosen_columns_have_lists(tree) -> None:
    _, theirs, folder = tree
    table = icecore.open(folder / "r.icecore").table("/Events", columns=["Muon_pt", "met"])
    assert list(table) == ["met", "Muon_pt"]
    assert equal(table.to_numpy(["Muon_pt"])["Muon_pt"].tolist(), theirs["Muon_pt"].array())
    only = icecore.open(folder / "r.icecore").table("/Events", columns=["Muon_charge"])
    assert len(only) == 1200
    assert list(only) == ["Muon_charge"]
    with pytest.raises(icecore.Error, match="no array Muon_p"):
        icecore.open(folder / "r.icecore").table("/Events", columns=["Muon_p"])


def test_listings_show_lists_once(tree, capsys) -> None:
    _, _, folder = tree
    for what in ([f"{folder}/r.icecore"], [f"{folder}/p.icecore"], [f"{folder}/events.root"]):
        run(["ls", *what])
        out = capsys.readouterr().out
        assert "Muon_pt" in out
        assert "var * float32" in out
        assert "(entry: 1200)" in out
        assert "content" not in out
        run(["ls", "-v", *what])
        assert "content" in capsys.readouterr().out
    run(["ls", f"{folder}/r.icecore", "/Events/Muon_pt"])
    assert capsys.readouterr().out.split() == ["/Events/Muon_pt", "var", "*", "float32", "(entry:", "1200)"]
    run(["ls", f"{folder}/r.icecore", "--json"])
    assert '"type": "list", "dtype": "var * float32"' in " ".join(capsys.readouterr().out.split())
    run(["info", f"{folder}/r.icecore", "/Events/Muon_pt"])
    assert "var * float32" in capsys.readouterr().out
    repo = icecore.open(folder / "r.icecore")
    assert "content" not in repr(repo)
    assert "content" not in repr(repo["/Events"])
    assert repo["/Events/Muon_pt/content"].ndim == 1


def test_polars_and_duckdb_have_the_columns_of_the_table(tree) -> None:
    polars, duckdb = (pytest.importorskip(name) for name in ("polars", "duckdb"))
    tables, theirs, _ = tree
    events_table = tables["r"]
    frame = events_table.to_polars().filter(polars.col("met") > 40).collect()
    assert frame.columns == list(events_table)
    events = theirs.arrays()
    assert frame["Muon_pt"].to_list() == events.Muon_pt[events.met > 40].to_list()
    longest = duckdb.sql("select max(len(Muon_pt)) from events_table").fetchone()
    assert longest == (int(ak.max(ak.num(events.Muon_pt))),)


def test_aliases_in_columns_and_cuts(tree) -> None:
    tables, theirs, _ = tree
    aliases = {"pt2": "Muon_pt**2", "total": "sum(pt2)", "met2": "2 * met"}
    events = theirs.arrays()
    total = ak.sum(events.Muon_pt**2, axis=-1)
    for table in tables.values():
        found = table.arrays(["total", "met2", "run"], "total > 400 and met2 > 30", aliases=aliases)
        some = (total > 400) & (2 * events.met > 30)
        assert equal(found.total, total[some])
        assert equal(found.met2, 2 * events.met[some])
        batches = list(table.iterate("total", "total > 400", aliases=aliases, step_size=100))
        assert equal(ak.concatenate(batches).total, total[total > 400])
    with pytest.raises(icecore.Error, match="a → b → a"):
        tables["r"].arrays("a", aliases={"a": "b + 1", "b": "a"})


def test_how_zip_names_records_as_uproot(tree, tmp_path: Path) -> None:
    tables, theirs, _ = tree
    names = ["met", "Muon_pt", "run", "Muon_charge"]
    ours, expected = tables["r"].arrays(names, how="zip"), theirs.arrays(names, how="zip")
    assert ours.fields == expected.fields
    assert ours.tolist() == expected.tolist()
    assert [len(each) for each in tables["r"].arrays(names, how=tuple)] == [1200] * 4
    assert list(tables["r"].arrays(names, how=dict)) == names
    lists = {"x": ak.Array([[1.0], []]), "Jet_pt": ak.Array([[1.0, 2], []]), "y": ak.Array([[3.0], []])}
    with uproot.recreate(tmp_path / "x.root") as file:
        file.mktree("T", {name: "var * float64" for name in lists}).extend(lists)
    icecore.link(tmp_path / "x.root", tmp_path / "x.icecore", group="/")
    names = ["x", "Jet_pt", "y"]
    ours = icecore.open(tmp_path / "x.icecore").table("/T").arrays(names, how="zip")
    expected = uproot.open(tmp_path / "x.root")["T"].arrays(names, how="zip")
    assert ours.fields == expected.fields
    assert ours.tolist() == expected.tolist()
    with pytest.raises(icecore.Error, match="how='zip' with library 'np'"):
        tables["r"].arrays(how="zip", library="np")


@pytest.mark.skipif(not (DATA / MUONS).exists(), reason="needs the shared data")
def test_lengths_of_collections_of_an_rntuple(tmp_path: Path) -> None:
    report = icecore.link(DATA / MUONS, tmp_path / "r.icecore", group="/")
    assert not report.notes
    table, theirs = icecore.open(tmp_path / "r.icecore").table("/Events"), uproot.open(DATA / MUONS)["Events"]
    names = theirs.keys()
    assert sorted(table) == sorted(name for name in names if not name.startswith("_collection"))
    for name in table:
        assert equal(table.arrays(name)[name], theirs[name].array())
    assert equal(table.arrays("_collection0.Muon_pt")["_collection0.Muon_pt"], theirs["Muon_pt"].array())
    some = theirs.arrays(["Muon_pt"], "nMuon > 2").Muon_pt
    assert equal(table.arrays("Muon_pt", "nMuon > 2").Muon_pt, some)


def test_dask_awkward_reads_the_columns_it_needs(tree) -> None:
    dask_awkward = pytest.importorskip("dask_awkward")
    tables, theirs, _ = tree
    for table in tables.values():
        events = table.to_dask_awkward()
        leading = events.Muon_pt[events.nMuon > 1][:, 0]
        (needed,) = dask_awkward.necessary_columns(leading).values()
        assert needed == {"Muon_pt", "nMuon"}
        whole = theirs.arrays()
        assert equal(leading.compute(), whole.Muon_pt[whole.nMuon > 1][:, 0])
        cut = table.to_dask_awkward("Muon_*", cut="met > 40")
        assert equal(cut.Muon_charge.compute(), whole.Muon_charge[whole.met > 40])


NANO, PHYSLITE = DATA / "unroot_NanoAODv5_sample.root", DATA / "coffea_PHYSLITE_example.root"


@pytest.mark.parametrize(
    ("path", "name", "schema"),
    [(NANO, "Events", "NanoAODSchema"), (PHYSLITE, "CollectionTree", "PHYSLITESchema")],
)
def test_nanoevents_of_coffea(path: Path, name: str, schema: str, tmp_path: Path) -> None:
    pytest.importorskip("coffea")
    if not path.exists():
        pytest.skip("needs the shared data")
    nanoevents = importlib.import_module("coffea.nanoevents")
    kind = getattr(nanoevents, schema)
    icecore.link(f"{path}:{name}", tmp_path / "r.icecore", group="/T")
    log: list = []
    ours = icecore.open(tmp_path / "r.icecore").table("/T").to_nanoevents(kind, access_log=log)
    theirs = nanoevents.NanoEventsFactory.from_root({str(path): name}, schemaclass=kind).events()
    asked = (
        [lambda e: (e.Muon + e.Muon).mass, lambda e: e.GenPart.distinctParent.pdgId, lambda e: e.MET.pt]
        if schema == "NanoAODSchema"
        else [lambda e: e.Electrons.pt, lambda e: e.Electrons.trackParticles.pt]
    )
    for each in asked:
        assert equal(each(ours), each(theirs))
    assert 0 < len({access.branch for access in log}) < 20
