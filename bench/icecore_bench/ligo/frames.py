"""Frame files of the generated channels, written by gwframe (frameCPP)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from icecore import errors

from icecore_bench.ligo.channels import T0, Channel, channels

#: compression → frameCPP's code; zero suppression uses words of the element size
COMPRESSIONS = {"raw": 256, "gzip": 257, "differences, gzip": 259, "zero-suppressed": 6}


@dataclass(frozen=True)
class Layout:
    """Division of samples: seconds per frame, frames per file."""

    frame: int
    frames: int = 1
    compression: str = "gzip"

    @property
    def name(self) -> str:
        """Description of the layout."""
        files = "a file each" if self.frames == 1 else f"{self.frames} a file"
        return f"{self.frame} s frames, {files}, {self.compression}"

    @property
    def file(self) -> int:
        """Seconds per file."""
        return self.frame * self.frames


Samples = Mapping[Channel, np.ndarray]


def need() -> None:
    """Raise if frames can't be written.

    Raises:
        Error: ``unsupported`` if gwframe is not installed.
    """
    try:
        import gwframe  # noqa: F401
    except ModuleNotFoundError:
        raise errors.make(
            "unsupported", "the study needs gwframe to write frames", "pip install gwframe"
        ) from None


def write(folder: Path, layout: Layout, data: Samples, seconds: int) -> list[str]:
    """Write files of a layout into a new directory; return their paths in order."""
    import gwframe

    folder.mkdir()
    rates = {channel.name: float(channel.rate) for channel in data}
    units = {channel.name: channel.unit for channel in data}
    paths = []
    for start in range(0, seconds, layout.file):
        stop = min(start + layout.file, seconds)
        path = folder / f"H-H1_STUDY-{T0 + start}-{stop - start}.gwf"
        code = COMPRESSIONS[layout.compression]
        with gwframe.FrameWriter(path, compression=code) as writer:
            for low in range(start, stop, layout.frame):
                part = _part(data, low, min(low + layout.frame, stop))
                writer.write(part, T0 + low, rates, name="H1", unit=units)
        paths.append(str(path))
    return paths


def _part(data: Samples, start: int, stop: int) -> dict[str, np.ndarray]:
    return {c.name: values[start * c.rate : stop * c.rate] for c, values in data.items()}


def many(folder: Path, count: int) -> list[str]:
    """Write ``count`` one-second files of sixty short channels: a file, and copies with other start times."""
    folder.mkdir()
    shortened = [replace(channel, rate=max(channel.rate // 64, 4)) for channel in channels()]
    data = {channel: np.arange(channel.rate, dtype=channel.dtype) for channel in shortened}
    [first] = write(folder / "template", Layout(1), data, 1)
    content = Path(first).read_bytes()
    paths = []
    for start in range(T0, T0 + count):
        path = folder / f"H-H1_MANY-{start}-1.gwf"
        path.write_bytes(content.replace(T0.to_bytes(4, "little"), start.to_bytes(4, "little")))
        paths.append(str(path))
    return paths
