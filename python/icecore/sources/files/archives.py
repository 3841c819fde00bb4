"""Files inside files: zip members and files compressed with gzip, bzip2, xz or zstd."""

from __future__ import annotations

import lzma
import os
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

from icecore import errors
from icecore.sources.files import access, zip_directory
from icecore.sources.files.bz2_xz_stream import bunzip2, unxz
from icecore.sources.files.gzip_stream import gunzip
from icecore.sources.files.zip_member import deflated
from icecore.sources.files.zstd_stream import unzstd

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
    access.check(path)
    with open(path, "rb") as file:
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
    access.check(path)
    return open(path, "rb")


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
        with zipfile.ZipFile(path) as archive:
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
    return zipfile.ZipFile(path).open(info)
