"""Archives that grow, beside Icechunk with zarr-python and netCDF-4: bytes and CPU time of appends.

`python bench/growth.py` measures all rows in one run, each in a process of its own, and writes
`bench/RESULTS-growth.md`. CPU time is user and system time of all threads.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from child import cpu_seconds

HERE = Path(__file__).parent
#: steps that are stored before the first timed append, and timed appends
STORED, APPENDS = 1000, 64
FROM_NOTHING, DAYS = 250, 365
STEP = (73, 144)


def size(folder: Path) -> int:
    """Bytes of all files."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def steps(count: int) -> np.ndarray:
    """Smooth fields of 42 kB with noise in the last digits."""
    rng = np.random.default_rng(5)
    y, x = np.mgrid[0 : STEP[0], 0 : STEP[1]]
    wave = 280 + 20 * np.sin(y / 20) + 5 * np.cos(x / 15)
    drift = np.cumsum(rng.normal(0, 0.05, (count, 1, 1)), axis=0)
    return (wave + drift + rng.normal(0, 0.05, (count, *STEP))).astype("f4")


class Icecore:
    """One commit for each append; the default layout and measured codecs."""

    name = "icecore"

    def __init__(self, folder: Path) -> None:
        import icecore

        self.place = folder / "a.icecore"
        self.repo = icecore.create(self.place)

    def create(self, data: np.ndarray) -> None:
        with self.repo.at("main").writer() as w:
            w.array("/t", "f4", (0, *STEP), ("time", "y", "x")).append(data)

    def append(self, row: np.ndarray) -> None:
        with self.repo.at("main").writer() as w:
            w["/t"].append(row)

    def read(self) -> np.ndarray:
        return self.repo.at("main")["/t"].read()


class Icechunk:
    """Chunks of one step, zarr-python's default codecs; one commit for each append."""

    name = "Icechunk + zarr-python"

    def __init__(self, folder: Path) -> None:
        import icechunk

        self.place = folder / "a.icechunk"
        self.repo = icechunk.Repository.create(icechunk.local_filesystem_storage(str(self.place)))

    def create(self, data: np.ndarray) -> None:
        import zarr

        session = self.repo.writable_session("main")
        group = zarr.group(session.store)
        group.create_array("t", shape=data.shape, chunks=(1, *STEP), dtype="f4")[...] = data
        session.commit("create")

    def append(self, row: np.ndarray) -> None:
        import zarr

        session = self.repo.writable_session("main")
        zarr.open_group(session.store)["t"].append(row[None])
        session.commit("append")

    def read(self) -> np.ndarray:
        import zarr

        return zarr.open_group(self.repo.readonly_session("main").store, mode="r")["t"][...]


class NetCDF:
    """Unlimited time, chunks of one step, shuffle and deflate 4; closed after each append."""

    name = "netCDF-4"

    def __init__(self, folder: Path) -> None:
        self.place = folder / "netcdf"
        self.place.mkdir()

    def create(self, data: np.ndarray) -> None:
        import h5py

        with h5py.File(self.place / "a.nc", "w") as file:
            options = {"chunks": (1, *STEP), "maxshape": (None, *STEP), "shuffle": True, "compression": 4}
            file.create_dataset("t", data=data, **options)

    def append(self, row: np.ndarray) -> None:
        import h5py

        with h5py.File(self.place / "a.nc", "r+") as file:
            file["t"].resize(len(file["t"]) + 1, 0)
            file["t"][-1] = row

    def read(self) -> np.ndarray:
        import h5py

        with h5py.File(self.place / "a.nc") as file:
            return file["t"][...]


SIDES = {side.__name__: side for side in (Icecore, Icechunk, NetCDF)}


def one_step(side: type[Any], folder: Path) -> dict[str, float]:
    """Append single steps to 1,000; the median, and the mean with all merging."""
    data = steps(STORED + APPENDS)
    store = side(folder)
    store.create(data[:STORED])
    store.append(data[STORED])  # imports, and the change to growing chunks
    cpu, grown = [], []
    for row in data[STORED + 1 :]:
        before, start = size(store.place), cpu_seconds()
        store.append(row)
        cpu.append(cpu_seconds() - start)
        grown.append(size(store.place) - before)
    np.testing.assert_array_equal(store.read(), data)
    return {
        "median CPU ms": 1e3 * statistics.median(cpu),
        "mean CPU ms": 1e3 * statistics.mean(cpu),
        "median kB": statistics.median(grown) / 1e3,
        "mean kB": statistics.mean(grown) / 1e3,
    }


def from_nothing(side: type[Any], folder: Path) -> dict[str, float]:
    """Append 250 steps to an empty array, a commit for each."""
    data = steps(FROM_NOTHING)
    store = side(folder)
    store.create(data[:0])
    start = cpu_seconds()
    for row in data:
        store.append(row)
    spent = cpu_seconds() - start
    np.testing.assert_array_equal(store.read(), data)
    return {"CPU ms a step": 1e3 * spent / len(data), "bytes / raw data": size(store.place) / data.nbytes}


def year(_: type[Any], folder: Path) -> dict[str, float]:
    """A year of daily `.to(append_dim=)`, then `compact`, `expire` and `gc`, beside one pack of the year."""
    from datetime import timedelta

    import icecore
    import icecore.integrations.xarray
    import xarray as xr

    data = steps(DAYS)
    times = np.datetime64("2001-01-01", "ns") + np.arange(DAYS) * np.timedelta64(1, "D")
    ds = xr.Dataset({"t": (("time", "y", "x"), data)}, {"time": times})
    place = folder / "daily.icecore"
    for day in range(DAYS):
        part = ds.isel(time=slice(day, day + 1))
        part.icecore.to(str(place), **({"append_dim": "time"} if day else {}))
    grown = size(place)
    repo = icecore.open(place)
    repo.compact(older=timedelta(0))
    icecore.open(place).expire(keep_last=1)
    for mark in (place / "expired").iterdir():
        os.utime(mark, (0, 0))  # an hour later
    icecore.open(place).gc(timedelta(0))
    ds.icecore.to(str(folder / "once.icecore"))
    once = size(folder / "once.icecore")
    found = icecore.open(place)["/t"].read()
    np.testing.assert_array_equal(found, data)
    return {
        "MB daily": grown / 1e6,
        "MB after compact, expire and gc": size(place) / 1e6,
        "MB at once": once / 1e6,
        "after / at once": size(place) / once,
    }


def frames(_: type[Any], folder: Path) -> dict[str, float]:
    """Link 400 one-second frame files of 20 channels, append 20 more one by one (compare frames/27)."""
    import icecore
    from icecore.samples.gwf import write_frame

    start, files = 1_400_000_000, folder / "f"
    files.mkdir()

    def one(second: int) -> Path:
        path = files / f"H-T-{start + second}-1.gwf"
        channels = {f"H1:C{i}": (np.arange(4, dtype="f4"), 4.0) for i in range(20)}
        return write_frame(path, start + second, channels)

    for second in range(400):
        one(second)
    place = folder / "r"
    icecore.link(files, into=place)
    at_once, cpu = size(place), []
    for second in range(400, 420):
        path, before = one(second), cpu_seconds()
        icecore.link(path, into=place, concat="time", append=True)
        cpu.append(cpu_seconds() - before)
    return {
        "kB at once": at_once / 1e3,
        "kB an append": (size(place) - at_once) / 20e3,
        "first 5: CPU ms": 1e3 * statistics.median(cpu[:5]),
        "last 5: CPU ms": 1e3 * statistics.median(cpu[-5:]),
    }


def in_step(side: type[Any], folder: Path) -> dict[str, float]:
    """Write 150 MB of a model's steps of 4.2 MB, a commit for all: MB of raw data per second of CPU time."""
    rng = np.random.default_rng(2)
    shape = (35, 150, 200)
    wave = 280 + np.cumsum(rng.normal(0, 0.05, shape), axis=-1)
    rows = [(wave + 0.01 * step + rng.normal(0, 0.02, shape)).astype("f4") for step in range(36)]
    import icecore

    start = cpu_seconds()
    with icecore.create(folder / "model").writer() as w:
        array = w.array("/t", "f4", (0, *shape))
        for row in rows:
            array.append(row)
    spent = cpu_seconds() - start
    raw = sum(row.nbytes for row in rows)
    return {"MB/s of CPU time": raw / 1e6 / spent, "ratio": raw / size(folder / "model")}


ROWS: dict[str, tuple[Callable[[type[Any], Path], dict[str, float]], list[str]]] = {
    "one_step": (one_step, list(SIDES)),
    "from_nothing": (from_nothing, list(SIDES)),
    "year": (year, ["Icecore"]),
    "frames": (frames, ["Icecore"]),
    "in_step": (in_step, ["Icecore"]),
}
GOALS = {
    "one_step": "goal of icecore: at most 18 ms and 55 kB",
    "from_nothing": "goal of icecore: at most 1.5 times the data",
    "year": "goal: at most 1.3 times packed at once",
    "frames": "goal of frames/27: all at most twice the bytes of linking at once, after gc",
    "in_step": "goal: at least 300 MB/s of CPU time",
}


def child(row: str, side: str) -> None:
    """Measure one row of one side, and print the result."""
    folder = Path(tempfile.mkdtemp())
    try:
        print(json.dumps(ROWS[row][0](SIDES[side], folder)))
    finally:
        shutil.rmtree(folder)


def measured(row: str, side: str) -> dict[str, float] | str:
    """Run a row in a process of its own."""
    command = [sys.executable, __file__, row, side]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=HERE, check=False)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1][:200]
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Measure all rows, and write the results."""
    import machine

    lines = ["# Archives that grow, beside the peers", "", "Written by `python bench/growth.py`.", ""]
    lines += [f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC. {machine.facts()}", ""]
    for row, (function, sides) in ROWS.items():
        title = (function.__doc__ or row).splitlines()[0].rstrip(".")
        lines += [f"## {title}", "", f"{GOALS[row]}.", ""]
        found = {SIDES[side].name: measured(row, side) for side in sides}
        heads = next((list(values) for values in found.values() if isinstance(values, dict)), ["result"])
        lines += [f"| side | {' | '.join(heads)} |", f"| --- |{' --- |' * len(heads)}"]
        for name, values in found.items():
            cells = [f"{values[head]:.3g}" for head in heads] if isinstance(values, dict) else [values]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        lines.append("")
        (HERE / "RESULTS-growth.md").write_text("\n".join(lines))
        print("\n".join(lines[-len(found) - 3 :]), flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        child(*sys.argv[1:3])
    else:
        main()
