"""Read the same tree of several files as one: branches that are alike in all files are described once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import _icecore, errors
from icecore.sources.files.identity import Identity, unchanged
from icecore.sources.mapping.array_map import ArrayMap, Region
from icecore.sources.mapping.stitched_array import Stitched
from icecore.sources.root.chain import join, join_files, least_loss, left_out_file, worst_file
from icecore.sources.root.parts import Wanted
from icecore.sources.root.readers import BranchReader, edges, offsets_of
from icecore.sources.root.tree import Tree, add_branches, add_tree, entries_of

if TYPE_CHECKING:
    from icecore.sources.mapping.array_map import DamagedSource


_KINDS = ("flat", "jagged", "record", "string", "group")
#: what may differ between files
_OWN = ("entries", "baskets", "embedded")
#: threads that parse files
_THREADS = 4


@dataclass(frozen=True)
class Opened:
    """An open file of a chain."""

    path: str
    identity: Identity
    file: _icecore.RootFile


@dataclass(frozen=True)
class _Part:
    """The tree in one file: its entries, baskets of all branches, branches that need their own arrays, and
    what is wrong with damaged ones.
    """

    entries: int
    first: np.ndarray
    stop: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray
    branch: np.ndarray
    embedded: np.ndarray
    apart: set[int]
    damaged: dict[int, str]


class _DamagedFile(Exception):
    """A damaged branch, which other files of the chain have undamaged: their number, and the error."""

    def __init__(self, number: int, error: errors.Error) -> None:
        super().__init__(str(error))
        self.number, self.error = number, error


def open_chain(
    opened: list[Opened], name: str, copies: bool, allow_missing: bool, wanted: Wanted | None = None
) -> ArrayMap:
    """Return the arrays of the tree ``name`` of all files, one behind the other.

    Damaged files are left out as a whole, and branches that the files don't have alike; ``failed`` of the
    result says why.

    Raises:
        Error: ``corrupt`` if no file can be read; ``source-changed``.
    """
    failed: list[errors.Error] = []
    while True:
        try:
            result = _open_chain(opened, name, copies, allow_missing, wanted)
        except _DamagedFile as found:
            failed.append(left_out_file(found.error))
            opened = [each for number, each in enumerate(opened) if number != found.number]
            if not opened:
                raise found.error from None
            continue
        result.failed = failed + result.failed
        return result


def _open_chain(
    opened: list[Opened], name: str, copies: bool, allow_missing: bool, wanted: Wanted | None
) -> ArrayMap:
    about, parts = _parts(opened, name)
    if about is None:
        return join_files(
            [partial(_apart, each, name, None, copies, wanted) for each in opened], allow_missing
        )
    _check_damage(opened, name, about["branches"], parts)
    apart = _closed(about["branches"], set().union(*(part.apart for part in parts)))
    result = ArrayMap(opened[0].path)
    chain = _chain(opened, name, about, parts, apart, result)
    add_branches(chain, about["title"], set(range(len(about["branches"]))) - apart, copies)
    if apart:
        maps = [_apart(each, name, apart, copies, wanted) for each in opened]
        if (worst := worst_file(maps)) is not None:
            raise _DamagedFile(worst, maps[worst].failed[0])
        rest = join(maps, allow_missing)
        result.arrays |= rest.arrays
        for path, attrs in rest.groups.items():
            result.groups[path] = {**attrs, **result.groups.get(path, {})}
        result.dropped += rest.dropped
        result.failed += rest.failed
    for each in opened:
        unchanged(each.path, each.identity)
    return result


def _check_damage(
    opened: list[Opened], name: str, branches: list[dict[str, Any]], parts: list[_Part]
) -> None:
    """Raise for a file in which so many branches are damaged that it is left out as a whole."""
    everywhere = set.intersection(*(set(part.damaged) for part in parts))
    lost = [set(part.damaged) - everywhere for part in parts]
    worst = least_loss([part.entries for part in parts], [len(each) for each in lost], len(branches))
    if worst is not None:
        number = min(lost[worst])
        what = f"{opened[worst].path}: tree {name}, branch {branches[number]['path']}"
        message = f"{what}: {parts[worst].damaged[number]}"
        raise _DamagedFile(worst, errors.make("corrupt", message, "compare the file with its original"))


def _apart(
    each: Opened, name: str, numbers: set[int] | None, copies: bool, wanted: Wanted | None
) -> ArrayMap:
    result = ArrayMap(each.path)
    with _named(each.path):
        add_tree(each.file, each.path, each.identity, name, "", result, copies, numbers, wanted)
    unchanged(each.path, each.identity)
    return result


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Name the file in errors."""
    try:
        yield
    except errors.Error as error:
        raise errors.make(error.kind, f"{path}: {error.message}", error.hint) from error


def _parts(opened: list[Opened], name: str) -> tuple[dict[str, Any] | None, list[_Part]]:
    """Return the description of the first file's tree and the parts; None if the branches' names differ."""
    about: dict[str, Any] | None = None
    parts: list[_Part] = []
    paths: list[str] = []
    for number, (each, found) in enumerate(zip(opened, _described(opened, name), strict=True)):
        if isinstance(found, errors.Error):
            raise _DamagedFile(number, found)
        here = json.loads(found.pop("json"))
        if about is None:
            about, paths = here, [branch["path"] for branch in here["branches"]]
            about["alike"] = [_alike(branch) for branch in here["branches"]]
        elif [branch["path"] for branch in here["branches"]] != paths:
            return None, []
        parts.append(_part(each, here, found, about["alike"]))
    return about, parts


def _described(opened: list[Opened], name: str) -> Iterator[dict[str, Any] | errors.Error]:
    """Parse the trees of a few files at a time; a damaged one gives the error."""

    def describe(each: Opened) -> dict[str, Any] | errors.Error:
        try:
            with _named(each.path):
                return each.file.tree(name)
        except errors.Error as error:
            return error

    with ThreadPoolExecutor(_THREADS) as pool:
        for start in range(0, len(opened), _THREADS):
            yield from pool.map(describe, opened[start : start + _THREADS])


def _alike(branch: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in branch.items() if key not in _OWN}


def _part(each: Opened, about: dict[str, Any], found: dict[str, Any], alike: list[dict[str, Any]]) -> _Part:
    branches, entries = about["branches"], entries_of(about)
    counts = np.array([branch["baskets"][1] - branch["baskets"][0] for branch in branches], "i8")
    numbers = np.repeat(np.arange(len(branches)), counts)
    beyond = found["offsets"].astype("i8") + found["lengths"].astype("i8") > each.identity.size
    apart = set(np.unique(numbers[beyond]).tolist())
    damaged = {
        n: f"a basket reaches beyond the end of the file ({each.identity.size:,} bytes)" for n in apart
    }
    damaged |= {n: branch["damage"] for n, branch in enumerate(branches) if "damage" in branch}
    for number, (branch, like) in enumerate(zip(branches, alike, strict=True)):
        own = branch["entries"] != entries or "damage" in branch or "file" in branch
        kind = branch["kind"]
        if (
            own
            or kind not in _KINDS
            or "parts" in branch
            or (kind == "jagged" and branch["embedded"])
            or _alike(branch) != like
        ):
            apart.add(number)
    first, stop, offsets, lengths = (
        found[key].astype("i8") for key in ("first", "stop", "offsets", "lengths")
    )
    embedded = np.array([branch["embedded"] for branch in branches], "i8")
    return _Part(entries, first, stop, offsets, lengths, numbers, embedded, apart, damaged)


def _closed(branches: list[dict[str, Any]], apart: set[int]) -> set[int]:
    """Add the counters of branches that are apart, and the lists of counters that are."""
    number = {branch["path"]: n for n, branch in enumerate(branches)}
    pairs = [
        (n, number[branch["counter"]])
        for n, branch in enumerate(branches)
        if branch["kind"] == "jagged" and branch["counter"] in number
    ]
    names = {branches[n]["path"] for n in apart}
    apart = apart | {n for n, branch in enumerate(branches) if branch["path"] in names}
    while more := {n for pair in pairs if not apart.isdisjoint(pair) for n in pair} - apart:
        apart = apart | more
    return apart


def _chain(
    opened: list[Opened],
    name: str,
    about: dict[str, Any],
    parts: list[_Part],
    apart: set[int],
    result: ArrayMap,
) -> Tree:
    """Return the tree of all files: baskets of each branch in the order of the files."""
    starts = edges(np.array([part.entries for part in parts]))
    numbers = np.concatenate([part.branch for part in parts])
    order = np.argsort(numbers, kind="stable")
    shift = np.repeat(starts[:-1], [len(part.first) for part in parts])
    bounds = edges(np.bincount(numbers, minlength=len(about["branches"]))).tolist()
    embedded = np.sum([part.embedded for part in parts], axis=0).tolist()
    for number, branch in enumerate(about["branches"]):
        own = bounds[number : number + 2], embedded[number], int(starts[-1])
        branch["baskets"], branch["embedded"], branch["entries"] = own
    identities = tuple(each.identity for each in opened)
    return _Chain(
        file=opened[0].file,
        path=opened[0].path,
        identity=identities,
        name=name,
        root="",
        result=result,
        first=(np.concatenate([part.first for part in parts]) + shift)[order],
        stop=(np.concatenate([part.stop for part in parts]) + shift)[order],
        offsets=np.concatenate([part.offsets for part in parts])[order],
        lengths=np.concatenate([part.lengths for part in parts])[order],
        branches=about["branches"],
        entries=int(starts[-1]),
        file_of=np.repeat(np.arange(len(parts)), [len(part.first) for part in parts])[order],
        opened=opened,
        files=Files(name, tuple(each.path for each in opened), identities, tuple(starts.tolist())),
        apart=apart,
    )


@dataclass(kw_only=True)
class _Chain(Tree):
    """A tree whose baskets are in several files; branches that are ``apart`` are not added from it."""

    opened: list[Opened]
    files: Files
    apart: set[int]
    per_file: dict[int, list[int]] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)

    def beyond(self, branch: dict[str, Any]) -> int:
        """Return -1: branches with such baskets are apart."""
        return -1

    def path_of(self, branch: dict[str, Any]) -> str:
        """Return the file of a damaged branch."""
        return self.damaged.get(branch["path"], self.path)

    def elements(self, numbers: list[int]) -> dict[int, Any]:
        """Return the number of elements of each basket of jagged branches, or the error."""
        result: dict[int, Any] = {}
        numbers = [number for number in numbers if number not in self.apart]
        found = [each.file.elements(self.name, numbers) for each in self.opened]
        self._check_damage(found)
        for at, number in enumerate(numbers):
            ours = [each[at] for each in found]
            failed = next((n for n, each in enumerate(ours) if isinstance(each, errors.Error)), None)
            if failed is None:
                result[number] = np.concatenate(ours)
                self.per_file[number] = [int(each.sum()) for each in ours]
            else:
                result[number] = ours[failed]
                self.damaged[self.branches[number]["path"]] = self.opened[failed].path
        return result

    def _check_damage(self, found: list[list[Any]]) -> None:
        """Raise for a file with so many contradictory branches that it is left out as a whole."""
        wrong = [{n for n, each in enumerate(of) if isinstance(each, errors.Error)} for of in found]
        everywhere = wrong[0].intersection(*wrong[1:])
        entries = np.diff(self.files.starts).tolist()
        worst = least_loss(entries, [len(each - everywhere) for each in wrong], len(self.branches))
        if worst is not None:
            error = found[worst][min(wrong[worst] - everywhere)]
            message = f"{self.opened[worst].path}: tree {self.name}, {error.message}"
            raise _DamagedFile(worst, errors.make("corrupt", message, error.hint))

    def reader(self, number: int, part: str, shape: tuple[int, ...], dtype: np.dtype, member: int = 0) -> Any:
        """Return a reader that opens the files it needs."""
        starts = self.files.starts
        if part == "content":
            starts = tuple(edges(np.array(self.per_file[number])).tolist())
        return ChainReader(self.files, number, part, shape, dtype, member, starts)


# Reader of one array of a branch that several files hold.


@dataclass(frozen=True)
class Files:
    """Files of a chain, which all of its readers share.

    Attributes:
        tree: the tree's path in the files.
        paths: the files.
        identities: identities of the files when they were indexed.
        starts: first entry of each file, and the number of all entries.
    """

    tree: str
    paths: tuple[str, ...]
    identities: tuple[Identity, ...]
    starts: tuple[int, ...]


@dataclass(frozen=True)
class ChainReader:
    """Reader for one array of a branch; can be pickled.

    Attributes:
        files: the files.
        number, part, shape, dtype, member: as in :class:`icecore.sources.root.readers.BranchReader`;
            ``shape`` is that of all files.
        starts: first row of each file, and the number of all rows.
    """

    files: Files
    number: int
    part: str
    shape: tuple[int, ...]
    dtype: np.dtype
    member: int
    starts: tuple[int, ...]

    def __call__(self, region: Region) -> np.ndarray:
        """Return the elements of ``region``, C-contiguous."""
        if self.part != "offsets":
            return self._stitched(self.part)(region)
        counts = self._stitched("counts")((slice(0, self.starts[-1]),))
        return np.ascontiguousarray(offsets_of(counts)[region])

    def damaged(self, shape: tuple[int, ...]) -> DamagedSource | None:
        """Return an error for all files that can't be read, or None."""
        if self.part == "offsets":
            return self._stitched("counts").damaged((self.starts[-1],))
        return self._stitched(self.part).damaged(shape)

    def _stitched(self, part: str) -> Stitched:
        dtype = np.dtype("u4") if part == "counts" else self.dtype
        row = () if part == "counts" else self.shape[1:]
        tree, files = self.files.tree, self.files
        readers = tuple(
            BranchReader(path, identity, tree, self.number, part, (high - low, *row), dtype, self.member)
            for path, identity, low, high in zip(
                files.paths, files.identities, self.starts, self.starts[1:], strict=False
            )
        )
        return Stitched(readers, files.paths, self.starts, 0, dtype)
