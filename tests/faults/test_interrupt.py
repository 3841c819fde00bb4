"""Ctrl-C ends a long read soon, and the reader still works afterwards."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest

CHILD = """
import sys, icecore
array = icecore.open(sys.argv[1])["/f/x"]
print("reading", flush=True)
try:
    array.read()
except KeyboardInterrupt:
    print("stopped", array[0, :3].tolist(), flush=True)
"""


class Stalling(BaseHTTPRequestHandler):
    """Serves a file by ranges; once ``stall`` is set, large ranges are never answered."""

    protocol_version = "HTTP/1.1"
    content = b""
    stall = False

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self.reply(b"", len(self.content), 200)

    def do_GET(self) -> None:
        a, _, b = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
        first, last = int(a), min(int(b) if b else len(self.content) - 1, len(self.content) - 1)
        if self.stall and last - first > 1_000_000:
            time.sleep(60)
        self.send = self.content[first : last + 1]
        self.reply(self.send, len(self.send), 206, f"bytes {first}-{last}/{len(self.content)}")

    def reply(self, body: bytes, length: int, status: int, span: str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        self.send_header("Accept-Ranges", "bytes")
        if span:
            self.send_header("Content-Range", span)
        self.end_headers()
        self.wfile.write(body)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_a_read_that_waits(tmp_path: Path, repo_path: str) -> None:
    data = np.random.default_rng(1).normal(size=(40, 100_000))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=data, chunks=(1, 100_000))
    Stalling.content, Stalling.stall = (tmp_path / "x.h5").read_bytes(), False
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stalling)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        icecore.link(f"http://127.0.0.1:{server.server_address[1]}/x.h5", repo_path, group="/f")
        Stalling.stall = True
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, repo_path],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "reading\n"
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)  # the server would stall for a minute
        assert out.startswith("stopped"), err
        assert out.split(" ", 1)[1].strip() == str(data[0, :3].tolist())
    finally:
        server.shutdown()
        server.server_close()
