"""Assign each array of the sources a path in the repository, and find the stored array at that path."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.ingest.common_options import Existing
from icecore.ingest.plan.append_series import append_series
from icecore.ingest.plan.assembly import Assembly, Step
from icecore.ingest.plan.continue_in_time import (
    ENTRY,
    continued_tree,
    has_trees,
    is_tree,
    on_time_axes,
    series_of,
)
from icecore.ingest.plan.finer_times import adapt
from icecore.ingest.plan.late_rows import Growing, joined_behind, linked_files, unlinked
from icecore.ingest.plan.repository_source import stored_entry
from icecore.ingest.plan.resolve_sources import Source
from icecore.ingest.plan.shared_arrays import Meeting, SharedArrays, replaced_columns, unfitting
from icecore.repository import address
from icecore.repository.array_request import row_blocks
from icecore.repository.nodes import Node
from icecore.sources.failure import Failure
from icecore.sources.mapping import tiles
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, DamagedSource
from icecore.sources.mapping.column_nulls import with_one_null
from icecore.sources.mapping.consistency import shared
from icecore.sources.mapping.join_in_time import has_series

if TYPE_CHECKING:
    from icecore.repository.repo import Repo


def assemble(
    sources: Sequence[Source],
    group: str | None,
    concat: str | None,
    repo: Repo | None,
    existing: Existing,
    unpack: bool = False,
    tolerance: float | None = None,
    inserts: bool = False,
    merge: bool = False,
) -> Assembly:
    """Assign every array of every source its path, join along ``concat`` if it is given, and compare with the
    stored arrays.

    Without ``concat`` each source goes to ``group``, or to a group named like the source. With ``concat`` all
    sources go to one group.

    Args:
        sources: indexed sources, in order.
        group: the group for the root of each source.
        concat: the dimension to join along.
        repo: the repository, or None if it does not exist yet.
        existing: action for arrays that already exist.
        unpack: join numbers with different scales as unscaled floats.
        tolerance: largest accepted difference of coordinates, in their units.
        inserts: insert sources that belong before the end of the stored arrays.
        merge: sources of different variables go to one group; those of each variable are joined.
    """
    result = Assembly()
    nodes = repo._nodes if repo is not None else {}
    check = SharedArrays(repo, tolerance)
    if concat == ENTRY and any(has_trees(source.arrays) for source in sources):
        _place_trees(result, sources, group, repo, existing, check)
        return result
    in_time = concat == "time" and bool(sources) and all(has_series(source.arrays) for source in sources)
    if merge and concat is None and group is None and sources:
        group = sources[0].group
    if concat is None or in_time or (sources and all(on_time_axes(source.arrays) for source in sources)):
        for source in series_of(sources) if in_time else sources:
            root = address.absolute(group) if group is not None else source.group
            joined = concat if in_time else None
            _place(result, source.name, source.arrays, root, nodes, existing, joined, check, repo)
            if in_time and concat is not None:
                result.notes += [
                    Failure(address.join(root, note.path), note.kind, note.message)
                    for note in source.arrays.dropped
                    if note.kind in ("gaps", "overlap", "missing", "changed")
                ]
    elif sources:
        root = address.absolute(group) if group is not None else sources[0].group
        wholes = list[ArrayMap]()
        for some in _by_variables(sources) if merge else [sources]:
            try:
                join = _Join(concat, unpack, tolerance)
                whole = _place_joined(result, some, root, concat, repo, existing, check, join, inserts)
                wholes += [whole] if whole is not None else []
            except DamagedSource:  # the caller can join the others without it
                raise
            except errors.Error as error:
                result.failures.append(Failure.of(some[0].name, error))
        if existing.append and repo is not None and wholes:
            _left_behind(result, sources[0].name, wholes, root, repo, concat)
    deleted: set[str] = set()
    if existing.replace:
        for path, attrs in result.groups.items():
            deleted |= replaced_columns(nodes, path, attrs)
    found = list(unfitting(result.steps, repo, check, deleted))
    refused = {failure.name for failure in found}
    result.failures += found
    for step in result.steps:
        parent = step.path.rsplit("/", 1)[0] or "/"
        if step.source in refused and parent in nodes:  # stays as it is: attributes, and columns of a table
            result.groups.pop(parent, None)
    result.steps = [step for step in result.steps if step.source not in refused]
    return result


def _by_variables(sources: Sequence[Source]) -> list[list[Source]]:
    """Return the sources with the same variables, coordinates aside."""
    found: dict[frozenset[str], list[Source]] = {}
    for source in sources:
        found.setdefault(frozenset(source.arrays.arrays.keys() - shared(source.arrays)), []).append(source)
    return list(found.values())


@dataclass(frozen=True)
class _Join:
    """Joins sources along a dimension, or tiles along several."""

    concat: str
    unpack: bool
    tolerance: float | None

    def __call__(self, maps: list[ArrayMap]) -> ArrayMap:
        if tiles.is_several(self.concat):
            return tiles.tiled(maps, tiles.parse(self.concat), self._along, self.tolerance or 0.0)
        return self._along(maps, self.concat)

    def _along(self, maps: list[ArrayMap], dim: str) -> ArrayMap:
        from icecore.sources.mapping.virtual_concat import concat

        return concat(maps, dim, self.unpack, self.tolerance)


def _place_joined(
    result: Assembly,
    sources: Sequence[Source],
    root: str,
    concat: str,
    repo: Repo | None,
    existing: Existing,
    check: SharedArrays,
    join: _Join,
    inserts: bool,
) -> ArrayMap | None:
    """Place sources that are joined along ``concat``, behind the stored arrays or between their rows; return
    the joined arrays, None if all are there already.
    """
    maps = [source.arrays for source in sources]
    nodes = repo._nodes if repo is not None else {}
    is_null = partial(_holds, repo, root)
    if existing.append:
        stored = _stored(maps, root, repo, concat, result)
    if existing.append and repo is not None:
        joining = partial(_joining, join, is_null)
        growing = Growing(stored, root, repo, concat, existing.over)
        codecs = partial(_codecs, nodes, root)
        found = joined_behind(growing, maps, joining, codecs, inserts)
        maps, whole = found.maps, found.whole
        if whole is None:
            result.skipped += _again(root, found.again[0])
            return None
        result.notes += [Failure(each.source, "skipped", "is linked already") for each in found.again]
    else:
        with_one_null(maps, is_null)
        whole = join(maps)
    result.notes += [
        Failure(address.join(root, note.path), note.kind, note.message)
        for note in whole.dropped
        if note.kind in ("unpacked", "calendar", "tolerance")
    ]
    if not tiles.is_several(concat):
        result.notes += _out_of_order(maps, whole, root, concat, repo if existing.append else None)
    _place(result, sources[0].name, whole, root, nodes, existing, concat, check)
    return whole


def _again(root: str, arrays: ArrayMap) -> list[tuple[str, ArrayEntry, str]]:
    """Return the arrays of files that are linked already, as skipped."""
    why = "its files are linked already"
    return [(address.join(root, path), entry, why) for path, entry in arrays.arrays.items()]


def _below(root: str, nodes: Mapping[str, Node]) -> list[str]:
    """Return the paths of the arrays of a group."""
    prefix = root.rstrip("/") + "/"
    return [path for path, node in nodes.items() if node.is_array and path.startswith(prefix)]


def _joining(join: _Join, holds: Callable[[str, Any], bool], maps: list[ArrayMap]) -> ArrayMap:
    with_one_null(maps, holds)
    return join(maps)


def _codecs(nodes: Mapping[str, Node], root: str, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = nodes[address.join(root, path)].document["codecs"]
    return found


def _place_trees(
    result: Assembly,
    sources: Sequence[Source],
    group: str | None,
    repo: Repo | None,
    existing: Existing,
    check: SharedArrays,
) -> None:
    """Place trees, which are joined already; with ``append`` behind the entries of the stored one."""
    nodes = repo._nodes if repo is not None else {}
    for source in sources:
        arrays, action = source.arrays, existing
        root = address.absolute(group) if group is not None else source.group
        try:
            if not is_tree(arrays):
                message = f"{source.name} is not one tree, so its entries can't be joined"
                raise errors.make("mismatch", message, "name the tree of each file: FILE.root:Events")
            if existing.append and repo is not None and root in nodes:
                new = unlinked(arrays, linked_files(repo, _below(root, nodes), every=True))
                if new is None:
                    result.skipped += _again(root, arrays)
                    continue
                arrays, action = continued_tree(new, root, repo), Existing(replace=True)
                result.grown |= {address.join(root, path) for path in arrays.groups}
        except errors.Error as error:
            result.failures.append(Failure.of(source.name, error))
        else:
            _place(result, source.name, arrays, root, nodes, action, None, check)


def _out_of_order(
    maps: Sequence[ArrayMap], joined: ArrayMap, root: str, concat: str, repo: Repo | None
) -> list[Failure]:
    """Return notes on coordinates of the joined dimension that do not continue after the end of the previous
    source or of the stored array.
    """
    from icecore.sources.mapping.coordinate_order import Ends, disorder, ends

    notes = []
    for path, entry in joined.arrays.items():
        if entry.dims != (concat,) or path.rsplit("/", 1)[-1] != concat:
            continue
        found = ends(entry, [(each.source, each.arrays[path].shape[0]) for each in maps])
        stored = address.join(root, path)
        if repo is not None and not entry.rewritten and found and (old := repo._array(stored)).size:
            with suppress(errors.Error):  # appending does not need linked files that changed
                found.insert(0, Ends("the repository", old[0].item(), old[-1].item()))
        if said := disorder(found, entry.attrs.get("units")):
            notes.append(Failure(stored, "order", said))
    return notes


def _holds(repo: Repo | None, root: str, path: str, value: Any) -> bool:
    """Whether the rows of a stored column contain a value; they are scanned in blocks."""
    if repo is None:
        return False
    array = repo._array(address.join(root, path))
    is_nan = isinstance(value, (float, np.floating)) and bool(np.isnan(value))
    return any(bool(np.any(np.isnan(block) if is_nan else block == value)) for block in row_blocks(array))


def _is_same(one: str, other: str) -> bool:
    """Whether two names refer to the same source."""
    if one == other:
        return True
    with suppress(OSError):  # URLs and deleted files
        return os.path.samefile(one, other)
    return False


def _place(
    result: Assembly,
    source: str,
    arrays: ArrayMap,
    root: str,
    nodes: Mapping[str, Node],
    existing: Existing,
    concat: str | None,
    check: SharedArrays,
    repo: Repo | None = None,
) -> None:
    series: set[str] = set()
    if existing.append and repo is not None:
        series = append_series(result, Step, source, arrays, root, repo, existing.over)
    for path, attrs in arrays.groups.items():
        result.groups.setdefault(address.join(root, path), attrs)
        _group_over_array(result, source, address.join(root, path), nodes)
    steps: list[Step] = []
    met: list[Meeting] = []
    skipped: list[tuple[str, ArrayEntry, str]] = []
    for inside, entry in arrays.arrays.items():
        if entry.path in series:
            continue
        path = address.join(root, inside)
        node = nodes.get(path)
        if path in result.taken:
            first, others = result.taken[path]
            if _is_same(source, first.source):
                also = "" if first.source == source else f", also as {first.source}"
                hint = "name it once; a pattern, a folder or a list beside it may name it too"
                result.failures.append(Failure(source, "exists", f"{source} is named twice{also}", hint))
                return
            met.append(Meeting(inside, path, entry, check.of_source(others, first.entry.path)))
            skipped.append((path, entry, f"it comes from {first.source}"))
        elif node is not None and node.is_array and existing.skip:
            met.append(Meeting(inside, path, entry, check.of_repository(node, inside)))
            skipped.append((path, entry, "it exists already"))
        elif (step := _step(result, source, path, entry, node, existing, concat)) is not None:
            steps.append(step)
    if _clash(result, source, arrays, met, check) or not _agree(result, source, arrays, steps, met, check):
        return
    result.skipped += skipped
    result.add(steps, arrays)


def _step(
    result: Assembly,
    source: str,
    path: str,
    entry: ArrayEntry,
    node: Node | None,
    existing: Existing,
    concat: str | None,
) -> Step | None:
    """Return the step that writes an array; None if it is skipped or can't be written."""
    if node is None:
        return Step(path, source, entry)
    if not node.is_array:
        message = f"{path} is a group in the repository, an array in {source}"
        result.failures.append(Failure(source, "exists", message, "another --group"))
    elif existing.replace or (existing.append and entry.rewritten):
        return Step(path, source, entry, replaced=node)
    elif existing.append and concat is not None:
        return _extended(result, source, path, entry, node, concat)
    else:
        hint = "--append, --replace or --skip-existing, or another --group"
        result.failures.append(Failure(source, "exists", f"{path} exists in the repository already", hint))
    return None


def _clash(
    result: Assembly, source: str, arrays: ArrayMap, met: Sequence[Meeting], check: SharedArrays
) -> bool:
    """Whether data of two sources has one path; coordinates and equal small arrays may be in both."""
    both = [each for each in met if each.path in result.taken]
    kept = shared(arrays) if both else set()
    apart = (each for each in both if each.inside not in kept and not check.is_equal(arrays, each))
    found = next(apart, None)
    if found is not None:
        first = result.taken[found.path][0].source
        message = f"{source} and {first} both have an array for {found.path}"
        hint = "join them with --concat DIM, or give each a group of its own"
        result.failures.append(Failure(source, "exists", message, hint))
    return found is not None


def _agree(
    result: Assembly,
    source: str,
    arrays: ArrayMap,
    steps: Sequence[Step],
    met: Sequence[Meeting],
    check: SharedArrays,
) -> bool:
    """Whether the coordinates of a source that adds arrays equal those that its group has already."""
    if not steps:
        return True  # nothing would refer to other coordinates
    try:
        result.notes += check.compare(arrays, met)
    except DamagedSource:
        raise
    except errors.Error as error:
        result.failures.append(Failure.of(source, error))
        return False
    return True


def _group_over_array(result: Assembly, source: str, path: str, nodes: Mapping[str, Node]) -> None:
    """Reject a group at or below the path of an array."""
    parts = path.strip("/").split("/")
    for depth in range(1, len(parts) + 1):
        above = "/" + "/".join(parts[:depth])
        if above in nodes and nodes[above].is_array:
            message = f"{above} is an array in the repository, a group in {source}"
            result.failures.append(Failure(source, "exists", message, "another --group"))
            return


def _extended(
    result: Assembly, source: str, path: str, entry: ArrayEntry, node: Node, concat: str
) -> Step | None:
    if concat not in entry.dims:
        result.skipped.append((path, entry, f"it does not grow along {concat!r}"))
        return None
    if entry.data_type == node.document["data_type"]:
        return Step(path, source, entry, old=node, axis=entry.dims.index(concat))
    message = f"{path} is {node.dtype_label} in the repository, {entry.dtype} in {source}"
    wider = (path, "unpacked") in {(note.name, note.kind) for note in result.notes}
    kinds = {_number(node.document["data_type"]), _number(entry.data_type)}
    wider = wider or kinds <= {"int", "uint", "float"}
    hint = "link or pack it into another group" + (", or all of its files in one go" if wider else "")
    result.failures.append(Failure(source, "mismatch", message, hint))
    return None


def _number(data_type: Any) -> str:
    """Return ``int`` for ``int16``: joined files get a type that holds the numbers of all of them."""
    return data_type.rstrip("0123456789") if isinstance(data_type, str) else ""


def _left_behind(
    result: Assembly, source: str, joined: Sequence[ArrayMap], root: str, repo: Repo, concat: str
) -> None:
    """Reject a join that would not extend all arrays along ``concat``: their rows would no longer match."""
    groups = {address.join(root, path) for each in joined for path in each.groups}
    growing = {address.join(root, path) for each in joined for path in each.arrays}
    for path, array in repo.arrays.items():
        if array._node.parent in groups and concat in array.dims and path not in growing:
            message = f"{path} has the dimension {concat!r} in the repository and is not in {source}"
            hint = "append files that have it, or link or pack this one into another group"
            result.failures.append(Failure(source, "mismatch", message, hint))


def _stored(maps: list[ArrayMap], root: str, repo: Repo | None, concat: str, assembly: Assembly) -> ArrayMap:
    """Return the stored versions of the sources' arrays.

    New parts are joined to them, so that they are converted to their units and types, or rejected. Times that
    are too coarse for the new ones are written again.
    """
    result = ArrayMap("the repository")
    for path, new in {path: entry for each in maps for path, entry in each.arrays.items()}.items():
        stored = address.join(root, path)
        node = None if repo is None else repo._nodes.get(stored)
        is_array = node is not None and node.is_array
        if repo is not None and not is_array and concat not in new.dims:
            continue  # a new array beside the extended ones
        if repo is None or not is_array:
            raise errors.make(
                "not-found",
                f"{stored}: the repository has no array of this name to append to",
                "link or pack without --append first, into the same --group",
            )
        result.add(stored_entry(repo._array(stored), path))
    for note in adapt(result, maps, concat):
        assembly.notes.append(Failure(address.join(root, note.path), note.kind, note.message))
    return result
