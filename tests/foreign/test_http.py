"""Over http: files linked and repositories read where they are served, and servers that fail."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest
import zoo
from latsrv import LatencyServer

ROWS, CHUNK = 200_000, 10_000
Serve = Callable[..., LatencyServer]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to serve with one HDF5 file: two tracks, three variables each, of 20 chunks each."""
    made = tmp_path / "served"
    made.mkdir()
    rng = np.random.default_rng(5)
    with h5py.File(made / "x.h5", "w") as file:
        for track in ("gt1l", "gt1r"):
            for i, name in enumerate(("lat", "lon", "h")):
                data = np.round(np.cumsum(rng.normal(size=ROWS)) * 10 ** (i + 1)) / 10
                file.create_dataset(f"{track}/{name}", data=data, chunks=(CHUNK,), compression="gzip")
    return made


def expected(folder: Path, path: str) -> np.ndarray:
    with h5py.File(folder / "x.h5") as file:
        return file[path][...]


def test_a_file_linked_over_http(folder: Path, repo_path: str, serve: Serve) -> None:
    with h5py.File(folder / "x.h5", "a") as file:
        file["noise"] = np.random.default_rng(6).integers(0, 256, 4 << 20, dtype="u1")
    server = serve(folder)
    report = icecore.link(f"{server.url}/x.h5", repo_path, group="/x", exclude="noise")
    assert all(row.how == "linked" for row in report.rows)
    size = (folder / "x.h5").stat().st_size
    assert server.stats()["bytes"] < size / 2, "indexing reads metadata, not data"
    repo = icecore.open(repo_path)
    for path in ("gt1l/lat", "gt1r/h"):
        assert zoo.same(repo[f"/x/{path}"].read(), expected(folder, path))


def test_a_small_file_is_fetched_as_a_whole(folder: Path, repo_path: str, serve: Serve) -> None:
    server = serve(folder)
    icecore.link(f"{server.url}/x.h5", repo_path, group="/x")
    stats, size = server.stats(), (folder / "x.h5").stat().st_size
    assert size < 4 << 20
    begun = (128 << 10) + 8  # its first block, to see what kind of file it is, and its identity
    assert stats["bytes"] <= size + begun, "nothing else twice"
    assert stats["requests"] <= 8


def test_what_the_plan_says_is_what_the_server_sees(folder: Path, repo_path: str, serve: Serve) -> None:
    server = serve(folder)
    icecore.link(f"{server.url}/x.h5", repo_path, group="/x")
    repo = icecore.open(repo_path)
    asked = {f"/x/{t}/{v}": slice(50_000, 130_000) for t in ("gt1l", "gt1r") for v in ("lat", "h")}
    plan = repo.plan(asked)
    server.reset()
    got = repo.read(asked)
    stats = server.stats()
    for path, sel in asked.items():
        assert zoo.same(got[path], expected(folder, path[3:])[sel])
    assert plan.chunks == 4 * 8
    assert plan.bytes_wanted <= plan.bytes_fetched == stats["bytes"] <= (folder / "x.h5").stat().st_size
    # Each dataset's eight chunks lie one behind the other: one request would do; a few may run side by side.
    assert stats["requests"] - stats["heads"] == plan.requests <= 16
    assert stats["failed"] == 0


def test_a_repository_served_over_http(folder: Path, serve: Serve) -> None:
    data = zoo.values("f8", (300, 200))
    with icecore.create(f"{folder}/r.icecore").writer() as writer:
        writer.array("/a", dtype="f8", shape=(300, 200), chunks=(50, 50), shards=(150, 100))[...] = data
    server = serve(folder, delay_ms=2)
    repo = icecore.open(f"{server.url}/r.icecore")
    opened = server.stats()["requests"]
    assert opened <= 8
    server.reset()
    assert zoo.same(repo["/a"][10:60, 20:30], data[10:60, 20:30])
    # the manifest, the index of the one shard that is hit, its chunks
    assert server.stats()["requests"] <= 6
    assert zoo.same(repo["/a"][::-1, [0, 150]], data[::-1, [0, 150]])
    with pytest.raises(icecore.Error) as caught, repo.writer() as writer:
        writer.group("/new")
    assert caught.value.kind == "read-only"


def test_a_served_repository_may_not_point_into_the_readers_disk(folder: Path, serve: Serve) -> None:
    icecore.link(folder / "x.h5", f"{folder}/r.icecore", group="/x")
    server = serve(folder)
    array = icecore.open(f"{server.url}/r.icecore")["/x/gt1l/lat"]
    with pytest.raises(icecore.Error) as caught:
        array.read()
    assert caught.value.kind == "link-not-allowed"
    allowed = icecore.open(f"{server.url}/r.icecore", allow_links=[f"file://{folder}/"])
    assert zoo.same(allowed["/x/gt1l/lat"].read(), expected(folder, "gt1l/lat"))


def test_answers_that_fail_now_and_then_are_asked_for_again(
    folder: Path, repo_path: str, serve: Serve
) -> None:
    server = serve(folder)
    icecore.link(f"{server.url}/x.h5", repo_path, group="/x")
    port = server.port
    server.kill()
    flaky = serve(folder, port=port, fail_every=2)
    for path, array in icecore.open(repo_path).arrays.items():
        assert zoo.same(array[::10_001], expected(folder, path[3:])[::10_001])
    assert flaky.stats()["failed"] > 0


def test_a_server_that_dies_is_an_error_in_bounded_time(folder: Path, repo_path: str, serve: Serve) -> None:
    server = serve(folder, delay_ms=20)
    icecore.link(f"{server.url}/x.h5", repo_path, group="/x")
    array = icecore.open(repo_path)["/x/gt1l/lat"]
    assert array[:10].shape == (10,)
    server.kill()
    began = time.monotonic()
    with pytest.raises(icecore.Error) as caught:
        array[50_000:]
    assert caught.value.kind == "network"
    assert "127.0.0.1" in caught.value.message
    assert time.monotonic() - began < 60


def test_a_server_that_dies_in_the_middle_of_a_read(folder: Path, repo_path: str, serve: Serve) -> None:
    import threading

    # so slow that the answers are under way when it goes
    server = serve(folder, mbps=1)
    icecore.link(f"{server.url}/x.h5", repo_path, group="/x")
    repo = icecore.open(repo_path)
    threading.Timer(0.3, server.kill).start()
    began = time.monotonic()
    with pytest.raises(icecore.Error) as caught:
        repo.read({path: None for path in repo.arrays})
    assert caught.value.kind == "network"
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("how", ["rewritten", "longer", "removed"])
def test_an_object_that_changed_on_the_server(folder: Path, repo_path: str, serve: Serve, how: str) -> None:
    server = serve(folder)
    icecore.link(f"{server.url}/x.h5", repo_path, group="/x")
    path = folder / "x.h5"
    if how == "rewritten":
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0xFF
        path.write_bytes(content)
        os.utime(path, (2e9, 2e9))
    elif how == "longer":
        with path.open("ab") as file:
            file.write(b"more")
    else:
        path.unlink()
    with pytest.raises(icecore.Error) as caught:
        icecore.open(repo_path)["/x/gt1r/h"].read()
    assert caught.value.kind == ("source-missing" if how == "removed" else "source-changed")
    problems = icecore.open(repo_path).verify()
    assert {item.kind for item in problems} == {caught.value.kind}


def test_nothing_there(serve: Serve, tmp_path: Path, repo_path: str) -> None:
    server = serve(tmp_path)
    with pytest.raises(icecore.Error) as caught:
        icecore.open(f"{server.url}/none.icecore")
    assert caught.value.kind == "not-found"
    with pytest.raises(icecore.Error) as caught:
        icecore.link(f"{server.url}/none.h5", repo_path)
    assert caught.value.kind == "source-missing"
