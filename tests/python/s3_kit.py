"""A bucket in memory on loopback: lists, whole objects and ranges of them, no writes."""

from __future__ import annotations

import hashlib
import threading
import urllib.parse
from collections import Counter
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from xml.sax.saxutils import escape


class Bucket(ThreadingHTTPServer):
    """The objects of one bucket, by key. ``requests`` counts lists, heads and reads."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, bytes] = {}
        self.requests: Counter[str] = Counter()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    @property
    def options(self) -> dict[str, str]:
        """Storage options for ``s3://bucket``."""
        url = f"http://127.0.0.1:{self.server_address[1]}"
        keys = {"access_key_id": "a", "secret_access_key": "b", "region": "us-east-1"}
        return {"endpoint_url": url, **keys}


class _Handler(BaseHTTPRequestHandler):
    server: Bucket
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        key = urllib.parse.unquote(url.path).removeprefix("/bucket").removeprefix("/")
        if not key:
            self.server.requests["list"] += 1
            self._answer(200, self._list(query.get("prefix", "")), {"Content-Type": "application/xml"})
            return
        self.server.requests[self.command] += 1
        if key not in self.server.objects:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>", {})
            return
        body = self.server.objects[key]
        headers = {"ETag": f'"{hashlib.md5(body).hexdigest()}"', "Last-Modified": formatdate(0, usegmt=True)}
        asked = self.headers.get("Range", "").removeprefix("bytes=")
        if self.command == "HEAD":
            self._answer(200, b"", {**headers, "Content-Length": str(len(body))})
        elif asked:
            first, _, last = asked.partition("-")
            start = int(first) if first else max(len(body) - int(last), 0)
            stop = min(int(last) + 1, len(body)) if first and last else len(body)
            headers["Content-Range"] = f"bytes {start}-{stop - 1}/{len(body)}"
            self._answer(206, body[start:stop], headers)
        else:
            self._answer(200, body, headers)

    do_HEAD = do_GET

    def _list(self, prefix: str) -> bytes:
        items = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            f'<ETag>"{hashlib.md5(body).hexdigest()}"</ETag><Size>{len(body)}</Size></Contents>'
            for key, body in sorted(self.server.objects.items())
            if key.startswith(prefix)
        )
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{items}</ListBucketResult>".encode()
