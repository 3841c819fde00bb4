"""Table 8: external compression, an uncompressed file in SquashFS images with blocks of several sizes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import icecore
import numpy as np

from icecore_bench.root import trees
from icecore_bench.root.clock import clock, size
from icecore_bench.root.peers import has
from icecore_bench.study import Outcome, Table

_BLOCKS = (4096, 32_768, 131_072, 1_048_576)
#: compressor → the module that decompresses it
_COMPRESSORS = {"gzip": "zlib", "zstd": "zstandard"}
_ROWS = (1_000_000, 100_000)
_RANDOM, _BASKET, _COLUMN = 2000, 8192, "MET_pt"


def absent() -> str:
    """Return which tool is missing, or an empty text."""
    if shutil.which("mksquashfs") is None:
        return "SquashFS (mksquashfs of Debian's squashfs-tools)"
    return "" if has("PySquashfsImage") else "SquashFS (pip install PySquashfsImage)"


def measure(folder: Path, source: str | None, work: Path, say: Callable[[str], None], quick: bool) -> Outcome:
    """Read the whole file and single values of a column through the blocks of an image."""
    if absent():
        return Outcome("root", [])
    columns = trees.events(_ROWS[quick])
    inner = work / "squash"
    inner.mkdir()
    path = trees.write(inner / "events.root", columns, "none", _BASKET)
    rows = np.sort(np.random.default_rng(3).choice(_ROWS[quick], _RANDOM, replace=False))
    places = _places(path, rows)
    heads = ["image", "bytes", "ratio", "random, ms", "random, CPU ms", "all, ms", "all, CPU ms"]
    title = (
        f"Table 8: an uncompressed ROOT file of {size(path):,} bytes in SquashFS; {_RANDOM:,} random values"
    )
    table = Table(f"{title} of {_COLUMN}, all bytes", heads)
    repeats = 3 if quick else 5
    for compressor in filter(lambda name: has(_COMPRESSORS[name]), _COMPRESSORS):
        for block in _BLOCKS:
            say(f"squashfs: {compressor}, blocks of {block:,} bytes")
            image = _image(inner, work / f"{compressor}-{block}.squashfs", compressor, block)
            file = _Image(image)
            if file.whole() != path.read_bytes():
                raise AssertionError(f"{image.name} holds other bytes")
            if not np.array_equal(file.values(places), columns[_COLUMN][rows]):
                raise AssertionError(f"{image.name} holds other values")
            times = *clock(partial(file.values, places), repeats), *clock(file.whole, 3)
            table.rows.append([f"{compressor}, {block:,}", size(image), size(path) / size(image), *times])
    table.rows.append(_packed(columns, rows, work, size(path), repeats))
    return Outcome("root", [table])


def _image(folder: Path, image: Path, compressor: str, block: int) -> Path:
    options = ["-comp", compressor, "-b", str(block), "-no-fragments", "-noappend", "-quiet", "-no-progress"]
    subprocess.run(["mksquashfs", str(folder), str(image), *options], check=True, capture_output=True)
    return image


def _places(path: Path, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the offsets of single values in the file with uncompressed baskets."""
    import uproot

    with uproot.open(path) as file:
        branch = file["Events"][_COLUMN]
        edges = np.array(branch.entry_offsets)
        keys = [branch.basket_key(number) for number in range(branch.num_baskets)]
    starts = np.array([key.fSeekKey + key.fKeylen for key in keys])
    at = np.searchsorted(edges, rows, "right") - 1
    return np.asarray(starts[at] + 4 * (rows - edges[at]))


class _Image:
    """The file in an image, whose blocks are decompressed one at a time."""

    def __init__(self, path: Path) -> None:
        from PySquashfsImage import SquashFsImage

        self._image = SquashFsImage.from_file(str(path))
        self._file = self._image.select("/events.root")
        inode = self._file.inode
        self._block = self._image.sblk.block_size
        self._stored = self._image._read_block_list(inode.block_start, inode.block_offset, inode.blocks)
        lengths = np.array([stored & ~(1 << 24) for stored in self._stored])  # the bit: not compressed
        self._starts = inode.start + np.cumsum(lengths) - lengths

    def whole(self) -> bytes:
        """Return all bytes."""
        blocks = zip(self._starts.tolist(), self._stored, strict=True)
        joined = b"".join(self._decompressed(start, stored) for start, stored in blocks)
        return joined[: self._file.size]  # the last block may be a hole

    def _decompressed(self, start: int, stored: int) -> bytes:
        """Decompress a block; the package would keep the last 256 of them.

        A block of zeros is a hole, which takes no bytes.
        """
        if not stored:
            return bytes(self._block)
        read = type(self._image)._read_data_block.__wrapped__
        return bytes(read(self._image, start, stored))

    def values(self, places: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the big-endian float32 at each of the increasing places; a block is decompressed once."""
        found = []
        number, data = -1, b""
        for place in places.tolist():
            raw = b""
            while len(raw) < 4:
                at, inside = divmod(place + len(raw), self._block)
                if at != number:
                    number = at
                    data = self._decompressed(int(self._starts[at]), self._stored[at])
                raw += data[inside : inside + 4 - len(raw)]
            found.append(raw)
        return np.frombuffer(b"".join(found), ">f4").astype("f4")


def _packed(
    columns: trees.Columns, rows: np.ndarray[Any, Any], work: Path, raw: int, repeats: int
) -> list[Any]:
    """Return the row of the same columns, packed for random reads."""
    path = work / "squash.icecore"
    icecore.pack(dict(columns), path, "/Events", goal="random")
    table = icecore.open(path).table("/Events")
    some = clock(partial(table.arrays, _COLUMN, entries=rows, library="np"), repeats)
    return [
        "icecore --for random",
        size(path),
        raw / size(path),
        *some,
        *clock(partial(table.arrays, library="np"), 3),
    ]
