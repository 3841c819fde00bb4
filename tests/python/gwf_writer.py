"""Writes small frame files of version 8: one FrProcData channel a name, raw or gzip, one frame a file."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

CLASSES = {"FrameH": 3, "FrProcData": 5, "FrVect": 7, "FrEndOfFrame": 8, "FrTOC": 9, "FrEndOfFile": 10}
TYPES = {"i1": 0, "i2": 1, "f8": 2, "f4": 3, "i4": 4, "i8": 5, "c8": 6, "c16": 7, "u2": 9, "u4": 10, "u8": 11}


def write_frame(
    path: Path, start: int, channels: dict[str, tuple[np.ndarray, float]], gzip: bool = True
) -> Path:
    """A file of one frame at GPS ``start`` (s); channel name → samples, rate (Hz)."""
    bytes_ = (
        b"IGWD\0"
        + bytes([8, 0, 2, 4, 8, 4, 8])
        + struct.pack("<HIQfd", 0x1234, 0x12345678, 0x123456789ABCDEF, np.pi, np.pi)
    )
    bytes_ += bytes([0, 0])
    for i, (name, number) in enumerate(CLASSES.items()):
        bytes_ += _structure(1, i, _text(name) + struct.pack("<H", number) + _text(""))
    frame_at, positions = len(bytes_), []
    length = max((len(data) / rate for data, rate in channels.values()), default=1.0)
    body = _text("TEST") + struct.pack("<iIIIIHd", 0, 0, 0, start, 0, 37, length) + bytes(72)
    bytes_ += _structure(3, 0, body)
    for i, (name, (data, rate)) in enumerate(channels.items()):
        positions.append(len(bytes_))
        body = _text(name) + _text("") + struct.pack("<HHdddfddH", 1, 0, 0, 0, 0, 0, 0, 0, 0)
        bytes_ += _structure(5, i, body + struct.pack("<HI", 7, i) + bytes(24))
        bytes_ += _structure(7, i, _vector(name, data, rate, gzip))
    bytes_ += _structure(8, 0, bytes(16))
    toc = _contents(start, length, frame_at, list(channels), positions)
    bytes_ += toc
    seek = len(toc) + 46
    end = struct.pack("<QBBIIQQIII", 46, 0, 10, 0, 1, len(bytes_) + 46, seek, 0, 0, 0)
    path.write_bytes(bytes_ + end)
    return path


def _structure(number: int, instance: int, body: bytes) -> bytes:
    return struct.pack("<QBBI", len(body) + 18, 0, number, instance) + body + bytes(4)


def _text(text: str) -> bytes:
    return struct.pack("<H", len(text) + 1) + text.encode() + b"\0"


def _vector(name: str, data: np.ndarray, rate: float, gzip: bool) -> bytes:
    raw = data.astype(data.dtype.newbyteorder("<")).tobytes()
    raw = zlib.compress(raw) if gzip else raw
    code = TYPES[data.dtype.str[1:]]
    body = _text(name) + struct.pack("<HHQQ", 256 + gzip, code, len(data), len(raw)) + raw
    body += struct.pack("<IQdd", 1, len(data), 1 / rate, 0) + _text("s") + _text("strain")
    return body + bytes(6)


def _contents(start: int, length: float, at: int, names: list[str], positions: list[int]) -> bytes:
    body = struct.pack("<HIIIIdiIQ", 37, 1, 0, start, 0, length, 0, 0, at) + bytes(32)
    body += struct.pack("<I", len(CLASSES)) + b"".join(struct.pack("<H", n) for n in CLASSES.values())
    body += b"".join(_text(name) for name in CLASSES) + bytes(12)
    body += bytes(4) + struct.pack("<I", len(names)) + b"".join(_text(name) for name in names)
    body += struct.pack(f"<{len(positions)}Q", *positions) + bytes(4)
    return _structure(9, 0, body + bytes(24))
