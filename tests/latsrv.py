"""The loopback HTTP server (crates/icecore/examples/latsrv) as a context manager."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from pathlib import Path
from typing import Any


class LatencyServer:
    """Serves a folder on 127.0.0.1 with a given latency, and counts.

    Args:
        binary: the built program.
        folder: what to serve.
        options: ``delay_ms``, ``mbps``, ``fail_every``, ``port``.
    """

    def __init__(self, binary: Path, folder: Path | str, **options: int) -> None:
        flags = [
            text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", str(value))
        ]
        self._process = subprocess.Popen(
            [str(binary), str(folder), *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        self.url = f"http://127.0.0.1:{self.port}"

    def stats(self) -> dict[str, int]:
        """Requests, heads, bytes, peak, connections, failures since the start or the last :meth:`reset`."""
        return self._get("/__stats")

    def reset(self) -> None:
        """Start counting anew."""
        self._get("/__reset")

    def kill(self) -> None:
        """End the server at once, as a crash would."""
        self._process.kill()
        self._process.wait()

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return json.load(answer)

    def __enter__(self) -> LatencyServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
