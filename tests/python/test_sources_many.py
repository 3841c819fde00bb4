"""Many files are indexed in processes of their own, with the results of one after the other."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest
import xarray as xr
from icecore import errors
from icecore.sources import index_pool, open_source
from icecore.sources.index_pool import open_sources


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Twelve files, of which the fifth is damaged and the eighth no file of a known format."""
    names = []
    for i in range(12):
        name = str(tmp_path / f"f{i:02}.h5")
        with h5py.File(name, "w") as file:
            file.create_dataset("a", data=np.arange(i, i + 100.0), chunks=(30,), compression="gzip")
            file.attrs["number"] = i
        names.append(name)
    os.truncate(names[4], 300)
    Path(names[7]).write_bytes(b"\0" * 100)
    return names


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> list[index_pool.Worker]:
    """Files are given to processes from the second on; the processes started."""
    started: list[index_pool.Worker] = []

    def start(left: int, remote: bool = False) -> list[index_pool.Worker]:
        started.extend(index_pool.Worker() for _ in range(3))
        return started

    monkeypatch.setattr(index_pool, "_TRIAL", -1.0)
    monkeypatch.setattr(index_pool, "_WORTHWHILE", 0.0)
    monkeypatch.setattr(index_pool, "_workers", start)
    return started


def _said(found: list[index_pool.Indexed]) -> list[object]:
    return [
        (item.kind, item.message) if isinstance(item, errors.Error) else (item.attrs, sorted(item.arrays))
        for item in found
    ]


def _ended(worker: index_pool.Worker) -> bool:
    return worker._process.returncode is not None


def test_what_processes_find_is_what_one_finds_in_order(
    files: list[str], beside: list[index_pool.Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _said(list(open_sources(files)))
    assert len(beside) == 3
    assert all(_ended(worker) for worker in beside)
    monkeypatch.undo()
    assert found == _said(list(open_sources(files)))
    assert [item[0] for item in found if isinstance(item[0], str)] == ["corrupt", "format"]


def test_a_process_that_dies_loses_nothing(
    files: list[str], beside: list[index_pool.Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    start, opened = index_pool._workers, []

    def dying(left: int, remote: bool = False) -> list[index_pool.Worker]:
        workers = start(left)[:1]
        os.kill(workers[0]._process.pid, signal.SIGKILL)
        return workers

    def told(source: str, **options: bool) -> index_pool.ArrayMap:
        opened.append(source)
        return open_source(source, **options)

    monkeypatch.setattr(index_pool, "_workers", dying)
    monkeypatch.setattr(index_pool, "open_source", told)
    said = _said(list(open_sources(files)))
    for worker in beside:
        worker.kill()
    assert opened == files, "what the process had no answer for is indexed here"
    monkeypatch.undo()
    assert said == _said(list(open_sources(files)))


def test_none_is_left_where_the_asker_stops(files: list[str], beside: list[index_pool.Worker]) -> None:
    found = open_sources(files)
    next(found)
    next(found)
    found.close()
    assert beside
    assert all(_ended(worker) for worker in beside)


def test_joined_files_read_the_same(tmp_path: Path, beside: list[index_pool.Worker]) -> None:
    for i in range(10):
        part = xr.Dataset({"t": (("time", "x"), np.full((1, 50), float(i)))}, coords={"time": [i]})
        part.to_netcdf(tmp_path / f"p{i}.nc", unlimited_dims=["time"])
    names = sorted(str(path) for path in tmp_path.glob("p*.nc"))
    repo = tmp_path / "r.icecore"
    icecore.link(names, into=repo, group="/all", concat="time")
    assert beside
    with xr.open_dataset(repo, engine="icecore", group="/all") as ours, xr.open_mfdataset(names) as theirs:
        np.testing.assert_array_equal(ours.t.values, theirs.t.values)


def test_it_is_told_how_far_the_files_are(tmp_path: Path) -> None:
    for i in range(20):
        np.save(tmp_path / f"{i:02}.npy", np.arange(10))
    told: list[tuple[str, int, int]] = []
    icecore.link(
        str(tmp_path / "*.npy"), into=tmp_path / "r.icecore", progress=lambda *report: told.append(report)
    )
    size = (tmp_path / "00.npy").stat().st_size
    assert [done for _, done, _ in told] == [size * (i + 1) for i in range(20)]
    assert {total for _, _, total in told} == {20 * size}


@pytest.mark.parametrize(("threads", "count"), [("1", 0), ("2", 2), ("0", 3), ("", 3)])
def test_as_many_processes_as_threads_asked_for(
    threads: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ICECORE_THREADS", threads)
    monkeypatch.setattr(index_pool, "_cores", lambda: 3)
    workers = index_pool._workers(5)
    for worker in workers:
        worker.kill()
        worker.close()
    assert len(workers) == count
