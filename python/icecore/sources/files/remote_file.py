"""A remote source as a file object, for libraries that read files."""

from __future__ import annotations

import io
from typing import Any

from icecore.sources.files.byte_source import ByteSource


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
