"""A plain web server of a directory with byte ranges, as buckets have; it counts requests."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked: list[str]

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.asked.append(self.path)
        given = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("range", ""))
        file = Path(self.translate_path(self.path))
        if given is None or not file.is_file():
            return super().do_GET()
        data = file.read_bytes()
        start, end = int(given[1]), min(int(given[2]), len(data) - 1)
        self.send_response(206)
        self.send_header("Content-Length", str(end - start + 1))
        self.send_header("Content-Range", f"bytes {start}-{end}/{len(data)}")
        self.end_headers()
        self.wfile.write(data[start : end + 1])
        return None


@contextmanager
def plain_server(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the address of a server of ``folder``, and the list of paths that are asked for."""
    asked: list[str] = []

    class Handler(_Handler):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            self.asked = asked
            super().__init__(*arguments, directory=str(folder), **options)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    worker = threading.Thread(target=server.serve_forever, daemon=True)
    worker.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
        worker.join()
