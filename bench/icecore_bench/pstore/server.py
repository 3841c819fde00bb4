"""``python -m icecore_bench.pstore.server FOLDER DELAY``: an HTTP store on loopback with latency.

It prints its port and exits when its standard input is closed.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Handler(BaseHTTPRequestHandler):
    """Handler of GET and HEAD with byte ranges, like an object store."""

    protocol_version = "HTTP/1.1"
    root = Path()
    delay = 0.0

    def do_HEAD(self) -> None:
        """Send size and date."""
        self._answer(body=False)

    def do_GET(self) -> None:
        """Send an object or a range of it."""
        self._answer(body=True)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""

    def _answer(self, body: bool) -> None:
        time.sleep(self.delay)
        path = (self.root / self.path.split("?")[0].lstrip("/")).resolve()
        if not path.is_relative_to(self.root) or not path.is_file():
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        size = path.stat().st_size
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        first = int(asked[1]) if asked else 0
        last = min(int(asked[2]) if asked and asked[2] else size - 1, size - 1)
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("Last-Modified", self.date_time_string(int(path.stat().st_mtime)))
        self.end_headers()
        if body and last >= first:
            self.wfile.flush()
            with path.open("rb") as file:
                while first <= last:
                    first += os.sendfile(self.connection.fileno(), file.fileno(), first, last - first + 1)


class Server(ThreadingHTTPServer):
    """Server with a long queue: a client that does not fit into the queue would retry after a second."""

    daemon_threads = True
    request_queue_size = 128


def serve(folder: str, delay: float) -> None:
    """Serve until standard input ends."""
    Handler.root, Handler.delay = Path(folder).resolve(), delay
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1], float(sys.argv[2]))
