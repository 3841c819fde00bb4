"""Entries of trees: a shorter or damaged branch is named and costs no other branch a value."""

from __future__ import annotations

import json

import icecore
import numpy as np
import pytest
from icecore.sources.files.identity import identity
from icecore.sources.mapping.array_map import ArrayMap
from icecore.sources.root import other_objects, readers
from icecore.sources.root.tree import Tree, add_tree
from sources_kit import DATA, needs_data

pytest.importorskip("uproot")

from root_kit import BASKETS, ENTRIES, uproot, write

TOTAL = BASKETS * ENTRIES
SKHEP = DATA / "root/skhep"


class Other:
    """A file whose tree states other numbers of entries."""

    def __init__(self, file, change):
        self._file, self._change = file, change

    def tree(self, name):
        found = dict(self._file.tree(name))
        about = json.loads(found["json"])
        self._change(about)
        return {**found, "json": json.dumps(about)}

    def __getattr__(self, name):
        return getattr(self._file, name)


def indexed(path, change, tree="Events"):
    """The map of a file whose description of the tree was changed."""
    result, before = ArrayMap(str(path)), identity(str(path))
    add_tree(Other(readers.root_file(str(path), before), change), str(path), before, tree, "", result)
    return result


@pytest.mark.parametrize("entries", [0, 1, TOTAL - 1, TOTAL + 1])
@pytest.mark.parametrize("branch", ["met", "run", "good", "vertex", "Muon_pt", "Muon_charge", "nMuon"])
def test_a_branch_of_another_length_is_left_out_by_name(tmp_path, branch, entries):
    path = write(tmp_path / "f.root")

    def change(about):
        for each in about["branches"]:
            if each["path"] == branch:
                each["entries"] = entries

    whole, found = indexed(path, lambda _: None), indexed(path, change)
    assert found.groups["/"]["entries"] == TOTAL
    notes = [note for note in found.dropped if note.path == f"/{branch}"]
    assert len(notes) == 1
    assert f"{entries:,} entries" in notes[0].message
    assert f"{TOTAL:,}" in notes[0].message
    gone = {each for each in whole.arrays if each == f"/{branch}" or each.startswith(f"/{branch}/")}
    lists = {f"/{name}/offsets" for name in ("Muon_pt", "Muon_charge")}  # copied where the counter is missing
    assert set(found.arrays) - lists == set(whole.arrays) - gone


@needs_data
def test_records_and_strings_of_another_length_are_left_out():
    """Kinds that uproot does not write."""
    seen = set()
    for path, tree in ((SKHEP / "string-example.root", "Refs"),):

        def change(about):
            about["entries"] = 7
            seen.update(each["kind"] for each in about["branches"])

        found = indexed(path, change, tree)
        assert not found.arrays
        assert {note.message for note in found.dropped} == {
            "0 entries, the tree has 7",
            "2 entries, the tree has 7",
        }
    assert "string" in seen


@needs_data
def test_a_tree_without_a_number_of_entries_has_that_of_its_longest_branch(tmp_path):
    """POOL fills branches one by one, and leaves the tree's number at 0."""
    report = icecore.link(SKHEP / "string-example.root", tmp_path / "r", group="/g")
    table = icecore.open(tmp_path / "r").table("/g/Refs")
    assert len(table) == len(table.arrays(["Params"])) == 2
    assert {n.message for n in report.notes if n.kind == "unsupported"} == {"0 entries, the tree has 2"}


def old_repository(tmp_path):
    """A tree with a list and an array that are shorter, as earlier versions linked them."""
    repo = icecore.create(tmp_path / "r")
    with repo.writer() as w:
        w.group("/t", {"entries": 10})
        w.array("/t/x", "i4", (10,))[...] = np.arange(10)
        w.array("/t/y", "i4", (6,))[...] = np.arange(6)
        w.group("/t/short", {"jagged": {"offsets": "offsets", "content": "content"}})
        w.array("/t/short/offsets", "i8", (7,))[...] = np.arange(7)
        w.array("/t/short/content", "f4", (6,))[...] = np.arange(6)
        w.group("/t/broken", {"jagged": {"offsets": "offsets", "content": "content"}})
        w.array("/t/broken/content", "f4", (6,))[...] = np.arange(6)
    return icecore.open(tmp_path / "r").table("/t")


def test_short_and_incomplete_columns_of_older_repositories_leave_the_others_whole(tmp_path):
    table = old_repository(tmp_path)
    assert len(table) == 10
    assert list(table) == ["x"]
    assert "6 entries, the tree has 10" in table.left_out["y"]
    assert table.arrays().fields == ["x"]
    assert table.arrays(["x"])["x"].to_list() == list(range(10))
    assert [len(batch) for batch in table.iterate(step_size=4)] == [4, 4, 2]
    assert table.scan(["x"]).count() == 10
    for name, kind, word in (("short", "mismatch", "6 entries"), ("broken", "mismatch", "not there")):
        with pytest.raises(icecore.Error, match=word) as caught:
            table.arrays([name])
        assert caught.value.kind == kind


def test_keep_going_leaves_out_the_whole_list(tmp_path, monkeypatch):
    """Contents without lengths, or lengths without contents, would make the table unreadable."""
    path = write(tmp_path / "f.root")
    monkeypatch.setattr(Tree, "whole", lambda self, branch: False)  # everything is copied
    values = readers._values

    def damaged(path, identity, tree, number, member):
        if number == bad:
            raise icecore.Error("corrupt basket", kind="corrupt")
        return values(path, identity, tree, number, member)

    monkeypatch.setattr(readers, "_values", damaged)
    names = [
        each["path"]
        for each in json.loads(readers.root_file(str(path), identity(str(path))).tree("Events")["json"])[
            "branches"
        ]
    ]
    bad = names.index("Muon_pt")
    report = icecore.link(f"{path}:Events", tmp_path / "r", group="/E", keep_going=True)
    assert any("Muon_pt" in failure.name for failure in report.failures)
    assert not any(row.path.startswith("/E/Muon_pt") for row in report.rows)
    repo = icecore.open(tmp_path / "r")
    assert "/E/Muon_pt" not in repo
    assert set(repo.table("/E").arrays().fields) == {"Muon_charge", "met", "run", "good", "vertex", "nMuon"}


def test_other_objects_are_noted_by_name_and_class(tmp_path):
    with uproot.recreate(tmp_path / "f.root") as file:
        file["h"] = np.histogram(np.arange(10.0), bins=3)
        file["dir/h2"] = np.histogram2d(np.arange(4.0), np.arange(4.0), bins=2)
        file["note"] = "text"
        file["t"] = {"x": np.arange(3)}
    report = icecore.link(tmp_path / "f.root", tmp_path / "r", group="/g")
    notes = {note.name.rpartition(":")[2]: note.message for note in report.notes if note.kind == "object"}
    assert {name: message.split(":")[0] for name, message in notes.items()} == {
        "/h": "TH1D",
        "/dir/h2": "TH2D",
        "/note": "TObjString",
    }
    attrs = icecore.open(tmp_path / "r")["/g"].attrs
    assert sorted(attrs["left_out"]) == ["dir/h2 (TH2D)", "h (TH1D)", "note (TObjString)"]


def test_a_file_without_trees_is_refused(tmp_path):
    with uproot.recreate(tmp_path / "f.root") as file:
        file["h"] = np.histogram(np.arange(10.0), bins=3)
    for write_to in (icecore.link, icecore.pack):
        with pytest.raises(icecore.Error, match="TH1D") as caught:
            write_to(tmp_path / "f.root", tmp_path / "r")
        assert caught.value.kind == "unsupported"
        assert not (tmp_path / "r").exists()


def test_the_attribute_lists_at_most_a_thousand_objects():
    result = ArrayMap("f")
    other_objects.note_objects([(f"h{n}", 1, "TH1F") for n in range(1200)], ("TTree",), "f", result)
    assert len(result.dropped) == 1200
    assert result.attrs["left_out"][-1] == "… and 200 more"


@needs_data
def test_opening_a_wide_tree_parses_each_document_once(tmp_path, monkeypatch):
    from icecore.repository import nodes

    name = DATA / "root/coffea_nano_dy_SpecialTree_rntuple.root"
    icecore.link(f"{name}:NotEvents", tmp_path / "r", group="/E", keep_going=True)
    parsed = []
    parse = nodes.parse

    def counted(path, text, is_array):
        parsed.append(path)
        return parse(path, text, is_array)

    monkeypatch.setattr(nodes, "parse", counted)
    repo = icecore.open(tmp_path / "r")
    table = repo.table("/E")
    assert len(table._events.columns) > 1000
    opened = len(parsed)
    repeated = [name for name in repo["/E"].groups if name.startswith("_collection")]
    assert opened <= len(repo["/E"].arrays) + len(repeated) + 2  # no other list is looked at
    table.arrays([next(iter(table._events.lists))], entry_stop=1)
    assert len(parsed) <= len(repo._nodes)
    assert len(parsed) == len(set(parsed))
