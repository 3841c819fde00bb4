"""Frame files of every version and byte order, written byte by byte: the structures that tests need."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

NS = 10**9
CLASSES = {
    "FrameH": 3, "FrAdcData": 4, "FrProcData": 5, "FrSimData": 6, "FrVect": 7, "FrEndOfFrame": 8, "FrTOC": 9,
    "FrEndOfFile": 10, "FrSerData": 11, "FrEvent": 12,
}  # fmt: skip
CODES = {
    "i1": 0,
    "i2": 1,
    "f8": 2,
    "f4": 3,
    "i4": 4,
    "i8": 5,
    "c8": 6,
    "c16": 7,
    "u2": 9,
    "u4": 10,
    "u8": 11,
    "u1": 12,
}


@dataclass
class Vector:
    """An FrVect: ``compress`` 0 raw, 1 gzip, 3 differences, gzip; ``flag`` overrides its byte-order bit."""

    data: np.ndarray
    rate: float
    name: str | None = None
    start_x: float = 0.0
    unit: str = ""
    compress: int = 0
    flag: bool | None = None


@dataclass
class Chan:
    """A channel: its vectors (the first is its data), auxiliary vectors, and the facts that it states."""

    name: str
    vectors: list[Vector]
    kind: str = "FrProcData"
    aux: list[Vector] = field(default_factory=list)
    offset: float = 0.0
    slope: float = 1.0
    bias: float = 0.0
    unit: str = ""
    valid: int = 0
    shift: float = 0.0
    series: int = 1


@dataclass
class Kit:
    """Writer of one version and byte order; structures of version 8 have checksums."""

    version: int = 8
    big: bool = False
    toc: bool = True

    def write(
        self,
        path: Path,
        frames: list[tuple[int, int, list[Chan]]],
        others: dict[str, list[str]] | None = None,
    ) -> Path:
        """Write frames (start and length in nanoseconds, channels); ``others`` are names by class."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.content(frames, others or {}))
        return path

    def content(self, frames: list[tuple[int, int, list[Chan]]], others: dict[str, list[str]]) -> bytes:
        """Return the bytes of a file."""
        out = bytearray(b"IGWD\0" + bytes([self.version, 0, 2, 4, 8, 4, 8]))
        out += self.pack("HIQfd", 0x1234, 0x12345678, 0x123456789ABCDEF, np.pi, np.pi)
        out += bytes([0, int(self.version >= 8)])
        for i, (name, number) in enumerate(CLASSES.items()):
            out += self.structure(1, i, self.text(name) + self.pack("H", number) + self.text(""))
        names = list(dict.fromkeys((c.kind, c.name) for *_, channels in frames for c in channels))
        positions = {name: [0] * len(frames) for name in names}
        heads, instance = [], 0
        for number, (start, length, channels) in enumerate(frames):
            heads.append(len(out))
            body = self.text("T") + self.pack("iIIIIH", 0, number, 0, start // NS, start % NS, 37)
            body += b"" if self.version > 4 else self.pack("i", 0)
            out += self.structure(3, number, body + self.pack("d", length / NS) + self.pointer() * 12)
            for channel in channels:
                positions[channel.kind, channel.name][number] = len(out)
                first, instance = instance, instance + len(channel.vectors) + len(channel.aux)
                out += self.structure(CLASSES[channel.kind], first, self.channel(channel, first))
                out += self.chain(channel.vectors, first, channel.name)
                out += self.chain(channel.aux, first + len(channel.vectors), channel.name)
            for name in others.get("FrSerData", []):
                out += self.structure(11, number, self.text(name) + self.pack("IId", start // NS, 0, 1.0))
            out += self.structure(8, number, self.pack("iIII", 0, number, 0, 0))
        seek = 0
        if self.toc:
            at = len(out)
            out += self.structure(9, 0, self.contents(frames, heads, positions, others))
            seek = len(out) - at + self.end_length
        return bytes(out + self.end(len(frames), len(out) + self.end_length, seek))

    @property
    def end_length(self) -> int:
        """Length of FrEndOfFile."""
        return {4: 28, 6: 42, 8: 46}[self.version]

    def pack(self, form: str, *values: object) -> bytes:
        """Pack values in the file's byte order."""
        return struct.pack((">" if self.big else "<") + form, *values)

    def text(self, text: str) -> bytes:
        """Pack a string."""
        return self.pack("H", len(text.encode()) + 1) + text.encode() + b"\0"

    def long(self, value: int) -> bytes:
        """Pack an integer of 4 or 8 bytes."""
        return self.pack("I" if self.version < 6 else "Q", value)

    def pointer(self, number: int = 0, instance: int = 0) -> bytes:
        """Pack a reference to a structure."""
        return self.pack("HH" if self.version < 6 else "HI", number, instance)

    def structure(self, number: int, instance: int, body: bytes) -> bytes:
        """Return a structure with its header, and in version 8 its checksum."""
        if self.version < 6:
            return self.pack("IHH", len(body) + 8, number, instance) + body
        if self.version < 8:
            return self.pack("QHI", len(body) + 14, number, instance) + body
        start = self.pack("QBBI", len(body) + 18, 1, number, instance) + body
        return start + self.pack("I", cksum(start))

    def channel(self, c: Chan, first: int) -> bytes:
        """Return the body of a channel's structure."""
        old, body = self.version < 6, self.text(c.name) + self.text("")
        seconds = int(c.offset // 1)
        offset = (
            self.pack("iI", seconds, round((c.offset - seconds) * NS)) if old else self.pack("d", c.offset)
        )
        rate = c.vectors[0].rate
        if c.kind == "FrAdcData":
            body += (
                self.pack("IIIff", 0, 0, 16, c.bias, c.slope)
                + self.text(c.unit)
                + self.pack("d", rate)
                + offset
            )
            body += self.pack("d", c.shift) + (b"" if old else self.pack("f", 0)) + self.pack("H", c.valid)
        elif c.kind == "FrSimData":
            body += (
                self.pack("f", rate) if old else self.pack("d", rate) + offset + self.pack("df", c.shift, 0)
            )
        elif old:
            body += self.pack("d", rate) + offset + self.pack("d", c.shift)
        else:
            body += self.pack("HH", c.series, 0) + offset + self.pack("ddfddH", 0, c.shift, 0, 0, 0, 0)
        body += self.pointer(7, first)
        aux = self.pointer(7, first + len(c.vectors)) if c.aux else self.pointer()
        if c.kind == "FrSimData":
            return body + self.pointer() * 3
        return body + aux + self.pointer() * (1 if c.kind == "FrAdcData" else 2 if old else 3)

    def chain(self, vectors: list[Vector], first: int, channel: str) -> bytes:
        """Return vectors that point at each other."""
        out = b""
        for i, vector in enumerate(vectors):
            after = self.pointer(7, first + i + 1) if i + 1 < len(vectors) else self.pointer()
            out += self.structure(7, first + i, self.vector(vector, channel) + after)
        return out

    def vector(self, v: Vector, channel: str) -> bytes:
        """Return the body of an FrVect up to its last pointer."""
        flat = v.data.reshape(-1)
        words = (
            np.diff(flat, prepend=flat.dtype.type(0)) if v.compress == 3 and flat.dtype.kind in "iu" else flat
        )
        is_big = self.big if v.flag is None or v.compress == 0 else not v.flag
        raw = words.astype(flat.dtype.newbyteorder(">" if is_big else "<")).tobytes()
        stored = zlib.compress(raw) if v.compress else raw
        flag = not self.big if v.flag is None else v.flag
        body = self.text(channel if v.name is None else v.name)
        body += self.pack("HH", v.compress + 256 * flag, CODES[flat.dtype.str[1:]])
        body += self.long(len(flat)) + self.long(len(stored)) + stored + self.pack("I", v.data.ndim)
        steps = [1 / v.rate] + [1.0] * (v.data.ndim - 1)
        body += b"".join(map(self.long, v.data.shape)) + b"".join(self.pack("d", step) for step in steps)
        body += self.pack("d", v.start_x) + self.pack("d", 0) * (v.data.ndim - 1)
        return body + self.text("s") * v.data.ndim + self.text(v.unit)

    def contents(
        self,
        frames: list[tuple[int, int, list[Chan]]],
        heads: list[int],
        positions: dict[tuple[str, str], list[int]],
        others: dict[str, list[str]],
    ) -> bytes:
        """Return the body of the table of contents."""
        n, old = len(frames), self.version < 6
        body = self.pack("H", 37) + (self.pack("i", 0) if old else b"") + self.pack("I", n)
        body += b"" if old else self.pack(f"{n}I", *[0] * n)
        body += self.pack(f"{n}I", *(start // NS for start, *_ in frames))
        body += self.pack(f"{n}I", *(start % NS for start, *_ in frames))
        body += self.pack(f"{n}d", *(length / NS for _, length, _ in frames))
        body += self.pack(f"{n}i", *[0] * n) + self.pack(f"{n}I", *range(n)) + self.pack(f"{n}Q", *heads)
        body += self.pack(f"{4 * n}Q", *[0] * 4 * n)
        body += self.pack("I", len(CLASSES)) + self.pack(f"{len(CLASSES)}H", *CLASSES.values())
        body += b"".join(map(self.text, CLASSES)) + self.pack("I", 0) * (self.version // 2 - 1)
        for kind in ("FrAdcData", "FrProcData", "FrSimData"):
            own = [key for key in positions if key[0] == kind]
            body += self.pack("I", len(own)) + b"".join(self.text(name) for _, name in own)
            body += self.pack(f"{2 * len(own)}I", *[0] * 2 * len(own)) if kind == "FrAdcData" else b""
            body += b"".join(self.pack(f"{n}Q", *positions[key]) for key in own)
        serial = others.get("FrSerData", [])
        body += (
            self.pack("I", len(serial))
            + b"".join(map(self.text, serial))
            + self.pack(f"{n * len(serial)}Q", *[0] * n * len(serial))
        )
        body += self.pack("I", 0)
        events = others.get("FrEvent", [])
        if old:
            body += self.pack("I", len(events)) + b"".join(map(self.text, events)) + bytes(16 * len(events))
            return body + self.pack("I", 0)
        body += (
            self.pack("I", len(events))
            + b"".join(map(self.text, events))
            + self.pack(f"{len(events)}I", *[1] * len(events))
        )
        body += self.pack("I", len(events)) if self.version >= 8 else b""
        body += bytes(20 * len(events)) + self.pack("I", 0)
        return body + (self.pack("I", 0) if self.version >= 8 else b"")

    def end(self, frames: int, size: int, seek: int) -> bytes:
        """Return FrEndOfFile, without a checksum of the file."""
        if self.version < 6:
            return self.pack("IHH", 28, 10, 0) + self.pack("5I", frames, size, 0, 0, seek)
        if self.version < 8:
            return self.pack("QHI", 42, 10, 0) + self.pack("IQIIQ", frames, size, 0, 0, seek)
        start = self.pack("QBBI", 46, 1, 10, 0) + self.pack("IQQI", frames, size, seek, 0)
        return start + self.pack("I", cksum(start)) + self.pack("I", 0)


def _table() -> list[int]:
    table = []
    for i in range(256):
        crc = i << 24
        for _ in range(8):
            crc = (crc << 1) ^ 0x104C11DB7 if crc & 0x80000000 else crc << 1
        table.append(crc)
    return table


_TABLE = _table()


def cksum(data: bytes) -> int:
    """Return the checksum of POSIX ``cksum``."""
    crc, length = 0, len(data)
    for byte in data:
        crc = ((crc << 8) & 0xFFFFFFFF) ^ _TABLE[(crc >> 24) ^ byte]
    while length:
        crc = ((crc << 8) & 0xFFFFFFFF) ^ _TABLE[(crc >> 24) ^ (length & 255)]
        length >>= 8
    return crc ^ 0xFFFFFFFF
