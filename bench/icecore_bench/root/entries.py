"""Tables 4 and 5: single entries of one column, and every 100th, every 10th and all of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from icecore.display import figures

from icecore_bench.root import trees
from icecore_bench.root.clock import clock, size
from icecore_bench.root.peers import Peer, peers
from icecore_bench.study import Outcome, Table

_RANDOM = 2000
#: rows and columns: of all, and of the quick form
_SIZES = ((5_000_000, 20), (500_000, 4))


def measure(folder: Path, source: str | None, work: Path, say: Callable[[str], None], quick: bool) -> Outcome:
    """Read 2,000 random entries of one column of 20, and entries at equal distances."""
    rows, count = _SIZES[quick]
    columns = trees.detector(rows, count)
    found = peers(columns, work, say)
    chosen = np.sort(np.random.default_rng(1).choice(rows, _RANDOM, replace=False))
    every = {"every 100th": np.arange(0, rows, 100), "every 10th": np.arange(0, rows, 10), "all": None}
    for peer in found:
        for at in (chosen, every["every 100th"]):
            if not np.array_equal(peer.read(at), columns["c0"][at]):
                raise AssertionError(f"{peer.name} reads other values")
    title = f"{rows:,} rows of {count} float32, column c0"
    heads = ["reader", "file MB", "warm, ms", "warm, CPU ms", "cold, ms"]
    single = Table(f"Table 4: {_RANDOM:,} random entries, {title}", heads)
    distant = Table(f"Table 5: entries at equal distances, {title}; wall/CPU ms", ["reader", *every])
    repeats = 3 if quick else 7
    for peer in found:
        say(f"entries: {peer.name}")
        warm = clock(partial(peer.read, chosen), repeats)
        cold = clock(partial(peer.read, chosen), 3, [peer.path])
        single.rows.append([peer.name, size(peer.path) / 1e6, warm[0], warm[1], cold[0]])
        times = [clock(partial(peer.read, at), repeats) for at in every.values()]
        distant.rows.append([peer.name, *(f"{wall:.3g} / {cpu:.3g}" for wall, cpu in times)])
    return Outcome("root", [single, distant], figures=[_draw(folder, single, found)])


def _draw(folder: Path, single: Table, found: list[Peer]) -> str:
    return figures.bars(
        folder / "root-entries.png",
        single.title.removeprefix("Table 4: "),
        "wall ms, warm",
        {peer.name: float(row[2]) for peer, row in zip(found, single.rows, strict=True)},
    )
