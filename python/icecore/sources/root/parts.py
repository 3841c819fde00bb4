"""Branches whose entries are decoded one by one: their arrays, which are copied, and readers for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from icecore import errors
from icecore.sources.files.identity import Identity
from icecore.sources.mapping.array_map import ArrayEntry, Region
from icecore.sources.root.entries import ENTRY, copied
from icecore.sources.root.readers import attribute, offsets_of, root_file, texts

#: bytes of decoded branches that stay in memory between indexing and copying
_KEPT = 256 << 20

Arrays = dict[str, np.ndarray]
Groups = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Branch:
    """A branch that is decoded as a whole.

    Attributes:
        path: the file.
        identity: identity of the file when it was indexed.
        tree: the tree's path in the file.
        name: path of the branch in the tree.
        number: number of the branch in the tree; -1 if uproot decodes it.
    """

    path: str
    identity: Identity
    tree: str
    name: str
    number: int = -1

    def read(self) -> Arrays:
        """Decode the branch: path below the branch → array.

        Raises:
            Error: ``unsupported`` if its bytes are not of the type that the file states; ``corrupt``.
        """
        if self.number < 0:
            from icecore.sources.root.foreign import read

            return read(self)
        file = root_file(self.path, self.identity)
        return _arrays(
            _about(self.path, self.identity, self.tree)[self.number], file.parts(self.tree, self.number)
        )


@lru_cache(maxsize=2)
def _about(path: str, identity: Identity, tree: str) -> list[list[Any]]:
    import json

    branches = json.loads(root_file(path, identity).tree(tree)["json"])["branches"]
    return [branch.get("parts", []) for branch in branches]


def _arrays(about: list[Any], found: list[tuple[np.ndarray, np.ndarray]]) -> Arrays:
    arrays: Arrays = {}
    for (path, kind, shape), (content, lengths) in zip(about, found, strict=True):
        if kind == "lists":
            arrays[f"{path}/offsets"] = offsets_of(lengths)
        elif kind == "text":
            arrays[path] = texts(content, offsets_of(lengths))
        elif kind not in ("record", "tuple"):
            arrays[path] = content.view(kind).reshape(-1, *shape)
    return arrays


def groups_of(about: Iterable[Any]) -> Groups:
    """Return the groups of a branch's arrays: path below the branch → attributes."""
    kinds: Groups = {
        "lists": attribute("offsets", "offsets", "content"),
        "record": {},
        "tuple": {"tuple": True},
    }
    return {path: dict(kinds[kind]) for path, kind, _ in about if kind in kinds}


def names_of(about: Iterable[Any]) -> list[str]:
    """Return the paths of a branch's arrays below the branch."""
    named = (f"{path}/offsets" if kind == "lists" else path for path, kind, _ in about if kind not in _GROUPS)
    return list(named)


_GROUPS = ("record", "tuple")


class _Kept:
    """A decoded branch that its readers share, counted against :data:`_KEPT`."""

    total, lock = 0, threading.Lock()

    def __init__(self, arrays: Arrays) -> None:
        size = sum(_size(each) for each in arrays.values())
        with _Kept.lock:
            fits = _Kept.total + size <= _KEPT
            self.size = size if fits else 0
            _Kept.total += self.size
        self.arrays = arrays if fits else None

    def __del__(self) -> None:
        with _Kept.lock:
            _Kept.total -= self.size


def _size(values: np.ndarray) -> int:
    if values.dtype != object:
        return values.nbytes
    return sum(map(len, values.tolist())) + 64 * len(values)


@dataclass(frozen=True)
class PartReader:
    """Reader for one array of a branch; can be pickled, without the decoded branch.

    Attributes:
        branch: the branch.
        part: path of the array below the branch.
        kept: the decoded branch, if it is still in memory.
    """

    branch: Branch
    part: str
    kept: _Kept | None = field(default=None, compare=False, repr=False)

    def __call__(self, region: Region) -> np.ndarray:
        """Return the elements of ``region``, C-contiguous."""
        kept = None if self.kept is None else self.kept.arrays
        arrays = _decoded(self.branch) if kept is None else kept
        return np.ascontiguousarray(arrays[self.part][region])

    def __reduce__(self) -> tuple[Any, ...]:
        return PartReader, (self.branch, self.part)


@lru_cache(maxsize=2)
def _decoded(branch: Branch) -> Arrays:
    return branch.read()


def entries(branch: Branch, arrays: Arrays, at: str, why: str) -> list[ArrayEntry]:
    """Return the entries of a decoded branch's arrays, below ``at``."""
    kept, made = _Kept(arrays), []
    for part, values in arrays.items():
        dim = ENTRY if not part.endswith("/offsets") and "/content" not in part else None
        read = PartReader(branch, part, kept)
        made.append(copied(f"{at}{part}", values.shape, values.dtype, read, why, dim))
    return made


def left_out(branch: Branch, names: Iterable[str], at: str) -> list[ArrayEntry]:
    """Return placeholders of arrays that the caller leaves out, for which the branch is not read."""
    none = np.dtype("u1")
    return [copied(f"{at}{name}", (1,), none, _Unread(branch.name), "left out", None) for name in names]


@dataclass(frozen=True)
class _Unread:
    name: str

    def __call__(self, region: Region) -> np.ndarray:
        raise errors.make("internal", f"branch {self.name} was left out when its file was indexed")


Wanted = Callable[[str], bool]
