"""Write references to the chunks of source files into a commit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from urllib.parse import unquote, urlsplit

import numpy as np

from icecore import errors
from icecore.redaction import has_login, is_signed, redact, unsigned
from icecore.repository import address
from icecore.repository.address import is_bucket
from icecore.repository.repo import Repo
from icecore.sources.failure import Failure
from icecore.sources.files.content_check import checksums
from icecore.sources.files.identity import identity
from icecore.sources.files.stamp import Identity
from icecore.sources.mapping.array_map import ArrayEntry, Links
from icecore.writing.writer import Writer


def set_links(writer: Writer, path: str, links: Links, chunks: np.ndarray | None = None) -> None:
    """Set references of the array at ``path``.

    ``chunks`` are the chunk numbers in its grid, if they differ from those in ``links``.
    """
    if not len(links):
        return
    writer._native.set_links(
        path,
        links.urls,
        links.sizes.tolist(),
        links.mtimes_ns.tolist(),
        links.etags,
        np.ascontiguousarray(links.url_ids, "u4"),
        np.ascontiguousarray(links.chunks if chunks is None else chunks, "u8"),
        np.ascontiguousarray(links.offsets, "u8"),
        np.ascontiguousarray(links.lengths, "u8"),
    )


def allow(writer: Writer, entries: Iterable[ArrayEntry], prefixes: Sequence[str] | None = None) -> None:
    """Allow the repository to read from the directories of the linked files, or from the given prefixes."""
    if prefixes is not None:
        folders = {address.prefix(prefix) for prefix in prefixes}
    else:
        folders = _folders(url for entry in entries if entry.links is not None for url in entry.links.urls)
    for folder in sorted(folders):
        writer._native.allow_container(address.prefix(folder))


def allow_urls(writer: Writer, urls: Iterable[str]) -> None:
    """Allow the repository to read from the directories of these files."""
    for folder in sorted(_folders(urls)):
        writer._native.allow_container(address.prefix(folder))


def record_checksums(entries: Iterable[ArrayEntry]) -> None:
    """Record checksums of linked local files in their entries, so that ``relink`` recognizes copies."""
    links = [entry.links for entry in entries if entry.links is not None]
    known = checksums(url for each in links for url in each.urls)
    for each in links:
        each.etags = [known.get(url, etag) for url, etag in zip(each.urls, each.etags, strict=True)]


def _folders(urls: Iterable[str]) -> set[str]:
    return {url.rsplit("/", 1)[0] for url in urls}


def unreadable(into: str | os.PathLike[str] | Repo, entries: Iterable[ArrayEntry]) -> list[Failure]:
    """Return a note if a repository in a bucket links to local files.

    Such a repository may not read those files by default, wherever it is opened.
    """
    place = into.url if isinstance(into, Repo) else address.named(into)
    if not is_bucket(place):
        return []
    urls = {url for entry in entries if entry.links is not None for url in entry.links.urls}
    folders = sorted({url.rsplit("/", 1)[0] for url in urls if url.startswith("file://")})
    if not folders:
        return []
    shown = unquote(urlsplit(folders[0]).path) or "/"
    more = f" and {len(folders) - 1} more" if len(folders) > 1 else ""
    said = f"links to files in {shown}{more} are read only where --allow-links names their folder"
    return [Failure("/", "links", f"{said}: a repository in a bucket may not point at files by itself")]


# Links to presigned addresses: stored without the signature, where the server answers without it.

_HINT = (
    "copy the data: icecore pack; or link the object by its own address, such as s3://bucket/key with "
    "--storage profile=NAME"
)


def remove_signatures(entries: Iterable[ArrayEntry]) -> None:
    """Replace signed addresses in the links of ``entries`` by the bare ones.

    Raises:
        Error: ``permission`` if a server answers only with the signature, or with another file.
    """
    bare: dict[str, str] = {}
    for links in (entry.links for entry in entries if entry.links is not None):
        if not any(is_signed(url) or has_login(url) for url in links.urls):
            continue
        for url, size, etag in zip(links.urls, links.sizes.tolist(), links.etags, strict=True):
            if url not in bare:
                bare[url] = _bare(Identity(url, size, -1, etag))
        links.urls = [bare[url] for url in links.urls]


def _bare(signed: Identity) -> str:
    if has_login(signed.url):
        message = f"{redact(signed.url)}: an address with a password can't be stored"
        raise errors.make("permission", message, _HINT)
    if not is_signed(signed.url):
        return signed.url
    url = unsigned(signed.url)
    try:
        found = identity(url)
    except errors.Error as error:
        message = f"{redact(signed.url)} is signed, which may not be stored; without the signature: "
        raise errors.make("permission", f"{message}{error.message}", _HINT) from error
    if found.size != signed.size or (signed.etag and found.etag and found.etag != signed.etag):
        message = f"{redact(signed.url)} is another file without its signature, which may not be stored"
        raise errors.make("permission", message, _HINT)
    return url
