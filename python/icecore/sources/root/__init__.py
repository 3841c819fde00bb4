"""ROOT files: trees and ntuples; baskets and pages are linked in place."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from icecore import _icecore, errors
from icecore.cluster.tasks import Cluster
from icecore.display.progress import ProgressCall
from icecore.repository.nodes import suggestion
from icecore.sources.files.identity import identity, is_remote, unchanged
from icecore.sources.files.tree_address import files, split
from icecore.sources.mapping.array_map import ArrayMap, Note
from icecore.sources.root.alike import Opened, open_chain
from icecore.sources.root.chain import join_files
from icecore.sources.root.other_objects import note_objects
from icecore.sources.root.readers import root_file
from icecore.sources.root.tree import add_tree

_TREES = ("TTree", "TNtuple", "TNtupleD")
_NTUPLES = ("ROOT::RNTuple", "ROOT::Experimental::RNTuple")


def open(
    source: str,
    tree: str = "",
    allow_missing: bool = False,
    copies: bool = True,
    wanted: Callable[[str], bool] | None = None,
    keep_going: bool = False,
) -> ArrayMap:
    """Index the trees and ntuples of a ROOT file, or only ``tree``, whose branches are then at the root.

    Args:
        source: a file; with ``tree`` also a pattern, whose files are joined in the order of their names.
        tree: path of a tree or ntuple in the file.
        copies: whether uproot, if it is installed, reads branches that the engine does not decode.
        wanted: whether the caller takes the array at a path; branches that must be decoded to know their
            shapes are not read for other arrays.
        allow_missing: leave out files without the tree, and branches that some files don't have.
        keep_going: leave out damaged files of a pattern, and branches that its files have in different forms;
            the errors are in ``failed``.

    Raises:
        Error: ``corrupt`` for damaged keys; ``not-found`` for a missing tree; ``mismatch`` for files with
            other branches; ``source-changed``.
    """
    found = files(source) if tree else [source]
    if len(found) == 1:
        return _open(found[0], tree, copies, wanted)
    result = open_files(found, tree, source, allow_missing, copies, wanted)
    if result.failed and not keep_going:
        raise result.failed[0]
    return result


def open_many(
    sources: Sequence[str],
    name: str,
    progress: ProgressCall | None = None,
    cluster: Cluster | None = None,
    **options: Any,
) -> ArrayMap:
    """Index the tree of several addresses (``FILE:TREE``) as one, see :func:`open_files`.

    Raises:
        Error: ``exists`` if a file is named twice.
    """
    paths = [_absolute(path) for source in sources for path in files(split(source)[0])]
    if twice := next((path for path in paths if paths.count(path) > 1), None):
        hint = "name it once; a pattern, a folder or a list beside it may name it too"
        raise errors.make("exists", f"{twice} is named twice", hint)
    return open_files(paths, split(sources[0])[1], name, **options)


def open_files(
    paths: Sequence[str],
    tree: str,
    name: str,
    allow_missing: bool = False,
    copies: bool = True,
    wanted: Callable[[str], bool] | None = None,
) -> ArrayMap:
    """Index one tree or ntuple of several files as one: the entries of a file follow those of the one before.

    A file that can't be read, and a branch that is not the same in all files, is in ``failed`` of the
    result and left out: a file gives its entries to all branches or to none.

    Args:
        paths: the files, in order.
        tree: path of the tree or ntuple in the files.
        name: name of the source.
        allow_missing, copies, wanted: see :func:`open`; what is missing is then noted and no failure.

    Raises:
        Error: the first failure, if no file can be read.
    """
    opened, kinds = [], set()
    missing: list[Note] = []
    failed: list[errors.Error] = []
    for path in paths:
        try:
            before = identity(path)
            file = root_file(path, before)
            kinds |= set(_kinds(file, path, tree).values())
        except errors.Error as error:
            if error.kind == "not-found" and allow_missing:
                missing.append(Note("/", "missing", f"{path} has no tree {tree}"))
            else:
                failed.append(_named(path, error))
            continue
        opened.append(Opened(path, before, file))
    if not opened:
        raise next(iter(failed), _no_tree(name, tree))
    if kinds.isdisjoint(_NTUPLES):
        result = open_chain(opened, tree, copies, allow_missing, wanted)
    else:
        result = join_files(
            [partial(_open, each.path, tree, copies, wanted) for each in opened], allow_missing
        )
    result.source = name
    result.dropped += missing
    result.failed = failed + result.failed
    result.files = tuple(each.path for each in opened)
    result.without = _Chain(result.files, tree, name, allow_missing, copies, wanted)
    return result


def _absolute(path: str) -> str:
    return path if is_remote(path) else os.path.abspath(path)


@dataclass(frozen=True)
class _Chain:
    """Opens the files of a chain again, without some of them; can be pickled."""

    paths: tuple[str, ...]
    tree: str
    name: str
    allow_missing: bool
    copies: bool
    wanted: Callable[[str], bool] | None

    def __call__(self, damaged: set[str]) -> ArrayMap:
        rest = [path for path in self.paths if path not in damaged]
        return open_files(rest, self.tree, self.name, self.allow_missing, self.copies, self.wanted)


def _no_tree(name: str, tree: str) -> errors.Error:
    return errors.make("not-found", f"no file of {name} has a tree {tree}", "check the tree's name")


def _named(path: str, error: errors.Error) -> errors.Error:
    """Return an error that names the file."""
    if path in error.message:
        return error
    return errors.make(error.kind, f"{path}: {error.message}", error.hint)


def _open(source: str, tree: str, copies: bool, wanted: Callable[[str], bool] | None) -> ArrayMap:
    before = identity(source)
    file = root_file(source, before)
    copies = copies and not is_remote(source)  # uproot reads local files
    result = ArrayMap(source)
    for path, kind in _kinds(file, source, tree).items():
        add: Callable[..., None] = add_tree
        if kind in _NTUPLES:
            from icecore.sources.root.ntuple import add_ntuple as add
        try:
            add(file, source, before, path, "" if tree else f"/{path}", result, copies, wanted=wanted)
        except errors.Error as error:
            if tree:
                raise _named(source, error) from error
            result.failed.append(_named(source, error))
    if not tree:
        note_objects(file.keys(), _TREES + _NTUPLES, source, result)
    unchanged(source, before)
    return result


def _kinds(file: _icecore.RootFile, source: str, tree: str) -> dict[str, str]:
    """Return the classes of the trees and ntuples, or of the one that is asked for."""
    newest: dict[str, str] = {}
    keys = file.keys()
    for path, _, kind in keys:
        if kind in _TREES + _NTUPLES:
            newest.setdefault(path, kind)
    if not tree:
        return newest
    if tree not in newest:
        hint = suggestion(tree, newest, f"it has {', '.join(newest) or 'no tree'}")
        raise errors.make("not-found", f"{source} has no tree {tree}", hint)
    return {tree: newest[tree]}
