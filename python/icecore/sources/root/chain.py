"""Join one tree of several files: arrays are concatenated along the entries."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from icecore import errors
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Links, Note, Region
from icecore.sources.mapping.stitched_array import Stitched, decodes_alike
from icecore.sources.root.entries import copied
from icecore.sources.root.lists import JAGGED, attribute, edges
from icecore.sources.root.readers import offsets_of

_LENGTHS = ("counts", "ends", "offsets")


def join(maps: list[ArrayMap], allow_missing: bool = False) -> ArrayMap:
    """Join the trees of ``maps`` in order.

    Raises:
        Error: ``mismatch`` if a file lacks a branch of another (unless ``allow_missing``), or its type or
            shape differs.
    """
    result = ArrayMap(maps[0].source, {}, {}, [note for each in maps for note in each.dropped])
    result.failed = [error for each in maps for error in each.failed]
    groups = [path for each in maps for path in each.groups]
    for path in dict.fromkeys(groups):
        result.groups[path] = next(each.groups[path] for each in maps if path in each.groups)
    entries = [each.groups.get("/", {}).get("entries", 0) for each in maps]
    result.groups["/"] = {**result.groups.get("/", {}), "entries": sum(entries)}
    left_out: set[str] = set()
    branches = [_branches(each) for each in maps]
    for branch in dict.fromkeys(name for names in branches for name in names):
        lacking = [each.source for each, names in zip(maps, branches, strict=True) if branch not in names]
        if not lacking:
            continue
        if not allow_missing:
            message = (
                f"{lacking[0]} has no branch {branch[1:]} that can be read, other files of the chain have it"
            )
            raise errors.make("mismatch", message, "--allow-missing leaves such branches out")
        result.dropped.append(
            Note(branch, "missing", f"{lacking[0]} has no such branch ({len(lacking)} files)")
        )
        left_out.add(branch)
        result.groups.pop(branch, None)
    lists = [path for path, attrs in result.groups.items() if JAGGED in attrs]
    lengths: set[str] = set()
    for path in lists:
        lengths |= _join_lists(maps, path, result)
    for path in dict.fromkeys(path for each in maps for path in each.arrays):
        if path in lengths or path in left_out or _is_inside(path, left_out):
            continue
        result.add(_joined(path, maps))
    return result


def _branches(each: ArrayMap) -> set[str]:
    """Paths of the arrays and of the lists (one path for all members of a list)."""
    lists = {path for path, attrs in each.groups.items() if JAGGED in attrs}
    outer = {path for path in lists if not _is_inside(path, lists)}
    return outer | {path for path in each.arrays if not _is_inside(path, outer)}


def _is_inside(path: str, groups: set[str]) -> bool:
    """Whether one of the groups contains the path."""
    while path := posixpath.dirname(path).rstrip("/"):
        if path in groups:
            return True
    return False


def _joined(path: str, maps: list[ArrayMap]) -> ArrayEntry:
    parts = [each.arrays[path] for each in maps]
    first = parts[0]
    for part, each in zip(parts, maps, strict=True):
        if part.dtype != first.dtype or part.shape[1:] != first.shape[1:]:
            message = f"{path[1:]}: {part.dtype} {part.shape[1:]} in {each.source}, {first.dtype}"
            hint = "link these files into groups of their own"
            raise errors.make("mismatch", f"{message} {first.shape[1:]} in {maps[0].source}", hint)
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
    """

    parts: tuple[tuple[str, Any, int, tuple[int, ...]], ...]

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
        entry = each.arrays[posixpath.normpath(posixpath.join(path, item[kind]))]
        parts.append((kind, entry.read, entry.shape[0], tuple(item.get("bounds", [[]])[0])))
    count = sum(length - (kind == "offsets") for kind, _, length, _ in parts)
    why = "baskets of some files can't be linked"
    offsets = copied(f"{path}/offsets", (count + 1,), np.dtype("i8"), ListOffsets(tuple(parts)), why, None)
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
