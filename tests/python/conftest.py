"""A web server for tests: files with ranges, and modes in which it misbehaves."""

from __future__ import annotations

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import pytest
from icecore.sources.files import http as sources_http


class Handler(BaseHTTPRequestHandler):
    """A static server with ranges; ``server.mode`` makes it misbehave."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        """Quiet."""

    def do_GET(self):
        server = self.server
        server.requests += 1
        if server.mode == "flaky" and server.requests % 3 == 1:
            return self.answer(503, b"")
        if server.mode == "later" and server.requests == 1:
            return self.answer(429, b"", Retry_After="17")
        if server.mode == "denied":
            return self.answer(403, b"")
        if self.path.startswith("/moved/"):
            return self.answer(302, b"", Location="/" + self.path.removeprefix("/moved/"))
        path = server.folder / unquote(self.path).lstrip("/")
        if not path.is_file():
            if server.mode == "unlisted":
                return self.answer(403, b"")
            if server.mode == "a page for all":
                return self.answer(200, b"<html>Welcome</html>", Content_Type="text/html")
            return self.answer(404, b"")
        data = path.read_bytes()
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if found is None or server.mode == "no ranges":
            return self.answer(200, data)
        low, high = int(found[1]), min(int(found[2]) + 1, len(data))
        if low >= len(data):
            return self.answer(416, b"")
        if server.mode == "capped":
            high = min(high, low + 70_000)
        if server.mode == "drip":
            high = min(high, low + 100)
        server.sent += high - low
        headers = {
            "Content-Range": f"bytes {low}-{high - 1}/{len(data)}",
            "ETag": f'"{server.etag}"',
            "Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT",
        }
        if server.mode == "weak":
            headers["ETag"] = 'W/"x"'
        if server.mode == "shifted":
            headers["Content-Range"] = f"bytes {low + 3}-{high + 2}/{len(data)}"
        if server.mode == "gzip":
            headers["Content-Encoding"] = "gzip"
        part = data[low : high - 5] if server.mode == "short once" else data[low:high]
        server.mode = server.mode.removesuffix("short once")
        return self.answer(206, part, **headers)

    def answer(self, status, body, **headers):
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.setattr(sources_http.time, "sleep", lambda seconds: None)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.folder, server.mode, server.etag, server.requests, server.sent = tmp_path, "", "one", 0, 0
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(5)
