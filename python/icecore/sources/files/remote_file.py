"""A remote source as a file object, for libraries that read files."""

from __future__ import annotations

import io
from typing import Any

from icecore.sources.files.byte_source import ByteSource


class RemoteFile(io.RawIOBase):
    """A remote source as a read-only, seekable file object, as h5py wants one."""

    def __init__(self, source: ByteSource) -> None:
        super().__init__()
        self.bytes = source
        self._position = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to ``offset`` from the start, the position or the end."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.bytes.identity.size}[whence]
        self._position = max(base + offset, 0)
        return self._position

    def tell(self) -> int:
        """The position in bytes."""
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill ``buffer`` from the position; the number of bytes read."""
        data = self.bytes.read_at(self._position, len(buffer))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)
