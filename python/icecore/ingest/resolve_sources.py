"""What is named on the command line or given to ``link`` and ``pack`` → array maps, bad ones named and set
aside.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from icecore import errors
from icecore.repository import address
from icecore.repository.array import Array
from icecore.repository.nodes import OURS
from icecore.repository.typed_attributes import typed
from icecore.sources import expand, listed
from icecore.sources.failure import Failure
from icecore.sources.files.identity import is_remote
from icecore.sources.index_pool import open_sources
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Note, damage
from icecore.sources.mapping.stored_chunks import Held

#: Files whose indexing may take long enough to be told of.
_MANY = 16
_TEXT = "its rows are taken, not how its text is printed: icecore restore works where it was packed first"


@dataclass(frozen=True)
class Source:
    """One source, indexed: its name, its arrays, the group it goes to when none is named."""

    name: str
    arrays: ArrayMap
    group: str


def gather(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    repositories: bool = False,
    storage: dict[str, str] | None = None,
    options: dict[str, Any] | None = None,
    tables: bool = False,
    whole: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[list[Source], list[Failure]]:
    """Index every source.

    Args:
        sources: files, folders, globs, ``@list.txt``, URLs; with ``repositories`` also ``REPO`` and
            ``REPO:/path``.
        repositories: whether repositories are accepted.
        storage: credentials for repositories.
        options: handed to the sources' modules.
        tables: whether sources may hold tables of text, which have no arrays yet.
        whole: whether a source in which something can't be read is set aside with all that it holds.
        progress: called with (file, bytes of the files indexed so far, bytes of all files on this machine).

    Returns:
        The sources that could be indexed, in order, and the failures: files of no known format that labels
        among the sources describe are none.
    """
    named: list[Any] = [sources]
    if isinstance(sources, Iterable) and not isinstance(sources, (str, os.PathLike, bytes, np.ndarray)):
        named = list(sources)
    found: list[Source | Failure | str] = []
    for name in _each([address.named(name) for name in named]):
        if isinstance(name, Failure):
            found.append(name)
            continue
        try:
            if repositories and is_repository(name):
                found.append(_from_repo(name, storage, keep_going=not whole))
            else:
                found += expand(name)
        except errors.Error as error:
            found.append(Failure.of(name, error))
    files = [item for item in found if isinstance(item, str)]
    indexed = _indexed(files, progress, keep_going=True, **(options or {}))
    good: list[Source] = []
    bad: list[Failure] = []
    for item in found:
        source = _source(item, next(indexed), tables, whole) if isinstance(item, str) else item
        if isinstance(source, Failure):
            bad.append(source)
        else:
            bad += [Failure.of(source.name, error) for error in source.arrays.failed]
            good.append(source)
    described = {os.path.abspath(t.place) for source in good for t in source.arrays.tables.values()}
    return good, [f for f in bad if f.kind != "format" or os.path.abspath(f.name) not in described]


def _each(named: Iterable[str]) -> Iterator[str | Failure]:
    """The names, those in a list one by one: one that is bad there leaves the others."""
    for name in named:
        try:
            names = listed(name)
        except errors.Error as error:
            yield Failure.of(name, error)
        else:
            yield from [name] if names is None else names


def _indexed(
    files: list[str], progress: Callable[[str, int, int], None] | None, **options: Any
) -> Iterator[ArrayMap | errors.Error]:
    if progress is None or len(files) < _MANY:
        yield from open_sources(files, **options)
        return
    sizes = [0 if is_remote(file) or not os.path.isfile(file) else os.path.getsize(file) for file in files]
    done, total = 0, sum(sizes)
    for file, size, arrays in zip(files, sizes, open_sources(files, **options), strict=True):
        done += size
        progress(file, done, total)
        yield arrays


def _source(file: str, arrays: ArrayMap | errors.Error, tables: bool, whole: bool) -> Source | Failure:
    if isinstance(arrays, errors.Error):
        return Failure.of(file, arrays)
    if whole and arrays.failed:
        return Failure.of(file, arrays.failed[0])
    if arrays.tables and not tables:
        message = f"{file} holds text, whose numbers can't be linked in place"
        return Failure(file, "unsupported", message, "pack it: icecore pack SRC --into REPO")
    return Source(file, arrays, "/" + _stem(file, arrays))


def _stem(file: str, arrays: ArrayMap) -> str:
    """The name of a source's group: that of the table where it is one (``x`` for ``x.tab.gz``)."""
    return address.stem(arrays.tables["/"].name if "/" in arrays.tables else file)


def is_repository(name: str) -> bool:
    """Whether ``REPO``, ``REPO@REF`` or ``REPO:/path`` names a repository rather than a file."""
    place, path = address.split_path(name)
    place, _ = address.split_ref(place)
    if address.is_url(place) and not place.startswith("file://"):
        return (
            path is not None
            or not place.startswith(("http://", "https://"))
            or place.rstrip("/").endswith(".icecore")
        )
    return address.holds_repository(address.local(place.removeprefix("file://")))


def _from_repo(name: str, storage: dict[str, str] | None, keep_going: bool) -> Source:
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
                result.add(stored_entry(Array(repo, node), below))
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
    return Source(name, result, group)


def stored_entry(array: Array, path: str) -> ArrayEntry:
    """An array of a repository as a source's entry: read through the engine, nothing to link."""
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
        read=partial(_read, array._native),
        held=partial(held_of, array._native),
        unlimited=tuple(node.ours.get("unlimited", ())),
        note="already in a repository",
        attr_types=node.ours.get("attr_types", {}),
        enum=node.ours.get("enum", []),
        subarrays=node.ours.get("subarrays", {}),
        text_fill=node.ours.get("fill"),
    )


def _read(native: Any, region: Sequence[slice]) -> np.ndarray:
    return native.read(tuple(region), None, False, None)


def held_of(native: Any) -> Held | None:
    """The chunks of an array in a repository that are referred to; None where its grid is not regular."""
    found = native.held()
    return None if found is None else Held(tuple(native.shape), tuple(found[0]), found[1])


def ours(entry: ArrayEntry) -> dict[str, Any]:
    """What icecore keeps about an array beside its attributes."""
    kept: dict[str, Any] = {}
    if entry.attr_types:
        kept["attr_types"] = dict(entry.attr_types)
    if entry.enum:
        kept["enum"] = list(entry.enum)
    if entry.subarrays:
        kept["subarrays"] = dict(entry.subarrays)
    if entry.text_fill is not None:
        kept["fill"] = entry.text_fill
    if entry.unlimited:
        kept["unlimited"] = list(entry.unlimited)
    return kept


def attributes(entry: ArrayEntry) -> dict[str, Any]:
    """An entry's attributes as they are stored, what icecore keeps included."""
    kept = ours(entry)
    return {**entry.attrs, OURS: kept} if kept else dict(entry.attrs)
