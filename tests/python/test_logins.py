"""Logins of `~/.netrc` and tokens of Earthdata: sent to their host, over https, and to no other; proxies."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import icecore
import numpy as np
import pytest
from icecore import errors
from icecore.repository.storage import logins
from icecore.sources import open_source

BASIC = "Basic " + base64.b64encode(b"ann:pw d").decode()


class Handler(BaseHTTPRequestHandler):
    """One file: for those with ``wanted``, or behind a redirect to another server."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        server: Any = self.server
        server.seen.append((self.path, self.headers.get("Authorization")))
        if server.wanted and self.headers.get("Authorization") != server.wanted:
            return self.answer(401, b"")
        if server.elsewhere:
            return self.answer(302, b"", Location=f"{server.elsewhere}{urlsplit(self.path).path}")
        low, _, high = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
        part = server.data[int(low) : int(high or len(server.data)) + 1]
        total = len(server.data)
        return self.answer(
            206, part, Content_Range=f"bytes {low}-{int(low) + len(part) - 1}/{total}", ETag='"1"'
        )

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving(data: bytes, wanted: str = "", elsewhere: str = "") -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.data, server.wanted, server.elsewhere, server.seen = data, wanted, elsewhere, []
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    np.save(tmp_path / "x.npy", np.arange(1000.0))
    return (tmp_path / "x.npy").read_bytes()


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "netrc"
    path.write_text('machine 127.0.0.1 login ann password "pw d"\nmachine data.example login b password c\n')
    path.chmod(0o600)
    monkeypatch.setenv("NETRC", str(path))
    monkeypatch.delenv("EARTHDATA_TOKEN", raising=False)
    return path


def test_a_login_of_netrc(content: bytes, machines: Path, tmp_path: Path, run: Any) -> None:
    with serving(content, wanted=BASIC) as server:
        icecore.pack(f"{server.url}/x.npy", tmp_path / "r.icecore")
        assert icecore.open(tmp_path / "r.icecore")["/x/x"][3] == 3
        machines.write_text("machine other.example login a password b\n")
        with pytest.raises(errors.Error) as caught:
            open_source(f"{server.url}/x.npy")
        assert caught.value.kind == "permission"
        for option in (f"{server.url}.header.authorization", "header.authorization"):
            given = f"{option}={BASIC}"
            assert run("read", f"{server.url}/x.npy", "/x", "3", "--storage", given)[0] == 0


def test_a_redirect_carries_no_login(content: bytes, machines: Path, tmp_path: Path) -> None:
    with serving(content) as store, serving(content, BASIC, store.url) as server:
        icecore.pack(f"{server.url}/x.npy", tmp_path / "r.icecore")
        assert icecore.open(tmp_path / "r.icecore")["/x/x"][3] == 3
        assert store.seen
        assert all(login is None for _, login in store.seen)


def test_hosts_and_schemes(machines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = logins.authorization("https://data.example/x.h5")
    assert given == "Basic " + base64.b64encode(b"b:c").decode()
    assert logins.authorization("http://data.example/x.h5") is None
    assert logins.authorization("https://data.example.evil.org/x.h5") is None
    monkeypatch.setenv("EARTHDATA_TOKEN", "abc")
    assert logins.authorization("https://data.nsidc.earthdatacloud.nasa.gov/x.h5") == "Bearer abc"
    assert logins.authorization("https://nasa.gov.evil.org/x.h5") is None
    assert logins.authorization("http://data.nsidc.earthdatacloud.nasa.gov/x.h5") is None


def test_options_that_were_given_count(machines: Path) -> None:
    key = "https://data.example.header.authorization"
    assert logins.with_logins("/tmp/r", {})[key].startswith("Basic")
    assert logins.with_logins("/tmp/r", {key: "mine"})[key] == "mine"
    assert key not in logins.with_logins("/tmp/r", {"https://data.example/sub.header.cookie": "x"})
    assert key not in logins.with_logins("https://data.example/r", {"header.authorization": "mine"})


def test_a_netrc_that_is_damaged(machines: Path) -> None:
    machines.write_text("machine\n")
    with pytest.raises(errors.Error) as caught:
        logins.authorization("https://data.example/x.h5")
    assert caught.value.kind == "invalid"


def test_a_proxy(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(content) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "")
        assert open_source("http://archive.example/d/x.npy").arrays["/x"].shape == (1000,)
        assert {path for path, _ in proxy.seen} == {"http://archive.example/d/x.npy"}
