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
