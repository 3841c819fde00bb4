"""Append trees to a stored one: stored and new entries become one chain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from icecore import errors
from icecore.ingest.repository_source import stored_entry
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Links
from icecore.tables.query.event_columns import ENTRIES

if TYPE_CHECKING:
    from icecore.repository.array import Array
    from icecore.repository.repo import Repo

#: the dimension along which trees are joined
ENTRY = "entry"


def is_tree(arrays: ArrayMap) -> bool:
    """Whether the root of a source is a tree: a group that states its number of entries."""
    return ENTRIES in arrays.groups.get("/", {})


def has_trees(arrays: ArrayMap) -> bool:
    """Whether a source is a tree, or has trees in groups."""
    return any(ENTRIES in attrs for attrs in arrays.groups.values())


def continued_tree(new: ArrayMap, root: str, repo: Repo) -> ArrayMap:
    """Return the tree stored at ``root`` with the entries of ``new`` behind its own.

    References to files are kept; arrays whose parts are stored in different ways are copied.

    Raises:
        Error: ``mismatch`` if the branches or their types differ, or if ``root`` is not a tree.
    """
    from icecore.sources.root.chain import join

    stored = _stored(root, repo)
    joined = join([stored, new])
    if joined.failed:
        raise joined.failed[0]
    joined.source, joined.dropped, joined.failed = new.source, new.dropped, new.failed
    joined.files, joined.without = new.files, None
    return joined


def _stored(root: str, repo: Repo) -> ArrayMap:
    prefix = root.rstrip("/") + "/"
    result = ArrayMap("the repository")
    for node in repo._visible():
        if node.path != root and not node.path.startswith(prefix):
            continue
        path = "/" + node.path[len(prefix) :] if node.path != root else "/"
        if node.is_array:
            result.add(_entry(repo._array(node.path), path))
        else:
            result.groups[path] = node.attrs
    if not is_tree(result):
        message = f"{root} does not state a number of entries, so it is not a tree that can grow"
        raise errors.make("mismatch", message, "link the tree into another group")
    return result


def _entry(array: Array, path: str) -> ArrayEntry:
    """Return a stored array as the entry of a source, with its references if all its chunks are linked."""
    entry = stored_entry(array, path)
    grid = array._node.document["chunk_grid"]["configuration"]
    if "chunk_shapes" in grid:
        entry.chunks = [_lengths(axis, n) for axis, n in zip(grid["chunk_shapes"], array.shape, strict=True)]
    known, ids, chunks, offsets, lengths = array._native.links()
    full = isinstance(entry.chunks, list) or not any(
        n % c for n, c in zip(array.shape[:1], entry.chunks[:1], strict=True)
    )
    if not known or not full or len(chunks) != int(np.prod(entry.grid, dtype="i8")):
        return entry
    seen = [state or (0, -1, None) for _, state in known]
    links = Links(
        [url for url, _ in known],
        np.array([size for size, _, _ in seen], "i8"),
        np.array([mtime for _, mtime, _ in seen], "i8"),
        [etag for _, _, etag in seen],
        ids,
        chunks,
        offsets,
        lengths,
    )
    return replace(entry, links=links, codecs=array._node.document["codecs"], note="")


def _lengths(axis: int | list[int | list[int]], length: int) -> list[int]:
    """Return the chunk lengths of an axis, which Zarr writes as lengths, or as [length, repetitions]."""
    found: list[int] = []
    for item in [axis] if isinstance(axis, int) else axis:
        size, times = item if isinstance(item, list) else (item, 1)
        found += [size] * times
    while sum(found) < length:
        found.append(found[-1])
    return found
