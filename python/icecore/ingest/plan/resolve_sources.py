"""Resolve and index sources: names, globs, lists, repositories and in-memory objects → array maps."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from glob import has_magic
from importlib import import_module
from typing import Any

import numpy as np

from icecore import errors
from icecore.cluster.tasks import Cluster
from icecore.display import text
from icecore.display.progress import ProgressCall
from icecore.ingest.options import LinkOptions, PackOptions
from icecore.ingest.plan.repository_source import is_repository, open_repository
from icecore.ingest.plan.select_variables import Selection
from icecore.redaction import redact, unsigned
from icecore.repository import address
from icecore.sources import memory
from icecore.sources.failure import Failure
from icecore.sources.files import object_stores, tree_address
from icecore.sources.files.identity import is_remote
from icecore.sources.formats import FORMATS, Format
from icecore.sources.index_pool import open_on_workers, open_sources
from icecore.sources.mapping.array_map import ArrayMap
from icecore.sources.mapping.consistency import shared
from icecore.sources.mapping.new_dimension import with_dimension
from icecore.sources.memory import kind_of
from icecore.sources.source_list import expand, listed

#: smallest number of files for which indexing reports progress
_MANY = 16


@dataclass(frozen=True)
class Source:
    """One indexed source: its name, its arrays, and its default group."""

    name: str
    arrays: ArrayMap
    group: str


@dataclass(frozen=True)
class Sources:
    """Sources that could be indexed, in order; failures of the others; notes on variables left out."""

    indexed: list[Source] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    notes: list[Failure] = field(default_factory=list)

    def __str__(self) -> str:
        rows = [
            (source.name, source.group, len(source.arrays.arrays) + len(source.arrays.tables))
            for source in self.indexed
        ]
        failed = [f"failed: {item.name}: {item.message}" for item in self.failures]
        return "\n".join([text.table(["source", "group", "arrays"], rows, (2,)), *failed])


def link_sources(options: LinkOptions, cluster: Cluster | None = None) -> Sources:
    """The sources of a ``link``: files and reference files."""
    found = gather(
        options.sources,
        storage=dict(options.storage or {}),
        options=options.of_formats,
        whole=options.joined is not None,
        progress=options.call,
        cluster=cluster,
        is_linked=True,
    )
    return _selected(found, options)


def names(options: LinkOptions) -> tuple[list[str], list[Failure]]:
    """Names of the files of a ``link``, which are not opened, and the sources that name no file."""
    storage = dict(options.storage or {})
    found: list[str] = []
    failures: list[Failure] = []
    for name in _each(_named(options.sources, False)):
        if isinstance(name, Failure):
            failures.append(name)
        elif isinstance(name, str):
            object_stores.remember(name, storage)
            try:
                found += expand(name)
            except errors.Error as error:
                failures.append(Failure.of(name, error))
    return found, failures


def pack_sources(options: PackOptions, cluster: Cluster | None = None) -> Sources:
    """The sources of a ``pack``: files, text tables, repositories and in-memory objects."""
    found = gather(
        options.sources,
        repositories=True,
        storage=dict(options.storage or {}),
        options=options.of_formats,
        tables=True,
        whole=options.joined is not None,
        progress=options.call,
        cluster=cluster,
    )
    indexed = found.indexed
    if options.header is not None or options.units is not None:
        from icecore.sources.tables import headed

        for arrays in (source.arrays for source in indexed):
            arrays.tables = {
                path: headed(table, options.header, options.units) for path, table in arrays.tables.items()
            }
    return _selected(replace(found, indexed=indexed), options)


def _selected(sources: Sources, options: LinkOptions | PackOptions) -> Sources:
    """Return the sources with the chosen variables, and with the new dimension if there is one."""
    chosen = _chosen(sources, options)
    if options.below is not None:
        below = [replace(s, group=address.join(options.below, s.group)) for s in chosen.indexed]
        chosen = replace(chosen, indexed=below)
    if options.new_dim is None:
        return chosen
    made, failures = list[Source](), list(chosen.failures)
    for source in chosen.indexed:
        try:
            arrays = with_dimension(source.arrays, options.new_dim, shared(source.arrays))
            made.append(replace(source, arrays=arrays))
        except errors.Error as error:
            failures.append(Failure.of(source.name, error))
    return Sources(made, failures, chosen.notes)


def _chosen(sources: Sources, options: LinkOptions | PackOptions) -> Sources:
    selection = Selection.of(options.variables, options.exclude)
    if selection is None:
        return sources
    chosen = [replace(s, arrays=selection.apply(s.arrays)) for s in sources.indexed]
    selection.check([source.arrays for source in sources.indexed])
    notes = selection.notes([source.arrays for source in sources.indexed])
    return Sources(chosen, sources.failures, [*sources.notes, *notes])


def gather(
    sources: Any,
    repositories: bool = False,
    storage: dict[str, str] | None = None,
    options: dict[str, Any] | None = None,
    tables: bool = False,
    whole: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
    cluster: Cluster | None = None,
    is_linked: bool = False,
) -> Sources:
    """Index every source.

    Args:
        sources: files, directories, globs, ``@list.txt``, URLs; with ``repositories`` also ``REPO``,
            ``REPO:/path`` and objects in memory.
        repositories: whether repositories and in-memory objects are accepted.
        storage: options of the stores of repositories and sources.
        options: passed to the modules of the formats.
        tables: whether sources may contain text tables, which have no arrays yet.
        whole: whether a source with an unreadable part is left out completely.
        progress: called with (file, bytes of the files indexed so far, bytes of all files on this machine).
        cluster: index the files on its workers.
        is_linked: whether repositories are accepted, and references in them are kept.

    Returns:
        The sources that could be indexed, in order, and the failures. A file of unknown format is not a
        failure if a label among the sources describes it.
    """
    found: list[Source | Failure | str] = []
    for name in _each(_named(sources, repositories)):
        if isinstance(name, (Failure, Source)):
            found.append(name)
            continue
        object_stores.remember(name, storage)
        try:
            if (repositories or is_linked) and is_repository(name):
                opened = open_repository(name, storage, not whole, is_linked)
                found.append(Source(name, *opened))
            else:
                found += expand(name)
        except errors.Error as error:
            found.append(Failure.of(name, error))
    for row in FORMATS:
        found = _joined(row, found, options or {}, progress, cluster)
    files = [item for item in found if isinstance(item, str)]
    indexed = _indexed(files, progress, cluster, keep_going=True, **(options or {}))
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
    return Sources(good, [f for f in bad if f.kind != "format" or os.path.abspath(f.name) not in described])


def _joined(
    row: Format,
    found: list[Source | Failure | str],
    options: dict[str, Any],
    progress: ProgressCall | None,
    cluster: Cluster | None,
) -> list[Source | Failure | str]:
    """Return the sources with those that a format joins (``Format.joined``) as one, in place of the first."""
    by_key: dict[str, list[str]] = {}
    for item in found:
        if row.joined is not None and isinstance(item, str) and (key := row.joined(item)):
            by_key.setdefault(key, []).append(item)
    several = {key: items for key, items in by_key.items() if len(items) >= row.least}
    firsts = {items[0]: key for key, items in several.items()}
    inside = {item for items in several.values() for item in items}
    how = {name: value for name, value in options.items() if name in row.options}
    kept: list[Source | Failure | str] = []
    for item in found:
        if not (isinstance(item, str) and item in inside):
            kept.append(item)
        elif (key := firsts.pop(item, "")) != "":
            kept.append(_one_of(row, several[key], key, progress=progress, cluster=cluster, **how))
    return kept


def _one_of(row: Format, items: list[str], key: str, **options: Any) -> Source | Failure:
    """Index sources of one format as one source."""
    more = len(dict.fromkeys(items)) - 1
    name = f"{items[0]} and {more} more" if more else items[0]
    try:
        arrays = import_module(row.module).open_many(items, name, **options)
    except errors.Error as error:
        return Failure.of(name, error)
    return Source(name, arrays, "/" + key.rsplit("/", 1)[-1])


def _named(sources: Any, in_memory: bool) -> list[str | Source]:
    """Return names of sources, and indexed in-memory objects.

    Raises:
        Error: ``invalid`` for an object that is neither.
    """
    many = isinstance(sources, Iterable) and not isinstance(sources, (str, os.PathLike, bytes, np.ndarray))
    # Iterating over a data frame yields its column names.
    many = many and kind_of(sources) is None and not hasattr(sources, "columns")
    items = list(sources) if many else [sources]
    return [_in_memory(item, i, in_memory) if kind_of(item) else _name(item) for i, item in enumerate(items)]


def _name(item: Any) -> str:
    try:
        return address.named(item)
    except errors.Error as error:
        if isinstance(item, str):
            raise
        raise errors.make(error.kind, error.message, memory.ACCEPTED) from None


def _in_memory(item: Any, number: int, accepted: bool) -> Source:
    name = f"<{type(item).__name__} {number + 1}>"
    if not accepted:
        message = f"{type(item).__name__} is in memory, so that no file can be linked"
        raise errors.make("invalid", message, "pack it: icecore.pack(x, into=…)")
    return Source(name, memory.open(item, name), "/")


def _each(named: Iterable[str | Source]) -> Iterator[str | Failure | Source]:
    """Yield the names, with lists expanded; an unreadable list is a separate failure."""
    for name in named:
        if isinstance(name, Source):
            yield name
            continue
        try:
            names = listed(name)
        except errors.Error as error:
            yield Failure.of(name, error)
        else:
            yield from [name] if names is None else names


def _indexed(
    files: list[str],
    progress: Callable[[str, int, int], None] | None,
    cluster: Cluster | None,
    **options: Any,
) -> Iterator[ArrayMap | errors.Error]:
    opened = open_sources(files, **options) if cluster is None else open_on_workers(cluster, files, options)
    if progress is None or len(files) < _MANY:
        yield from opened
        return
    sizes = [0 if is_remote(file) or not os.path.isfile(file) else os.path.getsize(file) for file in files]
    done, total = 0, sum(sizes)
    for file, size, arrays in zip(files, sizes, opened, strict=True):
        done += size
        progress(redact(file), done, total)
        yield arrays


def _source(file: str, arrays: ArrayMap | errors.Error, tables: bool, whole: bool) -> Source | Failure:
    if isinstance(arrays, errors.Error):
        return Failure.of(file, arrays)
    if whole and arrays.failed and not arrays.files:  # of several files the damaged ones are left out
        return Failure.of(file, arrays.failed[0])
    if arrays.tables and not tables:
        message = f"{file} holds text, whose numbers can't be linked in place"
        return Failure(file, "unsupported", message, "pack it: icecore pack SRC --into REPO")
    return Source(redact(file), arrays, "/" + _stem(unsigned(file), arrays))


def _stem(file: str, arrays: ArrayMap) -> str:
    """Return the name of a source's group.

    It is the name of a table (``x`` for ``x.tab.gz``), or of the tree if several files form one source.
    """
    named, tree = tree_address.split(file)
    if tree:
        return tree.rsplit("/", 1)[-1] if has_magic(named) else address.stem(named)
    if object_stores.is_object(file):
        return address.stem(object_stores.key_of(file))
    return address.stem(arrays.tables["/"].name if "/" in arrays.tables else file)
