"""Table 7: the time to open a file and list its branches."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from icecore import _icecore, errors

from icecore_bench.root.clock import clock
from icecore_bench.root.peers import has
from icecore_bench.study import Outcome, Table

_BRANCHES = (1500, 200)


def measure(folder: Path, source: str | None, work: Path, say: Callable[[str], None], quick: bool) -> Outcome:
    """Open a wide tree and the given file."""
    table = Table(
        "Table 7: open a file and list its branches; CPU ms",
        ["file", "branches", "icecore", "uproot", "ROOT"],
    )
    paths = [_wide(work, _BRANCHES[quick])]
    if source:
        paths.append(Path(source.partition(":")[0]))
    for path in paths:
        say(f"opening: {path.name}")
        listed = _icecore.RootFile(str(path)).keys()
        names = [key for key, _, kind in listed if kind in ("TTree", "ROOT::RNTuple")]
        if not names:
            raise errors.make("not-found", f"{path} has no tree", "give a file with a TTree or an RNTuple")
        repeats = 3 if quick else 5
        count = _open(path, names[0])
        ours = clock(partial(_open, path, names[0]), repeats)[1]
        theirs = clock(partial(_uproot, path, names[0]), 1 if count > 2000 else 3)[1]
        root = clock(partial(_root, path, names[0]), repeats)[1] if has("ROOT") else None
        table.rows.append([path.name, count, ours, theirs, root])
    return Outcome("root", [table])


def _wide(work: Path, branches: int) -> Path:
    import uproot

    path = work / "wide.root"
    with uproot.recreate(path) as file:
        tree = file.mktree("Events", {f"Trigger_{number}": np.dtype("f4") for number in range(branches)})
        tree.extend({f"Trigger_{number}": np.zeros(10, "f4") for number in range(branches)})
    return path


def _open(path: Path, name: str) -> int:
    file = _icecore.RootFile(str(path))
    listed = file.keys()
    kinds = {key: kind for key, _, kind in listed}
    if kinds[name] == "ROOT::RNTuple":
        return len(json.loads(file.ntuple(name)["json"])["fields"])
    return len(json.loads(file.tree(name)["json"])["branches"])


def _uproot(path: Path, name: str) -> Any:
    import uproot

    with uproot.open(path) as file:
        return file[name].keys()


def _root(path: Path, name: str) -> Any:
    import ROOT

    file = ROOT.TFile.Open(str(path))
    found = file.Get(name)
    if hasattr(found, "GetListOfBranches"):
        count = found.GetListOfBranches().GetEntries()
    else:
        reader = ROOT.RNTupleReader.Open(name, str(path))
        count = reader.GetDescriptor().GetNFields()
    file.Close()
    return count
