"""Use a repository as a source: its arrays, read through the engine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from glob import has_magic
from typing import Any

import numpy as np

from icecore import errors
from icecore.repository import address
from icecore.repository.array import Array
from icecore.repository.typed_attributes import typed
from icecore.sources.files import object_stores, pelican
from icecore.sources.files.identity import identity, local_path
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Links, Note, damage
from icecore.sources.mapping.stored_chunks import StoredChunks
from icecore.writing.row_grid import lengths_of

#: objects that are files: a name with a suffix, or a pattern
_FILE = re.compile(r"[*?\[]|\.[A-Za-z0-9]{1,7}$")
_STORES = (".zarr/", ".parq/", ".parquet/")
_TEXT = "its rows are packed, not its print format: icecore restore needs the first repository"


def is_repository(name: str) -> bool:
    """Whether ``REPO``, ``REPO@REF`` or ``REPO:/path`` names a repository rather than a file."""
    if pelican.is_federation(name) or (object_stores.is_object(name) and name.endswith(_STORES)):
        return False
    place, path = address.split_path(name)
    place, _ = address.split_ref(place)
    if address.is_url(place) and not place.startswith("file://"):
        if path is None and object_stores.is_object(place) and _FILE.search(place):
            return place.endswith(".icecore") or (has_magic(place) and _is_folder(place))
        return (
            path is not None
            or not place.startswith(("http://", "https://"))
            or place.rstrip("/").endswith(".icecore")
        )
    return address.holds_repository(address.local(place.removeprefix("file://")))


def _is_folder(place: str) -> bool:
    """Whether a bucket has objects below a name that also reads as a pattern."""
    try:
        return bool(object_stores.names_in(place))
    except errors.Error:
        return False


def open_repository(
    name: str, storage: dict[str, str] | None, keep_going: bool, is_linked: bool = False
) -> tuple[ArrayMap, str]:
    """Return the arrays at ``REPO`` or ``REPO:/path``, and their default group.

    With ``is_linked`` their references to files are kept; chunks in the repository itself are copied.

    Raises:
        Error: ``not-found``; ``corrupt`` for damaged metadata unless ``keep_going``.
    """
    from icecore.repository.open import open

    place, path = address.split_path(name)
    repo = open(place, storage=storage)
    if path is None or path == "/":
        root, group = "", "/"
    else:
        item = repo[path]
        is_array = isinstance(item, Array)
        root = item.path.rsplit("/", 1)[0] if is_array else item.path
        group = "/" if is_array else "/" + item.name
    only = address.absolute(path) if path else "/"
    result = ArrayMap(name)
    for node in repo._visible():
        inside = only == "/" or node.path == only or node.path.startswith(only + "/")
        if not inside:
            continue
        below = node.path[len(root) :] or "/"
        try:
            if node.is_array:
                array = Array(repo, node)
                result.add(_identified(array, below) if is_linked else stored_entry(array, below))
            else:
                result.groups[below] = typed(node)
                if "text" in node.ours.get("table", {}):
                    result.dropped.append(Note(below, "unsupported", _TEXT))
        except errors.Error as error:
            if node.path == only or error.kind not in ("unsupported", "corrupt", "format"):
                raise
            if error.kind == "unsupported":
                result.dropped.append(Note(below, "unsupported", error.message))
            else:
                result.failed.append(damage(f"{name}:{below}: {error.message}"))
    if result.failed and not keep_going:
        raise result.failed[0]
    return result, group


def stored_entry(array: Array, path: str) -> ArrayEntry:
    """Return an array of a repository as a source's entry: read through the engine, without links."""
    node = array._node
    return ArrayEntry(
        path=path,
        shape=array.shape,
        dims=array.dims,
        data_type=node.document["data_type"],
        dtype=array._native.dtype,
        chunks=array.chunks or tuple(max(n, 1) for n in array.shape),
        codecs=array.codecs,
        fill_value=node.document.get("fill_value"),
        attrs=node.attrs,
        read=partial(_read, array),
        held=partial(_held, array),
        unlimited=tuple(node.ours.get("unlimited", ())),
        note="already in a repository",
        attr_types=node.ours.get("attr_types", {}),
        enum=node.ours.get("enum", []),
        subarrays=node.ours.get("subarrays", {}),
        text_fill=node.ours.get("fill"),
    )


def _identified(array: Array, path: str) -> ArrayEntry:
    """Return the entry of a linked array; files whose identity Icechunk did not record have that of now."""
    entry = linked_entry(array, path)
    if entry.links is not None:
        links = entry.links
        for i, url in enumerate(links.urls):
            if (links.sizes[i], links.mtimes_ns[i], links.etags[i]) == (0, -1, None):
                now = identity(local_path(url))
                links.sizes[i], links.mtimes_ns[i], links.etags[i] = now.size, now.mtime_ns, now.etag
    return entry


def linked_entry(array: Array, path: str) -> ArrayEntry:
    """Return a stored array as the entry of a source, with its references to files if it has any.

    Chunks that are stored in the repository are in ``native``.
    """
    entry = stored_entry(array, path)
    known, ids, chunks, offsets, lengths = array._native.links()
    if not known:
        return entry
    grid = array._node.document["chunk_grid"]["configuration"]
    if "chunk_shapes" in grid:
        entry.chunks = [_lengths(axis, n) for axis, n in zip(grid["chunk_shapes"], array.shape, strict=True)]
    entry.codecs, entry.note = array._node.document["codecs"], ""
    seen = [state or (0, -1, None) for _, state in known]
    entry.links = Links(
        [url for url, _ in known],
        np.array([size for size, _, _ in seen], "i8"),
        np.array([mtime for _, mtime, _ in seen], "i8"),
        [etag for _, _, etag in seen],
        ids,
        chunks,
        offsets,
        lengths,
    )
    held = held_of(array._native)
    there = np.arange(np.prod(entry.grid, dtype="i8"), dtype="u8") if held is None else held.chunks
    entry.native = entry.copied(np.setdiff1d(there, chunks))
    return entry


def _lengths(axis: int | list[int | list[int]], length: int) -> list[int]:
    """Return the lengths of all chunks along an axis of a rectilinear grid."""
    found = lengths_of(axis).tolist()
    return found + found[-1:] * -(-max(length - sum(found), 0) // found[-1])


def _read(array: Array, region: Sequence[slice]) -> np.ndarray:
    return array._native.read(tuple(region), None, False, None)


def _held(array: Array) -> StoredChunks | None:
    return held_of(array._native)


def held_of(native: Any) -> StoredChunks | None:
    """Return the stored chunks of an array in a repository; None if its grid is not regular."""
    found = native.held()
    return None if found is None else StoredChunks(tuple(native.shape), tuple(found[0]), found[1])
