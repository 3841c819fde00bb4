"""Branches that the engine can't decode: read by uproot, if it is installed, and copied."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from icecore.sources.files.identity import Identity, unchanged
from icecore.sources.mapping.array_map import ArrayEntry, Region
from icecore.sources.root.entries import ENTRY, copied
from icecore.sources.root.lists import attribute

WHY = "read by uproot"


@dataclass(frozen=True)
class ForeignReader:
    """One array of a branch that uproot reads; can be pickled.

    Attributes:
        path: the file.
        identity: identity of the file when it was indexed.
        tree: the tree's path in the file.
        branch: the branch's path in the tree.
        part: name of one of the branch's arrays.
    """

    path: str
    identity: Identity
    tree: str
    branch: str
    part: str

    def __call__(self, region: Region) -> np.ndarray:
        """Return the elements of ``region``, C-contiguous."""
        arrays, _ = _branch(self.path, self.identity, self.tree, self.branch)
        return np.ascontiguousarray(arrays[self.part][region])


Parts = tuple[dict[str, np.ndarray], dict[str, dict[str, Any]]]


def foreign(
    path: str, identity: Identity, tree: str, branch: str, root: str
) -> tuple[list[ArrayEntry], dict[str, dict[str, Any]], str]:
    """Return the arrays and groups of a branch below ``root``, or why there are none."""
    try:
        arrays, groups = _branch(path, identity, tree, branch)
    except ModuleNotFoundError:
        return [], {}, "uproot could read it: pip install 'icecore[root]'"
    except Exception as error:  # uproot raises errors of many classes on what it can't interpret
        first = str(error).strip().splitlines()
        return [], {}, f"uproot: {type(error).__name__}: {first[0] if first else ''}"[:120]
    entries = []
    for part, values in arrays.items():
        read = ForeignReader(path, identity, tree, branch, part)
        dim = ENTRY if not part.endswith("/offsets") and "/content" not in part else None
        entries.append(copied(f"{root}/{branch}{part}", values.shape, values.dtype, read, WHY, dim))
    return entries, {f"{root}/{branch}{part}": attrs for part, attrs in groups.items()}, ""


@lru_cache(maxsize=2)
def _tree(path: str, identity: Identity, tree: str) -> Any:
    import uproot

    unchanged(path, identity)
    return uproot.open(path)[tree]


@lru_cache(maxsize=2)
def _branch(path: str, identity: Identity, tree: str, branch: str) -> Parts:
    import awkward as ak

    opened = _tree(path, identity, tree)
    for name in _names(opened, branch):
        opened = opened[name]
    parts: Parts = {}, {}
    _flatten(ak, ak.to_packed(opened.array()).layout, "", parts)
    return parts


def _names(opened: Any, branch: str) -> list[str]:
    """Return the keys that lead to a branch, whose names may contain slashes."""
    return ["/" + branch] if hasattr(opened, "branches") else branch.split(".")


def _flatten(ak: Any, layout: Any, at: str, parts: Parts) -> None:
    """Collect an array's parts: path below the branch → values, and groups' attributes."""
    arrays, groups = parts
    if layout.is_indexed and not layout.is_option:
        layout = layout.project()
    if layout.parameter("__array__") == "string":
        values = np.empty(len(layout), object)
        values[:] = ak.to_list(ak.Array(layout))
        arrays[at] = values
    elif layout.is_record:
        groups.setdefault(at, {"tuple": True} if layout.is_tuple else {})
        for name in layout.fields:
            _flatten(ak, layout[name], f"{at}/{name.replace('/', '_') or '_'}", parts)
    elif layout.is_numpy or (layout.is_regular and layout.purelist_isregular and _is_plain(layout)):
        arrays[at] = np.asarray(ak.to_numpy(ak.Array(layout)))
    elif layout.is_list:
        packed = layout.to_ListOffsetArray64(True)
        arrays[f"{at}/offsets"] = np.asarray(packed.offsets.data, "i8")
        groups[at] = attribute("offsets", "offsets", "content")
        _flatten(ak, packed.content[: int(packed.offsets[-1])], f"{at}/content", parts)
    else:
        raise TypeError(f"values of type {ak.Array(layout).type}")


def _is_plain(layout: Any) -> bool:
    """Whether an array of fixed shape contains only numbers."""
    while layout.is_regular:
        layout = layout.content
    return bool(layout.is_numpy and layout.parameter("__array__") is None)
