"""Readers of frame files: gwpy, LALFrame, gwframe, and a lower bound (read and inflate only)."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from icecore_bench.ligo.channels import T0

Files = Sequence[str]


@dataclass(frozen=True)
class Peer:
    """Another reader: its package and its calls.

    ``read`` takes files in order, a channel's name and the total seconds of the files; ``contents`` counts
    the channels of each file; ``everything`` reads all channels.
    """

    name: str
    package: str
    module: str
    read: Callable[[Files, str, int], np.ndarray]
    contents: Callable[[Files], int]
    everything: Callable[[Files, int], Any] | None = None

    @property
    def present(self) -> bool:
        """Whether the package is installed."""
        return find_spec(self.module) is not None


def _length(path: str) -> int:
    """Return the length of a file in seconds, from its name."""
    return int(os.path.basename(path).rsplit("-", 1)[1].removesuffix(".gwf"))


def _gwframe_parts(files: Files, channel: str | None) -> list[Any]:
    import gwframe

    parts, start = [], T0
    for path in files:
        stop = start + _length(path)
        parts.append(gwframe.read(path, channel, start=start, end=stop))
        start = stop
    return parts


def _gwframe(files: Files, channel: str, seconds: int) -> np.ndarray:
    return np.concatenate([np.asarray(part.array) for part in _gwframe_parts(files, channel)])


def _gwframe_contents(files: Files) -> int:
    import gwframe

    count = 0
    for path in files:
        with gwframe.FrameReader(path) as reader:
            count += len(reader.channels)
    return count


def _gwframe_everything(files: Files, seconds: int) -> Any:
    parts = _gwframe_parts(files, None)
    return {name: np.concatenate([np.asarray(p[name].array) for p in parts]) for name in parts[0]}


def _cache(files: Files) -> Any:
    import lal

    lines, start = [], T0
    for path in files:
        lines.append(f"H H1_STUDY {start} {_length(path)} file://localhost{path}")
        start += _length(path)
    listed = os.path.join(os.path.dirname(files[0]), "files.cache")
    with open(listed, "w") as out:
        out.write("\n".join(lines) + "\n")
    cache = lal.CacheImport(listed)
    os.remove(listed)
    return cache


def _lalframe(files: Files, channel: str, seconds: int) -> np.ndarray:
    import lal
    import lalframe

    stream = lalframe.FrStreamCacheOpen(_cache(files))
    found = lalframe.FrStreamReadREAL4TimeSeries(stream, channel, lal.LIGOTimeGPS(T0), float(seconds), 0)
    result: np.ndarray = found.data.data
    return result


def _lalframe_contents(files: Files) -> int:
    import lalframe

    count = 0
    for path in files:
        file = lalframe.FrameUFrFileOpen(path, "r")  # must outlive its table of contents
        toc = lalframe.FrameUFrTOCRead(file)
        names = [
            lalframe.FrameUFrTOCQueryProcName(toc, i) for i in range(lalframe.FrameUFrTOCQueryProcN(toc))
        ]
        count += len(names)
    return count


def _gwpy(files: Files, channel: str, seconds: int) -> np.ndarray:
    from gwpy.timeseries import TimeSeries

    result: np.ndarray = TimeSeries.read(list(files), channel, format="gwf").value
    return result


def _gwpy_contents(files: Files) -> int:
    from gwpy.io.gwf import get_channel_names

    return sum(len(get_channel_names(path)) for path in files)


PEERS = (
    Peer("gwpy", "gwpy lalsuite", "gwpy", _gwpy, _gwpy_contents),
    Peer("LALFrame", "lalsuite", "lalframe", _lalframe, _lalframe_contents),
    Peer("gwframe", "gwframe", "gwframe", _gwframe, _gwframe_contents, _gwframe_everything),
)


def missing() -> list[str]:
    """Return a sentence for each peer that is not installed."""
    absent = [
        f"{peer.name} is not installed: pip install {peer.package}" for peer in PEERS if not peer.present
    ]
    if find_spec("deflate") is None:
        absent.append("the limit uses zlib instead of libdeflate: pip install deflate")
    return absent


def limit(places: Sequence[tuple[str, int, int, int]]) -> list[bytes]:
    """Read and inflate vectors at known byte ranges: (file, offset, stored bytes, decoded bytes)."""
    inflate = _inflate()
    found = []
    for path, offset, length, raw in places:
        file = os.open(path, os.O_RDONLY)
        found.append(inflate(os.pread(file, length, offset), raw))
        os.close(file)
    return found


def _inflate() -> Callable[[bytes, int], bytes]:
    if find_spec("deflate") is None:
        return lambda data, size: zlib.decompress(data, bufsize=size)
    from deflate import zlib_decompress

    decompress: Callable[[bytes, int], bytes] = zlib_decompress
    return decompress


def places(files: Files, channel: str) -> list[tuple[str, int, int, int]]:
    """Return the byte ranges of a channel's compressed data, without the header of each vector."""
    from icecore.sources.gwf.scan import FrameFile, scan

    found = []
    for path, file in zip(files, scan(files), strict=True):
        assert isinstance(file, FrameFile)
        for each in file.channels:
            for piece in each.pieces if each.name == channel else ():
                with open(path, "rb") as opened:
                    opened.seek(piece.offset)
                    head = opened.read(256)
                begin = head.index(channel.encode()) + len(channel) + 21
                stored = int.from_bytes(head[begin - 8 : begin], "little")
                raw = piece.count * np.dtype(piece.dtype).itemsize
                found.append((path, piece.offset + begin, stored, raw))
    return found
