"""What a zip archive says about itself, looked at: its directory, the CRC-32 of its members, the Zarr store
that it holds.
"""

from __future__ import annotations

import zipfile
import zlib
from bisect import bisect_left
from collections.abc import Iterable

from icecore import errors
from icecore.repository.cached_property import cached_property

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
#: of zip's methods, those that zipfile undoes; Windows makes others (Deflate64) of files above 2 GB
_METHODS = {
    zipfile.ZIP_STORED,
    zipfile.ZIP_DEFLATED,
    zipfile.ZIP_BZIP2,
    zipfile.ZIP_LZMA,
    getattr(zipfile, "ZIP_ZSTANDARD", zipfile.ZIP_STORED),
}
#: the names under which a Zarr store's metadata lie at its root
ZARR = ("zarr.json", ".zgroup", ".zarray")
_BLOCK = 1 << 20
#: of the record at the end, and where in it the number of members stands
_END, _COUNT = 22, slice(10, 12)
_ZIP64 = 0xFFFF


class Archive(zipfile.ZipFile):
    """An archive that is asked for the members of many folders, one after the other."""

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self.namelist())

    def below(self, path: str) -> list[str]:
        """The names below a folder, sorted; all of them for ``""``."""
        if not path:
            return self._sorted
        first = bisect_left(self._sorted, f"{path}/")
        # "0" is the character that follows "/"
        return self._sorted[first : bisect_left(self._sorted, f"{path}0", first)]


def check_methods(path: str, members: Iterable[zipfile.ZipInfo]) -> None:
    """Look for members that no password or program here opens; they are not damaged.

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
    """Compare the directory with the number of members and with the name that each bears itself: a chunk that
    it lost or calls otherwise would count as missing.

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
    """Read a member from end to end, as its CRC-32 is of all its bytes.

    Raises:
        Exception: one of ``FAULTS``.
    """
    with archive.open(name) as file:
        while file.read(_BLOCK):
            pass


def zarr_folder(archive: zipfile.ZipFile) -> str | None:
    """Where in an archive a Zarr store lies: ``""`` at its root, or the one folder at its root that is a
    store, as programs make it that zip folders; None where there is none, or more than one.
    """
    names = archive.NameToInfo
    if any(name in names for name in ZARR):
        return ""
    split = (name.split("/") for name in names)
    found = {parts[0] for parts in split if len(parts) == 2 and parts[1] in ZARR}
    return found.pop() if len(found) == 1 else None
