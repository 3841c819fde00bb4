"""Web servers as they are found: without etags, without conditions, without ranges, with broken answers."""

from __future__ import annotations

import email.utils
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest
import zoo

DATA = np.random.default_rng(4).normal(size=(40, 1000))


class Server(ThreadingHTTPServer):
    """Serves one file, or what lies in a folder; ``quirks`` say what it does wrong."""

    daemon_threads = True

    def __init__(self, path: Path) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.path = path
        self.modified = 1_700_000_000
        self.quirks: set[str] = set()
        #: path and the header X-Key of each request
        self.seen: list[tuple[str, str | None]] = []
        #: requests that are still to be put off
        self.busy = 0
        #: first byte and number of bytes of each range
        self.ranges: list[tuple[int, int]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/x.h5"


class Answer(BaseHTTPRequestHandler):
    """One request. Conditions are never looked at, as many servers don't."""

    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self.answer(head=True)

    def do_GET(self) -> None:
        self.answer(head=False)

    def answer(self, head: bool) -> None:
        self.server.seen.append((self.path, self.headers.get("X-Key")))
        place = self.server.path if self.server.path.is_file() else self.server.path / self.path.strip("/")
        if not place.is_file():
            self.send_error(404)
            return
        quirks, content = self.server.quirks, place.read_bytes()
        if "forbidden" in quirks:
            self.send_error(403)
            return
        if self.server.busy:
            self.server.busy -= 1
            self.send_error(503)
            return
        first, last = 0, len(content) - 1
        wanted = self.headers.get("Range")
        ranged = wanted is not None and "no ranges" not in quirks
        if ranged:
            a, _, b = wanted.removeprefix("bytes=").partition("-")
            first, last = (int(a), min(int(b), last) if b else last) if a else (last + 1 - int(b), last)
        body = content[first : last + 1]
        self.server.ranges.append((first, len(body)))
        if "other range" in quirks and ranged:
            first, last = first + 7, last + 7
        self.send_response(206 if ranged else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Accept-Ranges", "bytes")
        if ranged:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        if "etag" in quirks:
            self.send_header("ETag", f'"{self.server.modified}"')
        if "no date" not in quirks:
            self.send_header("Last-Modified", email.utils.formatdate(self.server.modified, usegmt=True))
        self.end_headers()
        if not head:
            cut = {"short body": len(body) // 2, "cut once": len(body) * 4 // 5}
            self.wfile.write(body[: min([cut[quirk] for quirk in quirks & set(cut)], default=len(body))])
        if quirks & {"short body", "cut once"}:
            self.close_connection = True
            quirks.discard("cut once")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server of one file, started."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=DATA, chunks=(10, 1000), compression="gzip")
        file.create_dataset("plain", data=DATA)
    made = Server(tmp_path / "x.h5")
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.mark.parametrize("quirks", [set(), {"etag"}, {"no date"}], ids=["date", "date and etag", "neither"])
def test_plain_servers(server: Server, repo_path: str, quirks: set[str]) -> None:
    server.quirks = quirks
    icecore.link(server.url, repo_path, group="/f")
    repo = icecore.open(repo_path)
    assert zoo.same(repo["/f/x"].read(), DATA)
    assert zoo.same(repo["/f/plain"][3:7, ::-5], DATA[3:7, ::-5])


@pytest.mark.parametrize("quirks", [set(), {"etag"}], ids=["date", "date and etag"])
@pytest.mark.parametrize("same_size", [True, False])
def test_a_change_that_the_server_does_not_refuse(
    server: Server, repo_path: str, quirks: set[str], same_size: bool
) -> None:
    """Servers that ignore conditions still say what they send."""
    server.quirks = quirks
    icecore.link(server.url, repo_path, group="/f")
    repo = icecore.open(repo_path)
    server.path.write_bytes(server.path.read_bytes() + (b"" if same_size else b"more"))
    server.modified += 100
    for name in ("x", "plain"):
        with pytest.raises(icecore.Error) as caught:
            repo[f"/f/{name}"].read()
        assert caught.value.kind == "source-changed"


@pytest.mark.parametrize("quirk", ["no ranges", "short body", "other range", "forbidden"])
def test_wrong_answers(server: Server, repo_path: str, quirk: str) -> None:
    icecore.link(server.url, repo_path, group="/f")
    repo = icecore.open(repo_path)
    server.quirks = {quirk}
    began = time.monotonic()
    with pytest.raises(icecore.Error) as caught:
        repo["/f/x"][5:35]
    assert caught.value.kind == ("permission" if quirk == "forbidden" else "network")
    assert "x.h5" in caught.value.message
    assert time.monotonic() - began < 60


def test_a_read_goes_on_where_it_was_cut(server: Server, repo_path: str) -> None:
    """What has come of an answer is good: only the rest is asked for again."""
    icecore.link(server.url, repo_path, group="/f")
    array = icecore.open(repo_path)["/f/x"]
    server.quirks, server.ranges = {"cut once"}, []
    assert zoo.same(array.read(), DATA)
    (first, whole), (again, rest) = server.ranges
    assert again > first
    assert again + rest == first + whole


def test_a_busy_server_is_asked_again(server: Server, repo_path: str) -> None:
    """Object stores put off whoever asks for much, for some seconds."""
    icecore.link(server.url, repo_path, group="/f")
    array = icecore.open(repo_path)["/f/x"]
    server.busy, server.seen = 6, []
    assert zoo.same(array[5:35], DATA[5:35])
    assert len(server.seen) == 7


@pytest.mark.parametrize("quirk", ["short body", "forbidden"])
def test_wrong_answers_to_link(server: Server, repo_path: str, quirk: str) -> None:
    server.quirks = {quirk}
    with pytest.raises(icecore.Error) as caught:
        icecore.link(server.url, repo_path, group="/f")
    assert caught.value.kind in ("network", "permission", "corrupt", "source-missing")


def test_a_server_without_ranges_is_packed_or_refused(server: Server, repo_path: str) -> None:
    server.quirks = {"no ranges"}
    outcome = attempt(lambda: icecore.pack(server.url, repo_path, group="/f"))
    if outcome == "done":
        assert zoo.same(icecore.open(repo_path)["/f/x"].read(), DATA)
    else:
        assert outcome in ("network", "unsupported")


def attempt(work: Callable[[], object]) -> str:
    try:
        work()
    except icecore.Error as error:
        return error.kind
    return "done"


def test_headers_are_for_the_repositorys_own_host(server: Server, tmp_path: Path) -> None:
    """What a repository is opened with goes with requests for data too, but not to hosts that it links to."""
    made = icecore.create(tmp_path / "r.icecore")
    with made.writer() as writer:
        writer.array("/a", dtype="f8", shape=DATA.shape, chunks=(10, 1000))[...] = DATA
    other = Server(tmp_path / "x.h5")
    threading.Thread(target=other.serve_forever, daemon=True).start()
    icecore.link(other.url, tmp_path / "r.icecore", group="/f")
    server.path = tmp_path
    other.seen.clear()
    repo = icecore.open(
        f"http://127.0.0.1:{server.server_address[1]}/r.icecore", storage={"header.x-key": "k"}
    )
    assert zoo.same(repo["/a"].read(), DATA)
    assert zoo.same(repo["/f/plain"].read(), DATA)
    other.shutdown()
    other.server_close()
    chunks = [key for path, key in server.seen if "/chunks/" in path]
    assert chunks
    assert set(chunks) == {"k"}
    assert other.seen
    assert {key for _, key in other.seen} == {None}
