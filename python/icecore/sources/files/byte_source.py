"""Random access to the bytes of a local or remote file, for parsers without a library."""

from __future__ import annotations

import os
from typing import Protocol

from icecore import errors
from icecore.sources.files import access, object_stores
from icecore.sources.files.identity import Identity, identity, is_remote


class ByteSource(Protocol):
    """Bytes of one file: its ``identity`` at the time of opening, and ``read_at``."""

    identity: Identity

    def read_at(self, offset: int, length: int) -> bytes:
        """Return exactly ``length`` bytes from ``offset``; fewer only at the end of the file."""

    def close(self) -> None:
        """Close the file or connection."""


class LocalBytes:
    """Bytes of a local file."""

    def __init__(self, path: str) -> None:
        self.identity = identity(path)
        try:
            self._fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except PermissionError:
            raise errors.make(
                "permission", f"not allowed to read {path}", "check the file's permissions"
            ) from None
        except OSError as error:
            raise errors.make("io", f"can't open {path}: {error}") from error

    def read_at(self, offset: int, length: int) -> bytes:
        """Return exactly ``length`` bytes from ``offset``; fewer only at the end of the file."""
        length = max(min(length, self.identity.size - offset), 0)
        parts: list[bytes] = []
        while length > 0:
            try:
                part = os.pread(self._fd, length, offset)
            except OSError as error:
                raise errors.make("io", f"can't read {self.identity.url}: {error}") from error
            if not part:
                break
            parts.append(part)
            offset, length = offset + len(part), length - len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def open_bytes(source: str) -> ByteSource:
    """Open a path, an http(s) URL or an object for random access."""
    access.check(source)
    if object_stores.is_object(source):
        return object_stores.ObjectBytes(object_stores.encoded(source))
    if is_remote(source):
        from icecore.sources.files.http import HttpBytes

        return HttpBytes(source)
    return LocalBytes(source)


def whole(source: str) -> bytes:
    """Return all bytes of a path, an http(s) URL or an object."""
    data = open_bytes(source)
    try:
        return data.read_at(0, data.identity.size)
    finally:
        data.close()
