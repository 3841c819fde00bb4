"""The HTTP store of the benchmarks, seen from outside: start it, and count what a block asks of it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

from child import Meter
from harness import ROOT

EXAMPLES = Path(os.environ.get("ICECORE_EXAMPLES", ROOT / "target/release/examples"))


@contextmanager
def serving(folder: str, *options: str) -> Iterator[tuple[int, int]]:
    """Runs `latsrv` over a folder while the block runs: its port and its process id."""
    server = EXAMPLES / "latsrv"
    if not server.exists():
        raise SystemExit("W2 needs its server: cargo build --release -p icecore --examples")
    command = [str(server), folder, *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        try:
            yield int(running.stdout.readline()), running.pid
        finally:
            running.stdin.close()


@contextmanager
def counted(port: int, meter: Meter, label: str) -> Iterator[None]:
    """Times a block and notes the server's counts of it."""
    reset(port)
    with meter(label):
        yield
    note(port, meter, label)


def reset(port: int) -> None:
    """Begin to count anew."""
    ask(port, "/__reset")


def note(port: int, meter: Meter, label: str) -> None:
    """Requests, MB of bodies, and the most requests in flight at once, since the last reset."""
    seen = json.loads(ask(port, "/__stats"))
    meter.extra[label] = {"requests": seen["requests"], "MB": seen["bytes"] / 1e6, "peak": seen["peak"]}


def ask(port: int, path: str) -> bytes:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path)
    body = connection.getresponse().read()
    connection.close()
    return body
