"""Objects in object stores as sources: identity, ranges and lists, read with the engine's clients."""

from __future__ import annotations

import fnmatch
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from glob import has_magic
from typing import Any
from urllib.parse import quote, unquote

from icecore import errors
from icecore.repository import address
from icecore.repository.address import bucket
from icecore.repository.storage import storage_options
from icecore.sources.files.stamp import Identity

_BLOCK = 256 << 10
#: blocks of all objects together: 64 MiB
_BLOCKS = 256
#: objects up to this size are fetched with one request
_WHOLE = 4 << 20
_AHEAD = 16

_lock = threading.Lock()
#: options by address: of buckets and hosts that sources name, and of those that have options of their own
_options: dict[str, dict[str, str]] = {}
#: key of the options that were given with local sources, for what reference files among them name
_LOCAL = ""
_blocks: OrderedDict[tuple[Identity, int], bytes] = OrderedDict()


def is_object(source: str) -> bool:
    """Whether ``source`` is the URL of an object in an object store."""
    return address.is_bucket(source)


def encoded(url: str) -> str:
    """An object's URL with the characters percent-encoded that a URL can't contain; ``%`` is kept."""
    return quote(url, safe="%/:@!$&'()+,;=~*[]")


def remember(source: str, storage: Mapping[str, Any] | None) -> None:
    """Use these storage options, in this process, for the bucket or host of ``source``, and those for other
    addresses there.
    """
    named = bucket(source) if "://" in source and not source.startswith("file://") else _LOCAL
    found = storage_options.resolve(source if is_object(source) else "", storage)
    with _lock:
        _options[named] = storage_options.options_for(source, found)
        for address in storage_options.addresses(found):
            _options[address] = storage_options.options_for(address, found)


def grant(url: str, source: str) -> None:
    """Use the options that were given with the reference file ``source`` for a bucket that it names.

    Options of a file in a bucket are for buckets of the same kind; those of local files for any.
    """
    if not is_object(url) or (is_object(source) and source.partition(":")[0] != url.partition(":")[0]):
        return
    with _lock:
        given = _options.get(bucket(source) if is_object(source) else _LOCAL)
        if given and _known(url) is None:
            _options[bucket(url)] = storage_options.resolve(url, given)


def _known(url: str) -> dict[str, str] | None:
    """The options of the longest address that covers ``url``."""
    covering = [place for place in _options if place and (url == place or url.startswith(f"{place}/"))]
    return _options[max(covering, key=len)] if covering else None


def headers_of(url: str) -> dict[str, str]:
    """Headers that were given for the web server of ``url``."""
    with _lock:
        given = _known(url) or {}
    return {
        name.removeprefix("header."): value for name, value in given.items() if name.startswith("header.")
    }


def remembered() -> dict[str, dict[str, str]]:
    """The storage options by address, for processes that read the same sources."""
    with _lock:
        known = dict(_options)
    return {place: storage_options.with_keys(options) for place, options in known.items()}


def inherit(options: Mapping[str, dict[str, str]]) -> None:
    """Take over what another process :func:`remembered`."""
    with _lock:
        _options.update(options)


def key_of(url: str) -> str:
    """The key of an object, decoded."""
    return unquote(url[len(bucket(url)) :].lstrip("/"))


def head(url: str) -> Identity:
    """Size, modification time and ETag of an object.

    Raises:
        Error: ``source-missing``, ``permission``, ``network``.
    """
    from icecore import _icecore

    try:
        size, mtime_ns, etag = _icecore.remote_identity(url, options_of(url))
    except errors.Error as error:
        if error.kind != "source-missing":
            raise
        raise errors.make("source-missing", f"no object at {url}", "check the bucket and the key") from error
    return Identity(url, size, mtime_ns, etag)


def matching(pattern: str) -> list[str]:
    """URLs of the objects that match a pattern such as ``s3://bucket/2026/*.h5``, sorted.

    ``*`` and ``?`` do not match ``/``; ``**`` matches any number of levels.

    Raises:
        Error: ``source-missing`` if nothing matches, ``invalid`` for a pattern in the bucket's name.
    """
    from icecore import _icecore

    base = bucket(pattern)
    if has_magic(base):
        raise errors.make("invalid", f"{pattern}: a bucket's name can't be a pattern", "name the bucket")
    key = key_of(pattern)
    parts = key.split("/")
    fixed = next(i for i, part in enumerate(parts) if has_magic(part))
    folder = "/".join(parts[:fixed])
    url = f"{base}/{quote(folder)}"
    found = _icecore.remote_list(url, options_of(pattern), fixed < len(parts) - 1 or "**" in parts)
    accepts = _pattern(key)
    keys = sorted(name for name, _ in found if accepts.fullmatch(name))
    if not keys:
        raise errors.make("source-missing", f"nothing matches {pattern}", "check the bucket and the prefix")
    return [f"{base}/{quote(name)}" for name in keys]


def names_in(folder: str) -> list[str]:
    """Names of the objects directly under the prefix ``s3://bucket/folder``, without it."""
    return list(sizes_in(folder))


def sizes_in(folder: str) -> dict[str, int]:
    """Names of the objects directly under the prefix ``s3://bucket/folder``, without it, and their sizes."""
    from icecore import _icecore

    url = encoded(folder.rstrip("/"))
    prefix = f"{key_of(url)}/"
    found = _icecore.remote_list(url, options_of(url), False)
    return {name.removeprefix(prefix): size for name, size in found}


class ObjectBytes:
    """Bytes of one object, in blocks of 256 KiB that are cached; consecutive reads fetch more at a time, up
    to 4 MiB. Raises ``source-changed`` if the object changes meanwhile.
    """

    def __init__(self, url: str) -> None:
        self.identity = head(url)
        self._next, self._ahead = 0, 1

    def read_at(self, offset: int, length: int) -> bytes:
        """Exactly ``length`` bytes from ``offset``; fewer only where the object ends."""
        end = min(offset + length, self.identity.size)
        if offset >= end:
            return b""
        first, last = offset // _BLOCK, (end - 1) // _BLOCK
        blocks = self._load(first, last)
        joined = b"".join(blocks[i] for i in range(first, last + 1))
        return joined[offset - first * _BLOCK : end - first * _BLOCK]

    def close(self) -> None:
        """Nothing to close: connections belong to the process."""

    def _load(self, first: int, last: int) -> dict[int, bytes]:
        with _lock:
            known = {i: _blocks.get((self.identity, i)) for i in range(first, last + 1)}
        blocks = {i: block for i, block in known.items() if block is not None}
        missing = [i for i in known if i not in blocks]
        if missing:
            blocks |= self._fetch(missing)
        with _lock:
            for i, block in blocks.items():
                _blocks[self.identity, i] = block
                _blocks.move_to_end((self.identity, i))
            while len(_blocks) > _BLOCKS:
                _blocks.popitem(last=False)
        return blocks

    def _fetch(self, missing: list[int]) -> dict[int, bytes]:
        """The missing blocks, and more after them while reads are consecutive: one request a run."""
        from icecore import _icecore

        size, end = self.identity.size, -(-self.identity.size // _BLOCK)
        if size <= _WHOLE:
            runs = [(0, end)]
        else:
            self._ahead = min(self._ahead * 2, _AHEAD) if missing[0] == self._next else 1
            runs = _runs(missing)
            start, stop = runs[-1]
            runs[-1] = (start, min(max(stop, start + self._ahead), end))
            self._next = runs[-1][1]
        ranges = [(low * _BLOCK, min(high * _BLOCK, size) - low * _BLOCK) for low, high in runs]
        url, identity = self.identity.url, self.identity
        stamp = (size, identity.mtime_ns, identity.etag)
        found = _icecore.remote_read(url, options_of(url), stamp, ranges)
        return {
            low + i: data[i * _BLOCK : (i + 1) * _BLOCK]
            for (low, high), data in zip(runs, found, strict=True)
            for i in range(high - low)
        }


def options_of(url: str) -> dict[str, str]:
    """The storage options for an object: those given for its address, or those of the environment."""
    with _lock:
        known = _known(url)
    return storage_options.resolve(url, None) if known is None else known


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number:
            runs[-1] = (runs[-1][0], number + 1)
        else:
            runs.append((number, number + 1))
    return runs


def _pattern(key: str) -> re.Pattern[str]:
    """The regular expression of a pattern whose ``*`` and ``?`` stay inside a level and, as on disk, do not
    match names that begin with a dot.
    """
    parts = []
    *above, last = key.split("/")
    # As a last part, `**` matches all files below, like `**/*`.
    for part in [*above, "**", "*"] if last == "**" else [*above, last]:
        if part == "**":
            parts.append("(?:[^/.][^/]*/)*")
        else:
            inside = fnmatch.translate(part).removesuffix(r"\z").removesuffix(r"\Z")
            hidden = "" if part.startswith(".") else r"(?!\.)"
            parts.append(hidden + inside.replace("(?s:", "(?:", 1).replace(".*", "[^/]*") + "/")
    return re.compile("".join(parts).removesuffix("/"))
