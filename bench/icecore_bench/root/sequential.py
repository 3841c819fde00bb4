"""Table 6: sequential reads of flat columns with each codec and size of baskets, beside decoding alone."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import icecore
import numpy as np

from icecore_bench.root import trees
from icecore_bench.root.clock import clock
from icecore_bench.root.peers import has
from icecore_bench.study import Outcome, Table

_CODECS = ("zlib-1", "lz4-1", "zstd-5", "lzma-1")
_BASKETS = (32_000, 400_000)
_ROWS = (2_000_000, 200_000)


def measure(folder: Path, source: str | None, work: Path, say: Callable[[str], None], quick: bool) -> Outcome:
    """Read 8 columns of float32, 64 MB together."""
    columns = trees.detector(_ROWS[quick], 8)
    raw = sum(column.nbytes for column in columns.values())
    heads = [
        "codec, basket",
        "icecore, wall",
        "icecore, CPU",
        "uproot, CPU",
        "ROOT, CPU",
        "decoding alone, CPU",
    ]
    table = Table(f"Table 6: 8 flat float32 branches, {raw / 1e6:g} MB, all entries; ms", heads)
    repeats = 3 if quick else 5
    for codec in _CODECS:
        for basket in _BASKETS:
            say(f"sequential: {codec}, baskets of {basket // 1000} kB")
            path = trees.write(work / "sequential.root", columns, codec, basket // 4)
            repo = work / f"sequential-{codec}-{basket}.icecore"
            icecore.link(path, repo, group="/")
            opened = icecore.open(repo)
            paths = {f"/Events/{name}": slice(None) for name in columns}
            if not all(np.array_equal(v, columns[k[8:]]) for k, v in opened.read(paths).items()):
                raise AssertionError(f"{codec} reads other values")
            ours = clock(partial(opened.read, paths), repeats)
            theirs = clock(partial(_uproot, path), repeats)
            root = clock(partial(_root, path), repeats)[1] if has("ROOT") else None
            alone = clock(_alone(path, codec), repeats)[1]
            label = f"{codec}, {basket // 1000} kB"
            table.rows.append([label, ours[0], ours[1], theirs[1], root, alone])
    note = (
        "Table 6: ROOT reads with RDataFrame.AsNumpy on one thread. Decoding alone decompresses all baskets "
        "on one thread with the C libraries that Python binds (zlib, liblzma; cramjam's lz4 and zstd)."
    )
    return Outcome("root", [table], notes=[note])


def _uproot(path: Path) -> None:
    import uproot

    with uproot.open(path, array_cache=None, object_cache=None) as file:
        file["Events"].arrays(library="np")


def _root(path: Path) -> Any:
    import ROOT

    return ROOT.RDataFrame("Events", str(path)).AsNumpy()


def _alone(path: Path, codec: str) -> Callable[[], Any]:
    """Decompress all compressed blocks of the file's baskets, which are in memory."""
    import lzma

    import cramjam
    import uproot

    decode: dict[bytes, Callable[[bytes, int], Any]] = {
        b"ZL": lambda block, size: zlib.decompress(block),
        b"XZ": lambda block, size: lzma.decompress(block),
        b"L4": lambda block, size: cramjam.lz4.decompress_block(block[8:], output_len=size),
        b"ZS": lambda block, size: cramjam.zstd.decompress(block, output_len=size),
    }
    blocks = []
    data = path.read_bytes()
    with uproot.open(path, array_cache=None, object_cache=None) as file:
        for branch in file["Events"].branches:
            for number in range(branch.num_baskets):
                key = branch.basket_key(number)
                at, end = key.fSeekKey + key.fKeylen, key.fSeekKey + key.fNbytes
                while at < end:
                    stored = int.from_bytes(data[at + 3 : at + 6], "little")
                    size = int.from_bytes(data[at + 6 : at + 9], "little")
                    blocks.append((data[at : at + 2], data[at + 9 : at + 9 + stored], size))
                    at += 9 + stored
    return lambda: [decode[tag](block, size) for tag, block, size in blocks]
