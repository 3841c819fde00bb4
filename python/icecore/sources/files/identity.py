"""Identity of a source file when it was indexed: URL, size, modification time, ETag."""

from __future__ import annotations

import os
from pathlib import Path

from icecore import errors
from icecore.repository.address import legal
from icecore.sources.files import access, object_stores, pelican
from icecore.sources.files.stamp import Identity as Identity

REMOTE = ("http://", "https://")


def is_remote(source: str) -> bool:
    """Whether ``source`` is read over a network."""
    return source.lower().startswith(REMOTE) or object_stores.is_object(source)


def file_url(path: str | os.PathLike[str]) -> str:
    """Return the ``file://`` URL of a local path (made absolute, symbolic links kept, percent-encoded)."""
    return Path(os.path.abspath(path)).as_uri()


def local_path(source: str) -> str:
    """Return the path of a ``file://`` URL, a valid URL for a remote source, other sources unchanged."""
    if object_stores.is_object(source):
        return object_stores.encoded(source)
    if is_remote(source):
        return legal(source)
    if not source.startswith("file://"):
        return source
    from urllib.parse import unquote, urlsplit

    return unquote(urlsplit(source).path)


def named_by(place: str, name: str) -> str:
    """Return the address of a file that a list or catalogue on a server names, perhaps relative to itself.

    Raises:
        Error: ``permission`` for a file of this machine: a server must not choose what is read here.
    """
    from urllib.parse import urljoin

    # "./": a name may contain a colon, "f.root:Events".
    address = name if "://" in name else urljoin(place, f"./{name}")
    if name.startswith(("/", "~", "@")) or not (is_remote(address) or pelican.is_federation(address)):
        message = f"{place}: a server names {name}, which is not on a server"
        raise errors.make("permission", message, "download the list, and look at it")
    return local_path(address)


def identity(source: str | os.PathLike[str]) -> Identity:
    """Return the current size (bytes) and modification time (ns) of a file.

    Raises:
        Error: ``source-missing`` if it doesn't exist, ``permission`` or ``io`` if it can't be accessed,
            ``link-not-allowed`` if a service may not open it.
    """
    source = os.fspath(source)
    access.check(source)
    if object_stores.is_object(source):
        return object_stores.head(object_stores.encoded(source))
    if is_remote(source):
        from icecore.sources.files.http import head  # slow to import

        return head(source)
    try:
        status = os.stat(source)
    except FileNotFoundError:
        raise errors.make("source-missing", f"no file at {source}", "check the path") from None
    except PermissionError:
        raise errors.make(
            "permission", f"not allowed to look at {source}", "check the file's permissions"
        ) from None
    except (OSError, ValueError) as error:
        raise errors.make("io", f"can't look at {source}: {error}") from error
    return Identity(file_url(source), status.st_size, status.st_mtime_ns)


def unchanged(source: str | os.PathLike[str], before: Identity) -> None:
    """Raise ``source-changed`` unless the file still has the identity ``before``."""
    now = identity(source)
    if (now.size, now.mtime_ns, now.etag) != (before.size, before.mtime_ns, before.etag):
        raise errors.make(
            "source-changed",
            f"{os.fspath(source)} changed: {before} then; {now} now",
            "wait until it is written completely and link it again",
        )
