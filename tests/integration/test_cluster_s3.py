"""A Dask scheduler and workers as processes, a repository on versitygw, a worker killed on the way."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from test_versitygw import files, log, server  # noqa: F401

pytestmark = pytest.mark.integration
distributed = pytest.importorskip("distributed")
h5py = pytest.importorskip("h5py")

DATA = np.random.default_rng(3).normal(size=(120, 200, 100)).cumsum(0).astype("f4")
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "user", "AWS_SECRET_ACCESS_KEY": "password"}


@pytest.fixture(scope="module")
def scheduler() -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a scheduler and its workers, which have the keys of the store in their environment."""
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
    workers: list[Any] = []
    try:
        address = _address(process)
        command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--host", "127.0.0.1"]
        command += ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
        env = {**os.environ, **ENVIRONMENT}
        for _ in range(3):
            workers.append(subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL))
        with distributed.Client(address) as client:
            client.wait_for_workers(3, timeout=60)
        yield address, workers
    finally:
        for each in [*workers, process]:
            each.terminate()
            each.wait()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    for _ in range(200):
        found = re.search(r"Scheduler at:\s+(tcp://\S+)", process.stderr.readline())
        if found:
            return found[1]
        time.sleep(0.01)
    raise AssertionError("the scheduler did not start")


def test_pack_query_and_run_with_a_killed_worker(
    tmp_path: Path,
    server: dict[str, str],  # noqa: F811
    scheduler: tuple[str, list[Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address, workers = scheduler
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    storage = {key: server[key] for key in ("region", "endpoint_url")}
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("field", data=DATA, chunks=(20, 100, 50), compression="gzip")
        for i in range(4):
            file[f"t/x{i}"] = np.arange(300_000.0) + i
    how: dict[str, Any] = {"codec": "zstd:12", "chunk": {"phony_dim_0": 4}}
    one = icecore.pack(tmp_path / "a.h5", tmp_path / "one.icecore", **how)
    done: list[str] = []

    def kill(path: str, _: int, __: int) -> None:
        if not done:
            workers[0].send_signal(signal.SIGKILL)
            assert workers[0].wait() == -signal.SIGKILL
        done.append(path)

    into = "s3://moon/cluster"
    many = icecore.pack(tmp_path / "a.h5", into, storage=storage, client=address, progress=kill, **how)
    assert len(done) > 2
    a, b = icecore.open(tmp_path / "one.icecore"), icecore.open(into, storage=storage)
    assert len(b.log()) == 2, "one commit"
    assert {p: n.document for p, n in a._nodes.items()} == {p: n.document for p, n in b._nodes.items()}
    for path, array in a.arrays.items():
        np.testing.assert_array_equal(array.read(), b[path].read(), path)
    assert [(r.path, r.chunks, r.raw) for r in many.rows] == [(r.path, r.chunks, r.raw) for r in one.rows]

    table, expected = b.table("/a/t"), a.table("/a/t")
    where = "x0 between 1000 and 250000"
    assert table.scan(where=where, client=address).read_all() == expected.scan(where=where).read_all()
    assert table.reduce("count, max:x1, sum:x2", client=address).rows[0]["count"] == 300_000
    found = icecore.run("stats", f"{into}:/a/t", storage=storage, client=address).read_all()
    assert found == icecore.run("stats", f"{tmp_path}/one.icecore:/a/t").read_all()


def test_keys_stay_where_they_are(
    tmp_path: Path,
    server: dict[str, str],  # noqa: F811
    scheduler: tuple[str, list[Any]],
) -> None:
    """Keys that the caller names are not sent: the workers use those of their environment."""
    np.save(tmp_path / "x.npy", DATA)
    sent: list[bytes] = []
    address = scheduler[0]
    with distributed.Client(address) as client:
        submit = client.submit

        def recorded(*given: Any, **named: Any) -> Any:
            sent.append(distributed.protocol.pickle.dumps(given))
            return submit(*given, **named)

        client.submit = recorded
        icecore.pack(tmp_path / "x.npy", "s3://moon/keys", storage=server, client=client, codec="zstd")
    assert sent
    assert not any(b"password" in each for each in sent)
    np.testing.assert_array_equal(icecore.open("s3://moon/keys", storage=server)["/x/x"].read(), DATA)
