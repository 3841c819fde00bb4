"""Branches that are decoded entry by entry: read once, only if wanted, checked, limited."""

from __future__ import annotations

import gc
from collections import Counter
from types import SimpleNamespace

import icecore
import numpy as np
import pytest
from sources_kit import DATA, needs_data

pytest.importorskip("uproot")

from icecore.sources.files.signatures import is_root
from icecore.sources.root import foreign, parts
from icecore.sources.root.ntuple import _Ntuple
from root_kit import ak, uproot, write

OBJECTS = DATA / "root" / "uproot-HZZ-objects.root"


@pytest.fixture
def reads(monkeypatch):
    """Branches that were decoded, with the number of times."""
    counted: Counter[str] = Counter()
    plain = parts.Branch.read

    def read(self):
        counted[self.name] += 1
        return plain(self)

    monkeypatch.setattr(parts.Branch, "read", read)
    return counted


@needs_data
def test_each_branch_is_decoded_once(reads, tmp_path):
    icecore.link(f"{OBJECTS}:events", tmp_path / "r.icecore", group="/E")
    assert reads["jetp4"] == 1
    assert max(reads.values()) == 1


@needs_data
@pytest.mark.parametrize(
    "choice", [{"variables": ["eventweight"]}, {"exclude": ["f*", "offsets", "content"]}]
)
def test_branches_that_are_left_out_are_not_decoded(reads, monkeypatch, tmp_path, choice):
    monkeypatch.setattr(foreign, "decoded", lambda branch: pytest.fail(branch.name))
    report = icecore.link(f"{OBJECTS}:events", tmp_path / "r.icecore", group="/E", **choice)
    assert not reads
    assert any("left out" in note.message for note in report.notes)
    weights = icecore.open(tmp_path / "r.icecore")["/E/eventweight"][:]
    assert np.array_equal(weights, uproot.open(OBJECTS)["events"]["eventweight"].array())


def test_decoded_branches_stay_in_memory_up_to_a_limit(monkeypatch):
    gc.collect()  # other tests may have left some
    before = parts._Kept.total
    monkeypatch.setattr(parts, "_KEPT", before + 100)
    first = parts._Kept({"": np.zeros(10)})
    assert first.arrays is not None
    assert parts._Kept({"": np.zeros(10)}).arrays is None
    assert parts._Kept.total == before + 80
    del first
    assert parts._Kept.total == before


def fake(monkeypatch, array):
    """Let ``foreign`` open a branch of 10 entries whose values are those of ``array(start, stop)``."""
    opened = SimpleNamespace(
        num_entries=10, array=lambda entry_start=0, entry_stop=10: ak.Array(array(entry_start, entry_stop))
    )
    monkeypatch.setattr(foreign, "_opened", lambda *_: opened)
    return foreign._twice(parts.Branch("x.root", None, "t", "b"))  # type: ignore[arg-type]


def test_values_that_uproot_never_filled_are_left_out(monkeypatch):
    found = fake(monkeypatch, lambda low, high: np.empty(high - low))
    assert "other values each time" in found.why
    assert not found.arrays


def test_values_that_depend_on_the_range_are_left_out(monkeypatch):
    assert "other values each time" in fake(monkeypatch, lambda low, high: np.arange(high - low)).why


def test_values_that_agree_are_used(monkeypatch):
    found = fake(monkeypatch, lambda low, high: np.arange(low, high))
    assert found.why == ""
    assert found.arrays[""].tolist() == list(range(10))


@needs_data
def test_a_branch_that_takes_too_long_is_left_out(monkeypatch):
    from icecore.sources.files.identity import identity

    monkeypatch.setattr(foreign, "SECONDS", 0)
    branch = parts.Branch(str(OBJECTS), identity(str(OBJECTS)), "events", "MET")
    assert "more than 0 s" in foreign.decoded(branch).why


@pytest.mark.parametrize("version", [-937176, 61_404, 1_061_404])
def test_a_version_of_any_sign_is_a_root_file(version, tmp_path):
    path = write(tmp_path / "f.root")
    data = bytearray(path.read_bytes())
    if version < 1_000_000:
        data[4:8] = version.to_bytes(4, "big", signed=True)
    path.write_bytes(data)
    assert icecore.link(path, tmp_path / "r.icecore", group="/").failures == []
    assert len(icecore.open(tmp_path / "r.icecore").table("/Events")) == 1200


def test_text_that_begins_with_root_is_no_root_file():
    assert not is_root(b"root,depth\n1,2,3\n")
    assert not is_root("rooté,b\n1,2\n3,4".encode())
    assert is_root(b"root\x00\x00\xf0\x3c\x00\x00\x00\x64")


def test_representations_of_other_width_share_the_widest_type():
    kinds = ["float32", "float16", "uint64", "uint32", "int32", None]
    columns = [{"dtype": kind, "type": str(kind)} for kind in kinds]
    stored = _Ntuple.stored
    this = SimpleNamespace(columns=columns)
    assert stored(this, [0, 1], [(0, 0), (1, 0)]) == (np.dtype("f4"), ("float32", "float16"))  # type: ignore[arg-type]
    assert stored(this, [0, 1], [(1, 0), (1, 0)])[0] == np.dtype("f2")  # type: ignore[arg-type]
    assert stored(this, [2, 3], [(-1, 5), (3, 0)]) == (np.dtype("u4"), ("uint64", "uint32"))  # type: ignore[arg-type]
    for mixed in ([0, 2], [0, 4], [2, 4], [0, 5]):
        with pytest.raises(icecore.Error, match="column"):
            stored(this, mixed, [(number, 0) for number in mixed])  # type: ignore[arg-type]
