"""Faults of object stores, before versitygw: retried, or an error with a kind; never wrong data."""

from __future__ import annotations

import io
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest
from fault_proxy import LASTING, TRANSIENT, FaultProxy
from icecore.errors import Error

pytestmark = pytest.mark.integration
PROGRAM = Path(__file__).resolve().parents[2] / ".integration" / "bin" / "versitygw"
VALUES = np.random.default_rng(1).normal(size=(400, 300)).astype("f4")
SECRET = "password-of-user"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory that the server serves: a directory a bucket."""
    folder = tmp_path_factory.mktemp("gateway")
    for bucket in ("moon", "out"):
        (folder / bucket).mkdir()
    return folder


@pytest.fixture(scope="module")
def gateway(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of the server."""
    if not PROGRAM.exists():
        pytest.skip("versitygw is not installed: make integration-deps")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [str(PROGRAM), "--access", "user", "--secret", SECRET, "--port", f"127.0.0.1:{port}", "posix"]
    process = subprocess.Popen(
        [*command, str(files)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        upload(port)
        yield port
    finally:
        process.terminate()
        process.wait()


def upload(port: int) -> None:
    """Store ``s3://moon/a.h5`` through the server, so that it has an ETag."""
    boto3 = pytest.importorskip("boto3")
    data = io.BytesIO()
    with h5py.File(data, "w") as file:
        file.create_dataset("t2m", data=VALUES, chunks=(40, 50), compression="gzip", shuffle=True)
    keys = {"aws_access_key_id": "user", "aws_secret_access_key": SECRET, "region_name": "us-east-1"}
    client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", **keys)
    client.put_object(Bucket="moon", Key="a.h5", Body=data.getvalue())


@pytest.fixture
def proxy(gateway: int) -> Iterator[FaultProxy]:
    """A proxy without faults."""
    proxy = FaultProxy(gateway)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    yield proxy
    proxy.shutdown()
    proxy.server_close()


def storage(proxy: FaultProxy) -> dict[str, str]:
    """Options for the server behind the proxy."""
    keys = {"access_key_id": "user", "secret_access_key": SECRET}
    return {"region": "us-east-1", "endpoint_url": proxy.url, **keys}


@pytest.mark.parametrize("fault", TRANSIENT)
def test_transient_faults_are_retried(fault: str, proxy: FaultProxy, tmp_path: Path) -> None:
    proxy.fault = lambda number, *_: fault if number % 3 == 1 else None
    into = str(tmp_path / "r.icecore")
    icecore.link("s3://moon/a.h5", into, storage=storage(proxy))
    np.testing.assert_array_equal(icecore.open(into, storage=storage(proxy))["/a/t2m"].read(), VALUES)
    assert any(seen[2] == fault for seen in proxy.seen)


@pytest.mark.parametrize("fault", [*LASTING, "no bucket"])
def test_lasting_faults_are_errors(fault: str, proxy: FaultProxy, tmp_path: Path) -> None:
    into = str(tmp_path / "r.icecore")
    icecore.link("s3://moon/a.h5", into, storage=storage(proxy))
    proxy.fault = lambda *_: fault
    with pytest.raises(Error) as error:
        icecore.open(into, storage=storage(proxy))["/a/t2m"].read()
    assert error.value.kind == LASTING.get(fault, "source-missing")
    assert error.value.hint
    assert SECRET not in str(error.value)
    if fault == "expired":
        assert "expired" in error.value.hint
    if fault == "skew":
        assert "clock" in error.value.hint


@pytest.mark.parametrize("fault", ["500", "slowdown", "reset", "expired", "no bucket"])
def test_a_repository_that_cannot_be_read_or_written(fault: str, proxy: FaultProxy) -> None:
    place = f"s3://out/bad-{fault.replace(' ', '')}"
    with icecore.create(place, storage=storage(proxy)).writer() as writer:
        writer.array("/x", "f4", VALUES.shape)[...] = VALUES
    proxy.fault = lambda *_: fault
    began = time.monotonic()
    with pytest.raises(Error) as error:
        icecore.open(place, storage=storage(proxy))
    assert error.value.kind in {"expired": ["permission"], "no bucket": ["not-found"]}.get(fault, ["network"])
    assert time.monotonic() - began < 120
    proxy.fault = lambda *_: None
    np.testing.assert_array_equal(icecore.open(place, storage=storage(proxy))["/x"].read(), VALUES)


def test_an_unknown_host_is_a_network_error() -> None:
    at = {"endpoint_url": "http://nowhere.invalid:1", "access_key_id": "user", "secret_access_key": SECRET}
    with pytest.raises(Error) as error:
        icecore.open("s3://out/a", storage=at)
    assert error.value.kind == "network"
    assert SECRET not in str(error.value)


@pytest.mark.parametrize("seed", range(6))
def test_writes_and_reads_under_random_faults(seed: int, proxy: FaultProxy) -> None:
    chance = random.Random(seed)
    some = [fault for fault in TRANSIENT if fault != "short"]  # a whole short object is corrupt
    proxy.fault = lambda *_: chance.choice(some) if chance.random() < 0.25 else None
    place, expected = f"s3://out/random{seed}", VALUES.copy()
    done, failed = -1, "network"
    for number in range(4):
        try:
            if number == 0:
                writer = icecore.create(place, storage=storage(proxy)).writer()
                with writer:
                    writer.array("/x", "f4", VALUES.shape, chunks=(40, 300), shards=(40, 300))[...] = VALUES
            else:
                with icecore.open(place, storage=storage(proxy)).writer() as writer:
                    writer["/x"][number] = number
            done = number
        except Error as error:  # a lost answer of a commit may look like a commit of somebody else
            failed = error.kind
            break
    proxy.fault = lambda *_: None
    assert failed in ("network", "conflict", "exists")
    if done < 0:
        return
    got = icecore.open(place, storage=storage(proxy))["/x"].read()
    for number in range(1, done + 1):
        expected[number] = number
    if done < 3:  # the last commit was made or not, as a whole
        other = expected.copy()
        other[done + 1] = done + 1
        assert np.array_equal(got, expected) or np.array_equal(got, other)
    else:
        np.testing.assert_array_equal(got, expected)


def test_expired_credentials_are_renewed_once_for_many_requests(proxy: FaultProxy, tmp_path: Path) -> None:
    calls: list[int] = []

    def keys() -> dict[str, str]:
        calls.append(1)
        secret = SECRET if len(calls) > 1 else "old"
        return {"accessKeyId": "user", "secretAccessKey": secret, "expiration": "2099-01-01 00:00:00+00:00"}

    at = {"region": "us-east-1", "endpoint_url": proxy.url, "credentials": keys}
    icecore.link("s3://moon/a.h5", into := str(tmp_path / "r.icecore"), storage=at)
    assert len(calls) == 2
    np.testing.assert_array_equal(icecore.open(into, storage=at)["/a/t2m"].read(), VALUES)
    assert len(calls) == 2
    icecore.pack(into, "s3://out/renewed", storage=at)
    assert len(calls) == 2
    assert SECRET not in repr(icecore.open(into, storage=at))


def test_a_failing_function_is_a_permission_error(proxy: FaultProxy) -> None:
    def keys() -> dict[str, str]:
        raise RuntimeError(f"token {SECRET}")

    with pytest.raises(Error) as error:
        icecore.open("s3://out/a", storage={"endpoint_url": proxy.url, "credentials": keys})
    assert error.value.kind == "permission"
    assert SECRET not in str(error.value)
    assert "RuntimeError" in str(error.value)


def test_a_late_answer_is_asked_for_again(proxy: FaultProxy, tmp_path: Path) -> None:
    icecore.link("s3://moon/a.h5", into := str(tmp_path / "r.icecore"), storage=storage(proxy))
    array = icecore.open(into, storage=storage(proxy))["/a/t2m"]
    for row in range(0, 400, 10):
        array[row, :50]  # learn the usual time; a chunk a request, until they are cached
        icecore.clear_cache() if hasattr(icecore, "clear_cache") else None
    assert "ms to the first byte" in str(array.plan())
    proxy.seen.clear()
    proxy.fault = lambda number, *_: "late" if number == 0 else None
    np.testing.assert_array_equal(array.read(), VALUES)
    assert len(proxy.seen) == 2
    assert [seen[2] for seen in proxy.seen] == ["late", None]


WRITER = """
import icecore, numpy, os, sys
storage = dict(item.split("=", 1) for item in sys.argv[2:])
writer = icecore.open(sys.argv[1], storage=storage).writer()
writer.__enter__()
writer.array("/y", "f4", (400, 300), chunks=(40, 300), shards=(40, 300))[...] = numpy.random.rand(400, 300)
writer._native.flush()
os._exit(9)
"""


def test_a_writer_killed_before_its_commit_leaves_garbage_that_gc_finds(proxy: FaultProxy) -> None:
    place = "s3://out/killed"
    with icecore.create(place, storage=storage(proxy)).writer() as writer:
        writer.array("/x", "f4", VALUES.shape)[...] = VALUES
    options = [f"{name}={value}" for name, value in storage(proxy).items()]
    assert subprocess.run([sys.executable, "-c", WRITER, place, *options], check=False).returncode == 9
    repo = icecore.open(place, storage=storage(proxy))
    assert "/y" not in repo
    time.sleep(1.1)  # times of objects have whole seconds
    now = timedelta(0)
    assert repo.gc(older_than=now, dry_run=True).chunks > 0
    repo.gc(older_than=now)
    assert repo.gc(older_than=now, dry_run=True).chunks == 0
    np.testing.assert_array_equal(icecore.open(place, storage=storage(proxy))["/x"].read(), VALUES)
