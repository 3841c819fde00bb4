"""A folder on a loopback HTTP server that answers late, and counts requests and rounds of requests."""

from __future__ import annotations

import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType


class RoundServer:
    """Serves ``folder``; each answer waits for ``delay`` seconds.

    A round is a set of requests that were under way together: one that arrives after another was answered may
    have waited for it. :attr:`rounds` is the longest chain of requests that followed one another.
    """

    def __init__(self, folder: Path, delay: float = 0.03) -> None:
        spans: list[tuple[float, float]] = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self._answer(body=False)

            def do_GET(self) -> None:
                self._answer(body=True)

            def _answer(self, body: bool) -> None:
                began = time.monotonic()
                time.sleep(delay)
                path = folder / self.path.lstrip("/")
                spans.append((began, time.monotonic()))
                if not path.is_file():
                    return self._send(404, b"", {}, body)
                data = path.read_bytes()
                ends = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
                if ends is None:
                    return self._send(200, data, {}, body)
                first, last = ends.groups()
                start = int(first) if first else max(len(data) - int(last), 0)
                stop = min(int(last) + 1, len(data)) if first and last else len(data)
                self._send(
                    206, data[start:stop], {"Content-Range": f"bytes {start}-{stop - 1}/{len(data)}"}, body
                )

            def _send(self, status: int, data: bytes, more: dict[str, str], body: bool) -> None:
                self.send_response(status)
                for name, value in {
                    "Content-Length": str(len(data)),
                    "ETag": '"1"',
                    "Accept-Ranges": "bytes",
                    **more,
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                if body:
                    self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self._spans = spans
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def reset(self) -> None:
        """Start counting anew."""
        self._spans.clear()

    @property
    def requests(self) -> int:
        """Number of requests."""
        return len(self._spans)

    @property
    def rounds(self) -> int:
        """Length of the longest chain of requests that each began after the answer to the one before."""
        count, free = 0, 0.0
        for began, ended in sorted(self._spans, key=lambda span: span[1]):
            if began >= free:
                count, free = count + 1, ended
        return count

    def __enter__(self) -> RoundServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
