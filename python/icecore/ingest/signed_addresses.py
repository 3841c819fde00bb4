"""Links to presigned addresses: stored without the signature, where the server answers without it."""

from __future__ import annotations

from collections.abc import Iterable

from icecore import errors
from icecore.redaction import has_login, is_signed, redact, unsigned
from icecore.sources.files.identity import identity
from icecore.sources.files.stamp import Identity
from icecore.sources.mapping.array_map import ArrayEntry

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
