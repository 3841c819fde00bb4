"""Join one tree of several files: arrays are concatenated along the entries."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from icecore import errors
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, DamagedSource, Links, Note, Region
from icecore.sources.mapping.stitched_array import Stitched, decodes_alike
from icecore.sources.root.entries import copied
from icecore.sources.root.readers import ENTRIES, JAGGED, attribute, edges, offsets_of

_LENGTHS = ("counts", "ends", "offsets")
_LISTS = ("list", "optional")


#: indexes one file
Opener = Callable[[], ArrayMap]


def join_files(openers: Sequence[Opener], allow_missing: bool = False) -> ArrayMap:
    """Index files one by one and join them; a damaged file is left out, and is in ``failed``.

    Raises:
        Error: the first failure, if no file can be read.
    """
    maps: list[ArrayMap] = []
    failed: list[errors.Error] = []
    for opener in openers:
        try:
            maps.append(opener())
        except errors.Error as error:
            failed.append(error)
    if not maps:
        raise failed[0]
    while (worst := worst_file(maps)) is not None:
        failed.append(left_out_file(maps.pop(worst).failed[0]))
    result = join(maps, allow_missing)
    result.failed = failed + result.failed
    return result


def worst_file(maps: list[ArrayMap]) -> int | None:
    """Return the number of a damaged file that costs fewer values than its damaged branches would."""
    if not any(each.failed for each in maps):
        return None
    types = [set(_branches(each)) for each in maps]
    every = set().union(*types)
    lost = [every - found if each.failed else set() for each, found in zip(maps, types, strict=True)]
    return least_loss([_entries(each) for each in maps], [len(each) for each in lost], len(every))


def least_loss(entries: Sequence[int], damaged: Sequence[int], branches: int) -> int | None:
    """Return the number of a file to leave out of a chain; None if its damaged branches are left out instead.

    A damaged branch is left out of all files, a file out of all branches: the smaller loss of values counts.

    Args:
        entries: number of entries of each file.
        damaged: number of branches that are damaged in each file, and not in all others.
        branches: number of branches.
    """
    total = sum(entries)
    for number, (count, lost) in enumerate(zip(entries, damaged, strict=True)):
        if lost and len(entries) > 1 and count * (branches - lost) < lost * (total - count):
            return number
    return None


def left_out_file(error: errors.Error) -> errors.Error:
    """Return the failure of a file that is left out of a chain."""
    return errors.make(error.kind, f"{error.message} (the whole file is left out)", error.hint)


def join(maps: list[ArrayMap], allow_missing: bool = False) -> ArrayMap:
    """Join the trees of ``maps`` in order.

    A branch that some files lack, or have with another type or shape, is left out: with a note if
    ``allow_missing``, otherwise with an error in ``failed``. Files without entries are not asked.
    """
    sources = maps
    maps = [each for each in maps if _entries(each)] or maps[:1]
    notes = [note for each in sources for note in each.dropped]
    result = ArrayMap(sources[0].source, {}, {}, list(dict.fromkeys(notes)))
    result.failed = list({error.message: error for each in sources for error in each.failed}.values())
    for path in dict.fromkeys(path for each in maps for path in each.groups):
        result.groups[path] = next(each.groups[path] for each in maps if path in each.groups)
    result.groups["/"] = {**result.groups.get("/", {}), ENTRIES: sum(map(_entries, maps))}
    branches = [_branches(each) for each in maps]
    left_out: set[str] = set()
    for branch in dict.fromkeys(name for found in branches for name in found):
        message = _differs(branch, maps, branches)
        if not message:
            continue
        left_out.add(branch)
        if allow_missing:
            result.dropped.append(Note(branch, "missing", message))
        else:
            hint = "--allow-missing leaves such branches out"
            result.failed.append(errors.make("mismatch", message, hint))
    for path in [path for path in result.groups if path in left_out or _is_inside(path, left_out)]:
        del result.groups[path]
    lists = [path for path, attrs in result.groups.items() if JAGGED in attrs]
    lengths: set[str] = set()
    for path in lists:
        lengths |= _join_lists(maps, path, result)
    for path in dict.fromkeys(path for each in maps for path in each.arrays):
        if path in lengths or path in left_out or _is_inside(path, left_out):
            continue
        result.add(_joined(path, maps))
    return result


def _entries(each: ArrayMap) -> int:
    return int(each.groups.get("/", {}).get(ENTRIES, 0))


#: kind, dtype and shape of a row of each array of a branch, below the branch
_Type = frozenset[tuple[str, str, tuple[int, ...]]]


def _branches(each: ArrayMap) -> dict[str, _Type]:
    """Return path → type of the arrays and of the lists (one path for all members of a list)."""
    lists = {path for path, attrs in each.groups.items() if JAGGED in attrs}
    outer = {path for path in lists if not _is_inside(path, lists)}
    found: dict[str, set[tuple[str, str, tuple[int, ...]]]] = {path: set() for path in outer}
    lengths: set[str] = set()
    for path in lists:
        stated = each.groups[path][JAGGED]
        found[_top(path, outer)].add((path, "optional" if "optional" in stated else "list", ()))
        lengths |= {_beside(path, stated[kind]) for kind in _LENGTHS if kind in stated}
    for path, entry in each.arrays.items():
        top = _top(path, outer)
        if top == path or path not in lengths:  # files may store lengths in other ways
            found.setdefault(top, set()).add((path, str(entry.dtype), tuple(entry.shape[1:])))
    return {path: frozenset(parts) for path, parts in found.items()}


def _beside(path: str, other: str) -> str:
    """Return a path that is given relative to another one."""
    return posixpath.normpath(posixpath.join(path, other))


def _top(path: str, outer: set[str]) -> str:
    """Return the outermost list that contains a path; the path itself if there is none."""
    above = path
    while above and above not in outer:
        above = posixpath.dirname(above).rstrip("/")
    return above or path


def _differs(branch: str, maps: list[ArrayMap], branches: list[dict[str, _Type]]) -> str:
    """Return how a branch differs between files; empty if all have it alike."""
    lacking = [each.source for each, found in zip(maps, branches, strict=True) if branch not in found]
    if lacking:
        some = f" ({len(lacking)} files)" if len(lacking) > 1 else ""
        what = f"{lacking[0]} has no branch {branch[1:]} that can be read{some}"
        return f"{what}, other files of the chain have it"
    first = branches[0][branch]
    for each, found in zip(maps, branches, strict=True):
        if found[branch] != first:
            here, there = _label(branch, found[branch]), _label(branch, first)
            return f"{branch[1:]}: {here} in {each.source}, {there} in {maps[0].source}"
    return ""


def _label(branch: str, parts: _Type) -> str:
    """Return a type as text: ``float32``, ``float64 (3,)``, ``lists of int32``."""
    kinds = [f"{kind} {row}" if row else kind for _, kind, row in sorted(parts) if kind not in _LISTS]
    is_list = any(kind in _LISTS for _, kind, _ in parts)
    return ("lists of " if is_list else "") + (", ".join(kinds) or "unknown type")


def _is_inside(path: str, groups: set[str]) -> bool:
    """Whether one of the groups contains the path."""
    while path := posixpath.dirname(path).rstrip("/"):
        if path in groups:
            return True
    return False


def _joined(path: str, maps: list[ArrayMap]) -> ArrayEntry:
    parts = [each.arrays[path] for each in maps]
    first = parts[0]
    starts = edges(np.array([part.shape[0] for part in parts])).tolist()
    shape = (starts[-1], *first.shape[1:])
    readers = tuple(part.read for part in parts if part.read is not None)
    read = Stitched(readers, tuple(each.source for each in maps), tuple(starts), 0, first.dtype)
    held = [part for part in parts if part.shape[0]]
    if not held or any(part.links is None or not decodes_alike(part.codecs, held[0].codecs) for part in held):
        why = next((part.note for part in held if part.links is None), "stored in different ways")
        return replace(copied(path, shape, first.dtype, read, why, first.dims[0]), attrs=first.attrs)
    rows = [length for part in held for length in _rows(part)]
    chunks: Any = [rows, *([n] for n in shape[1:])]
    if len(set(rows)) == 1:
        chunks = (rows[0], *shape[1:])
    return replace(held[0], shape=shape, chunks=chunks, links=_links(held), read=read, attrs=first.attrs)


def _rows(part: ArrayEntry) -> list[int]:
    """Return the lengths of an entry's chunks along the first axis."""
    if isinstance(part.chunks, tuple):
        return [part.chunks[0]] * (part.shape[0] // part.chunks[0])
    return list(part.chunks[0])


def _links(parts: list[ArrayEntry]) -> Links:
    found = [part.links for part in parts if part.links is not None]
    starts = edges(np.array([len(links) for links in found])).astype("u8")
    numbers = edges(np.array([len(links.urls) for links in found])).astype("u4")
    return Links(
        [url for links in found for url in links.urls],
        np.concatenate([links.sizes for links in found]),
        np.concatenate([links.mtimes_ns for links in found]),
        [etag for links in found for etag in links.etags],
        np.concatenate([links.url_ids + n for links, n in zip(found, numbers, strict=False)]).astype("u4"),
        np.concatenate([links.chunks + n for links, n in zip(found, starts, strict=False)]),
        np.concatenate([links.offsets for links in found]),
        np.concatenate([links.lengths for links in found]),
    )


@dataclass(frozen=True)
class ListOffsets:
    """Reader for the offsets of lists in several files; each file stores offsets, counts or ends.

    Attributes:
        parts: for each file the kind, the array's reader, its length, and the bounds of ends.
        sources: the files.
    """

    parts: tuple[tuple[str, Any, int, tuple[int, ...]], ...]
    sources: tuple[str, ...]

    def __call__(self, region: Region) -> np.ndarray:
        """Return the offsets of a region."""
        counts = [np.empty(0, "i8")]
        for kind, read, length, bounds in self.parts:
            values = np.asarray(read((slice(0, length),)), "i8")
            if kind == "offsets":
                values = np.diff(values)
            elif kind == "ends":
                inside = [np.diff(values[low:high], prepend=0) for low, high in pairwise(bounds)]
                values = np.concatenate([np.empty(0, "i8"), *inside])
            counts.append(values)
        return np.ascontiguousarray(offsets_of(np.concatenate(counts))[region])

    def damaged(self, shape: tuple[int, ...]) -> DamagedSource | None:
        """Return an error for all files whose lengths can't be read, or None."""
        starts = tuple(edges(np.array([length for _, _, length, _ in self.parts])).tolist())
        readers = tuple(read for _, read, _, _ in self.parts)
        return Stitched(readers, self.sources, starts, 0, np.dtype("i8")).damaged((starts[-1],))


def _join_lists(maps: list[ArrayMap], path: str, result: ArrayMap) -> set[str]:
    """Set the group of joined lists; return the arrays that its offsets replace."""
    stated: list[dict[str, Any]] = []
    for each in maps:
        item = each.groups.get(path, {}).get(JAGGED)
        if item is None:
            return set()
        stated.append(item)
    kinds = [next(kind for kind in _LENGTHS if kind in item) for item in stated]
    optional = "optional" in stated[0]
    sizes = [_content(each, path, item) for each, item in zip(maps, stated, strict=True)]
    full = [kind for kind, size in zip(kinds, sizes, strict=True) if size]
    used = {item[kind] for kind, item in zip(kinds, stated, strict=True)}
    if full and len(set(kinds)) == 1 and kinds[0] != "offsets" and len(used) == 1:
        entries, elements = (_shifted([np.array(item["bounds"][axis]) for item in stated]) for axis in (0, 1))
        rest = attribute(kinds[0], stated[0][kinds[0]], stated[0]["content"], (entries, elements), optional)
        result.groups[path] = {**result.groups[path], **rest}
        return set()
    parts = []
    for each, item, kind in zip(maps, stated, kinds, strict=True):
        entry = each.arrays[_beside(path, item[kind])]
        parts.append((kind, entry.read, entry.shape[0], tuple(item.get("bounds", [[]])[0])))
    count = sum(length - (kind == "offsets") for kind, _, length, _ in parts)
    why = "baskets of some files can't be linked"
    reader = ListOffsets(tuple(parts), tuple(each.source for each in maps))
    offsets = copied(f"{path}/offsets", (count + 1,), np.dtype("i8"), reader, why, None)
    result.add(offsets)
    result.groups[path] = {
        **result.groups[path],
        **attribute("offsets", "offsets", stated[0]["content"], None, optional),
    }
    return {f"{path}/{kind}" for kind in _LENGTHS}


def _content(each: ArrayMap, path: str, stated: dict[str, Any]) -> int:
    entry = each.arrays.get(f"{path}/{stated['content']}")
    return entry.shape[0] if entry is not None else 1


def _shifted(bounds: list[np.ndarray]) -> np.ndarray:
    """Return the bounds of consecutive parts."""
    result, start = [np.zeros(1, "i8")], 0
    for each in bounds:
        result.append(each[1:] + start)
        start += int(each[-1])
    return np.concatenate(result)
