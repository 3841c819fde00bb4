"""Linked files below a moved directory: find each new location and check that it is the same file."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote, unquote

from icecore import errors
from icecore.repository import address
from icecore.sources.files.content_check import checksum_of, is_checksum, is_whole, same_bytes
from icecore.sources.files.identity import Identity, identity, is_remote, local_path

#: recorded identity of a linked file: size (bytes), modification time (ns, -1: unknown), ETag
Recorded = tuple[int, int, str | None]


@dataclass(frozen=True)
class MovedFile:
    """A linked file below the old directory.

    Attributes:
        old: its recorded URL.
        new: its URL below the new directory.
        state: ``relinked``, ``missing`` or ``differing``.
        why: evidence that it is the same file, or what differs.
        now: its identity at the new location; None if it is missing.
    """

    old: str
    new: str
    state: str
    why: str
    now: Identity | None = None

    def as_dict(self) -> dict[str, Any]:
        """The file as plain values."""
        found = asdict(self)
        del found["now"]
        return found


def relocation(old: str | os.PathLike[str], new: str | os.PathLike[str]) -> Callable[[str], str | None]:
    """Return a function that maps a recorded URL to its URL at the new location; None for other files.

    ``old`` and ``new`` are directories, files or URL prefixes.
    """
    start, after = (address.prefix(place).removesuffix("/") for place in (old, new))
    before = unquote(start)

    def moved(url: str) -> str | None:
        if url == start or url.startswith(start + "/"):
            return after + url[len(start) :]
        plain = unquote(url)
        if plain == before or plain.startswith(before + "/"):
            return after + quote(plain[len(before) :])
        return None

    return moved


def check(url: str, new: str, recorded: Recorded | None) -> MovedFile:
    """Compare the file at ``new`` with the recorded identity of the linked file ``url``."""
    try:
        now = identity(_place(new))
        same, why = _compare(url, new, recorded, now)
    except errors.Error as error:
        state = "missing" if error.kind == "source-missing" else "differing"
        return MovedFile(url, new, state, error.message)
    if not same:
        return MovedFile(url, new, "differing", why, now)
    etag = now.etag if is_remote(new) else checksum_of(new)
    return MovedFile(url, new, "relinked", why, Identity(now.url, now.size, now.mtime_ns, etag))


def _compare(url: str, new: str, recorded: Recorded | None, now: Identity) -> tuple[bool, str]:
    """Return whether the file is the linked one, and the evidence."""
    if recorded is None:
        return _compare_with_old(url, new, "its size and time were not recorded")
    size, mtime_ns, etag = recorded
    if now.size != size:
        return False, f"{now.size:,} bytes, expected {size:,}"
    if etag is not None and etag == now.etag:
        return True, "same ETag"
    if mtime_ns >= 0 and now.mtime_ns == mtime_ns:
        return True, "same size and modification time"
    if is_whole(etag):
        return _same(checksum_of(new) == etag, "same content")
    if _is_unchanged(url, recorded):
        return _same(same_bytes(_place(url), _place(new)), "same content as the old file")
    if is_checksum(etag):
        return _same(checksum_of(new) == etag, "same size and samples of the content")
    return False, "its modification time differs, and no checksum of its content was recorded"


def _same(same: bool, why: str) -> tuple[bool, str]:
    return (True, why) if same else (False, "same size, but the content differs")


def _compare_with_old(url: str, new: str, otherwise: str) -> tuple[bool, str]:
    try:
        return _same(same_bytes(_place(url), _place(new)), "same content as the old file")
    except errors.Error:
        return False, otherwise


def _is_unchanged(url: str, recorded: Recorded) -> bool:
    """Whether the file still exists unchanged at its old location."""
    try:
        was = identity(_place(url))
    except errors.Error:
        return False
    return was.mtime_ns >= 0 and (was.size, was.mtime_ns) == recorded[:2]


def _place(url: str) -> str:
    return url if is_remote(url) else local_path(url)
