"""Web servers as they are found: without etags, without conditions, without ranges, with broken answers."""

from __future__ import annotations

import email.utils
import gzip
import random
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


FAULTS = (
    *("", "etag", "no date", "chunked") * 2,
    *("gzip", "half", "short body", "cut once", "other range", "page", "no ranges", "loop"),
)


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
        #: chooses one of FAULTS for each request
        self.chance: random.Random | None = None
        #: what Retry-After says then
        self.rests = ""
        #: where requests are redirected to
        self.moved = ""
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
        if self.server.chance is not None:
            self.server.quirks = {self.server.chance.choice(FAULTS)}
        self.server.seen.append((self.path, self.headers.get("X-Key")))
        is_new = "moved within" in self.server.quirks and self.path.startswith(self.server.moved)
        if is_new:
            self.path = self.path.removeprefix(self.server.moved)
        elif self.server.moved:
            self.send_response(307)
            self.send_header("Location", self.server.moved + self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        place = self.server.path if self.server.path.is_file() else self.server.path / path.strip("/")
        if not place.is_file():
            self.send_error(404)
            return
        quirks, content = self.server.quirks, place.read_bytes()
        if head and "no head" in quirks:
            self.send_error(405)
            return
        if "forbidden" in quirks or ("presigned" in quirks and query != "sig=a%2Fb&x=1"):
            self.send_error(403)
            return
        if self.server.busy:
            self.server.busy -= 1
            self.put_off(503)
            return
        if "gone" in quirks or "page" in quirks:
            self.put_off(410 if "gone" in quirks else 500, b"<html>" + b"x" * 5000 * ("page" in quirks))
            return
        if "loop" in quirks:
            self.send_response(302)
            self.send_header("Location", "/elsewhere" if self.path != "/elsewhere" else "/x.h5")
            self.send_header("Content-Length", "0")
            self.end_headers()
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
        if "gzip" in quirks:
            body = gzip.compress(body)
        self.send_response(206 if ranged else 200)
        if "gzip" in quirks:
            self.send_header("Content-Encoding", "gzip")
        if "chunked" in quirks:
            self.send_header("Transfer-Encoding", "chunked")
            body = b"".join(
                b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:99], body[99:], b"") if part
            )
            body += b"0\r\n\r\n"
        else:
            self.send_header("Content-Length", str(len(body) // 2 if "half" in quirks else len(body)))
        self.send_header("Accept-Ranges", "bytes")
        if ranged:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        if "etag" in quirks:
            self.send_header("ETag", f'"{self.server.modified}"')
        if "no date" not in quirks:
            self.send_header("Last-Modified", email.utils.formatdate(self.server.modified, usegmt=True))
        self.end_headers()
        if not head:
            cut = {"half": len(body) // 2, "short body": len(body) // 2, "cut once": len(body) * 4 // 5}
            self.wfile.write(body[: min([cut[quirk] for quirk in quirks & set(cut)], default=len(body))])
        if quirks & {"short body", "cut once", "half"}:
            self.close_connection = True
            quirks.discard("cut once")

    def put_off(self, status: int, page: bytes = b"") -> None:
        """An error, and when to come back where the server says that."""
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        if self.server.rests:
            self.send_header("Retry-After", self.server.rests)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page)


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


def test_a_server_is_left_alone_as_long_as_it_asks(server: Server, tmp_path: Path) -> None:
    """The files of a repository and what it links to."""
    with icecore.create(tmp_path / "r.icecore").writer() as writer:
        writer.array("/a", dtype="f8", shape=DATA.shape, chunks=(10, 1000))[...] = DATA
    icecore.link(server.url, tmp_path / "r.icecore", group="/f")
    server.path = tmp_path
    server.rests, server.busy, server.seen = "2", 1, []
    began = time.monotonic()
    repo = icecore.open(f"http://127.0.0.1:{server.server_address[1]}/r.icecore")
    assert time.monotonic() - began > 1.9
    server.path, server.busy, server.seen = tmp_path / "x.h5", 1, []
    array = icecore.open(tmp_path / "r.icecore")["/f/x"]
    began = time.monotonic()
    assert zoo.same(array[5:35], DATA[5:35])
    assert time.monotonic() - began > 1.9
    assert len(server.seen) == 2
    server.path = tmp_path
    assert zoo.same(repo["/a"].read(), DATA)


def test_a_server_that_wants_an_hour_is_not_waited_for(server: Server, repo_path: str) -> None:
    icecore.link(server.url, repo_path, group="/f")
    array = icecore.open(repo_path)["/f/x"]
    server.rests, server.busy, server.seen = "3600", 99, []
    began = time.monotonic()
    for work in (lambda: array[5:35], lambda: icecore.link(server.url, repo_path, group="/g")):
        with pytest.raises(icecore.Error, match="left alone for 3600 s") as caught:
            work()
        assert caught.value.kind == "network"
    assert time.monotonic() - began < 5
    assert len(server.seen) == 2


def test_redirects_that_lead_nowhere(server: Server, repo_path: str) -> None:
    icecore.link(server.url, repo_path, group="/f")
    array = icecore.open(repo_path)["/f/x"]
    server.quirks = {"loop"}
    for work in (lambda: array[5:35], lambda: icecore.link(server.url, repo_path, group="/g")):
        server.seen = []
        with pytest.raises(icecore.Error, match="too many redirects") as caught:
            work()
        assert caught.value.kind == "network"
        assert len(server.seen) <= 11


def test_what_is_gone(server: Server, repo_path: str) -> None:
    """410 is 404 said more clearly."""
    icecore.link(server.url, repo_path, group="/f")
    array = icecore.open(repo_path)["/f/x"]
    server.quirks = {"gone"}
    with pytest.raises(icecore.Error, match="410 Gone") as caught:
        array[5:35]
    assert caught.value.kind == "source-missing"
    with pytest.raises(icecore.Error, match="410 Gone") as caught:
        icecore.open(server.url)
    assert caught.value.kind == "not-found"
    assert "check the address" in caught.value.hint


def test_a_page_is_no_part_of_a_message(server: Server, repo_path: str) -> None:
    icecore.link(server.url, repo_path, group="/f")
    array = icecore.open(repo_path)["/f/x"]
    server.quirks = {"page"}
    for work in (lambda: array[5:35], lambda: icecore.open(server.url)):
        with pytest.raises(icecore.Error, match="500 Internal Server Error") as caught:
            work()
        assert caught.value.kind == "network"
        assert len(caught.value.message) < 500
        assert "xxx" not in caught.value.message
        assert caught.value.hint


@pytest.mark.parametrize("name", ["x", "plain"])
@pytest.mark.parametrize("quirk", ["gzip", "half"])
def test_what_was_not_asked_for_is_the_servers_fault(
    server: Server, repo_path: str, quirk: str, name: str
) -> None:
    """Neither is the file damaged then, nor was it changed."""
    icecore.link(server.url, repo_path, group="/f")
    array = icecore.open(repo_path)[f"/f/{name}"]
    server.quirks = {quirk, "etag"}
    with pytest.raises(icecore.Error, match="gzip" if quirk == "gzip" else "the server sends") as caught:
        array[5:35]
    assert caught.value.kind == "network"


@pytest.mark.parametrize("name", ["x", "plain"])
def test_parts_without_a_length(server: Server, repo_path: str, name: str) -> None:
    """Their range says it."""
    server.quirks = {"chunked"}
    icecore.link(server.url, repo_path, group="/f")
    assert zoo.same(icecore.open(repo_path)[f"/f/{name}"][5:35], DATA[5:35])


@pytest.mark.parametrize("seed", range(8))
def test_a_fault_in_every_second_answer(server: Server, repo_path: str, seed: int) -> None:
    """The right numbers, or an error that says whose fault it is."""
    icecore.link(server.url, repo_path, group="/f")
    repo = icecore.open(repo_path)
    server.chance = random.Random(seed)
    for name, start, stop in (("x", 0, 40), ("plain", 7, 33), ("x", 12, 13), ("plain", 0, 40)):
        box = (slice(start, stop), slice(None, None, 2))
        read: list[np.ndarray] = []
        outcome = attempt(lambda path=f"/f/{name}", box=box, read=read: read.append(repo[path][box]))
        assert outcome == "network" or (outcome == "done" and zoo.same(read[0], DATA[box]))


@pytest.mark.parametrize("quirk", ["presigned", "no head"])
def test_a_server_that_wants_a_query_or_refuses_head(server: Server, tmp_path: Path, quirk: str) -> None:
    """Addresses that hold the permission to GET, and nothing else."""
    with icecore.create(tmp_path / "r.icecore").writer() as writer:
        writer.array("/a", dtype="f8", shape=DATA.shape, chunks=(10, 1000))[...] = DATA
    server.quirks = {quirk, "no head"}
    query = "?sig=a%2Fb&x=1" if quirk == "presigned" else ""
    if quirk == "presigned":  # the signature is a secret that ends: it is neither stored nor shown
        with pytest.raises(icecore.Error) as caught:
            icecore.link(server.url + query, tmp_path / "l.icecore", group="/f")
        assert caught.value.kind == "permission"
        assert "a%2Fb" not in f"{caught.value} {caught.value.hint}"
        assert not (tmp_path / "l.icecore").exists()
        icecore.pack(server.url + query, tmp_path / "l.icecore", group="/f")
    else:
        icecore.link(server.url, tmp_path / "l.icecore", group="/f")
    repo = icecore.open(tmp_path / "l.icecore")
    assert zoo.same(repo["/f/x"].read(), DATA)
    assert repo.verify(deep=True) == []
    server.path = tmp_path
    url = f"http://127.0.0.1:{server.server_address[1]}/r.icecore{query}"
    assert zoo.same(icecore.open(url)["/a"].read(), DATA)


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


@pytest.mark.parametrize("is_same_host", [False, True])
def test_headers_do_not_follow_a_redirect_to_another_host(
    server: Server, tmp_path: Path, is_same_host: bool
) -> None:
    with icecore.create(tmp_path / "r.icecore").writer() as writer:
        writer.array("/a", dtype="f8", shape=DATA.shape, chunks=(10, 1000))[...] = DATA
    other = Server(tmp_path)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    server.path, server.moved = tmp_path, f"http://127.0.0.1:{other.server_address[1]}"
    if is_same_host:
        server.moved, server.quirks = "/new", {"moved within"}
    try:
        repo = icecore.open(f"{address}/r.icecore", storage={"header.x-key": "k"})
        assert zoo.same(repo["/a"].read(), DATA)
    finally:
        other.shutdown()
        other.server_close()
    assert {key for _, key in server.seen} == {"k"}
    assert {key for _, key in other.seen} == (set() if is_same_host else {None})
