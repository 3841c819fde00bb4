"""Sources and repositories in Azure (Azurite) and Google Cloud Storage (fake-gcs-server)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import io
import os
import pickle
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from typing import Any
from urllib.parse import quote

import h5py
import icecore
import numpy as np
import pytest
from fault_proxy import GoogleProxy
from icecore.errors import Error

pytestmark = pytest.mark.integration
HOME = Path(__file__).resolve().parents[2] / ".integration"
AZURITE = HOME / "azurite" / "node_modules" / ".bin" / "azurite-blob"
GCS = HOME / "bin" / "fake-gcs-server"
#: the public account of Azure's emulators
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
VALUES = np.random.default_rng(1).normal(size=(400, 300)).astype("f4")


@dataclass
class Server:
    """A running server: its scheme and options, and how to store an object."""

    scheme: str
    port: int
    storage: dict[str, Any]

    def put(self, bucket: str, name: str, data: bytes) -> None:
        """Store an object."""
        if self.scheme == "gs":
            path = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quote(name)}"
            self.send("POST", path, data)
        else:
            self.azure(f"/{bucket}/{quote(name)}", data, {"x-ms-blob-type": "BlockBlob"})

    def bucket(self, name: str) -> None:
        """Create a bucket."""
        if self.scheme == "gs":
            self.send("POST", "/storage/v1/b", f'{{"name": "{name}"}}'.encode())
        else:
            self.azure(f"/{name}", b"", {}, "restype=container")

    def azure(self, path: str, data: bytes, headers: dict[str, str], query: str = "") -> None:
        """A signed request of Azure: https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key"""
        headers = {**headers, "x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
        named = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
        resource = f"/{ACCOUNT}/{ACCOUNT}{path}" + (f"\n{query.replace('=', ':')}" if query else "")
        length = str(len(data)) if data else ""
        text = f"PUT\n\n\n{length}\n\n\n\n\n\n\n\n\n{named}{resource}"
        key = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
        headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(key).decode()}"
        self.send("PUT", f"/{ACCOUNT}{path}" + (f"?{query}" if query else ""), data, headers)

    def send(self, method: str, path: str, data: bytes, headers: dict[str, str] | None = None) -> None:
        """A request that must succeed."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request(method, path, data, headers or {})
        response = connection.getresponse()
        text = response.read()
        assert response.status in (200, 201), (response.status, text)


def free_port() -> int:
    """A port that no server uses."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture(scope="module", params=["az", "gs"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with the buckets ``moon`` and ``out``."""
    program = AZURITE if request.param == "az" else GCS
    if not program.exists():
        pytest.skip(f"{program.name} is not installed: make integration-deps")
    port, folder = free_port(), tmp_path_factory.mktemp("objects")
    place = f"http://127.0.0.1:{port}"
    if request.param == "az":
        command = [str(program), "--blobPort", str(port), "--location", str(folder), "--silent"]
        command += ["--skipApiVersionCheck"]
        storage = {"endpoint_url": f"{place}/{ACCOUNT}", "account_name": ACCOUNT, "account_key": KEY}
    else:
        command = [str(program), "-scheme", "http", "-host", "127.0.0.1", "-port", str(port)]
        command += ["-backend", "memory", "-public-host", f"127.0.0.1:{port}"]
        storage = {"endpoint_url": place, "token": "any"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        else:
            pytest.skip(f"{program.name} did not start")
        made = Server(request.param, port, storage)
        if request.param == "gs":
            proxy = GoogleProxy(port)
            threading.Thread(target=proxy.serve_forever, daemon=True).start()
            storage["endpoint_url"] = proxy.url
        for bucket in ("moon", "out"):
            made.bucket(bucket)
        yield made
    finally:
        process.terminate()
        process.wait()


def granule() -> bytes:
    """An HDF5 file."""
    file = io.BytesIO()
    with h5py.File(file, "w") as made:
        made.create_dataset("t2m", data=VALUES, chunks=(40, 50), compression="gzip", shuffle=True)
    return file.getvalue()


def test_write_append_and_read(server: Server) -> None:
    place = f"{server.scheme}://out/a/b c"
    with icecore.create(place, storage=server.storage).writer("one") as writer:
        writer.array("/x", dtype="f4", shape=VALUES.shape, chunks=(10, 300), shards=(100, 300))[...] = VALUES
    with icecore.open(place, storage=server.storage).writer("two") as writer:
        writer["/x"][5] = 7
    repo = icecore.open(place, storage=server.storage)
    expected = VALUES.copy()
    expected[5] = 7
    np.testing.assert_array_equal(repo["/x"].read(), expected)
    assert len(repo.log()) == 3
    assert KEY.encode() not in pickle.dumps(repo)
    assert KEY not in repr(repo)
    with pytest.raises(Error) as error:
        icecore.create(place, storage=server.storage)
    assert error.value.kind == "exists"


@pytest.mark.parametrize("place", ["bucket", "local"])
def test_objects_are_linked_where_they_are(server: Server, place: str, tmp_path: Path) -> None:
    data = granule()
    for number in range(2):
        server.put("moon", f"{place}/b/x {number}.h5", data)
    into = str(tmp_path / "r.icecore") if place == "local" else f"{server.scheme}://out/linked"
    report = icecore.link(f"{server.scheme}://moon/{place}/*/x ?.h5", into, storage=server.storage)
    assert [(row.path, row.how) for row in report.rows] == [(f"/x {k}/t2m", "linked") for k in range(2)]
    repo = icecore.open(into, storage=server.storage)
    assert repo.link_prefixes == [f"{server.scheme}://moon/{place}/b/"]
    np.testing.assert_array_equal(repo["/x 1/t2m"].read(), VALUES)
    if place == "local":
        written = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert not any(KEY.encode() in path.read_bytes() for path in written)


def test_a_replaced_object_is_an_error(server: Server, tmp_path: Path) -> None:
    data = granule()
    server.put("moon", "old/a.h5", data)
    into = str(tmp_path / "r.icecore")
    icecore.pack(f"{server.scheme}://moon/old/a.h5", str(tmp_path / "p.icecore"), storage=server.storage)
    icecore.link(f"{server.scheme}://moon/old/a.h5", into, storage=server.storage)
    server.put("moon", "old/a.h5", data + b"\0")
    with pytest.raises(Error) as error:
        icecore.open(into, storage=server.storage)["/a/t2m"].read()
    assert error.value.kind == "source-changed"
    np.testing.assert_array_equal(icecore.open(tmp_path / "p.icecore")["/a/t2m"].read(), VALUES)


@pytest.mark.parametrize("name", ["none.h5", "none/*.h5"])
def test_missing_objects(server: Server, name: str, tmp_path: Path) -> None:
    with pytest.raises(Error) as error:
        icecore.link(f"{server.scheme}://moon/{name}", str(tmp_path / "r.icecore"), storage=server.storage)
    assert error.value.kind == "source-missing"


def test_other_schemes_and_spellings(server: Server, tmp_path: Path) -> None:
    server.put("moon", "names/a.h5", granule())
    endpoint = server.storage["endpoint_url"]
    if server.scheme == "gs":
        spelled = [("gcs://moon/names/a.h5", {"endpoint": endpoint, "anon": True})]
    else:
        connection = f"AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={endpoint};"
        spelled = [
            ("abfs://moon/names/a.h5", {"connection_string": connection}),
            (
                f"abfss://moon@{ACCOUNT}.dfs.core.windows.net/names/a.h5",
                {"endpoint": endpoint, "azure_storage_account_key": KEY},
            ),
        ]
    for number, (source, storage) in enumerate(spelled):
        into = str(tmp_path / f"{number}.icecore")
        icecore.link(source, into, storage=storage)
        repo = icecore.open(
            into, storage={**storage, "account_name": ACCOUNT} if server.scheme == "az" else storage
        )
        np.testing.assert_array_equal(repo["/a/t2m"].read(), VALUES)
        assert repo.link_prefixes == [f"{server.scheme}://moon/names/"]


def test_wrong_keys_and_options(server: Server, tmp_path: Path) -> None:
    if server.scheme == "gs":
        pytest.skip("fake-gcs-server accepts every key")
    wrong = base64.b64encode(b"wrong key of 32 bytes, all of it").decode()
    with pytest.raises(Error) as error:
        icecore.open("az://out/none", storage={**server.storage, "account_key": wrong})
    assert error.value.kind == "permission"
    assert wrong not in str(error.value)
    with pytest.raises(Error) as error:
        icecore.create("az://out/none", storage={**server.storage, "acount_name": "x"})
    assert error.value.kind == "invalid"


def test_credentials_from_a_function(server: Server) -> None:
    if server.scheme == "gs":
        pytest.skip("fake-gcs-server accepts every key")
    wrong = base64.b64encode(b"wrong key of 32 bytes, all of it").decode()
    calls: list[float] = []

    def keys() -> dict[str, str]:
        calls.append(time.monotonic())
        return {"account_key": wrong if len(calls) == 1 else KEY}

    storage = {**server.storage, "credentials": keys}
    del storage["account_key"]
    with icecore.create("az://out/function", storage=storage).writer() as writer:
        writer.array("/x", "f4", VALUES.shape)[...] = VALUES
    np.testing.assert_array_equal(icecore.open("az://out/function", storage=storage)["/x"].read(), VALUES)
    assert len(calls) == 2


os.environ.setdefault("NO_PROXY", "127.0.0.1")
