"""Damaged ROOT files: errors that name file, tree, branch and basket; the rest links."""

from __future__ import annotations

import icecore
import numpy as np
import pytest
from icecore.sources import open_source

pytest.importorskip("uproot")

from root_kit import uproot, write


@pytest.fixture
def path(tmp_path):
    """An uncompressed file, whose values are easily found."""
    return write(tmp_path / "events.root", compression="none")


def patched(path, at: int, raw: bytes) -> None:
    """Overwrite bytes of a file."""
    data = bytearray(path.read_bytes())
    data[at : at + len(raw)] = raw
    path.write_bytes(data)


def basket(path, branch: str, number: int = 1) -> tuple[int, int]:
    """Offset and key length of a basket."""
    found = uproot.open(path)["Events"][branch]
    start = int(found.member("fBasketSeek")[number])
    return start, int.from_bytes(path.read_bytes()[start + 14 : start + 16], "big")


def test_truncated_files(tmp_path, path):
    whole = path.read_bytes()
    for length in (3, 40, 200, len(whole) // 2, len(whole) - 100):
        cut = tmp_path / "cut.root"
        cut.write_bytes(whole[:length])
        with pytest.raises(icecore.Error) as caught:
            icecore.link(cut, tmp_path / "r.icecore", group="/")
        assert caught.value.kind in ("corrupt", "format", "io")
        assert "cut.root" in str(caught.value)


def test_a_basket_that_lies_about_its_values(tmp_path, path):
    start, key = basket(path, "Muon_pt")
    patched(path, start + key - 5, (10**9).to_bytes(4, "big"))
    with pytest.raises(icecore.Error) as caught:
        open_source(path)
    assert caught.value.kind == "corrupt"
    for word in ("events.root", "Events", "Muon_pt", "basket 1"):
        assert word in str(caught.value)
    report = icecore.link(path, tmp_path / "r.icecore", group="/", keep_going=True)
    assert [failure.kind for failure in report.failures] == ["corrupt"]
    table = icecore.open(tmp_path / "r.icecore").table("/Events")
    expected = uproot.open(path)["Events"]["Muon_charge"].array()
    assert table.arrays("Muon_charge").Muon_charge.to_list() == expected.to_list()
    with pytest.raises(icecore.Error):
        table.arrays("Muon_pt")


def test_a_basket_with_another_number_of_entries(path):
    start, key = basket(path, "Muon_pt")
    patched(path, start + key - 9, (7).to_bytes(4, "big"))
    with pytest.raises(icecore.Error, match="holds 7 entries"):
        open_source(path)


def test_an_unknown_compression(tmp_path):
    path = write(tmp_path / "z.root", compression="zlib")
    start, key = basket(path, "met")
    assert path.read_bytes()[start + key : start + key + 2] == b"ZL"
    patched(path, start + key, b"QQ")
    icecore.link(path, tmp_path / "r.icecore", group="/")
    table = icecore.open(tmp_path / "r.icecore").table("/Events")
    with pytest.raises(icecore.Error, match="QQ"):
        table.arrays("met")
    assert len(table.arrays("run")) == len(table)
    assert len(table.arrays("met", entry_stop=400)) == 400


def test_a_counter_that_contradicts_its_lists(tmp_path, path):
    start, key = basket(path, "nMuon")
    patched(path, start + key, np.array([1000], ">i4").tobytes())
    icecore.link(path, tmp_path / "r.icecore", group="/")
    table = icecore.open(tmp_path / "r.icecore").table("/Events")
    with pytest.raises(icecore.Error) as caught:
        table.arrays("Muon_pt", entry_start=500, entry_stop=510)
    assert caught.value.kind == "mismatch"
    assert "Muon_pt, basket 1" in str(caught.value)
    assert len(table.arrays("Muon_pt", entry_stop=400)) == 400


def test_a_tree_that_is_not_there(path):
    with pytest.raises(icecore.Error, match="has no tree Evnts") as caught:
        open_source(f"{path}:Evnts")
    assert caught.value.kind == "not-found"
    assert "Events" in caught.value.hint


def test_a_changed_file_is_noticed(tmp_path, path):
    icecore.link(path, tmp_path / "r.icecore", group="/")
    write(path, seed=5)
    with pytest.raises(icecore.Error) as caught:
        icecore.open(tmp_path / "r.icecore").table("/Events").arrays("met")
    assert caught.value.kind == "source-changed"
