"""Objects in object stores as sources: identity, options and lists, read with the engine's clients."""

from __future__ import annotations

import fnmatch
import re
import threading
from collections.abc import Mapping
from glob import has_magic
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from icecore import errors
from icecore.repository import address
from icecore.repository.address import bucket
from icecore.repository.storage import logins, storage_options
from icecore.sources.files.stamp import Identity

if TYPE_CHECKING:
    from icecore import _icecore

_lock = threading.Lock()
#: options by address: of buckets and hosts that sources name, and of those that have options of their own
_options: dict[str, dict[str, str]] = {}
#: key of the options that were given with local sources, for what reference files among them name
_LOCAL = ""


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
    named = bucket(source) if address.is_url(source) and not source.startswith("file://") else _LOCAL
    found = storage_options.resolve(source if is_object(source) else "", storage)
    with _lock:
        _options[named] = storage_options.options_for(source, found)
        for place in storage_options.addresses(found):
            _options[place] = storage_options.options_for(place, found)


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
    """Headers that were given for the web server of ``url``, or those of a login that the user keeps."""
    with _lock:
        given = _known(url) or {}
    found = {
        name.removeprefix("header."): value for name, value in given.items() if name.startswith("header.")
    }
    if "authorization" not in map(str.lower, found) and (login := logins.authorization(url)) is not None:
        found["authorization"] = login
    return found


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


def opened(url: str) -> _icecore.ByteSource:
    """Open an object.

    Raises:
        Error: ``source-missing``, ``permission``, ``network``.
    """
    from icecore import _icecore

    try:
        return _icecore.ByteSource(url, options_of(url))
    except errors.Error as error:
        if error.kind != "source-missing":
            raise
        raise errors.make("source-missing", f"no object at {url}", "check the bucket and the key") from error


def head(url: str) -> Identity:
    """Size, modification time and ETag of an object, see :func:`opened`."""
    return Identity(url, *opened(url).identity())


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
    accepts = key_pattern(key)
    keys = sorted(name for name, _ in found if accepts.fullmatch(name))
    if not keys:
        raise errors.make("source-missing", f"nothing matches {pattern}", "check the bucket and the prefix")
    return [f"{base}/{quote(name)}" for name in keys]


def keys_below(folder: str) -> list[str]:
    """Names of all objects below the prefix ``s3://bucket/folder/``, without it, sorted."""
    from icecore import _icecore

    url = encoded(folder.rstrip("/"))
    prefix = f"{key_of(url)}/".lstrip("/")
    found = _icecore.remote_list(url, options_of(url), True)
    return sorted(name.removeprefix(prefix) for name, _ in found)


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


def options_of(url: str) -> dict[str, str]:
    """The storage options for an object: those given for its address, or those of the environment."""
    with _lock:
        known = _known(url)
    return storage_options.resolve(url, None) if known is None else known


def key_pattern(key: str) -> re.Pattern[str]:
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
