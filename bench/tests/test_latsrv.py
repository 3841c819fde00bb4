"""The HTTP server that remote reads are tested on: ranges, conditions, counts, hostile input."""

import contextlib
import email.utils
import http.client
import json
import os
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("LATSRV", ROOT / "target/release/examples/latsrv"))
pytestmark = pytest.mark.skipif(
    not BINARY.exists(), reason="cargo build --release -p icecore --example latsrv"
)
CONTENT = bytes(range(256)) * 4000


@pytest.fixture
def serve(tmp_path):
    """Starts a server over tmp_path with `options`; returns its port."""
    (tmp_path / "sub dir").mkdir()
    (tmp_path / "sub dir" / "a#b.bin").write_bytes(CONTENT)
    (tmp_path / "x").write_bytes(CONTENT)
    (tmp_path / "empty").write_bytes(b"")
    started = []

    def start(*options):
        command = [str(BINARY), str(tmp_path), *map(str, options)]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(server)
        return int(server.stdout.readline())

    yield start
    for server in started:
        server.stdin.close()
        assert server.wait(5) == 0


def ask(port, path="/x", method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read()


def stats(port):
    return json.loads(ask(port, "/__stats")[2])


@pytest.mark.parametrize(
    ("text", "status", "lo", "hi"),
    [
        ("bytes=0-0", 206, 0, 1),
        ("bytes=10-19", 206, 10, 20),
        ("bytes=1000000-", 206, 1_000_000, 1_024_000),
        ("bytes=-7", 206, 1_023_993, 1_024_000),
        ("bytes=-99999999", 206, 0, 1_024_000),
        ("bytes=1023999-99999999", 206, 1_023_999, 1_024_000),
        ("bytes=1024000-", 416, 0, 0),
        ("bytes=-0", 416, 0, 0),
        ("bytes=5-4", 200, 0, 1_024_000),
        ("bytes=0-1,5-6", 200, 0, 1_024_000),
        ("bytes=18446744073709551615-18446744073709551615", 416, 0, 0),
        ("lines=1-2", 200, 0, 1_024_000),
    ],
)
def test_ranges(serve, text, status, lo, hi):
    code, headers, body = ask(serve(), Range=text)
    assert (code, body) == (status, CONTENT[lo:hi])
    if code == 206:
        assert headers["Content-Range"] == f"bytes {lo}-{hi - 1}/{len(CONTENT)}"


def test_paths(serve):
    port = serve()
    assert ask(port, "/sub%20dir/a%23b.bin")[2] == CONTENT
    assert ask(port, "/empty")[::2] == (200, b"")
    for path in (
        "/none",
        "/",
        "/sub%20dir",
        "/../x",
        "/sub%20dir/../x",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
    ):
        assert ask(port, path)[0] == 404, path


def test_head_and_identity(serve, tmp_path):
    port = serve()
    code, headers, body = ask(port, method="HEAD")
    assert (code, body, int(headers["Content-Length"])) == (200, b"", len(CONTENT))
    mtime = int((tmp_path / "x").stat().st_mtime)
    assert headers["Last-Modified"] == email.utils.formatdate(mtime, usegmt=True)
    old, date = headers["ETag"], headers["Last-Modified"]
    assert ask(port, If_None_Match=old)[0] == 304
    assert ask(port, If_Modified_Since=date)[0] == 304
    assert ask(port, If_Match=old)[0] == 200
    assert ask(port, If_Match='"other"')[0] == 412
    assert ask(port, If_Unmodified_Since=email.utils.formatdate(mtime - 1, usegmt=True))[0] == 412
    assert ask(port, If_Unmodified_Since=date)[0] == 200
    assert ask(port, If_Range='"other"', Range="bytes=0-1")[0] == 200
    assert ask(port, If_Range=old, Range="bytes=0-1")[0] == 206
    os.utime(tmp_path / "x", ns=(0, 1_700_000_000_000_000_001))
    assert ask(port)[1]["ETag"] != old
    assert ask(port, If_Match=old)[0] == 412


@pytest.mark.parametrize(
    "seconds", [0, 951_782_399, 951_782_400, 1_709_164_800, 1_709_251_199, 1_735_689_599, 4_107_542_400]
)
def test_dates(serve, tmp_path, seconds):
    os.utime(tmp_path / "x", (seconds, seconds))
    assert ask(serve(), method="HEAD")[1]["Last-Modified"] == email.utils.formatdate(seconds, usegmt=True)


def test_counts_requests_bytes_and_concurrency(serve, tmp_path):
    port = serve("--delay-ms", 50, "--log", tmp_path / "log")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: ask(port, Range=f"bytes={i}-{i + 9}"), range(8)))
    ask(port, method="HEAD")
    seen = stats(port)
    assert (seen["requests"], seen["heads"], seen["bytes"], seen["failed"]) == (9, 1, 80, 0)
    assert 2 <= seen["peak"] <= 8
    assert len((tmp_path / "log").read_text().splitlines()) == 9
    ask(port, "/__reset")
    assert stats(port)["requests"] == 0


def test_keep_alive_delay_and_pace(serve):
    port = serve("--delay-ms", 20, "--mbps", 10)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    start = time.perf_counter()
    for _ in range(3):
        connection.request("GET", "/x")
        assert connection.getresponse().read() == CONTENT
    taken = time.perf_counter() - start
    assert taken >= 3 * (0.02 + len(CONTENT) / 10e6)
    assert stats(port)["connections"] == 2  # one for the three, one for the question


def test_fails_when_asked(serve):
    port = serve("--fail-every", 3)
    assert [ask(port)[0] for _ in range(6)] == [200, 200, 503, 200, 200, 503]


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"\x00\xff" * 50 + b"\r\n\r\n",
        b"GET /%zz HTTP/1.1\r\n\r\n",
        b"A" * 100_000,
        b"GET /x HTTP/1.1\r\nRange",
    ],
)
def test_survives_nonsense(serve, sent):
    port = serve()
    with socket.create_connection(("127.0.0.1", port), timeout=5) as raw:
        raw.sendall(sent)
        raw.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            assert raw.recv(10) == b""
    assert ask(port)[2] == CONTENT


def test_pipelined_requests(serve):
    with socket.create_connection(("127.0.0.1", serve()), timeout=5) as raw:
        raw.sendall(
            b"GET /x HTTP/1.1\r\nRange: bytes=0-3\r\n\r\n"
            b"GET /x HTTP/1.1\r\nRange: bytes=4-7\r\nConnection: close\r\n\r\n"
        )
        seen = b"".join(iter(lambda: raw.recv(4096), b""))
    assert seen.count(b"206 Partial") == 2
    assert CONTENT[:4] in seen
    assert seen.endswith(CONTENT[4:8])
