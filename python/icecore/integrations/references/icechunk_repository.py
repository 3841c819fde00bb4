"""Icechunk repository of references: virtual chunks, and small arrays with their values."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from icecore import errors
from icecore.filesystem.atomic_output import landing_folder
from icecore.integrations.references.inventory import Exported, Item, items
from icecore.integrations.references.kerchunk_json import values
from icecore.integrations.zarr_view import DecodedStore

if TYPE_CHECKING:
    from icecore.repository.link_table import LinkTable
    from icecore.repository.repo import Repo

#: references that are handed over at once
_AT_ONCE = 100_000


def write(repo: Repo, path: str, output: str) -> Exported:
    """Write the references of a group to a new repository in a directory.

    Raises:
        Error: ``exists``; ``unsupported`` if the package icechunk is missing or the files are in a store
            that it does not read.
    """
    try:
        import icechunk
    except ModuleNotFoundError:
        message = "an Icechunk repository needs the package icechunk ≥ 2 and Python 3.12 or newer"
        raise errors.needs("zarr", message) from None
    result = Exported()
    found = list(items(repo, path, result))
    prefixes = _prefixes(url for item in found if item.links is not None for url in item.links.urls)
    with landing_folder(output) as folder, _quiet(icechunk):
        config = icechunk.RepositoryConfig.default()
        for prefix in prefixes:
            store = _store(icechunk, prefix, repo._storage)
            config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(prefix, store))
        made = icechunk.Repository.create(icechunk.local_filesystem_storage(folder), config)
        made.save_config()
        session = made.writable_session("main")
        asyncio.run(_fill(session.store, found, DecodedStore(repo), result))
        session.commit(f"references of {repo.snapshot_id}")
    return result


@contextmanager
def _quiet(icechunk: Any) -> Iterator[None]:
    """Silence warnings that commits to directories aren't safe: this directory has one writer."""
    icechunk.set_logs_filter("error")
    try:
        yield
    finally:
        icechunk.set_logs_filter(None)  # as the environment says


async def _fill(store: Any, found: Iterable[Item], plain: DecodedStore, result: Exported) -> None:
    from zarr.core.buffer import default_buffer_prototype

    make = default_buffer_prototype().buffer.from_bytes
    for item in found:
        if item.array is not None and item.links is None:
            result.inline += 1
            for key, data in values(plain, item):
                await store.set(key, make(data))
            continue
        await store.set(item.key("zarr.json"), make(json.dumps(item.document).encode()))
        if item.links is not None:
            result.linked += 1
            await _link(store, item.name, item.links)
            for place, data in item.held():
                await store.set(item.key("/".join(["c", *map(str, place)])), make(data))


async def _link(store: Any, name: str, links: LinkTable) -> None:
    from icechunk import VirtualChunkSpec

    checks = [_checksum(url, known) for url, known in zip(links.urls, links.identities, strict=True)]
    index = links.places
    for first in range(0, len(index), _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        rows = zip(
            index[part].tolist(),
            links.files[part].tolist(),
            links.offsets[part].tolist(),
            links.lengths[part].tolist(),
            strict=True,
        )
        specs = [
            VirtualChunkSpec(place, links.urls[file], offset, length, *checks[file])
            for place, file, offset, length in rows
        ]
        await store.set_virtual_refs_async(f"/{name}", specs)


def _checksum(url: str, known: tuple[int, int, str | None] | None) -> tuple[str | None, datetime | None]:
    """Return the ETag, or the modification time in whole seconds, rounded up, that Icechunk compares."""
    if known is None:
        return None, None
    _, mtime_ns, etag = known
    if etag and not url.startswith("file:") and not etag.startswith("W/"):
        return etag, None
    return None, datetime.fromtimestamp(-(-mtime_ns // 10**9), UTC) if mtime_ns >= 0 else None


def _prefixes(urls: Iterable[str]) -> list[str]:
    """Return the directories of files, without those inside of others."""
    kept: list[str] = []
    for folder in sorted({f"{url.rsplit('/', 1)[0]}/" for url in urls}):
        if not kept or not folder.startswith(kept[-1]):
            kept.append(folder)
    return kept


def _store(icechunk: Any, prefix: str, storage: dict[str, Any]) -> Any:
    """Return Icechunk's description of the store of linked files."""
    scheme = urlsplit(prefix).scheme
    if scheme == "file":
        return icechunk.local_filesystem_store(unquote(urlsplit(prefix).path))
    if scheme in ("http", "https"):
        return icechunk.http_store()
    if scheme == "gs":
        return icechunk.gcs_store()
    if scheme == "s3":
        return icechunk.s3_store(region=storage.get("region"), endpoint_url=storage.get("endpoint_url"))
    message = f"files in {scheme}:// can't be described in an Icechunk repository"
    raise errors.make("unsupported", message, "export references: -o refs.json")
