"""A service of its own process for tests: started on a free port, ended by its process id."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def serving(*arguments: str | Path) -> Iterator[str]:
    """Run ``icecore serve`` and yield its address."""
    command = [sys.executable, "-m", "icecore", "serve", *map(str, arguments), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("serving at "), line + process.stderr.read()
        try:
            yield line.split()[2]
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)


def get(url: str, headers: dict[str, str] | None = None, data: bytes | None = None) -> tuple[int, str, bytes]:
    """Return status, content type and body of a reply."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers or {})) as reply:
            return reply.status, reply.headers["content-type"], reply.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["content-type"], error.read()
