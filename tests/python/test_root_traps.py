"""Traps that other readers of RNTuple and TTree fell into, on real files."""

from __future__ import annotations

import icecore
import numpy as np
import pytest
from sources_kit import DATA, needs_data

pytest.importorskip("uproot")

from root_kit import equal, uproot

pytestmark = needs_data
FOLDER = DATA / "root"


def linked(name, tmp_path):
    """The table of the only tree or ntuple in a file, and its uproot counterpart."""
    (path,) = FOLDER.rglob(f"{name}.root")
    icecore.link(path, tmp_path / "r.icecore", group="/", keep_going=True)
    with uproot.open(path) as file:
        key = next(
            k for k, kind in file.classnames(cycle=False).items() if "Tuple" in kind or kind == "TTree"
        )
    return icecore.open(tmp_path / "r.icecore").table(f"/{key}"), uproot.open(path)[key]


def test_every_cluster_group_is_read(tmp_path):
    table, theirs = linked("test_multiple_cluster_groups_rntuple_v1-0-0-0", tmp_path)
    assert len(table) == theirs.num_entries
    name = theirs.keys(recursive=False)[0]
    assert len(theirs.cluster_summaries) > 1
    assert equal(table.arrays(name)[name], theirs[name].array())


def test_empty_structs_and_variants_without_value_are_named(tmp_path):
    (path,) = FOLDER.rglob("test_emptystruct_invalidvar_rntuple_v1-0-0-0.root")
    report = icecore.link(path, tmp_path / "r.icecore", group="/", keep_going=True)
    assert report.rows == []
    named = {note.name.rsplit("/", 1)[-1]: note for note in report.notes}
    assert set(named) == {"empty_struct", "variant"}
    assert all(note.kind == "unsupported" for note in named.values())
    assert "std::variant" in named["variant"].message


def test_reals_of_few_bits_and_bits(tmp_path):
    table, theirs = linked("test_float_types_rntuple_v1-0-0-0", tmp_path)
    for name in theirs.keys(recursive=False):
        assert equal(table.arrays(name)[name], theirs[name].array()), name


def test_the_last_offset_of_real_files_is_zero(tmp_path):
    """Real ROOT writes 0 as the last offset of a basket: lists at the ends of baskets are whole."""
    (path,) = FOLDER.rglob("uproot-HZZ.root")
    icecore.link(path, tmp_path / "r.icecore", group="/")
    table = icecore.open(tmp_path / "r.icecore").table("/events")
    branch = uproot.open(path)["events"]["Jet_Px"]
    expected = branch.array()
    ends = [stop - 1 - back for stop in branch.entry_offsets[1:] for back in range(9, -1, -1)]
    found = table.arrays("Jet_Px", entries=ends)["Jet_Px"]
    assert found.to_list() == expected[np.array(ends)].to_list()
    assert sum(map(len, found.to_list())) > 0
    assert equal(table.arrays("Jet_Px")["Jet_Px"], expected)


def test_bases_of_one_name(tmp_path):
    table, theirs = linked("test_class_inheritance_rntuple_v1-0-0-1", tmp_path)
    found, expected = table.arrays("multi_grandparent").multi_grandparent, theirs["multi_grandparent"].array()
    assert set(found.fields) == set(expected.fields)
    assert {"Child::base_a1", "MultiParent::base_a1"} <= set(found.fields)
    assert equal(found, expected)
