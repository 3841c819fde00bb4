"""Checks of a zip archive: its directory, the CRC-32 of its members, and the Zarr store in it."""

from __future__ import annotations

import zipfile
import zlib
from bisect import bisect_left
from collections.abc import Iterable

from icecore import errors
from icecore.repository.cached_property import cached_property
from icecore.sources.files.byte_source import ByteSource

#: what :mod:`zipfile` raises on damaged archives
FAULTS = (
    zlib.error,
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    OSError,
    ValueError,
    EOFError,
    NotImplementedError,
    RuntimeError,
)
#: compression methods that zipfile supports; Windows uses others (Deflate64) for files above 2 GB
_METHODS = {
    zipfile.ZIP_STORED,
    zipfile.ZIP_DEFLATED,
    zipfile.ZIP_BZIP2,
    zipfile.ZIP_LZMA,
    getattr(zipfile, "ZIP_ZSTANDARD", zipfile.ZIP_STORED),
}
#: names of a Zarr store's metadata at its root
ZARR = ("zarr.json", ".zgroup", ".zarray")
_BLOCK = 1 << 20
#: size of the end-of-directory record in bytes, and the bytes of its member count
_END, _COUNT = 22, slice(10, 12)
_ZIP64 = 0xFFFF


class Archive(zipfile.ZipFile):
    """Zip archive with a sorted list of names, for listing many directories."""

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self.namelist())

    def below(self, path: str) -> list[str]:
        """Return the names below a directory, sorted; all names for ``""``."""
        if not path:
            return self._sorted
        first = bisect_left(self._sorted, f"{path}/")
        # "0" is the character that follows "/"
        return self._sorted[first : bisect_left(self._sorted, f"{path}0", first)]


def check_methods(path: str, members: Iterable[zipfile.ZipInfo]) -> None:
    """Reject members that are encrypted or use an unsupported compression method; they are not damaged.

    Raises:
        Error: ``unsupported``.
    """
    for member in members:
        if member.flag_bits & 1:
            raise errors.make("unsupported", f"{path}: {member.filename} is encrypted", "unpack it first")
        if member.compress_type not in _METHODS:
            raise errors.make(
                "unsupported",
                f"{path}: {member.filename} is compressed by zip's method {member.compress_type},"
                " which Python doesn't know",
                "unpack it first, with unzip or 7z",
            )


def check_directory(archive: zipfile.ZipFile) -> None:
    """Check the directory against the number of members and the name in each member's local header.

    A chunk that the directory lacks or names differently would be treated as missing.

    Raises:
        Exception: one of ``FAULTS``.
    """
    members = archive.infolist()
    assert archive.fp is not None
    archive.fp.seek(-_END - len(archive.comment), 2)
    count = int.from_bytes(archive.fp.read(_END)[_COUNT], "little")
    if count not in (len(members) & _ZIP64, _ZIP64):
        raise zipfile.BadZipFile(f"its directory lists {len(members)} members, its end says {count}")
    for member in members:
        archive.open(member).close()


def check_member(archive: zipfile.ZipFile, name: str) -> None:
    """Read a member to its end, which verifies its CRC-32.

    Raises:
        Exception: one of ``FAULTS``.
    """
    with archive.open(name) as file:
        while file.read(_BLOCK):
            pass


def data_offset(data: ByteSource, member: zipfile.ZipInfo, label: str) -> int:
    """Return the offset of a stored member's bytes, from the lengths in its local header."""
    local = data.read_at(member.header_offset, 30)
    if len(local) < 30 or local[:4] != b"PK\x03\x04":
        raise errors.make(
            "corrupt", f"{label}: no local header at byte {member.header_offset}", "test it with unzip -t"
        )
    start = (
        member.header_offset
        + 30
        + int.from_bytes(local[26:28], "little")
        + int.from_bytes(local[28:30], "little")
    )
    if start + member.file_size > data.identity.size:
        raise errors.make(
            "corrupt",
            f"{label} ends at byte {start + member.file_size}, the file at {data.identity.size}",
            "test it with unzip -t",
        )
    return start


def zarr_folder(archive: zipfile.ZipFile) -> str | None:
    """Return the directory of the Zarr store in an archive; None if there is none, or more than one.

    It is ``""`` for the root, or the single top-level directory, as programs that zip directories write it.
    """
    names = archive.NameToInfo
    if any(name in names for name in ZARR):
        return ""
    split = (name.split("/") for name in names)
    found = {parts[0] for parts in split if len(parts) == 2 and parts[1] in ZARR}
    return found.pop() if len(found) == 1 else None
