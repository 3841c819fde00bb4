"""Chains of ROOT files: read as one tree, they hold what files joined one by one hold."""

from __future__ import annotations

import icecore
import numpy as np
import pytest
from icecore.sources import root
from icecore.sources.root.chain import join
from sources_kit import DATA, everything, needs_data, same

pytest.importorskip("uproot")

from root_kit import ak, equal, uproot, write


def compared(pattern, paths, tree="Events"):
    """The map of a chain, after comparing it with the one that joins the files' own maps."""
    one = root.open(str(pattern), tree)
    two = join([root.open(str(path), tree) for path in paths])
    assert set(one.arrays) == set(two.arrays)
    assert one.groups == two.groups
    for path, entry in one.arrays.items():
        other = two.arrays[path]
        assert entry.zarr_metadata() == other.zarr_metadata(), path
        assert same(entry.read(everything(entry)), other.read(everything(other))), path
        assert (entry.links is None) == (other.links is None), path
        if entry.links is None:
            continue
        urls = [[links.urls[n] for n in links.url_ids.tolist()] for links in (entry.links, other.links)]
        assert urls[0] == urls[1], path
        for name in ("chunks", "offsets", "lengths"):
            assert np.array_equal(getattr(entry.links, name), getattr(other.links, name)), (path, name)
    return one


def test_files_that_are_alike(tmp_path):
    paths = [write(tmp_path / f"f{i}.root", seed=10 * i, baskets=i + 1) for i in range(3)]
    amap = compared(tmp_path / "f*.root", paths)
    assert len(amap.arrays["/Muon_pt/content"].links.urls) == 3


def test_a_branch_of_another_type_in_one_file_is_a_mismatch(tmp_path):
    for number, kind in enumerate(("f4", "f4", "i8")):
        with uproot.recreate(tmp_path / f"f{number}.root") as file:
            file.mktree("t", {"x": kind, "y": "f4"}).extend(
                {"x": np.arange(3, dtype=kind), "y": np.ones(3, "f4")}
            )
    with pytest.raises(icecore.Error, match="x: int64") as caught:
        root.open(f"{tmp_path}/f*.root", "t")
    assert caught.value.kind == "mismatch"
    assert "f2.root" in caught.value.message


def test_files_without_entries_or_without_elements(tmp_path):
    counts = ([], [0, 0, 0], [2, 0, 1], [])
    paths = []
    for number, each in enumerate(counts):
        paths.append(tmp_path / f"f{number}.root")
        with uproot.recreate(paths[-1]) as file:
            tree = file.mktree("Events", {"x": "var * float32", "y": "int32"})
            content = np.arange(sum(each), dtype="f4") + number
            if each:
                tree.extend({"x": ak.unflatten(content, each), "y": np.arange(len(each), dtype="i4")})
    icecore.link(f"{tmp_path}/f*.root:Events", into=tmp_path / "r")
    table = icecore.open(tmp_path / "r").table("/Events")
    found = table.arrays()
    assert found.x.to_list() == [[], [], [], [2, 3], [], [4]]
    assert found.y.to_list() == [0, 1, 2, 0, 1, 2]


def test_a_cut_file_of_a_chain_is_named_and_the_rest_links(tmp_path):
    paths = [write(tmp_path / f"f{i}.root", seed=i, compression="none") for i in range(3)]
    start = int(uproot.open(paths[1])["Events"]["Muon_pt"].member("fBasketSeek")[1])
    data = bytearray(paths[1].read_bytes())
    key = int.from_bytes(data[start + 14 : start + 16], "big")
    data[start + key - 5 : start + key - 1] = (10**9).to_bytes(4, "big")
    paths[1].write_bytes(data)
    report = icecore.link(f"{tmp_path}/f*.root:Events", into=tmp_path / "r", keep_going=True)
    assert [failure.kind for failure in report.failures] == ["corrupt"]
    for word in ("f1.root", "Muon_pt", "basket 1"):
        assert word in str(report.failures[0].message)
    found = icecore.open(tmp_path / "r").table("/Events").arrays(["Muon_charge", "met"])
    expected = uproot.concatenate([f"{path}:Events" for path in paths], ["Muon_charge", "met"])
    assert equal(found.met, expected.met)
    assert equal(found.Muon_charge, expected.Muon_charge)


@needs_data
@pytest.mark.parametrize("name", ["uproot-HZZ-zlib", "nanoAOD_2015_CMS_Open_Data_ttbar"])
def test_real_files(name, tmp_path):
    paths = [tmp_path / f"f{number}.root" for number in range(3)]
    for path in paths:
        path.symlink_to(DATA / "root" / f"{name}.root")
    compared(tmp_path / "f*.root", paths, "events" if "HZZ" in name else "Events")


def chain_of(tmp_path, count=3):
    """Files with two columns each, and their events."""
    paths = [write(tmp_path / f"f{i}.root", seed=10 * i) for i in range(count)]
    return paths, [uproot.open(path)["Events"].arrays(["met", "Muon_pt"]) for path in paths]


def same_events(place, expected, path="/Events"):
    table = icecore.open(place).table(path)
    found = table.arrays(["met", "Muon_pt"])
    assert len(table) == len(expected)
    return equal(found.met, expected.met) and equal(found.Muon_pt, expected.Muon_pt)


@pytest.mark.parametrize("size", [0, 3, 100, 400, 2000, 0.3, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("bad", [0, 2])
def test_a_chain_goes_on_without_a_file_that_is_cut(tmp_path, size, bad):
    paths, events = chain_of(tmp_path)
    data = paths[bad].read_bytes()
    paths[bad].write_bytes(data[: size if isinstance(size, int) else int(len(data) * size)])
    with pytest.raises(icecore.Error, match=paths[bad].name):
        icecore.link(f"{tmp_path}/f*.root:Events", tmp_path / "r")
    assert not (tmp_path / "r").exists()
    report = icecore.link(f"{tmp_path}/f*.root:Events", tmp_path / "r", keep_going=True)
    assert any(paths[bad].name in failure.message for failure in report.failures)
    table = icecore.open(tmp_path / "r").table("/Events")
    rest = ak.concatenate([each for n, each in enumerate(events) if n != bad])
    if len(table) == len(rest):
        assert same_events(tmp_path / "r", rest)
    else:  # few branches of the file are damaged: these are left out instead
        assert size in (0.9, 0.99)
        assert len(table) == sum(map(len, events))


@pytest.mark.parametrize("kind", ["missing", "text", "folder"])
def test_a_chain_goes_on_without_a_file_that_is_none(tmp_path, kind):
    paths, events = chain_of(tmp_path)
    paths[1].unlink()
    if kind == "text":
        paths[1].write_text("this is not a ROOT file")
    elif kind == "folder":
        paths[1].mkdir()
    sources = [f"{path}:Events" for path in paths]
    report = icecore.link(sources, tmp_path / "r", keep_going=True)
    assert [paths[1].name in failure.message for failure in report.failures] == [True]
    assert same_events(tmp_path / "r", ak.concatenate([events[0], events[2]]))


def test_a_damaged_basket_of_a_copied_branch_costs_its_file(tmp_path, monkeypatch):
    from icecore.sources.root import readers
    from icecore.sources.root.tree import Tree

    paths, events = chain_of(tmp_path)
    monkeypatch.setattr(Tree, "whole", lambda self, branch: False)
    values = readers._values

    def damaged(path, *rest):
        if path == str(paths[1]):
            raise icecore.Error("a basket does not decode", kind="corrupt")
        return values(path, *rest)

    monkeypatch.setattr(readers, "_values", damaged)
    report = icecore.link(f"{tmp_path}/f*.root:Events", tmp_path / "r", keep_going=True)
    assert [str(paths[1]) in failure.message for failure in report.failures] == [True]
    assert same_events(tmp_path / "r", ak.concatenate([events[0], events[2]]))


def test_a_branch_that_is_flat_in_one_file_and_a_list_in_another(tmp_path):
    for number, kind in enumerate(("f4", "var * float32", "f4")):
        with uproot.recreate(tmp_path / f"f{number}.root") as file:
            y = ak.Array([[1.0], [2.0, 3.0]]) if "var" in kind else np.arange(2, dtype="f4")
            file.mktree("t", {"x": "i4", "y": kind}).extend({"x": np.arange(2, dtype="i4"), "y": y})
    with pytest.raises(icecore.Error, match="y") as caught:
        icecore.link(f"{tmp_path}/f*.root:t", tmp_path / "r")
    assert caught.value.kind == "mismatch"
    for options in ({"allow_missing": True}, {"keep_going": True}):
        place = tmp_path / "_".join(options)
        report = icecore.link(f"{tmp_path}/f*.root:t", place, **options)
        assert any("y" in each.message for each in [*report.notes, *report.failures])
        assert icecore.open(place).table("/t").arrays(["x"]).x.to_list() == [0, 1] * 3


def test_lists_of_files_are_chains_in_their_order(tmp_path):
    paths, events = chain_of(tmp_path)
    order = [2, 0, 1]
    expected = ak.concatenate([events[n] for n in order])
    sources = [f"{paths[n]}:Events" for n in order]
    (tmp_path / "list.txt").write_text("\n".join(sources))
    (tmp_path / "files.txt").write_text("\n".join(paths[n].name for n in order))
    given = {
        "list": (sources, {}),
        "concat": (sources, {"concat": "entry"}),
        "group": (sources, {"group": "/Events"}),
        "text": (f"@{tmp_path}/list.txt", {}),
        "tree": (f"@{tmp_path}/files.txt:Events", {}),
        "mixed": ([sources[0], f"{tmp_path}/f[01].root:Events"], {"concat": "entry"}),
    }
    for name, (what, options) in given.items():
        icecore.link(what, tmp_path / name, **options)
        assert same_events(tmp_path / name, expected), name
    with pytest.raises(icecore.Error, match="twice") as caught:
        icecore.link([*sources, sources[0]], tmp_path / "twice")
    assert caught.value.kind == "exists"
    with pytest.raises(icecore.Error, match="not one tree"):
        icecore.link([str(paths[0])], tmp_path / "whole", concat="entry")


@pytest.mark.parametrize("write_to", [icecore.link, icecore.pack])
def test_a_chain_grows_file_by_file(tmp_path, write_to):
    paths, events = chain_of(tmp_path)
    options = {"group": "/Events", "concat": "entry", "append": True}
    write_to(f"{paths[0]}:Events", tmp_path / "r", group="/Events", summaries=True)
    for count in (2, 3):
        report = write_to(f"{paths[count - 1]}:Events", tmp_path / "r", **options)
        assert report.snapshot
        assert same_events(tmp_path / "r", ak.concatenate(events[:count]))
        assert icecore.open(tmp_path / "r")["/Events"].attrs["entries"] == sum(map(len, events[:count]))
    if write_to is icecore.link:
        assert icecore.open(tmp_path / "r")["/Events/met"].linked
    table = icecore.open(tmp_path / "r").table("/Events")
    cut = ak.concatenate(events).met > 60
    assert len(table.arrays(["met"], cut="met > 60")) == int(ak.sum(cut))
    with uproot.recreate(tmp_path / "other.root") as file:
        file.mktree("Events", {"met": "f8"}).extend({"met": np.arange(3.0)})
    with pytest.raises(icecore.Error) as caught:
        write_to(f"{tmp_path}/other.root:Events", tmp_path / "r", **options)
    assert caught.value.kind == "mismatch"
    assert same_events(tmp_path / "r", ak.concatenate(events))
