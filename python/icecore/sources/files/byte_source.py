"""Random access to the bytes of a local or remote file, for parsers without a library."""

from __future__ import annotations

import io
import os
from typing import Any, Protocol

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


# A remote source as a file object, for libraries that read files.


class RemoteFile(io.RawIOBase):
    """Read-only, seekable file object for a remote source, for h5py."""

    def __init__(self, source: ByteSource) -> None:
        super().__init__()
        self.bytes = source
        self._position = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to ``offset``, relative to the start, the position or the end."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.bytes.identity.size}[whence]
        self._position = max(base + offset, 0)
        return self._position

    def tell(self) -> int:
        """Return the position in bytes."""
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill ``buffer`` from the position; return the number of bytes read."""
        data = self.bytes.read_at(self._position, len(buffer))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)
