"""Random access to the bytes of a local or remote file, for parsers without a library."""

from __future__ import annotations

import io
from typing import IO, TYPE_CHECKING, Any, Protocol

from icecore.sources.files import access, object_stores
from icecore.sources.files.identity import Identity, identity, is_remote

if TYPE_CHECKING:
    from icecore import _icecore


class ByteSource(Protocol):
    """Bytes of one file: its ``identity`` at the time of opening, and ``read_at``."""

    identity: Identity

    def read_at(self, offset: int, length: int) -> bytes:
        """Return exactly ``length`` bytes from ``offset``; fewer only at the end of the file."""

    def close(self) -> None:
        """Close the file or connection."""


#: beyond the end of every file
_FURTHEST = 1 << 62


class EngineBytes:
    """Bytes of a local file or of an object, read by the engine.

    Reading raises ``source-changed`` if the file changes meanwhile. Blocks of objects are cached, and
    consecutive reads fetch increasing amounts.
    """

    def __init__(self, source: _icecore.ByteSource, url: str) -> None:
        self.identity = Identity(url, *source.identity())
        self._source: _icecore.ByteSource | None = source

    def read_at(self, offset: int, length: int) -> bytes:
        """Return exactly ``length`` bytes from ``offset``; fewer only at the end of the file."""
        if self._source is None:
            raise ValueError(f"{self.identity.url} is closed")
        if not 0 <= offset < _FURTHEST:  # damaged files name such places: nothing is there
            return b""
        return self._source.read_at(offset, min(max(length, 0), _FURTHEST))

    def close(self) -> None:
        """Close the file; connections belong to the process."""
        self._source = None


def open_bytes(source: str) -> ByteSource:
    """Open a path, an http(s) URL or an object for random access."""
    from icecore import _icecore

    access.check(source)
    if object_stores.is_object(source):
        url = object_stores.encoded(source)
        return EngineBytes(object_stores.opened(url), url)
    if is_remote(source):
        from icecore.sources.files.http import HttpBytes

        return HttpBytes(source)
    url = identity(source).url
    return EngineBytes(_icecore.ByteSource(source, {}), url)


def for_parser(source: str) -> str | ByteSource:
    """Return what the engine's parsers of a format open: a local path, or a remote file's bytes."""
    return open_bytes(source) if is_remote(source) else source


def open_file(source: str) -> IO[bytes]:
    """Open a path, an http(s) URL or an object as a file object."""
    access.check(source)
    if not is_remote(source):
        return open(source, "rb")
    return io.BufferedReader(RemoteFile(open_bytes(source)), 1 << 16)


def whole(source: str) -> bytes:
    """Return all bytes of a path, an http(s) URL or an object."""
    data = open_bytes(source)
    try:
        return data.read_at(0, data.identity.size)
    finally:
        data.close()


# A remote source as a file object, for libraries that read files.


class RemoteFile(io.RawIOBase):
    """Read-only, seekable file object for a remote source, for h5py and streams of text."""

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
