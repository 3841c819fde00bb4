"""Parser for the header of netCDF-3 files: classic (CDF-1), 64-bit offset (CDF-2) and 64-bit data (CDF-5).

Source: the NetCDF Classic Format Specification of Unidata, and the CDF-5 extension of PnetCDF.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from icecore import errors
from icecore.repository.json_attributes import text
from icecore.sources.files.byte_source import ByteSource

_DIMENSIONS, _VARIABLES, _ATTRIBUTES = 10, 11, 12
_CHAR = 2
_TYPES = {
    1: ">i1",
    2: "S1",
    3: ">i2",
    4: ">i4",
    5: ">f4",
    6: ">f8",
    7: ">u1",
    8: ">u2",
    9: ">u4",
    10: ">i8",
    11: ">u8",
}
_BUFFER = 1 << 16
_MAX_RANK = 1024


@dataclass
class Variable:
    """A variable: dimension indices, attributes, dtype in the file, offset of its first byte."""

    name: str
    dims: tuple[int, ...]
    attrs: dict[str, Any]
    dtype: np.dtype
    begin: int
    record: bool = False
    shape: tuple[int, ...] = ()

    @property
    def row_bytes(self) -> int:
        """Size in bytes of one record, or of the whole variable without records; without padding."""
        return prod(self.shape[1:] if self.record else self.shape) * self.dtype.itemsize


@dataclass
class Header:
    """A parsed header; ``record_bytes`` is the distance from one record to the next."""

    version: int
    records: int
    record_dim: int | None = None
    dims: list[tuple[str, int]] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    record_bytes: int = 0


class _Cursor:
    """Reads the header's items in order, never past the end of the file."""

    def __init__(self, data: ByteSource, name: str) -> None:
        self.data, self.name = data, name
        self.position = self.base = 0
        self.buffer = b""
        self.wide = False

    def take(self, count: int) -> bytes:
        end = self.position + count
        if end > self.data.identity.size:
            raise errors.make(
                "corrupt",
                f"{self.name}: its header needs {end} bytes or more, the file has {self.data.identity.size}",
                "compare the file with its original: it looks cut off",
            )
        if self.position < self.base or end > self.base + len(self.buffer):
            self.base, self.buffer = self.position, self.data.read_at(self.position, max(count, _BUFFER))
        found = self.buffer[self.position - self.base : end - self.base]
        self.position = end
        return found

    def u4(self) -> int:
        return int.from_bytes(self.take(4), "big")

    def size(self) -> int:
        """Read a count or length: 4 bytes, 8 in CDF-5."""
        return int.from_bytes(self.take(8 if self.wide else 4), "big")

    def name_text(self) -> str:
        count = self.size()
        found = self.take(count)
        self.take(-count % 4)
        return text(found.partition(b"\0")[0])  # old writers count the NUL at the end

    def list_of(self, tag: int) -> int:
        found, count = self.u4(), self.size()
        if found not in (0, tag) or (found == 0 and count):
            raise self.wrong(f"tag {tag} expected at byte {self.position}, found {found}")
        # Each item takes at least 8 bytes, so a larger count is damage.
        if count * 8 > self.data.identity.size:
            raise self.wrong(f"a list of {count} items in a file of {self.data.identity.size} bytes")
        return count

    def type(self) -> tuple[int, np.dtype]:
        code = self.u4()
        if code not in _TYPES:
            raise self.wrong(f"unknown data type {code} at byte {self.position - 4}")
        return code, np.dtype(_TYPES[code])

    def wrong(self, what: str) -> errors.Error:
        return errors.make("corrupt", f"{self.name}: {what}", "compare the file with its original")


def read_header(data: ByteSource, name: str) -> Header:
    """Parse a netCDF-3 header.

    Raises:
        Error: ``corrupt`` if it is inconsistent, or if the file is shorter than it states, with both sizes.
    """
    cursor = _Cursor(data, name)
    magic = cursor.take(4)
    if magic[:3] != b"CDF" or magic[3] not in (1, 2, 5):
        raise errors.make("format", f"{name} is not a netCDF-3 file: it starts with {magic!r}")
    cursor.wide = magic[3] == 5
    header = Header(magic[3], cursor.size())
    streaming = header.records == (1 << (64 if cursor.wide else 32)) - 1
    for _ in range(cursor.list_of(_DIMENSIONS)):
        header.dims.append((cursor.name_text(), cursor.size()))
    zero = [index for index, (_, length) in enumerate(header.dims) if length == 0]
    header.record_dim = zero[0] if zero else None
    header.attrs = _attributes(cursor)
    for _ in range(cursor.list_of(_VARIABLES)):
        header.variables.append(_variable(cursor, header))
    _lay_out(header, data.identity.size, streaming, cursor)
    return header


def _attributes(cursor: _Cursor) -> dict[str, Any]:
    attrs: dict[str, Any] = {}
    for _ in range(cursor.list_of(_ATTRIBUTES)):
        name = cursor.name_text()
        code, dtype = cursor.type()
        count = cursor.size()
        raw = cursor.take(count * dtype.itemsize)
        cursor.take(-len(raw) % 4)
        if code == _CHAR:
            attrs[name] = text(raw).replace("\0", "")
        else:
            values = np.frombuffer(raw, dtype).astype(dtype.newbyteorder("="))
            attrs[name] = values[0] if count == 1 else values
    return attrs


def _variable(cursor: _Cursor, header: Header) -> Variable:
    name = cursor.name_text()
    rank = cursor.size()
    if rank > _MAX_RANK:
        raise cursor.wrong(f"variable {name} has {rank} dimensions")
    dims = tuple(cursor.size() for _ in range(rank))
    if any(index >= len(header.dims) for index in dims):
        raise cursor.wrong(f"variable {name} has dimensions {dims} of {len(header.dims)}")
    attrs = _attributes(cursor)
    _, dtype = cursor.type()
    cursor.size()  # vsize: redundant, and wrong for large variables
    begin = int.from_bytes(cursor.take(4 if header.version == 1 else 8), "big")
    record = bool(dims) and dims[0] == header.record_dim
    if header.record_dim is not None and header.record_dim in dims[1:]:
        raise cursor.wrong(f"variable {name} has the record dimension behind another")
    return Variable(name, dims, attrs, dtype, begin, record)


def _lay_out(header: Header, size: int, streaming: bool, cursor: _Cursor) -> None:
    """Set shapes, record size and number of records, and check the length of the file."""
    for item in header.variables:
        item.shape = tuple(header.dims[index][1] for index in item.dims)
    records = [item for item in header.variables if item.record]
    # A single record variable is packed without padding; several are each padded to 4 bytes.
    header.record_bytes = (
        records[0].row_bytes if len(records) == 1 else sum(-(-item.row_bytes // 4) * 4 for item in records)
    )
    if streaming:
        first = min((item.begin for item in records), default=size)
        header.records = max(size - first, 0) // header.record_bytes if header.record_bytes else 0
    for item in header.variables:
        end = item.begin + item.row_bytes
        if item.record:
            item.shape = (header.records, *item.shape[1:])
            end += (header.records - 1) * header.record_bytes
        if prod(item.shape) and end > size:
            raise cursor.wrong(
                f"variable {item.name} ends at byte {end}, the file has {size}: it looks cut off"
            )
