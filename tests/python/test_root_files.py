"""Real ROOT files: every branch that uproot reads as it reads it, the rest named."""

from __future__ import annotations

import warnings
from typing import Any

import icecore
import pytest
from sources_kit import DATA, needs_data

pytest.importorskip("uproot")

from root_kit import equal, uproot

pytestmark = needs_data
FOLDER = DATA / "root"
#: bytes; larger files, and those of thousands of branches, take too long for every run
SMALL = 600_000
_FILES = sorted(FOLDER.rglob("*.root")) if FOLDER.is_dir() else []
FILES = [path for path in _FILES if path.stat().st_size < SMALL and "coffea" not in path.name]
#: unions
ELSEWHERE = {"variant_int32_string", "vector_variant_int64_string"}
#: a member of objects before which uproot does not skip the byte count; ROOT reads what icecore does
MISREAD = "KM3NETDAQ::JDAQTimesliceHeader/KM3NETDAQ::JDAQHeader/KM3NETDAQ::JDAQChronometer/timeslice_start"
#: trees whose branches differ in length
UNEVEN = {"string-example": ("Refs",)}
#: files that uproot cannot read
NOTHING = {"uproot-issue501", "string-example", "uproot-issue-400"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_branch_is_as_uproot_reads_it(path, tmp_path):
    icecore.link(path, tmp_path / "r.icecore", group="/", keep_going=True)
    repo = icecore.open(tmp_path / "r.icecore")
    compared = 0
    for key, kind in uproot.open(path).classnames(cycle=False).items():
        if kind not in ("TTree", "TNtuple", "TNtupleD") and "RNTuple" not in kind:
            continue
        if key in UNEVEN.get(path.stem, ()) or not any(
            n.path.startswith(f"/{key}/") for n in repo._visible()
        ):
            continue
        table = None
        for name, expected in theirs(uproot.open(path), key, kind):
            if expected is None or name in ELSEWHERE or holds_misread(f"/{name}/", repo):
                continue
            table = table or repo.table(f"/{key}")
            at = f"{name}/@size" if f"/{key}/{name}/@size" in repo._nodes else name
            assert equal(table.arrays(at)[at], expected), name
            compared += 1
    assert compared or path.stem in NOTHING or not any(node.is_array for node in repo._nodes.values())


def holds_misread(name: str, repo: Any) -> bool:
    """Whether a branch is :data:`MISREAD`, or one of those above it in a tree that has it."""
    paths = [node.path for node in repo._nodes.values() if MISREAD in node.path]
    return any(name in f"{path}/" for path in paths)


def test_members_after_byte_counts_are_as_root_reads_them(tmp_path):
    (path,) = FOLDER.rglob("uproot-issue433-splitlevel2.root")
    icecore.link(path, tmp_path / "r.icecore", group="/", keep_going=True)
    name = f"km3net_timeslice_L0/KM3NETDAQ::JDAQTimeslice/{MISREAD}"
    found = icecore.open(tmp_path / "r.icecore").table("/KM3NET_TIMESLICE_L0").arrays(name)[name]
    assert found.to_list() == [
        {"UTC_seconds": 1561916699 + n, "UTC_16nanosecondcycles": 31250000} for n in range(3)
    ]


def theirs(file: Any, key: str, kind: str) -> Any:
    """Names of branches and their values; None where uproot has none."""
    try:
        tree = file[key]
    except Exception:  # uproot raises errors of many classes
        return
    if "RNTuple" in kind:
        names = [(name, tree[name]) for name in tree.keys(recursive=False)]
    else:
        names = [(path_of(branch, tree), branch) for branch in tree.itervalues(recursive=True)]
    for name, branch in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                yield name, branch.array()
            except Exception:
                yield name, None


def path_of(branch: Any, tree: Any) -> str:
    """Names of a branch and of those above it."""
    names = [branch.name]
    while branch.parent is not tree:
        branch = branch.parent
        names.append(branch.name)
    return "/".join(reversed(names))
