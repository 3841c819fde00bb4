"""Servers of the study: ``icecore serve``, and HSDS where it is installed."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from icecore import errors

USER, PASSWORD = "bench", "bench"
#: the bucket of HSDS: a directory in its root directory
BUCKET = "hsdstest"


@dataclass(frozen=True)
class Running:
    """A server, and the processes that belong to it."""

    endpoint: str
    process: int

    def cpu(self) -> float:
        """User and system seconds of the process and its children."""
        tick = os.sysconf("SC_CLK_TCK")
        return sum(sum(map(int, _stat(pid)[11:13])) for pid in _family(self.process)) / tick

    def peak(self) -> int:
        """Largest resident bytes so far that are not of files, of the process itself."""
        status = Path(f"/proc/{self.process}/status").read_text()
        found = re.search(r"RssAnon:\s+(\d+)", status)
        return 1024 * int(found[1]) if found else 0

    def requests(self) -> int | None:
        """Requests answered so far; None for a server without that metric."""
        try:
            with urllib.request.urlopen(f"{self.endpoint}/metrics", timeout=10) as reply:
                text = reply.read().decode()
        except (urllib.error.URLError, OSError):
            return None
        counts = re.findall(r'icecore_requests_total\{.*route="(?!/metrics)[^"]*".*\} (\d+)', text)
        return sum(map(int, counts)) if counts else None


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _family(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += _family(int(child))
    return found


@contextlib.contextmanager
def icecore_server(folder: Path, *options: str) -> Iterator[Running]:
    """Serve a directory with ``icecore serve``."""
    command = [sys.executable, "-m", "icecore", "serve", "--port", "0", *options, str(folder)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        if not line.startswith("serving at "):
            raise errors.make("internal", f"icecore serve did not start: {line}")
        try:
            yield Running(line.split()[2], process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def hsds_program() -> str | None:
    """The ``hsds`` program: of HSDS_PROGRAM, or on the path."""
    return os.environ.get("HSDS_PROGRAM") or shutil.which("hsds")


@contextlib.contextmanager
def hsds_server(program: str, folder: Path) -> Iterator[Running]:
    """Serve with HSDS in its local mode: one node for requests, one for data."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / BUCKET).mkdir(parents=True)
    (folder / "users").write_text(f"admin:admin\n{USER}:{PASSWORD}\n")
    options = (
        f"--root_dir {folder} --bucket_name {BUCKET} --password_file {folder / 'users'} --host 127.0.0.1"
    )
    command = [program, *options.split(), "--port", str(port), "--count", "1", "--loglevel", "ERROR"]
    with subprocess.Popen(
        [*command, "--logfile", str(folder / "log")],
        cwd=folder,
        # The program may belong to another Python.
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        running = Running(f"http://127.0.0.1:{port}", process.pid)
        try:
            _await_ready(running)
            yield running
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)


def _await_ready(running: Running, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with (
            contextlib.suppress(urllib.error.URLError, OSError),
            urllib.request.urlopen(f"{running.endpoint}/about", timeout=5) as reply,
        ):
            if b"READY" in reply.read():
                return
        time.sleep(0.5)
    raise errors.make("internal", "HSDS did not become ready within 60 s")
