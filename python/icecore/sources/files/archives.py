"""Files inside files: zip members and files compressed with gzip, bzip2, xz or zstd."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import struct
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, cast

from icecore import errors
from icecore.sources.files import zip_directory
from icecore.sources.files.byte_source import open_file
from icecore.sources.files.identity import is_remote

# Streams of bzip2 and xz files that detect damage anywhere in the file.
#
# Python's own readers treat damage after the first of several streams as the end of the file.
#
# Source: the .xz file format 1.2.1, section 2 (streams, with padding of zeros, four at a time).

#: bytes per read of the file
_PIECE = 1 << 18


def bunzip2(path: str) -> IO[bytes]:
    """Open a file; reading raises EOFError or OSError for damaged data and for trailing garbage."""
    return _opened(path, bz2.BZ2Decompressor, 0)


def unxz(path: str) -> IO[bytes]:
    """Open a file; reading raises EOFError, OSError or LZMAError for damaged data and trailing garbage."""
    return _opened(path, partial(lzma.LZMADecompressor, lzma.FORMAT_XZ), 4)


def _opened(path: str, make: Callable[[], Any], padding: int) -> IO[bytes]:
    return cast("IO[bytes]", io.BufferedReader(_Streams(open_file(path), make, padding), 1 << 16))


class _Streams(io.RawIOBase):
    """Consecutive streams, each followed by zeros in multiples of ``padding`` bytes (0: none)."""

    def __init__(self, file: IO[bytes], make: Callable[[], Any], padding: int) -> None:
        self._file, self._make, self._padding = file, make, padding
        self._decoder = make()
        self._stored = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        out = memoryview(buffer).cast("B")
        while not self._decoder.eof or self._next():
            if self._decoder.needs_input and not self._more():
                raise EOFError("it ends inside its data")
            stored, self._stored = self._stored, b""
            made = self._decoder.decompress(stored, len(out))
            if made:
                out[: len(made)] = made
                return len(made)
        return 0

    def _more(self) -> bool:
        """Whether bytes are left that no decoder has consumed."""
        self._stored = self._stored or self._file.read(_PIECE)
        return bool(self._stored)

    def _next(self) -> bool:
        """Begin the next stream; return False if there is none."""
        self._stored, zeros = self._decoder.unused_data, 0
        while self._more():
            rest = self._stored.lstrip(b"\0") if self._padding else self._stored
            zeros += len(self._stored) - len(rest)
            self._stored = rest
            if rest:
                break
        if self._padding and zeros % self._padding:
            raise OSError(f"{zeros} zeros behind a stream: not a multiple of {self._padding}")
        if not self._stored:
            return False
        self._decoder = self._make()
        return True

    def close(self) -> None:
        self._file.close()
        super().close()


# Stream of a gzip file, decompressed by the engine in a third of the time of Python's ``gzip``.
#
# Source of the layout: RFC 1952; members follow each other, zeros may follow the last one.

_MAGIC = b"\x1f\x8b\x08"
#: flags of a member's header: header CRC, extra field, name, comment
_CRC, _EXTRA, _NAME, _COMMENT = 2, 4, 8, 16
_TRAILER = struct.Struct("<II")


def gunzip(path: str) -> IO[bytes]:
    """Open a file; reading raises EOFError or BadGzipFile for damaged data."""
    return cast("IO[bytes]", io.BufferedReader(_Gunzip(open_file(path)), 1 << 16))


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
        """Read a member's header; return False at the end of the archive."""
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


# Streams of zstd files, with Python's own module or its backport.


def unzstd(path: str) -> IO[bytes]:
    """Open a file; reading raises EOFError or OSError for damaged data.

    Raises:
        Error: ``unsupported`` if no zstd library is installed.
    """
    try:
        from compression import zstd  # type: ignore[import-not-found]  # Python 3.14
    except ModuleNotFoundError:
        try:
            from backports import zstd  # type: ignore[import-not-found,no-redef]
        except ModuleNotFoundError:
            raise errors.needs("pds", f"{path} is compressed with zstd", "unzstd it") from None
    # Accept the largest window (`zstd --long=31`); memory is only allocated as it is used.
    window = zstd.DecompressionParameter.window_log_max
    place = open_file(path) if is_remote(path) else path
    file = zstd.open(place, options={window: window.bounds()[1]})
    return cast("IO[bytes]", io.BufferedReader(_Frames(file, zstd.ZstdError)))


class _Frames(io.RawIOBase):
    """Stream that replaces zstd's own exception, whose class only exists if the library is installed."""

    def __init__(self, file: Any, fault: type[Exception]) -> None:
        self._file, self._fault = file, fault

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        try:
            return cast("int", self._file.readinto(into))
        except self._fault as error:
            raise OSError(str(error)) from error

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


ZIP = (b"PK\x03\x04", b"PK\x05\x06")
#: magic of a zstd frame, and of the skippable frames that pzstd begins with
_ZSTD = (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + i]) + b"\x2a\x4d\x18" for i in range(16)))
_OPENERS: dict[tuple[bytes, ...], Callable[[str], Any]] = {
    (b"\x1f\x8b",): gunzip,
    (b"BZh",): bunzip2,
    (b"\xfd7zXZ\x00",): unxz,
    _ZSTD: unzstd,
}
#: magic numbers of compressed single files
SMALLER = tuple(start for starts in _OPENERS for start in starts)
#: exceptions raised while a damaged archive is read
FAULTS = (
    OSError,
    EOFError,
    lzma.LZMAError,
    zipfile.BadZipFile,
    ValueError,
    NotImplementedError,
    RuntimeError,
)


@dataclass(frozen=True)
class Member:
    """A file, plain or in an archive: its name without the compression suffix, and a function to open it."""

    name: str
    place: str
    open: Callable[[], IO[bytes]]


def members(path: str) -> list[Member]:
    """Return the files in ``path``: one, or the members of a zip archive.

    Raises:
        Error: ``corrupt`` for a damaged archive; ``unsupported`` if a library for zstd is missing.
    """
    with open_file(path) as file:
        start = file.read(8)
    if start.startswith(ZIP):
        return _zipped(path)
    base = os.path.basename(path)
    for signatures, opener in _OPENERS.items():
        if start.startswith(signatures):
            return [Member(os.path.splitext(base)[0], path, partial(opener, path))]
    return [Member(base, path, partial(plain, path))]


def content(path: str, most: int = -1) -> bytes:
    """Return the first ``most`` bytes (or all) of a file, decompressed if it is compressed.

    Raises:
        Error: ``unsupported`` if a library for zstd is missing; one of ``FAULTS`` for damaged data.
    """
    with members(path)[0].open() as file:
        return file.read(most)


def plain(path: str) -> IO[bytes]:
    """Open a file without decompression."""
    return open_file(path)


def is_tar(start: bytes) -> bool:
    """Whether bytes begin with the header of a tar archive, checked by its checksum."""
    import tarfile  # needed for few files

    try:
        tarfile.TarInfo.frombuf(start[:512], "latin-1", "replace")
    except tarfile.HeaderError:
        return False
    return True


def _zipped(path: str) -> list[Member]:
    try:
        with open_file(path) as file, zipfile.ZipFile(file) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
    except FAULTS as error:
        raise errors.make("corrupt", f"{path}: {error}", "test it with unzip -t") from error
    zip_directory.check_methods(path, infos)
    counts = Counter(info.filename for info in infos)
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        raise errors.make(
            "corrupt",
            f"{path} holds {twice} {counts[twice]} times",
            "unpack it, and keep the one that counts",
        )
    # Some Windows programs write backslashes in names, against the standard.
    names = [name if "/" in name else name.replace("\\", "/") for name in (i.filename for i in infos)]
    return [
        Member(name, f"{path}:{name}", partial(_member, path, info))
        for name, info in zip(names, infos, strict=True)
    ]


def _member(path: str, info: zipfile.ZipInfo) -> IO[bytes]:
    if info.compress_type == zipfile.ZIP_DEFLATED:
        return deflated(path, info)
    return zipfile.ZipFile(open_file(path)).open(info)


# Stream of a deflated zip member, decompressed by the engine, which is faster than ``zipfile``.

#: local header: signature, then the lengths of the name and the extra field
_LOCAL = struct.Struct("<4s22xHH")


def deflated(path: str, info: zipfile.ZipInfo) -> IO[bytes]:
    """Open a member; at the end of the stream its length and CRC-32 are verified.

    Raises:
        BadZipFile: if the archive lacks the member; reading raises it for damaged data.
    """
    archive = open_file(path)  # the stream owns it
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
