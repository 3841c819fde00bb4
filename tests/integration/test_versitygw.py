"""Repositories on versitygw, an S3 server with real signatures (`make integration-deps`)."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.errors import Error

pytestmark = pytest.mark.integration
PROGRAM = Path(__file__).resolve().parents[2] / ".integration" / "bin" / "versitygw"
DATA = np.arange(60_000.0).reshape(300, 200)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The storage options of a server's one user; its bucket is named ``moon``."""
    if not PROGRAM.exists():
        pytest.skip("versitygw is not installed: make integration-deps")
    files = tmp_path_factory.mktemp("gateway")
    (files / "moon").mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(PROGRAM), "--access", "user", "--secret", "password", "--port", f"127.0.0.1:{port}"]
    sidecar = tmp_path_factory.mktemp("sidecar")
    process = subprocess.Popen(
        [*command, "posix", "--sidecar", str(sidecar), str(files)],
        env={**os.environ},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        else:
            pytest.skip("versitygw did not start")
        yield {
            "region": "us-east-1",
            "endpoint_url": f"http://127.0.0.1:{port}",
            "access_key_id": "user",
            "secret_access_key": "password",
        }
    finally:
        process.terminate()
        process.wait()


def test_write_append_and_read(server: dict[str, str]) -> None:
    with icecore.create("s3://moon/a", storage=server).writer("one") as writer:
        writer.array("/x", dtype="f8", shape=DATA.shape, chunks=(10, 200), shards=(100, 200))[...] = DATA
    with icecore.open("s3://moon/a", storage=server).writer("two") as writer:
        writer["/x"][5] = 7
    array = icecore.open("s3://moon/a", storage=server)["/x"]
    expected = DATA.copy()
    expected[5] = 7
    np.testing.assert_array_equal(array.read(), expected)
    np.testing.assert_array_equal(array[17:40, ::7], expected[17:40, ::7])


def test_a_wrong_key_is_a_permission_error(server: dict[str, str]) -> None:
    with pytest.raises(Error) as error:
        icecore.open("s3://moon/a", storage={**server, "secret_access_key": "wrong"})
    assert error.value.kind == "permission"
