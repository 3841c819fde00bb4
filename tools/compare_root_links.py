"""Compare what `link` makes of real ROOT files with uproot, branch by branch.

Usage: python tools/compare_root_links.py FILE_OR_FOLDER... [--json REPORT]
Prints, for each file, how many branches and fields are equal, differ, are read by one side only or by none;
then the names of those that differ or that only uproot reads. Exit status 1 if any value differs. Needs
uproot 5.7 and awkward 2.
"""

from __future__ import annotations

import collections
import json
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import awkward as ak
import icecore
import uproot

_KINDS = ("TTree", "TNtuple", "TNtupleD")
Outcomes = dict[str, str]


def equal(ours: Any, theirs: Any) -> bool:
    """Whether two columns have the same values, NaN included."""
    one, two = (ak.from_regular(ak.Array(each), axis=None) for each in (ours, theirs))
    if ak.array_equal(one, two, equal_nan=True, check_parameters=False, dtype_exact=False):
        return True
    return bool(ak.to_list(one) == ak.to_list(two))


def branches(tree: Any, kind: str) -> Iterator[tuple[str, Any]]:
    """Paths of branches or fields, and what reads them."""
    if "RNTuple" in kind:
        yield from ((name, tree[name]) for name in tree.keys(recursive=False))
        return
    for branch in tree.itervalues(recursive=True):
        names, at = [branch.name], branch
        while at.parent is not tree:
            at = at.parent
            names.append(at.name)
        yield "/".join(reversed(names)), branch


def outcome(repo: Any, table: Any, key: str, name: str, branch: Any) -> str:
    """``equal``, ``DIFFERENT``, ``only icecore``, ``only uproot`` or ``neither``."""
    at = f"{name}/@size" if f"/{key}/{name}/@size" in repo._nodes else name
    try:
        ours = table.arrays(at)[at] if table is not None else None
    except icecore.Error:
        ours = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs = branch.array()
        except Exception:  # uproot raises errors of many classes
            theirs = None
    if ours is None or theirs is None:
        return "neither" if ours is theirs else "only uproot" if ours is None else "only icecore"
    return "equal" if equal(ours, theirs) else "DIFFERENT"


def compare(path: Path) -> Outcomes:
    """Outcomes by tree and branch."""
    found: Outcomes = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            icecore.link(path, f"{folder}/r.icecore", group="/", keep_going=True)
            repo = icecore.open(f"{folder}/r.icecore")
        except icecore.Error as error:
            return {f"(link: {error.kind}: {error.message})": "only uproot"}
        with uproot.open(path) as file:
            for key, kind in file.classnames(cycle=False).items():
                if kind not in _KINDS and "RNTuple" not in kind:
                    continue
                try:
                    tree = file[key]
                    named = list(branches(tree, kind))
                except Exception:
                    found[f"{key} (uproot can't open it)"] = "only icecore"
                    continue
                try:
                    table = repo.table(f"/{key}")
                except icecore.Error:
                    table = None
                for name, branch in named:
                    found[f"{key}:{name}"] = outcome(repo, table, key, name, branch)
    return found


def main() -> int:
    """Compare the files of the command line."""
    words = sys.argv[1:]
    report = Path(words[words.index("--json") + 1]) if "--json" in words else None
    places = [Path(w) for w in words if not w.startswith("--") and Path(w) != report]
    paths = [p for place in places for p in (sorted(place.rglob("*.root")) if place.is_dir() else [place])]
    total: collections.Counter[str] = collections.Counter()
    every = {}
    for path in paths:
        every[path.name] = found = compare(path)
        counts = collections.Counter(found.values())
        total += counts
        print(path.name, dict(counts), flush=True)
        for name, what in found.items():
            if what in ("DIFFERENT", "only uproot"):
                print(f"    {what}: {name}", flush=True)
    print("in all", len(paths), "files:", dict(total))
    if report is not None:
        report.write_text(json.dumps(every, indent=1))
    return int(total["DIFFERENT"] > 0)


if __name__ == "__main__":
    sys.exit(main())
