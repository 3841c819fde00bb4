"""Branches of a ``TTree`` as arrays: baskets are linked in place, others copied or reported."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

from icecore import _icecore, errors
from icecore.sources.files.identity import Identity
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Note, Reader
from icecore.sources.root import foreign, parts
from icecore.sources.root.entries import ENTRY, Baskets, copied, linked
from icecore.sources.root.readers import BranchReader, attribute, edges

_BASKET = "icecore.root_basket"
_NAMES = ("", ".", "..", "zarr.json")
#: kinds of branches with a row for each entry
_COUNTED = ("flat", "jagged", "record", "string", "nested")


@dataclass
class Tree:
    """State of the conversion of a tree to arrays below ``root``.

    ``identity`` is that of the file; for the tree of a chain, those of all files, and ``file_of`` has the
    number of each basket's file.
    """

    file: _icecore.RootFile
    path: str
    identity: Identity | tuple[Identity, ...]
    name: str
    root: str
    result: ArrayMap
    first: np.ndarray
    stop: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray
    branches: list[dict[str, Any]]
    entries: int
    file_of: np.ndarray | None = None
    copies: bool = True
    choice: parts.Wanted | None = None
    compared: set[str] = field(default_factory=set)
    by_path: dict[str, dict[str, Any]] = field(default_factory=dict)
    parents: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.by_path = {branch["path"]: branch for branch in reversed(self.branches)}
        self.parents = {path.rpartition("/")[0] for path in self.by_path}

    def wanted(self, path: str) -> bool:
        """Whether the caller takes an array."""
        return self.choice is None or self.choice(path) or path.endswith(f"/{ENTRY}")

    def baskets(self, branch: dict[str, Any]) -> slice:
        """Return the range of a branch's baskets in the file."""
        return slice(*branch["baskets"])

    def beyond(self, branch: dict[str, Any]) -> int:
        """Return the first basket that extends past the end of the file; -1 if there is none."""
        where = self.baskets(branch)
        ends = self.offsets[where] + self.lengths[where]
        lost = np.flatnonzero(ends > _one(self.identity).size)
        return int(lost[0]) if len(lost) and not branch.get("file") else -1

    def whole(self, branch: dict[str, Any]) -> bool:
        """Whether the baskets in the file hold all entries."""
        where = self.baskets(branch)
        first, stop = self.first[where], self.stop[where]
        if not len(first) or branch["embedded"] or branch["entries"] != self.entries:
            return False
        return bool(first[0] == 0 and stop[-1] == self.entries and (first[1:] == stop[:-1]).all())

    def reader(
        self, number: int, part: str, shape: tuple[int, ...], dtype: np.dtype, member: int = 0
    ) -> Reader:
        """Return a reader for one array of a branch, which decodes the branch."""
        return BranchReader(self.path, _one(self.identity), self.name, number, part, shape, dtype, member)

    def path_of(self, branch: dict[str, Any]) -> str:
        """Return the file of a damaged branch."""
        return self.path

    def elements(self, numbers: list[int]) -> dict[int, Any]:
        """Return the number of elements of each basket of jagged branches, or the error."""
        return dict(zip(numbers, self.file.elements(self.name, numbers), strict=True))

    def at(self, where: slice) -> Baskets:
        """Return the places of baskets."""
        files = None if self.file_of is None else self.file_of[where]
        return Baskets(self.identity, self.offsets[where], self.lengths[where], files)

    def note(self, branch: dict[str, Any], kind: str, message: str) -> None:
        """Add a note on a branch that is not stored as it is."""
        self.result.dropped.append(Note(f"{self.root}/{branch['path']}", kind, message))

    def fail(self, branch: dict[str, Any], message: str) -> None:
        """Add an error for a damaged branch."""
        what = f"{self.path_of(branch)}: tree {self.name}, {message}"
        if f'"{branch["path"]}"' not in message:
            what = f"{self.path_of(branch)}: tree {self.name}, branch {branch['path']}: {message}"
        self.result.failed.append(errors.make("corrupt", what, "compare the file with its original"))


def add_tree(
    file: _icecore.RootFile,
    path: str,
    identity: Identity,
    name: str,
    root: str,
    result: ArrayMap,
    copies: bool = True,
    numbers: set[int] | None = None,
    wanted: parts.Wanted | None = None,
) -> None:
    """Add the branches of the tree ``name``, or those of some numbers, to ``result``, below ``root``.

    ``copies``: also add those that only uproot can read. ``wanted``: which arrays the caller takes; branches
    without such an array are not read.
    """
    found = file.tree(name)
    about = json.loads(found["json"])
    first, stop, offsets, lengths = (found[key] for key in ("first", "stop", "offsets", "lengths"))
    described = about["branches"], entries_of(about)
    tree = Tree(file, path, identity, name, root, result, first, stop, offsets, lengths, *described)
    tree.choice = wanted
    every = range(len(tree.branches))
    add_branches(tree, about["title"], set(every) if numbers is None else numbers, copies)


def entries_of(about: dict[str, Any]) -> int:
    """Return a tree's number of entries; that of its longest branch if branches were filled one by one.

    ROOT then leaves the tree's own number at 0, unless the program sets it.
    """
    lengths = (branch["entries"] for branch in about["branches"] if branch["kind"] in _COUNTED)
    return int(about["entries"] or max(lengths, default=0))


def add_branches(tree: Tree, title: str, numbers: set[int], copies: bool) -> None:
    """Add the branches of these numbers to the tree's ``result``."""
    tree.copies = copies
    attrs = {"title": title} if title else {}
    groups, root = tree.result.groups, tree.root or "/"
    groups[root] = {**groups.get(root, {}), **attrs, "entries": tree.entries}
    listed = [n for n, branch in enumerate(tree.branches) if _counts_elements(branch) and n in numbers]
    counted = tree.elements(listed)
    seen: set[str] = set()
    for number, branch in enumerate(tree.branches):
        if number not in numbers:
            continue
        named = branch["path"].split("/")
        if branch["path"] in seen or any(name in _NAMES for name in named):
            tree.note(branch, "name", "Zarr can't hold a node of this name, or it is there twice")
            continue
        seen.add(branch["path"])
        if "damage" in branch:
            tree.fail(branch, branch["damage"])
        elif (lost := tree.beyond(branch)) >= 0:
            size = f"{_one(tree.identity).size:,} bytes"
            tree.fail(branch, f"basket {lost} reaches beyond the end of the file ({size}): it looks cut off")
        elif branch.get("file"):
            tree.note(branch, "unsupported", f"its baskets are in another file, {branch['file']}")
        elif (branch["kind"] in _COUNTED or branch.get("parts")) and branch["entries"] != tree.entries:
            # Beside the others its rows would mean other entries, or the others would end with it.
            message = f"{branch['entries']:,} entries, the tree has {tree.entries:,}"
            tree.note(branch, "unsupported", message)
        else:
            add = _ADD.get(branch["kind"], _unsupported)
            if (
                branch["kind"] in ("flat", "jagged")
                and "parts" in branch
                and not _of_four_bytes(tree, number, counted)
            ):
                add = _nested
            add(tree, number, branch, counted)


def _counts_elements(branch: dict[str, Any]) -> bool:
    return branch["kind"] == "jagged" or (branch["kind"] == "flat" and "parts" in branch)


def _of_four_bytes(tree: Tree, number: int, counted: dict[int, Any]) -> bool:
    """Whether the bits of objects (``fBits``) have 4 bytes each: those that a ``TRef`` refers to have 6.

    They do if they are as many as the values of another member, by their bytes.
    """
    found, branch = counted[number], tree.branches[number]
    if isinstance(found, errors.Error) or branch["embedded"]:
        return False
    if branch["kind"] == "flat":
        return bool(found.sum() == tree.entries * prod(branch["shape"]))
    beside = (
        counted[n]
        for n, other in enumerate(tree.branches)
        if n in counted
        and n != number
        and other.get("counter") == branch["counter"]
        and not other["shape"]
        and "parts" not in other
        and not other["embedded"]
    )
    other = next(beside, None)
    return other is not None and not isinstance(other, errors.Error) and int(other.sum()) == int(found.sum())


def _one(identity: Identity | tuple[Identity, ...]) -> Identity:
    return identity[0] if isinstance(identity, tuple) else identity


def _why(branch: dict[str, Any], entries: int) -> str:
    if not entries:
        return "no entries"
    return "baskets inside of the tree's object" if branch["embedded"] else "its baskets don't cover the tree"


def _flat(tree: Tree, number: int, branch: dict[str, Any], _: dict[int, Any]) -> None:
    dtype, row = np.dtype(branch["dtype"]), tuple(branch["shape"])
    path = f"{tree.root}/{branch['path']}"
    if branch["path"] in tree.parents:
        path += "/@size"  # the number of objects in a split collection, as ROOT names it
    shape = (branch["entries"], *row)
    read = tree.reader(number, "values", shape, dtype)
    if not tree.whole(branch) or not prod(row):
        tree.result.add(_titled(copied(path, shape, dtype, read, _why(branch, tree.entries)), branch))
        return
    where = tree.baskets(branch)
    rows = (tree.stop[where] - tree.first[where]).astype("i8")
    codec = {"name": _BASKET, "configuration": {}}
    tree.result.add(_titled(linked(path, rows, row, dtype, codec, tree.at(where), read), branch))


def _titled(entry: ArrayEntry, branch: dict[str, Any]) -> ArrayEntry:
    if branch["title"] and branch["title"] != branch["path"]:
        entry.attrs["title"] = branch["title"]
    return entry


def _jagged(tree: Tree, number: int, branch: dict[str, Any], counted: dict[int, Any]) -> None:
    found = counted[number]
    if isinstance(found, errors.Error):
        tree.fail(branch, found.message)
        return
    dtype, row = np.dtype(branch["dtype"]), tuple(branch["shape"])
    group = f"{tree.root}/{branch['path']}"
    title = {"title": branch["title"]} if branch["title"] != branch["path"] else {}
    where = tree.baskets(branch)
    total = int(found.sum())
    if branch["embedded"]:
        try:
            _, counts_read = tree.file.values(tree.name, number)
            total = 0 if counts_read is None else int(counts_read.sum())
        except errors.Error as error:
            tree.fail(branch, error.message)
            return
    content_shape = (total, *row)
    read = tree.reader(number, "content", content_shape, dtype)
    counter = branch["counter"]
    linkable = tree.whole(branch) and total
    counts = _counts(tree, number, branch, counter) if linkable else ""
    if not counts:
        why = _why(branch, tree.entries) if not tree.whole(branch) else "no elements"
        offsets = tree.reader(number, "offsets", (branch["entries"] + 1,), np.dtype("i8"))
        shape = (branch["entries"] + 1,)
        tree.result.add(copied(f"{group}/offsets", shape, np.dtype("i8"), offsets, why, None))
        tree.result.add(copied(f"{group}/content", content_shape, dtype, read, why, None))
        tree.result.groups[group] = {**title, **attribute("offsets", "offsets", "content")}
        return
    rows = (tree.stop[where] - tree.first[where]).astype("i8")
    element = dtype.itemsize * prod(row)
    codec = {"mode": "content", "skip": branch["skip"], "element": element}
    tree.result.add(
        linked(
            f"{group}/content",
            found.astype("i8"),
            row,
            dtype,
            {"name": _BASKET, "configuration": codec},
            tree.at(where),
            read,
            None,
        )
    )
    bounds = (edges(rows), edges(found)) if len(rows) else None
    tree.result.groups[group] = {**title, **attribute("counts", counts, "content", bounds)}


def _counts(tree: Tree, number: int, branch: dict[str, Any], counter: str | None) -> str:
    """Return the array with the lengths of a branch's lists, relative to its group; empty if not linkable."""
    if counter is None:
        where = tree.baskets(branch)
        rows = (tree.stop[where] - tree.first[where]).astype("i8")
        element = np.dtype(branch["dtype"]).itemsize * prod(branch["shape"])
        configuration = {"mode": "counts", "skip": branch["skip"], "element": element}
        codec = {"name": _BASKET, "configuration": configuration}
        path = f"{tree.root}/{branch['path']}/counts"
        read = tree.reader(number, "counts", (branch["entries"],), np.dtype("u4"))
        tree.result.add(linked(path, rows, (), np.dtype("u4"), codec, tree.at(where), read))
        return "counts"
    source = tree.by_path.get(counter)
    if source is None or source["kind"] != "flat" or source["shape"] or "damage" in source:
        return ""
    if source["entries"] != tree.entries:
        return ""
    up = "../" * len(branch["path"].split("/"))
    return f"{up}{counter}" + ("/@size" if counter in tree.parents else "")


def _record(tree: Tree, number: int, branch: dict[str, Any], _: dict[int, Any]) -> None:
    for member, (name, kind, row) in enumerate(branch["fields"]):
        shape, dtype = (branch["entries"], *row), np.dtype(kind)
        read = tree.reader(number, "values", shape, dtype, member)
        path = f"{tree.root}/{branch['path']}/{name}"
        tree.result.add(copied(path, shape, dtype, read, "one of several leaves in a basket"))


def _string(tree: Tree, number: int, branch: dict[str, Any], _: dict[int, Any]) -> None:
    shape, dtype = (branch["entries"],), np.dtype(object)
    read = tree.reader(number, "text", shape, dtype)
    entry = copied(f"{tree.root}/{branch['path']}", shape, dtype, read, "strings of any length")
    tree.result.add(_titled(entry, branch))


def _group(tree: Tree, number: int, branch: dict[str, Any], _: dict[int, Any]) -> None:
    tree.result.groups.setdefault(f"{tree.root}/{branch['path']}", {})


def _nested(tree: Tree, number: int, branch: dict[str, Any], _: dict[int, Any]) -> None:
    """Add a branch that the engine decodes entry by entry; uproot may read one of another form."""
    at, about = f"{tree.root}/{branch['path']}", branch["parts"]
    decoded = parts.Branch(tree.path, _one(tree.identity), tree.name, branch["path"], number)
    names = parts.names_of(about)
    if not any(tree.wanted(f"{at}{name}") for name in names):
        _add(tree, parts.left_out(decoded, names, at), parts.groups_of(about), at)
        return
    try:
        arrays = decoded.read()
    except errors.Error as error:
        if error.kind != "unsupported":
            tree.fail(branch, error.message)
            return
        _foreign(tree, branch, error.message.rpartition(": ")[2])
        return
    if branch["kind"] == "unsupported" and _simple(about) and branch["type"] not in tree.compared:
        tree.compared.add(branch["type"])
        # Members of objects have byte counts, which agree; an object that is a branch of its own has none.
        if foreign.differs(replace(decoded, number=-1), arrays) and "/" not in branch["path"]:
            tree.note(branch, "unsupported", f"values of type {branch['type']} (uproot reads other ones)")
            return
    _add(tree, parts.entries(decoded, arrays, at, "decoded entry by entry"), parts.groups_of(about), at)


def _simple(about: list[Any]) -> bool:
    """Whether the only lists of a branch are its entries."""
    return all(kind != "lists" or not path for path, kind, _ in about)


def _add(tree: Tree, entries: list[ArrayEntry], groups: parts.Groups, at: str) -> None:
    for entry in entries:
        tree.result.add(entry)
    tree.result.groups.update({f"{at}{path}": attrs for path, attrs in groups.items()})


def _unsupported(tree: Tree, number: int, branch: dict[str, Any], counted: dict[int, Any]) -> None:
    if branch.get("parts") and tree.copies:
        _nested(tree, number, branch, counted)
    else:
        _foreign(tree, branch)


def _foreign(tree: Tree, branch: dict[str, Any], why: str = "") -> None:
    """Add a branch that only uproot may read."""
    kind = f"values of type {branch.get('type') or 'unknown'}" + (f", {why}" if why else "")
    at = f"{tree.root}/{branch['path']}"
    asked = parts.Branch(tree.path, _one(tree.identity), tree.name, branch["path"])
    if not tree.copies:
        tree.note(branch, "unsupported", kind)
        return
    names = foreign.names(asked) if tree.choice is not None else None
    if names is not None and not any(tree.wanted(f"{at}{name}") for name in names):
        _add(tree, parts.left_out(asked, names, at), {}, at)
        return
    found = foreign.decoded(asked)
    made = parts.entries(asked, found.arrays, at, foreign.WHY)
    rows = next((entry.shape[0] - entry.path.endswith("/offsets") for entry in made), tree.entries)
    if found.why or rows != tree.entries:
        tree.note(branch, "unsupported", f"{kind} ({found.why or f'{rows:,} entries'})")
        return
    _add(tree, made, found.groups, at)


_ADD = {
    "flat": _flat,
    "jagged": _jagged,
    "record": _record,
    "string": _string,
    "nested": _nested,
    "group": _group,
}
