"""Random access to the bytes of a local or remote source, for parsers that need no library."""

from __future__ import annotations

import os
from typing import Protocol

from icecore import errors
from icecore.sources.files import object_stores
from icecore.sources.files.identity import Identity, identity, is_remote


class ByteSource(Protocol):
    """Bytes of one file: its ``identity`` when it was opened, and ``read_at``."""

    identity: Identity

    def read_at(self, offset: int, length: int) -> bytes:
        """Exactly ``length`` bytes from ``offset``; fewer only where the file ends."""

    def close(self) -> None:
        """Let go of the file or connection."""


class LocalBytes:
    """A local file."""

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
        """Exactly ``length`` bytes from ``offset``; fewer only where the file ends."""
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
    """The bytes of a path, an http(s) URL or an object."""
    if object_stores.is_object(source):
        return object_stores.ObjectBytes(object_stores.encoded(source))
    if is_remote(source):
        from icecore.sources.files.http import HttpBytes

        return HttpBytes(source)
    return LocalBytes(source)
