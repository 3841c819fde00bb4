"""What a source file was when it was looked at: URL, size, modification time, etag."""

from __future__ import annotations

import os
from pathlib import Path

from icecore import errors
from icecore.repository.address import legal
from icecore.sources.files import object_stores
from icecore.sources.files.stamp import Identity as Identity

REMOTE = ("http://", "https://", *object_stores.SCHEMES)


def is_remote(source: str) -> bool:
    """Whether ``source`` is read over a network."""
    return source.lower().startswith(REMOTE)


def file_url(path: str | os.PathLike[str]) -> str:
    """The ``file://`` URL of a local path (made absolute, symbolic links kept, percent-encoded)."""
    return Path(os.path.abspath(path)).as_uri()


def local_path(source: str) -> str:
    """``file://`` URLs as paths, addresses on the web as they are asked for; everything else as it is."""
    if object_stores.is_object(source):
        return object_stores.encoded(source)
    if is_remote(source):
        return legal(source)
    if not source.startswith("file://"):
        return source
    from urllib.parse import unquote, urlsplit

    return unquote(urlsplit(source).path)


def identity(source: str | os.PathLike[str]) -> Identity:
    """Size (bytes) and modification time (ns) of a file now.

    Raises:
        Error: ``source-missing`` where it doesn't exist, ``permission`` or ``io`` where it can't be looked
            at.
    """
    source = os.fspath(source)
    if object_stores.is_object(source):
        return object_stores.head(object_stores.encoded(source))
    if is_remote(source):
        from icecore.sources.files.http import head  # takes longer to import than a small file to read

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
    """Raise ``source-changed`` unless the file is still what ``before`` says."""
    now = identity(source)
    if (now.size, now.mtime_ns, now.etag) != (before.size, before.mtime_ns, before.etag):
        raise errors.make(
            "source-changed",
            f"{os.fspath(source)} changed: {before} then; {now} now",
            "wait until it is written completely and link it again",
        )
