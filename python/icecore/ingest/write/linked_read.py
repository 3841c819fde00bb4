"""Read sources through icecore's own pipeline: link their chunks into a repository in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from icecore import errors
from icecore.ingest.plan.bounded_loss import rounded
from icecore.ingest.plan.link_plan import writable
from icecore.ingest.write import write_references
from icecore.repository.address import bucket
from icecore.repository.open import create
from icecore.sources.files import object_stores
from icecore.sources.files.identity import is_remote
from icecore.sources.mapping.array_map import ArrayEntry, Reader

#: largest total size (bytes) of chunks that can't be linked and are copied into memory
_COPIES = 64 << 20


def linked_readers(entries: Sequence[ArrayEntry]) -> list[Reader]:
    """Return a reader for each entry.

    Linkable entries are read through the pipeline (all cores, few requests), others by the source's own
    reader. The references live as long as the readers. Values are rounded as the entries say.
    """
    found = zip(entries, _readers(entries), strict=True)
    return [rounded(entry, read) for entry, read in found]


def _readers(entries: Sequence[ArrayEntry]) -> list[Reader]:
    chosen = _choose(entries)
    if not chosen:
        return [_own(entry) for entry in entries]
    urls = (url for i in chosen if (links := entries[i].links) is not None for url in links.urls)
    scratch = create("memory://", storage=_storage({bucket(url) for url in urls if is_remote(url)}))
    with scratch.writer("links") as writer:
        write_references.allow(writer, [entries[i] for i in chosen])
        for i in chosen:
            entry, path = entries[i], f"/{i}"
            writer._native.add_array(path, entry.zarr_json())
            if entry.links is not None:
                write_references.set_links(writer, path, entry.links)
            for flat, chunk in entry.native.items():
                start = tuple(part.start for part in entry.chunk_region(flat))
                writer._native.write(path, start, chunk())
        # Not committed: a commit would write a manifest for each array, which would then be read again.
        view = writer._pending()
        writer.abort()
    return [
        partial(_read, view.array(f"/{i}"), entry.path) if i in chosen else _own(entry)
        for i, entry in enumerate(entries)
    ]


def _storage(places: Iterable[str]) -> dict[str, str]:
    """The options of each bucket and web server, for it alone."""
    found: dict[str, str] = {}
    for place in places:
        options = (
            object_stores.options_of(place)
            if object_stores.is_object(place)
            else {f"header.{name}": value for name, value in object_stores.headers_of(place).items()}
        )
        found |= {f"{place}.{name}": value for name, value in options.items()}
    return found


def _choose(entries: Sequence[ArrayEntry]) -> set[int]:
    chosen, copies = set(), 0
    for i, entry in enumerate(entries):
        if entry.links is None or not len(entry.links) or not entry.shape:
            continue
        parts = [prod(p.stop - p.start for p in entry.chunk_region(flat)) for flat in entry.native]
        copied = sum(parts) * entry.dtype.itemsize
        if parts and (copies + copied > _COPIES or not writable(entry.codecs)):
            continue
        copies += copied
        chosen.add(i)
    return chosen


def _read(native: Any, path: str, region: Sequence[slice]) -> np.ndarray:
    try:
        return native.read(tuple(region), None, False, None)
    except errors.Error as error:
        message = error.message.replace(f"{native.path}:", f"{path}:", 1)
        hint = "compare the file with its original" if error.kind == "corrupt" else error.hint
        raise errors.make(error.kind, message, hint) from error


def _own(entry: ArrayEntry) -> Reader:
    if entry.read is None:
        raise ValueError(f"{entry.path} can be neither linked nor read")
    return entry.read
