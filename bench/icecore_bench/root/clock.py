"""Wall and CPU time of reads, with a warm or a cold page cache."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


def clock(run: Callable[[], Any], repeats: int, cold: Iterable[Path] = ()) -> tuple[float, float]:
    """Return medians of wall and CPU time in milliseconds; the CPU time includes all threads.

    Args:
        run: what is measured.
        repeats: number of measurements; one more comes first unless the cache is cold.
        cold: files and directories that leave the page cache before each measurement.
    """
    files = list(cold)
    if not files:
        run()
    walls, cpus = [], []
    for _ in range(repeats):
        forget(files)
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return 1e3 * statistics.median(walls), 1e3 * statistics.median(cpus)


def forget(paths: Iterable[Path]) -> None:
    """Remove files, also those in directories, from the page cache, where the system allows it."""
    for path in paths:
        for file in path.rglob("*") if path.is_dir() else [path]:
            if not file.is_file():
                continue
            descriptor = os.open(file, os.O_RDONLY)
            try:
                os.fsync(descriptor)
                if hasattr(os, "posix_fadvise"):
                    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def size(path: Path) -> int:
    """Return the bytes of a file or of all files in a directory."""
    return sum(
        each.stat().st_size for each in (path.rglob("*") if path.is_dir() else [path]) if each.is_file()
    )
