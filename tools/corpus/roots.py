"""Branches and fields of ROOT files against uproot."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import awkward as ak
import icecore
import numpy as np
import uproot
from outcome import Outcome, attempt, judged, said

_KINDS = ("TTree", "TNtuple", "TNtupleD")


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
        if isinstance(branch.interpretation, uproot.interpretation.grouped.AsGrouped):
            continue  # its parts are compared
        names, at = [branch.name], branch
        while at.parent is not tree:
            at = at.parent
            names.append(at.name)
        yield "/".join(reversed(names)), branch


def values(branch: Any) -> Any:
    """What uproot 5.7 reads. Of two kinds, which it reads wrong, it only gives the bytes.

    Double32_t with a range: ROOT divides by 2³² less one for 32 bits, and by the factor, not by the range
    (``TBufferFile::ReadWithFactor``); uproot's results differ in the last bits. Objects of fixed size, one
    an entry: uproot takes the big-endian members as little-endian; they are the last bytes of an entry.
    """
    kind = branch.interpretation
    if isinstance(kind, uproot.AsDouble32) and kind.low < kind.high and not kind.to_dims:
        raw = branch.array(uproot.AsDtype(kind.from_dtype), library="np").astype("f8")
        steps = 2.0**kind.num_bits if kind.num_bits < 32 else 2.0**32 - 1
        return kind.low + raw / (steps / (kind.high - kind.low))
    if type(kind).__name__ == "AsStridedObjects" and kind.from_dtype.names:
        size = kind.from_dtype.itemsize
        baskets = [branch.basket(i) for i in range(branch.num_baskets)]
        # A basket of other objects has no table of ends.
        if all(basket.byte_offsets is not None for basket in baskets):
            ends = [basket.data[end - size : end] for basket in baskets for end in basket.byte_offsets[1:]]
            found = np.concatenate([np.empty(0, "u1"), *ends]).view(kind.from_dtype)
            return ak.zip(
                {name: found[name].astype(found[name].dtype.newbyteorder("=")) for name in found.dtype.names}
            )
    return branch.array()


def compare(path: Path, folder: Path) -> list[Outcome]:
    """Outcomes of every branch that icecore links or uproot reads."""
    outcomes: list[Outcome] = []
    place = folder / "r.icecore"
    report = attempt("link", lambda: icecore.link(path, place, group="/", keep_going=True), outcomes)
    if report is None:
        return outcomes
    outcomes += said("link", report)
    repo = attempt("open", lambda: icecore.open(place), outcomes)
    if repo is None:
        return outcomes
    try:
        file = uproot.open(path)
        named = file.classnames(cycle=False).items()
    except Exception as error:  # uproot raises errors of many classes
        return [*outcomes, Outcome("no judge", "uproot", type(error).__name__)]
    for key, kind in named:
        if kind in _KINDS or "RNTuple" in kind:
            outcomes += _tree(repo, file, key, kind)
    return outcomes


def _tree(repo: Any, file: Any, key: str, kind: str) -> list[Outcome]:
    try:
        tree = file[key]
        named = list(branches(tree, kind))
    except Exception as error:
        return [Outcome("no judge", key, type(error).__name__)]
    if f"/{key}" not in repo or not len(named):
        return [Outcome("left out", key)]
    outcomes: list[Outcome] = []
    table = attempt(key, lambda: repo.table(f"/{key}"), outcomes)
    for name, branch in named if table is not None else ():
        outcomes.append(_branch(repo, table, key, name, branch))
    return outcomes


def _branch(repo: Any, table: Any, key: str, name: str, branch: Any) -> Outcome:
    label = f"{key}:{name}"
    at = f"{name}/@size" if f"/{key}/{name}/@size" in repo.arrays else name
    ours, refused = None, ""
    try:
        ours = table.arrays(at)[at]
    except icecore.Error as error:
        refused = f"{error.kind}: {error.message}"[:200]
    except Exception as error:
        return Outcome("crashed", label, f"{type(error).__name__}: {error}"[:300])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs = values(branch)
        except Exception as error:
            return Outcome("no judge", label, type(error).__name__)
    if ours is None:
        return Outcome("left out", label, refused)
    return judged(label, equal(ours, theirs))
