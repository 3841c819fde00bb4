"""Checksum of a file's content, complete or sampled, to recognize copies of the file."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from icecore import errors
from icecore.sources.files.byte_source import ByteSource, open_bytes
from icecore.sources.files.identity import is_remote, local_path

#: files up to this size are read completely
_WHOLE = 1 << 20
#: number and size (bytes) of the blocks that are read from larger files, including the first and the last
_BLOCKS, _BLOCK = 16, 4096
_THREADS = 8


def is_checksum(etag: str | None) -> bool:
    """Whether a recorded ETag is a checksum of this module rather than a server's ETag."""
    return etag is not None and etag.startswith(("crc32c:", "crc32c-samples:"))


def is_whole(etag: str | None) -> bool:
    """Whether a checksum covers the whole file."""
    return etag is not None and etag.startswith("crc32c:")


def checksum(file: ByteSource) -> str:
    """Return ``crc32c:`` and the CRC-32C of a file's bytes in hexadecimal.

    For files above 1 MiB it is ``crc32c-samples:`` and the CRC-32C of 16 evenly spaced blocks of 4 KiB.
    """
    from icecore import _icecore

    size, value = file.identity.size, 0
    if size <= _WHOLE:
        return f"crc32c:{_icecore.checksum(file.read_at(0, size), 0):08x}"
    for number in range(_BLOCKS):
        value = _icecore.checksum(file.read_at(number * (size - _BLOCK) // (_BLOCKS - 1), _BLOCK), value)
    return f"crc32c-samples:{value:08x}"


def checksums(urls: Iterable[str]) -> dict[str, str]:
    """Return the checksums of local files by URL; files that can't be read are left out."""
    local = [url for url in dict.fromkeys(urls) if url.startswith("file://")]
    with ThreadPoolExecutor(_THREADS) as threads:
        found = threads.map(_of_url, local)
        return {url: value for url, value in zip(local, found, strict=True) if value is not None}


def same_bytes(one: str, other: str) -> bool:
    """Whether two files (paths or URLs) have the same bytes.

    Raises:
        Error: the errors raised while they are opened and read.
    """
    a, b = open_bytes(one), open_bytes(other)
    try:
        if a.identity.size != b.identity.size:
            return False
        starts = range(0, a.identity.size, _WHOLE)
        return all(a.read_at(start, _WHOLE) == b.read_at(start, _WHOLE) for start in starts)
    finally:
        a.close()
        b.close()


def checksum_of(source: str) -> str:
    """Return the checksum of a path or URL; see :func:`checksum`."""
    file = open_bytes(source if is_remote(source) else local_path(source))
    try:
        return checksum(file)
    finally:
        file.close()


def _of_url(url: str) -> str | None:
    try:
        return checksum_of(url)
    except errors.Error:
        return None
