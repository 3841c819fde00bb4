"""Strangers on the service: slow, abandoned, mutated and hopeless requests, while others are answered.

``ICECORE_HOSTILE=1`` runs the long form: 100,000 mutated requests. Every server is started and ended here.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import re
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import h5py
import icecore
import numpy as np
import pytest

pytestmark = pytest.mark.integration
LONG = os.environ.get("ICECORE_HOSTILE") == "1"
MUTATED = 100_000 if LONG else 2_000
SLOW = 1_000


class Service:
    """A running ``icecore serve``."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.port = port

    def ask(
        self, method: str, path: str, body: bytes | str | None = None, timeout: float = 60
    ) -> tuple[int, bytes]:
        """Return status and body of a reply; status 0 if there is none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body)
            reply = connection.getresponse()
            return reply.status, reply.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()

    def memory(self) -> int:
        """Return the peak of resident memory in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) >> 10  # type: ignore[index]

    def ticks(self) -> int:
        """Return the processor time so far in hundredths of a second."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    def is_idle(self) -> bool:
        """Whether it stops working within ten seconds."""
        for _ in range(10):
            before = self.ticks()
            time.sleep(1)
            if self.ticks() - before < 10:
                return True
        return False

    def answers_others(self) -> None:
        """Fail unless health and a small read are answered."""
        assert self.ask("GET", "/health")[0] == 200
        assert self.ask("GET", "/zarr/a.h5/x/c/0")[0] == 200


@contextlib.contextmanager
def serving(*arguments: str | Path, files: int | None = None) -> Iterator[Service]:
    """Run a service with at most ``files`` file descriptors."""

    def limit() -> None:
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    command = [sys.executable, "-m", "icecore", "serve", *map(str, arguments), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=limit) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("serving at "), line
        threading.Thread(target=process.stderr.read, daemon=True).start()
        try:
            yield Service(process, int(line.split()[2].rsplit(":", 1)[1]))
        finally:
            process.terminate()
            try:
                process.wait(40)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    with h5py.File(folder / "a.h5", "w") as file:
        file["x"] = np.arange(1000)
        file["t/n"] = np.arange(50_000)
        file["t/v"] = np.arange(50_000.0)
    return folder


@pytest.fixture(scope="module")
def service(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(
        archive, "--writable", "--seconds", "20", "--cache", tmp_path_factory.mktemp("cache")
    ) as service:
        yield service


@pytest.fixture(scope="module")
def large(service: Service) -> str:
    """The id of a dataset of 10¹² elements in ``/large.h5``."""
    root = json.loads(service.ask("PUT", "/?domain=/large.h5")[1])["root"]
    body = {"type": "H5T_IEEE_F64LE", "shape": [10**12], "link": {"id": root, "name": "big"}}
    made = json.loads(service.ask("POST", "/datasets?domain=/large.h5", json.dumps(body))[1])
    assert service.ask("PUT", "/?domain=/large.h5&flush=1")[0] == 204
    return str(made["id"])


def _left(service: Service, request: bytes, after: float = 0.5) -> None:
    """Send a request and leave without its answer."""
    with socket.create_connection(("127.0.0.1", service.port), 10) as stream:
        stream.sendall(request)
        time.sleep(after)


def _head(method: str, path: str, body: bytes = b"") -> bytes:
    return (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    )


ABANDONED = [
    "GET /datasets/ID/value?domain=/large.h5&query=_%20%3E%205",
    "GET /datasets/ID/query?domain=/large.h5&query=_%20%3E%205",
    "GET /datasets/ID/value?domain=/large.h5",
    "PUT /datasets/ID/value?domain=/large.h5&query=_%20%3E%205",
    "GET /tables/a.h5/t.csv?where=n%20%3E%201e9",
    "GET /tables/a.h5/t.csv",
    "GET /zarr/large.h5/big/c/99",
    "GET /dap/large.h5.dods",
    "GET /dap/large.h5.dap",
    "GET /dap/a.h5.dods?t.n,t.v&t.n%3E1e9",
    "GET /nc/large.h5.nc?var=big",
    "GET /view/api/trend?file=/large.h5&path=/big",
    "GET /view/api/values?file=/large.h5&path=/big",
    "GET /?domain=/large.h5&verbose=1&getobjs=1",
    'POST /products/stats.csv {"sources": ["/a.h5"], "parameters": {"table": "t"}}',
    'POST /products/histogram.csv {"sources": ["/a.h5"], "parameters": {"table": "t", "column": "v"}}',
]


@pytest.mark.parametrize("request_", ABANDONED)
def test_work_stops_when_its_client_leaves(service: Service, large: str, request_: str) -> None:
    method, path, *body = request_.replace("ID", large).split(" ", 2)
    for _ in range(24):
        _left(service, _head(method, path, body[0].encode() if body else b""), 0.05)
    service.answers_others()
    assert service.is_idle()


HOPELESS: dict[str, tuple[str, str, object]] = {
    "repeated scalar": ("PUT", "/datasets/ID/value?domain=/large.h5", {"value": 1}),
    "appended rows": ("PUT", "/datasets/ID/value?domain=/large.h5&append=900000000000", {"value": [1]}),
    "all of it as JSON": ("GET", "/datasets/ID/value?domain=/large.h5", None),
    "two lists": ("PUT", "/datasets/ID/value?domain=/large.h5&select=[[1,2]]", {"value": [1] * 100_000}),
    "attribute": (
        "PUT",
        "/datasets/ID/attributes/a?domain=/large.h5",
        {"type": "H5T_STD_I8LE", "shape": [10**12]},
    ),
    "long texts": (
        "PUT",
        "/datasets/ID/attributes/b?domain=/large.h5",
        {"type": {"class": "H5T_STRING", "length": 100_000_000}, "shape": [500], "value": [""] * 500},
    ),
    "large chunk": (
        "POST",
        "/datasets?domain=/large.h5",
        {
            "type": "H5T_STD_I8LE",
            "shape": [10**12],
            "creationProperties": {"layout": {"class": "H5D_CHUNKED", "dims": [10**9]}},
        },
    ),
    "shape that overflows": (
        "POST",
        "/datasets?domain=/large.h5",
        {"type": "H5T_STD_I8LE", "shape": [2**63, 2**63]},
    ),
    "many axes": ("POST", "/datasets?domain=/large.h5", {"type": "H5T_STD_I8LE", "shape": [2] * 1000}),
    "arange": (
        "POST",
        "/datasets?domain=/large.h5",
        {"type": "H5T_STD_I64LE", "shape": [10**9], "creationProperties": {"initializer": ["arange"]}},
    ),
    "numbers as JSON": ("POST", "/products/stats.csv", "[" + "1," * 2_000_000 + "1]"),
    "points": ("POST", "/datasets/ID/value?domain=/large.h5", {"points": [[i] for i in range(400_000)]}),
    "deep JSON": ("POST", "/groups?domain=/large.h5", "[" * 1_000_000),
    "deep type": (
        "POST",
        "/datasets?domain=/large.h5",
        '{"type":' + '{"class":"H5T_VLEN","base":' * 100 + '"H5T_STD_I8LE"' + "}" * 101,
    ),
    "titles": ("POST", "/groups/ID/links?domain=/large.h5", {"titles": [str(i) for i in range(300_000)]}),
    "paths": ("POST", "/?domain=/large.h5", {"h5paths": ["/a" * 1000] * 1000}),
    "sources": ("POST", "/products/stats.csv", {"sources": ["/a.h5"] * 300_000}),
    "many parts": ("GET", "/?domain=" + "/d" * 2000, None),
    "glob": ("GET", "/domains?domain=/&pattern=" + "*a" * 5000, None),
    "clause": ("GET", "/tables/a.h5/t.csv?where=" + quote("not " * 10_000 + "n > 1"), None),
    "brackets": ("GET", "/datasets/ID/value?domain=/large.h5&query=" + quote("(" * 20_000 + "_ > 1"), None),
    "fields": ("GET", "/datasets/ID/value?domain=/large.h5&fields=" + "a:" * 20_000, None),
    "dap of 10¹² elements": ("GET", "/dap/large.h5.ascii?big", None),
    "dap slice": ("GET", f"/dap/large.h5.dods?big[0:{2**63}]", None),
    "dap stride": ("GET", "/dap/large.h5.dods?big[0:0:5]", None),
    "dap names": ("GET", "/dap/a.h5.dods?" + ",".join(["x"] * 10_000), None),
    "dap unknown names": ("GET", "/dap/a.h5.dds?" + ",".join(f"n{i}" for i in range(8_000)), None),
    "dap functions": ("GET", "/dap/a.h5.dods?" + "f(" * 20_000, None),
    "dap brackets": ("GET", "/dap/a.h5.dods?x" + "%5B0%5D" * 7_000, None),
    "dap clauses": ("GET", "/dap/a.h5.dods?t.n" + "&t.n%3E1" * 7_000, None),
    "dap4 slices": ("GET", "/dap/a.h5.dap?dap4.ce=" + "/x[0];" * 8_000, None),
    "dap4 depth": ("GET", "/dap/a.h5.dmr?dap4.ce=" + "/t" * 20_000, None),
    "nc of everything": (
        "GET",
        "/nc/large.h5.nc?big=0:10&" + "&".join(f"d{i}=0" for i in range(5_000)),
        None,
    ),
    "list": ("GET", "/datasets/ID/value?domain=/large.h5&select=[[" + "1," * 20_000 + "1]]", None),
}


@pytest.mark.parametrize("name", HOPELESS)
def test_memory_and_time_of_a_request_are_bounded(service: Service, large: str, name: str) -> None:
    method, path, body = HOPELESS[name]
    text = body if isinstance(body, str) or body is None else json.dumps(body)
    before = service.memory()
    status, reply = service.ask(method, path.replace("ID", large), text, timeout=40)
    assert status != 0, "the service closed the connection"
    assert status < 500, reply[:200]
    assert service.memory() - before < 700
    service.answers_others()


def test_small_writes_after_all_that_are_kept(service: Service, large: str) -> None:
    path = f"/datasets/{large}/value?domain=/large.h5&select=[0:3]"
    assert service.ask("PUT", path, json.dumps({"value": [1, 2, 3]}))[0] == 200
    assert json.loads(service.ask("GET", path)[1])["value"] == [1, 2, 3]


#: heads of requests without their end
POST = b"POST /groups?domain=/a.h5 HTTP/1.1\r\nHost: localhost\r\n"
PUT = b"PUT /datasets/x/value?domain=/a.h5 HTTP/1.1\r\nHost: localhost\r\n"
CHUNK = b"GET /zarr/a.h5/x/c/0 HTTP/1.1\r\nHost: localhost\r\n"
ROOT = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
STARTS = {
    "connection": b"",
    "half a head": b"GET / HTTP/1.1\r\nX-a: ",
    "half a body": POST + b"Content-Length: 1000\r\n\r\n{",
    "half a chunk": POST + b"Transfer-Encoding: chunked\r\n\r\nffff\r\n{",
    "large body": PUT + b"Content-Length: 100000000\r\n\r\n" + b"x" * 5000,
    "unread answer": (CHUNK + b"\r\n") * 20,
}


@pytest.mark.parametrize("kind", STARTS)
@pytest.mark.parametrize("files", [1024, None])
def test_slow_clients_hold_nothing(archive: Path, tmp_path: Path, kind: str, files: int | None) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    held: list[socket.socket] = []
    try:
        with serving(archive, "--writable", "--cache", tmp_path, files=files) as service:
            service.answers_others()
            for _ in range(SLOW):
                with contextlib.suppress(OSError):
                    held.append(socket.create_connection(("127.0.0.1", service.port), timeout=3))
                    held[-1].sendall(STARTS[kind])
            service.answers_others()
            # Those in a request get an answer; all are closed after their time.
            time.sleep(20 if kind.startswith("half a b") else 0)
            service.answers_others()
            for stream in held:
                stream.close()
            service.answers_others()
    finally:
        for stream in held:
            stream.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_incomplete_requests_are_closed_after_some_seconds(service: Service) -> None:
    with socket.create_connection(("127.0.0.1", service.port), 40) as head:
        head.sendall(b"GET / HTTP/1.1\r\nX-a: ")
        with socket.create_connection(("127.0.0.1", service.port), 40) as body:
            body.sendall(STARTS["half a body"])
            assert body.recv(200).startswith(b"HTTP/1.1 408 ")
        assert head.recv(200) == b""


SEEDS = [
    _head("GET", "/?domain=/a.h5"),
    _head("GET", "/datasets?domain=/a.h5&Limit=1"),
    _head("GET", "/zarr/a.h5/x/c/0"),
    _head("GET", "/zarr/a.h5/zarr.json"),
    _head("GET", "/tables/a.h5/t.csv?columns=n,v&where=n%20%3C%205&limit=3"),
    _head("GET", "/dap/a.h5.dods?x[0:2:8]"),
    _head("GET", "/dap/a.h5.dods?t.n,t.v&t.v%3E5&t.n!=7"),
    _head("GET", "/dap/a.h5.dap?dap4.ce=/t/n[0:1:9];/x[3]&dap4.checksum=true"),
    _head("GET", "/thredds/a.h5/catalog.xml"),
    _head("GET", "/nc/a.h5.nc?var=x"),
    _head("GET", "/view/api/values?file=/a.h5&path=/x&selection=0:5"),
    _head("GET", "/datasets/ID/value?domain=/large.h5&select=[0:10:2]"),
    _head("GET", "/datasets/ID/value?domain=/large.h5&select=[0:10]&query=_%20%3E%205"),
    _head("PUT", "/datasets/ID/value?domain=/large.h5&select=[0:2]", b'{"value": [1, 2]}'),
    _head("POST", "/datasets/ID/value?domain=/large.h5", b'{"points": [[1], [5]]}'),
    _head("POST", "/groups?domain=/large.h5", b'{"link": {"name": "g"}}'),
    _head(
        "POST", "/datasets?domain=/large.h5", b'{"type": "H5T_STD_I8LE", "shape": [3], "value": [1, 2, 3]}'
    ),
    _head(
        "PUT",
        "/datasets/ID/attributes/m?domain=/large.h5&replace=1",
        b'{"type": "H5T_STD_I8LE", "shape": [2], "value": [1, 2]}',
    ),
    _head("POST", "/products/stats.csv", b'{"sources": ["/a.h5"], "parameters": {"table": "t"}}'),
    _head("POST", "/?domain=/a.h5", b'{"h5paths": ["/t/n"]}'),
    _head("PUT", "/?domain=/made.h5"),
    _head("DELETE", "/?domain=/made.h5"),
    CHUNK + b"Range: bytes=0-10\r\nIf-None-Match: *\r\nAccept: */*\r\n\r\n",
]
PIECES = [
    b"%00",
    b"%ff",
    b"..",
    b"//",
    b"\r\n",
    b"\0",
    b"9" * 30,
    b"-1",
    b"[",
    b"{",
    b'"',
    b"@",
    b"NaN",
    b"1e999",
    b"%0d%0a",
    b",",
    b"*" * 50,
    b":",
]


def _mutated(seed: bytes, dice: random.Random) -> bytes:
    text = bytearray(seed)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(text))
        match dice.randrange(4):
            case 0:
                text[at] = dice.randrange(256)
            case 1:
                del text[at : at + dice.randint(1, 8)]
            case 2:
                text[at:at] = dice.choice(PIECES)
            case _:
                other = dice.choice(SEEDS)
                text[at:] = other[dice.randrange(len(other)) :]
        if not text:
            return b"\r\n"
    return bytes(text)


def test_mutated_requests(service: Service, large: str) -> None:
    dice = random.Random(5)
    worst = []
    for number in range(MUTATED):
        request = _mutated(dice.choice(SEEDS).replace(b"ID", large.encode()), dice)
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", service.port), 5) as stream:
            stream.sendall(request)
            stream.shutdown(socket.SHUT_WR)
            reply = stream.recv(400)
            if reply.startswith(b"HTTP/1.1 5") and not reply.startswith(b"HTTP/1.1 503"):
                worst.append((request, reply))
        if number % 500 == 0:
            service.answers_others()
    assert worst == []
    service.answers_others()


RAW = {
    "two lengths": POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}    ",
    "length and chunks": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "negative length": POST + b"Content-Length: -5\r\n\r\n{}",
    "endless length": POST + b"Content-Length: 99999999999999999999\r\n\r\n{}",
    "bad chunk": POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "huge head": ROOT + b"X: " + b"a" * 200_000 + b"\r\n\r\n",
    "many heads": ROOT + b"" + b"X: a\r\n" * 5000 + b"\r\n",
    "two hosts": b"GET /domains HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    "address of another": b"GET http://evil.example/domains HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "connect": b"CONNECT evil.example:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "upgrade": ROOT + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n",
    "http 2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "ranges": CHUNK + b"Range: bytes=" + b"0-1," * 5000 + b"0-1\r\n\r\n",
    "noise": bytes(range(256)) * 40,
}


@pytest.mark.parametrize("name", RAW)
def test_what_is_hardly_http(service: Service, name: str) -> None:
    with socket.create_connection(("127.0.0.1", service.port), 30) as stream:
        with contextlib.suppress(OSError):
            stream.sendall(RAW[name])
            stream.shutdown(socket.SHUT_WR)
        with contextlib.suppress(OSError):
            assert not stream.recv(100).startswith(b"HTTP/1.1 5")
    service.answers_others()


def test_pipelined_requests_are_answered_in_order(service: Service) -> None:
    with socket.create_connection(("127.0.0.1", service.port), 30) as stream:
        stream.sendall(
            _head("GET", "/about") * 200
            + b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        reply = b"".join(iter(lambda: stream.recv(1 << 16), b""))
    assert reply.count(b"HTTP/1.1 200 OK") == 201


def test_a_kill_under_load_leaves_repositories_that_verify(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    with serving(folder, "--writable") as service:
        root = json.loads(service.ask("PUT", "/?domain=/x.h5")[1])["root"]
        body = {"type": "H5T_STD_I64LE", "shape": [10_000], "link": {"id": root, "name": "d"}}
        made = json.loads(service.ask("POST", "/datasets?domain=/x.h5", json.dumps(body))[1])["id"]
        assert service.ask("PUT", "/?domain=/x.h5&flush=1")[0] == 204

        def write(start: int) -> None:
            for number in range(start, start + 1000):
                path = f"/datasets/{made}/value?domain=/x.h5&select=[{number}]"
                if service.ask("PUT", path, json.dumps({"value": [number]}), timeout=10)[0] != 200:
                    return
                service.ask("PUT", "/?domain=/x.h5&flush=1", timeout=10)

        threads = [threading.Thread(target=write, args=(1000 * each,)) for each in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(3)
        service.process.kill()
        for thread in threads:
            thread.join()
    repo = icecore.open(folder / "x.h5")
    found = repo["/d"][...]
    written = np.flatnonzero(found)
    assert (found[written] == written).all()
    assert not repo.verify()
    with serving(folder, "--writable") as service:
        assert (
            service.ask("PUT", f"/datasets/{made}/value?domain=/x.h5&select=[0]", '{"value": [7]}')[0] == 200
        )


def test_the_description_of_the_service_holds(service: Service) -> None:
    """Requests that schemathesis makes from the OpenAPI document never end in a defect."""
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, given, settings

    document = json.loads(service.ask("GET", "/openapi.json")[1])
    schema = schemathesis.openapi.from_dict(document)
    for operation in schema.get_all_operations():
        strategy = operation.ok().as_strategy()

        @given(case=strategy)
        @settings(
            max_examples=100 if LONG else 10,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        )
        def ask(case: object) -> None:
            reply = case.call(base_url=f"http://127.0.0.1:{service.port}", timeout=30)  # type: ignore[attr-defined]
            assert reply.status_code < 500 or reply.status_code == 503, reply.text[:300]

        ask()
    service.answers_others()
