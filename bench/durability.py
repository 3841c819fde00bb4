"""Cost of commits that are on disk, beside Icechunk, SQLite and git.

Commits of 1, 10 and 1,000 items, appends of 42 kB, and packing of a large file, each with and without
synchronisation.

    python bench/durability.py [--folder DIR] [--commits 20] [-o bench/RESULTS-durability.md]

``DIR`` must be on the file system to measure. An item is 4 kB that nothing compresses.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import icecore
import numpy as np

ITEM = 4096
COUNTS = (1, 10, 1000)
#: values of one append: 42 kB of float64
APPEND = 5250
RNG = np.random.default_rng(1)
Commit = Callable[[int, np.ndarray], None]


def items(count: int) -> np.ndarray:
    return RNG.integers(0, 256, (count, ITEM), "u1")


@contextmanager
def icecore_commits(home: Path, durability: str) -> Iterator[Commit]:
    repo = icecore.create(home / "icecore", durability=durability)

    def commit(number: int, data: np.ndarray) -> None:
        with repo.writer(f"{number}") as w:
            array = w.array(f"/a{number}", "u1", data.shape, chunks=(1, ITEM), codec="none")
            array[...] = data

    yield commit


@contextmanager
def icechunk_commits(home: Path) -> Iterator[Commit]:
    import icechunk
    import zarr

    storage = icechunk.local_filesystem_storage(str(home / "icechunk"))
    repo = icechunk.Repository.create(storage)

    def commit(number: int, data: np.ndarray) -> None:
        session = repo.writable_session("main")
        options = {"shape": data.shape, "chunks": (1, ITEM), "dtype": "u1", "compressors": None}
        zarr.create_array(session.store, name=f"a{number}", **options)[...] = data
        session.commit(f"{number}")

    yield commit


@contextmanager
def sqlite_commits(home: Path) -> Iterator[Commit]:
    database = sqlite3.connect(home / "sqlite.db", isolation_level=None)
    database.execute("pragma synchronous=FULL")
    database.execute("create table items (number integer, content blob)")

    def commit(number: int, data: np.ndarray) -> None:
        database.execute("begin")
        rows = ((number, row.tobytes()) for row in data)
        database.executemany("insert into items values (?, ?)", rows)
        database.execute("commit")

    yield commit
    database.close()


@contextmanager
def git_commits(home: Path) -> Iterator[Commit]:
    place = home / "git"
    settings = ("core.fsync=all", "user.name=bench", "user.email=bench@localhost", "gc.auto=0")
    git = ["git", "-C", str(place), *(part for each in settings for part in ("-c", each))]
    subprocess.run(["git", "init", "-q", place], check=True)

    def commit(number: int, data: np.ndarray) -> None:
        folder = place / f"{number}"
        folder.mkdir()
        for i, row in enumerate(data):
            (folder / f"{i}").write_bytes(row.tobytes())
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", f"{number}"], check=True)

    yield commit


PEERS: dict[str, Callable[[Path], object]] = {
    "icecore": lambda home: icecore_commits(home, "full"),
    'icecore, durability="none"': lambda home: icecore_commits(home, "none"),
    "Icechunk (not synchronised)": icechunk_commits,
    "SQLite, synchronous=FULL": sqlite_commits,
    "git, core.fsync=all": git_commits,
}


def commits(home: Path, peer: str, count: int, times: int) -> tuple[float, float]:
    """Median milliseconds of a commit, and commits a second in all."""
    taken = []
    with PEERS[peer](home) as commit:  # type: ignore[attr-defined]
        commit(0, items(count))
        for number in range(1, times + 1):
            data = items(count)
            began = time.perf_counter()
            commit(number, data)
            taken.append(time.perf_counter() - began)
    return median(taken) * 1e3, times / sum(taken)


def appends(home: Path, durability: str, times: int) -> tuple[float, float]:
    repo = icecore.create(home / "appends", durability=durability)
    with repo.writer() as w:
        w.array("/t", "f8", (0,), codec="zstd").append(RNG.random(APPEND))
    taken = []
    for _ in range(times):
        rows = RNG.random(APPEND)
        began = time.perf_counter()
        with repo.writer() as w:
            w["/t"].append(rows)
        taken.append(time.perf_counter() - began)
    return median(taken) * 1e3, times / sum(taken)


def packing(home: Path, times: int) -> dict[str, float]:
    """Median seconds to pack 256 MB, in turn with and without synchronisation, and what the disk takes:
    as many bytes as the repository has, in one file that is synchronised.
    """
    file = home / "large.npy"
    np.save(file, np.cumsum(RNG.normal(size=(256, 131072)), axis=1))
    taken: dict[str, list[float]] = {"full": [], "none": [], "disk": []}
    for _ in range(times):
        for durability in ("full", "none"):
            os.sync()
            began = time.perf_counter()
            icecore.pack(file, home / "packed", codec="zstd", durability=durability)
            taken[durability].append(time.perf_counter() - began)
            stored = b"".join(file.read_bytes() for file in (home / "packed").rglob("*") if file.is_file())
            shutil.rmtree(home / "packed")
        os.sync()
        began = time.perf_counter()
        with (home / "plain").open("wb") as plain:
            plain.write(stored)
            plain.flush()
            os.fsync(plain.fileno())
        taken["disk"].append(time.perf_counter() - began)
    return {name: median(values) for name, values in taken.items()}


def report(folder: str | None, times: int) -> str:
    lines = ["# Cost of commits that are on disk", "", "Written by `bench/durability.py`.", ""]
    lines += ["| one commit of | writer | median, ms | commits a second |", "| --- | --- | --- | --- |"]
    for count in COUNTS:
        for peer in PEERS:
            with tempfile.TemporaryDirectory(dir=folder) as home:
                try:
                    each, rate = commits(Path(home), peer, count, max(times // (10 if count > 10 else 1), 3))
                except (ModuleNotFoundError, FileNotFoundError) as error:
                    print(f"{peer} skipped: {error}")
                    continue
            lines.append(f"| {count:,} x 4 kB | {peer} | {each:.2f} | {rate:.1f} |")
            print(lines[-1], flush=True)
    for durability in ("full", "none"):
        with tempfile.TemporaryDirectory(dir=folder) as home:
            each, rate = appends(Path(home), durability, times)
        lines.append(f"| append of 42 kB | icecore, durability={durability} | {each:.2f} | {rate:.1f} |")
        print(lines[-1], flush=True)
    with tempfile.TemporaryDirectory(dir=folder) as home:
        packed = packing(Path(home), 5)
    extra = (packed["full"] / packed["none"] - 1) * 100
    lines += ["", f"Packing 256 MB with zstd: {packed['full']:.3g} s, without synchronisation "]
    lines[-1] += f"{packed['none']:.3g} s ({extra:+.1f} %; medians of 5 runs in turn). "
    lines[-1] += f"The disk alone takes {packed['disk']:.3g} s for as many bytes in one file."
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", help="directory on the file system to measure")
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    text = report(options.folder, options.commits)
    if options.output:
        options.output.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
