"""Stream of a gzip file, decompressed by the engine in a third of the time of Python's ``gzip``.

Source of the layout: RFC 1952; members follow each other, zeros may follow the last one.
"""

from __future__ import annotations

import gzip
import io
import struct
from typing import IO, Any, cast

from icecore import errors

#: bytes per read of the file
_PIECE = 1 << 18
_MAGIC = b"\x1f\x8b\x08"
#: flags of a member's header: header CRC, extra field, name, comment
_CRC, _EXTRA, _NAME, _COMMENT = 2, 4, 8, 16
_TRAILER = struct.Struct("<II")


def gunzip(path: str) -> IO[bytes]:
    """Open a file; reading raises EOFError or BadGzipFile for damaged data."""
    return cast("IO[bytes]", io.BufferedReader(_Gunzip(open(path, "rb")), 1 << 16))


class _Gunzip(io.RawIOBase):
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._stored, self._at = b"", 0
        self._inflate: Any = None
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        out = memoryview(buffer).cast("B")
        written = 0
        while written < len(out):
            if self._inflate is None and not self._begin():
                break
            if not self._more():
                raise EOFError("it ends inside its data")
            try:
                taken, made = self._inflate.into(self._stored, self._at, out, written)
            except errors.Error as error:
                raise gzip.BadGzipFile(error.message) from error
            self._at += taken
            self._size += made
            written += made
            if self._inflate.ended:
                self._end()
        return written

    def _more(self) -> bool:
        """Whether bytes are left that were not decompressed yet."""
        if self._at == len(self._stored):
            self._stored, self._at = self._file.read(_PIECE), 0
        return bool(self._stored)

    def _take(self, count: int) -> bytes:
        taken = b""
        while len(taken) < count:
            if not self._more():
                raise EOFError("it ends inside a header or a checksum")
            part = self._stored[self._at : self._at + count - len(taken)]
            taken, self._at = taken + part, self._at + len(part)
        return taken

    def _begin(self) -> bool:
        """Read a member's header; return False if there is no further member."""
        from icecore import _icecore

        while self._more() and self._stored[self._at] == 0:
            self._at += 1
        if not self._more():
            return False
        start = self._take(len(_MAGIC))
        if start != _MAGIC:
            raise gzip.BadGzipFile(f"where a gzip member should begin is {start!r}")
        header = start + self._take(7)
        if header[3] & _EXTRA:
            self._take(int.from_bytes(self._take(2), "little"))
        for flag in (_NAME, _COMMENT):
            while header[3] & flag and self._take(1) != b"\0":
                pass
        if header[3] & _CRC:
            self._take(2)
        self._inflate, self._size = _icecore.Inflate(), 0
        return True

    def _end(self) -> None:
        crc, size = _TRAILER.unpack(self._take(_TRAILER.size))
        if (crc, size) != (self._inflate.crc32, self._size & 0xFFFFFFFF):
            raise gzip.BadGzipFile("its CRC-32 or its length is not what the file says")
        self._inflate = None

    def close(self) -> None:
        self._file.close()
        super().close()
