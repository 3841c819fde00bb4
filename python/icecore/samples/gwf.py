"""Write small gravitational-wave frame files (version 8): one frame with FrProcData channels per file."""

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
    """Write a file of one frame.

    Args:
        path: path of the file.
        start: GPS time of the first sample, in seconds.
        channels: channel name → (samples of shape ``(n,)``, rate in Hz).
        gzip: compress the samples with gzip.
    """
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


def strain(folder: Path, seconds: int = 100, rate: int = 1024, start: int = 1_400_000_000) -> list[Path]:
    """Write one-second files with three channels: a chirp in noise, its noise, and a slow temperature.

    The data is identical in every run.
    """
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(20150914)
    time = np.arange(seconds * rate) / rate
    left = np.maximum(0.62 * seconds - time, 1e-3)  # seconds to the merger
    chirp = np.where(time < 0.62 * seconds, left**-0.25 * np.sin(60 * left**0.625), 0)
    noise = rng.normal(0, 0.3, time.size)
    files = []
    for second in range(seconds):
        part = slice(second * rate, (second + 1) * rate)
        channels = {
            "H1:DEMO-STRAIN": ((chirp + noise)[part].astype("f4"), float(rate)),
            "H1:DEMO-NOISE": (noise[part], float(rate)),
            "H1:DEMO-TEMPERATURE": (20 + np.sin(time[part][:: rate // 16] / 9).astype("f4"), 16.0),
        }
        files.append(write_frame(folder / f"H-H1_DEMO-{start + second}-1.gwf", start + second, channels))
    return files


def samples(data: bytes, name: str, count: int) -> np.ndarray:
    """Return the gzip-compressed float32 samples of a channel in a file written by :func:`write_frame`."""
    head = _text(name) + struct.pack("<HHQ", 257, TYPES["f4"], count)
    at = data.index(head) + len(head)
    (length,) = struct.unpack_from("<Q", data, at)
    return np.frombuffer(zlib.decompress(data[at + 8 : at + 8 + length]), "<f4")
