"""Table 4: time to link many one-second files, then to open the repository and read one second."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import icecore

from icecore_bench.ligo import frames
from icecore_bench.ligo.channels import STRAIN, T0
from icecore_bench.ligo.clock import Time, medians
from icecore_bench.ligo.speed import path_of
from icecore_bench.study import Outcome, Table


def measure(work: Path, count: int, say: Callable[[str], None]) -> tuple[Outcome, dict[str, Time]]:
    """Write ``count`` files of sixty channels, index, link and open them."""
    say(f"linking: {count} files")
    folder, repository = work / "many", work / "many.icecore"
    files = frames.many(folder, count)
    times = medians({"index": partial(_index, files), "link": partial(_link, folder, repository)}, 2, 5)
    first = {"open and read the first second": partial(_first, repository)}
    times.update(medians(first, 7, 5))
    table = Table(
        f"Table 4: {count} one-second files of 60 channels, from the page cache",
        ["step", "CPU ms", "wall ms", "files per CPU second", "files per second"],
    )
    for name, time in times.items():
        speeds = [count / time.cpu, count / time.wall] if name in ("index", "link") else [None, None]
        table.rows.append([name, time.cpu * 1e3, time.wall * 1e3, *speeds])
    return Outcome("linking", [table]), times


def _index(files: list[str]) -> int:
    from icecore import _icecore

    return len(_icecore.gwf_index(files, 0, os.cpu_count() or 1))


def _link(folder: Path, repository: Path) -> None:
    icecore.link(folder, repository, replace=True)


def _first(repository: Path) -> object:
    array = icecore.open(repository)[path_of(STRAIN)]
    assert isinstance(array, icecore.Array)
    return array.between(T0, T0 + 1)
