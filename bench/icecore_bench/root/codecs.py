"""Table 1: size and speed of a tree with each of ROOT's codecs, and packed by icecore."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import icecore
import numpy as np
from icecore import errors
from icecore.display import figures
from icecore.display.scatter import Point

from icecore_bench.root import trees
from icecore_bench.root.clock import clock, size
from icecore_bench.study import Outcome, Table

_CODECS = (
    "none",
    "lz4-1",
    "lz4-9",
    "zlib-1",
    "zlib-6",
    "zlib-9",
    "zstd-1",
    "zstd-5",
    "zstd-9",
    "lzma-1",
    "lzma-6",
)
_QUICK = ("none", "lz4-1", "zlib-1", "zstd-5", "lzma-1")
_GOALS = ("balanced", "archive", "speed", "random")
_BASKET = 32 << 10
_ROWS = (1_000_000, 100_000)
#: bytes of the columns that are taken from a file
_MOST = 32 << 20


def measure(folder: Path, source: str | None, work: Path, say: Callable[[str], None], quick: bool) -> Outcome:
    """Write the flat columns of a tree with each codec, and read all of them again."""
    columns = _flat(source) if source else trees.events(_ROWS[quick])
    raw = sum(column.nbytes for column in columns.values())
    rows = len(next(iter(columns.values())))
    entry = raw // rows
    title = f"Table 1: {len(columns)} flat branches of {Path(source).name if source else 'generated events'}"
    heads = ["codec", "bytes", "ratio", "write MB/s", "uproot, CPU ms", "icecore, CPU ms", "icecore, wall ms"]
    table = Table(f"{title}, {raw:,} bytes, baskets of 32 kB", heads)
    points: list[Any] = []
    repeats = 3 if quick else 5
    for codec in _QUICK if quick else _CODECS:
        say(f"codecs: {codec}")
        path = work / f"codec-{codec}.root"
        entries = max(_BASKET * len(columns) // entry, 64)
        wrote, _ = clock(partial(trees.write, path, columns, codec, entries), 1)
        theirs = clock(partial(_uproot, path), repeats)
        icecore.link(path, work / f"{codec}.icecore", group="/")
        ours = clock(_reader(work / f"{codec}.icecore", columns), repeats)
        _row(table, points, codec, size(path), raw, wrote, theirs[1], ours)
        path.unlink()
    for goal in _GOALS:
        say(f"codecs: pack --for {goal}")
        path = work / f"packed-{goal}.icecore"
        wrote, _ = clock(partial(_pack, columns, path, goal), 1)
        _row(
            table,
            points,
            f"icecore, {goal}",
            size(path),
            raw,
            wrote,
            None,
            clock(_reader(path, columns), repeats),
        )
    figure = figures.points(
        folder / "root-codecs.png",
        title,
        ("ratio", "read, MB per CPU s"),
        points,
        "y",
        ("ROOT's codecs", "icecore"),
    )
    return Outcome("root", [table], figures=[figure])


def _row(
    table: Table, points: list[Point], name: str, stored: int, raw: int, wrote: float, theirs: Any, ours: Any
) -> None:
    table.rows.append([name, stored, raw / stored, raw / 1e3 / wrote, theirs, ours[1], ours[0]])
    family = "icecore" if name.startswith("icecore") else "ROOT's codecs"
    points.append(Point(name.removeprefix("icecore, "), raw / stored, raw / 1e3 / ours[1], family))


def _flat(source: str) -> trees.Columns:
    """The flat columns of a file's first or named tree, up to the limit of bytes."""
    import uproot

    path, _, name = source.partition(":")
    if not Path(path).is_file():
        raise errors.make("source-missing", f"no file at {path}", "give a ROOT file, or FILE:TREE")
    with uproot.open(path, array_cache=None, object_cache=None) as file:
        named = file.classnames(cycle=False)
        tree = file[name or next((key for key, kind in named.items() if kind.startswith("TTree")), "")]
        found: trees.Columns = {}
        for branch in tree.branches:
            plain = (
                type(branch.interpretation).__name__ == "AsDtype"
                and branch.interpretation.to_dtype.fields is None
            )
            if plain and sum(c.nbytes for c in found.values()) < _MOST:
                values = branch.array(library="np")
                found[branch.name] = values.astype(values.dtype.newbyteorder("="))
    return found


def _uproot(path: Path) -> None:
    import uproot

    with uproot.open(path, array_cache=None, object_cache=None) as file:
        file["Events"].arrays(library="np")


def _pack(columns: trees.Columns, path: Path, goal: str) -> None:
    icecore.pack(
        {name: np.ascontiguousarray(c) for name, c in columns.items()},
        path,
        "/Events",
        goal=goal,
        replace=True,
    )


def _reader(path: Path, columns: trees.Columns) -> Callable[[], Any]:
    paths = {f"/Events/{name}": slice(None) for name in columns}
    return lambda: icecore.open(path).read(paths)
