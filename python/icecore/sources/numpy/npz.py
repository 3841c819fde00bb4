"""NumPy ``.npz`` archives: stored members are linked in place, deflated ones are copied."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from icecore import errors
from icecore.repository.zarr_dtypes import copy_codecs, data_type, fill_json, pack, packed_struct, subarrays
from icecore.sources.files.byte_source import ByteSource, open_bytes
from icecore.sources.files.identity import Identity, identity, unchanged
from icecore.sources.files.open_files import shared
from icecore.sources.files.zip_directory import FAULTS, check_member, data_offset
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Note, Region, default_chunks
from icecore.sources.numpy.npy import raw_entry, read_header

_HEADER = 1 << 16


def open(source: str) -> ArrayMap:
    """Index a ``.npz`` file: one array per member, named after it.

    Raises:
        Error: ``corrupt`` if the zip or a member's header is not valid; ``format`` where no member is an
            array.
    """
    before = identity(source)
    result = ArrayMap(source)
    data = open_bytes(source)
    try:
        archive = _archive(data, source)
        for member in archive.infolist():
            if not member.is_dir():
                _member(result, source, before, data, archive, member)
    finally:
        data.close()
    if not result.arrays and result.dropped:
        note = result.dropped[0]
        raise errors.make(
            "unsupported",
            f"{source} holds {len(result.dropped)} members, and all are unsupported; the first: "
            f"{note.message}",
            "save them again as arrays with a numeric dtype",
        )
    if not result.arrays:
        raise errors.make(
            "format", f"{source} is a zip archive without NumPy arrays", "unpack it and give the files"
        )
    unchanged(source, before)
    return result


def _member(
    result: ArrayMap,
    source: str,
    ident: Identity,
    data: ByteSource,
    archive: zipfile.ZipFile,
    member: zipfile.ZipInfo,
) -> None:
    name = member.filename.removesuffix(".npy").strip("/")
    path = f"/{name}"
    label = f"{source}:{member.filename}"
    if not member.filename.endswith(".npy") or any(
        part in ("", ".", "..", "zarr.json") for part in name.split("/")
    ):
        result.dropped.append(Note(path, "unsupported", f"member {member.filename} is not a NumPy array"))
        return
    if member.flag_bits & 1:
        result.dropped.append(Note(path, "unsupported", "encrypted"))
        return
    try:
        if member.compress_type == zipfile.ZIP_STORED:
            start = data_offset(data, member, label)
            shape, dtype, fortran, offset = read_header(data, start, member.file_size, label)
            available = start + member.file_size - offset
            entry = raw_entry(path, source, ident, offset, available, shape, dtype, fortran)
            entry.check = partial(_intact, source, ident, member.filename)
        else:
            entry = _compressed(path, source, ident, archive, member, label)
    except errors.Error as error:
        if error.kind not in ("unsupported", "dtype"):
            raise
        result.dropped.append(Note(path, "unsupported", error.message))
        return
    result.add(entry)


def _compressed(
    path: str, source: str, ident: Identity, archive: zipfile.ZipFile, member: zipfile.ZipInfo, label: str
) -> ArrayEntry:
    try:
        with archive.open(member) as file:
            start = file.read(_HEADER)
    except FAULTS as error:
        raise errors.make("corrupt", f"{label}: {error}", "test it with unzip -t") from error
    shape, stored, fortran, offset = read_header(_Prefix(start, ident), 0, member.file_size, label)
    dtype = packed_struct(stored) if stored.names is not None else stored.newbyteorder("=")
    return ArrayEntry(
        path=path,
        shape=shape,
        dims=(None,) * len(shape),
        data_type=data_type(dtype),
        dtype=dtype,
        chunks=default_chunks(shape, dtype.itemsize),
        codecs=copy_codecs(dtype),
        fill_value=fill_json(None, dtype),
        read=MemberReader(source, ident, member.filename, shape, stored, dtype, offset, fortran),
        subarrays=subarrays(stored),
        note="compressed as a whole inside the .npz",
    )


@dataclass(frozen=True)
class MemberReader:
    """Reader for regions of a compressed member, which is decompressed from its start to the region's end."""

    source: str
    identity: Identity
    member: str
    shape: tuple[int, ...]
    stored: np.dtype
    dtype: np.dtype
    offset: int
    fortran: bool

    def __call__(self, region: Region) -> np.ndarray:
        """Return the elements of ``region``, C-contiguous, in native byte order."""
        unchanged(self.source, self.identity)
        shape = self.shape[::-1] if self.fortran else self.shape
        wanted = region[::-1] if self.fortran else region
        row = int(np.prod(shape[1:], dtype=object)) * self.stored.itemsize if shape else self.stored.itemsize
        first, last = (wanted[0].start, wanted[0].stop) if shape else (0, 1)
        block = self._bytes(self.offset + first * row, (last - first) * row)
        values = np.frombuffer(block, self.stored).reshape((last - first, *shape[1:]) if shape else ())
        values = values[(slice(None), *wanted[1:])] if shape else values
        values = values.T if self.fortran else values
        if self.stored.names is not None:
            values = pack(values, self.dtype)
        return np.ascontiguousarray(values.astype(self.dtype, copy=False)).reshape(
            [s.stop - s.start for s in region]
        )

    def _bytes(self, offset: int, length: int) -> bytes:
        try:
            with shared(self.source, self.identity, _opened) as archive, archive.open(self.member) as file:
                file.seek(offset)
                block = file.read(length)
        except FAULTS as error:
            raise errors.make(
                "corrupt", f"{self.source}:{self.member}: {error}", "test it with unzip -t"
            ) from error
        if len(block) != length:
            raise errors.make(
                "corrupt", f"{self.source}:{self.member} ends {length - len(block)} bytes early"
            )
        return block


def _intact(source: str, ident: Identity, member: str) -> None:
    try:
        with shared(source, ident, _opened) as archive:
            check_member(archive, member)
    except FAULTS as error:
        raise errors.make("corrupt", f"{source}:{member}: {error}", "test it with unzip -t") from error


class _Prefix:
    """Byte source for the first bytes of a longer stream."""

    def __init__(self, start: bytes, ident: Identity) -> None:
        self.start, self.identity = start, ident

    def read_at(self, offset: int, length: int) -> bytes:
        return self.start[offset : offset + length]

    def close(self) -> None:
        return None


class _Seekable(io.RawIOBase):
    """File object for ``zipfile`` over a byte source."""

    def __init__(self, data: ByteSource) -> None:
        super().__init__()
        self.data, self.position = data, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: self.data.identity.size}[whence]
        if base + offset < 0:
            raise OSError("a position before the start of the file")
        self.position = base + offset
        return self.position

    def readinto(self, buffer: Any) -> int:
        block = self.data.read_at(self.position, len(buffer))
        buffer[: len(block)] = block
        self.position += len(block)
        return len(block)

    def close(self) -> None:
        self.data.close()
        super().close()


def _archive(data: ByteSource, source: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BufferedReader(_Seekable(data)))
    except FAULTS as error:
        raise errors.make("corrupt", f"{source}: {error}", "test it with unzip -t") from error


def _opened(source: str) -> zipfile.ZipFile:
    """Open an archive once for reads of many members: each opening would parse the whole directory."""
    return _archive(open_bytes(source), source)
