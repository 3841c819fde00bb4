"""A proxy in front of an S3 server that answers some requests with faults."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, unquote

#: faults that a second request does not meet
TRANSIENT = ("500", "503", "429", "slowdown", "reset", "half", "short", "lost")
#: faults that last: the kind of the error
LASTING = {"expired": "permission", "skew": "permission", "denied": "permission", "etag": "source-changed"}
_CODES = {
    "slowdown": (503, "SlowDown"),
    "expired": (400, "ExpiredToken"),
    "skew": (403, "RequestTimeTooSkewed"),
    "denied": (403, "AccessDenied"),
    "no bucket": (404, "NoSuchBucket"),
}


class FaultProxy(ThreadingHTTPServer):
    """Passes requests on to ``port``, unless ``fault(number, method, path)`` names a fault."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.target = port
        #: the header Host for the server, if it must differ (a signature contains it)
        self.host = ""
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.fault: Callable[[int, str, str], str | None] = lambda *_: None
        #: called before each request is passed on
        self.before: Callable[[], None] = lambda: None
        self.seen: list[tuple[str, str, str | None, str]] = []
        self._lock = threading.Lock()

    def choose(self, method: str, path: str, authorization: str) -> str | None:
        """The fault of the next request, which is recorded."""
        with self._lock:
            fault = self.fault(len(self.seen), method, path)
            self.seen.append((method, path, fault, authorization))
            return fault

    def handle_error(self, *_: object) -> None:
        """Clients break connections off; say nothing."""


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultProxy

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        fault = self.server.choose(self.command, self.path, self.headers.get("Authorization", ""))
        if fault in _CODES or fault in ("500", "503", "429"):
            self.refuse(fault)
            return
        if fault == "reset":
            self.cut()
            return
        if fault == "late":
            time.sleep(5)
        self.server.before()
        status, headers, data = self.forward(body)
        if fault == "lost":  # the server has done it; the answer is lost
            self.cut()
            return
        if fault == "etag":
            headers = [(k, '"0123456789abcdef"' if k.lower() == "etag" else v) for k, v in headers]
        sent = data[: len(data) // 2] if fault in ("half", "short") else data
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                self.send_header(name, value)
        declared = dict((k.lower(), v) for k, v in headers).get("content-length")
        if self.command != "HEAD":
            declared = str(len(sent) if fault == "short" else len(data))
        self.send_header("Content-Length", declared or "0")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(sent)
        if fault == "half":
            self.wfile.flush()
            self.cut()

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = answer

    def forward(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.target, timeout=30)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            connection.putheader(name, self.server.host or value if name.lower() == "host" else value)
        connection.endheaders(body or None)
        response = connection.getresponse()
        data = response.read()
        connection.close()
        return response.status, response.getheaders(), data

    def refuse(self, fault: str) -> None:
        status, code = _CODES.get(fault, (int(fault) if fault.isdigit() else 500, "InternalError"))
        text = f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
        self.send_response(status)
        if fault in ("503", "429"):
            self.send_header("Retry-After", "0")
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def cut(self) -> None:
        """Reset the connection."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()


class _GoogleRequest(_Request):
    """fake-gcs-server has no uploads and deletions of the XML interface: they become requests in JSON."""

    def forward(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        if self.command not in ("PUT", "DELETE"):
            return super().forward(body)
        bucket, _, key = self.path.partition("?")[0].lstrip("/").partition("/")
        name = quote(unquote(key), safe="")
        if self.command == "DELETE":
            status, _, _ = self.send_json("DELETE", f"/storage/v1/b/{bucket}/o/{name}", b"")
            return status, [], b""
        query = f"uploadType=media&name={name}"
        if (match := self.headers.get("x-goog-if-generation-match")) is not None:
            query += f"&ifGenerationMatch={match}"
        status, _, text = self.send_json("POST", f"/upload/storage/v1/b/{bucket}/o?{query}", body)
        if status != 200:
            return status, [], text
        made = json.loads(text)
        return 200, [("ETag", made["etag"]), ("x-goog-generation", made["generation"])], b""

    def send_json(self, method: str, path: str, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.target, timeout=30)
        connection.request(method, path, body)
        response = connection.getresponse()
        data = response.read()
        connection.close()
        return response.status, response.getheaders(), data

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _Request.answer


class GoogleProxy(FaultProxy):
    """The same in front of fake-gcs-server."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.RequestHandlerClass = _GoogleRequest
        self.host = f"127.0.0.1:{port}"
