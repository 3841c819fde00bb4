"""ROOT files: trees and ntuples; baskets and pages are linked in place."""

from __future__ import annotations

from collections.abc import Callable

from icecore import _icecore, errors
from icecore.repository.nodes import suggestion
from icecore.sources.files.identity import identity, is_remote, unchanged
from icecore.sources.files.tree_address import files
from icecore.sources.mapping.array_map import ArrayMap, Note
from icecore.sources.root.alike import Opened, open_chain
from icecore.sources.root.chain import join
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
) -> ArrayMap:
    """Index the trees and ntuples of a ROOT file, or only ``tree``, whose branches are then at the root.

    Args:
        source: a file; with ``tree`` also a pattern, whose files are joined in the order of their names.
        tree: path of a tree or ntuple in the file.
        copies: whether uproot, if it is installed, reads branches that the engine does not decode.
        wanted: whether the caller takes the array at a path; branches that must be decoded to know their
            shapes are not read for other arrays.
        allow_missing: leave out files without the tree, and branches that some files don't have.

    Raises:
        Error: ``corrupt`` for damaged keys; ``not-found`` for a missing tree; ``mismatch`` for files with
            other branches; ``source-changed``.
    """
    if is_remote(source):
        raise errors.make("unsupported", f"{source}: ROOT files are read from disk only", "download it")
    found = files(source) if tree else [source]
    if len(found) == 1:
        return _open(found[0], tree, copies, wanted)
    opened, missing, kinds = [], [], set()
    for path in found:
        before = identity(path)
        file = root_file(path, before)
        try:
            kinds |= set(_kinds(file, path, tree).values())
        except errors.Error as error:
            if error.kind != "not-found" or not allow_missing:
                raise
            missing.append(Note("/", "missing", f"{path} has no tree {tree}"))
            continue
        opened.append(Opened(path, before, file))
    if not opened:
        raise errors.make("not-found", f"no file of {source} has a tree {tree}", "check the tree's name")
    if kinds.isdisjoint(_NTUPLES):
        result = open_chain(opened, tree, copies, allow_missing, wanted)
    else:
        result = join([_open(each.path, tree, copies, wanted) for each in opened], allow_missing)
    result.source = source
    result.dropped += missing
    return result


def _open(source: str, tree: str, copies: bool, wanted: Callable[[str], bool] | None) -> ArrayMap:
    before = identity(source)
    file = root_file(source, before)
    result = ArrayMap(source)
    for path, kind in _kinds(file, source, tree).items():
        add: Callable[..., None] = add_tree
        if kind in _NTUPLES:
            from icecore.sources.root.ntuple import add_ntuple as add
        try:
            add(file, source, before, path, "" if tree else f"/{path}", result, copies, wanted=wanted)
        except errors.Error as error:
            if tree:
                raise errors.make(error.kind, f"{source}: {error.message}", error.hint) from error
            result.failed.append(errors.make(error.kind, f"{source}: {error.message}", error.hint))
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
