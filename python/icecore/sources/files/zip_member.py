"""Stream of a deflated zip member, decompressed by the engine, which is faster than ``zipfile``."""

from __future__ import annotations

import io
import struct
import zipfile
from typing import IO, Any, cast

from icecore import errors

#: bytes per read of the archive
_PIECE = 1 << 18
#: local header: signature, then the lengths of the name and the extra field
_LOCAL = struct.Struct("<4s22xHH")


def deflated(path: str, info: zipfile.ZipInfo) -> IO[bytes]:
    """Open a member; at the end of the stream its length and CRC-32 are verified.

    Raises:
        BadZipFile: there is no such member; reading raises it for damaged data.
    """
    archive = open(path, "rb")  # noqa: SIM115  # the stream owns it
    archive.seek(info.header_offset)
    header = archive.read(_LOCAL.size)
    if len(header) < _LOCAL.size or header[:4] != b"PK\x03\x04":
        archive.close()
        raise zipfile.BadZipFile(f"no header of {info.filename!r} at {info.header_offset}")
    _, name, extra = _LOCAL.unpack(header)
    archive.seek(name + extra, io.SEEK_CUR)
    return cast("IO[bytes]", io.BufferedReader(_Deflated(archive, info), 1 << 16))


class _Deflated(io.RawIOBase):
    def __init__(self, archive: IO[bytes], info: zipfile.ZipInfo) -> None:
        from icecore import _icecore

        self._archive, self._info = archive, info
        self._inflate = _icecore.Inflate()
        self._left = info.compress_size
        self._stored, self._at = b"", 0
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        out = memoryview(buffer).cast("B")
        written = 0
        while written < len(out) and not self._inflate.ended:
            if self._at == len(self._stored):
                self._stored, self._at = self._archive.read(min(_PIECE, self._left)), 0
                self._left -= len(self._stored)
            try:
                taken, made = self._inflate.into(self._stored, self._at, out, written)
            except errors.Error as error:
                raise self._bad(error.message) from error
            self._at += taken
            written += made
            if not taken and not made and not self._inflate.ended:
                raise self._bad("it ends too early")
        self._size += written
        if self._inflate.ended:
            self._check()
        return written

    def _check(self) -> None:
        if self._size != self._info.file_size:
            raise self._bad(f"it has {self._size} bytes, not {self._info.file_size}")
        if self._inflate.crc32 != self._info.CRC:
            raise self._bad("its CRC-32 is not the directory's")

    def _bad(self, what: str) -> zipfile.BadZipFile:
        return zipfile.BadZipFile(f"{self._info.filename!r} is damaged: {what}")

    def close(self) -> None:
        self._archive.close()
        super().close()
