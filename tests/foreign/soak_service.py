"""Soak of ``icecore serve --writable``: python tests/foreign/soak_service.py [SECONDS].

Readers, writers, slow clients, half-closed connections and malformed requests at the same time. Fails on a
status of 500 or above other than 503, on growing memory, on a service that does not end cleanly, and on a
repository that does not verify afterwards.
"""

from __future__ import annotations

import base64
import json
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

ROWS, COLUMNS = 4000, 64
MALFORMED = (
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET /datasets/d-x/value HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    b"\x00\xff" * 200,
    b"POST /datasets?domain=/d HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nConnection: close\r\n\r\n"
    b'{"type": [',
    b"PUT /?domain=/../x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
    b"GET /?domain=%FF%FE HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST /groups HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
)


class Service:
    """The process, and what its clients saw."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "icecore", "serve", "--writable", "--port", "0", str(folder)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        assert line.startswith("serving at "), line
        parts = urllib.parse.urlsplit(line.split()[2])
        self.address = (parts.hostname or "", parts.port or 0)
        self.seen: Counter[str] = Counter()
        self.wrong: list[str] = []

    def ask(self, connection: HTTPConnection, method: str, target: str, body: Any = None) -> bytes:
        """Send a request, count its status, and return the body."""
        is_bytes = isinstance(body, bytes)
        data = body if body is None or is_bytes else json.dumps(body).encode()
        kind = "application/octet-stream" if is_bytes else "application/json"
        connection.request(method, target, data, {"Content-Type": kind})
        reply = connection.getresponse()
        found = reply.read()
        self.seen[f"{method} {reply.status}"] += 1
        if reply.status >= 500 and reply.status != 503:
            self.wrong.append(f"{method} {target[:80]}: {reply.status} {found[:200]!r}")
        return found

    def memory(self) -> int:
        """Resident bytes that are not of files."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(status.split("RssAnon:")[1].split()[0])


def make(service: Service, name: str) -> str:
    connection = HTTPConnection(*service.address)
    root = json.loads(service.ask(connection, "PUT", f"/?domain={name}", {}))["root"]
    layout = {"layout": {"class": "H5D_CHUNKED", "dims": [500, COLUMNS]}}
    body = {"type": "H5T_STD_I64LE", "shape": [ROWS, COLUMNS], "creationProperties": layout}
    body["link"] = {"id": root, "name": "a"}
    return str(json.loads(service.ask(connection, "POST", f"/datasets?domain={name}", body))["id"])


def reader(service: Service, rng: random.Random, name: str, dataset: str) -> None:
    connection = HTTPConnection(*service.address)
    row = rng.randrange(ROWS - 1)
    stop = rng.randrange(row + 1, ROWS)
    target = f"/datasets/{dataset}/value?domain={name}&select=[{row}:{stop},{rng.randrange(COLUMNS)}]"
    service.ask(connection, "GET", target)
    service.ask(connection, "GET", f"/?domain={name}&getobjs=1")
    service.ask(connection, "GET", f"/datasets/{dataset}?domain={name}&include_attrs=1")


def writer(service: Service, rng: random.Random, name: str, dataset: str) -> None:
    connection = HTTPConnection(*service.address)
    row = rng.randrange(ROWS - 100)
    value = base64.b64encode(rng.randbytes(8 * 100 * COLUMNS)).decode()
    target = f"/datasets/{dataset}/value?domain={name}&select=[{row}:{row + 100},0:{COLUMNS}]"
    service.ask(connection, "PUT", target, {"value_base64": value})
    attribute = {"type": "H5T_STD_I32LE", "shape": [1], "value": [rng.randrange(1000)]}
    service.ask(connection, "PUT", f"/datasets/{dataset}/attributes/n?domain={name}&replace=1", attribute)
    if rng.random() < 0.2:
        service.ask(connection, "PUT", f"/?domain={name}&flush=1", {})


def slow(service: Service, rng: random.Random, name: str, dataset: str) -> None:
    """Read a value a few bytes at a time, and leave before its end."""
    with socket.create_connection(service.address) as stream:
        target = f"/datasets/{dataset}/value?domain={name}"
        stream.sendall(
            f"GET {target} HTTP/1.1\r\nHost: a\r\nAccept: application/octet-stream\r\n\r\n".encode()
        )
        for _ in range(rng.randrange(1, 20)):
            stream.recv(512)
            time.sleep(0.05)


def half_closed(service: Service, rng: random.Random, name: str, _dataset: str) -> None:
    """End the sending side in or after a request."""
    with socket.create_connection(service.address) as stream:
        text = f"PUT /?domain={name}&flush=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{{".encode()
        stream.sendall(text[: rng.randrange(1, len(text))])
        stream.shutdown(socket.SHUT_WR)
        stream.settimeout(5)
        stream.recv(4096)


def malformed(service: Service, rng: random.Random, _name: str, _dataset: str) -> None:
    with socket.create_connection(service.address) as stream:
        stream.settimeout(5)
        stream.sendall(rng.choice(MALFORMED))
        answer = stream.recv(4096)
        words = answer.split(None, 2)
        status = words[1].decode("latin-1") if len(words) > 1 else "closed"
        service.seen[f"malformed {status}"] += 1
        if status.startswith("5") and status != "503":
            service.wrong.append(f"malformed: {answer[:200]!r}")


Client = Callable[[Service, random.Random, str, str], None]
CLIENTS: tuple[Client, ...] = (reader, reader, reader, writer, slow, half_closed, malformed)


def work(service: Service, client: Client, number: int, until: float, domains: dict[str, str]) -> None:
    rng = random.Random(number)
    while time.monotonic() < until:
        name, dataset = rng.choice(list(domains.items()))
        try:
            client(service, rng, name, dataset)
        except (OSError, HTTPException) as error:
            # Rude clients are cut off; polite ones must not be.
            if client in (reader, writer):
                service.wrong.append(f"{client.__name__}: {error!r}")
        time.sleep(0.005)


def run(seconds: float, folder: Path) -> dict[str, Any]:
    """Run all clients for that time, and return counts, memory and what went wrong."""
    service = Service(folder)
    domains = {name: make(service, name) for name in ("/a", "/b")}
    until = time.monotonic() + seconds
    threads = [
        threading.Thread(target=work, args=(service, client, number, until, domains))
        for number, client in enumerate(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    memory = []
    while time.monotonic() < until:
        time.sleep(min(seconds / 20, 15))
        memory.append(service.memory())
    for thread in threads:
        thread.join()
    service.process.send_signal(signal.SIGTERM)
    code = service.process.wait(30)
    verified = [
        subprocess.run([sys.executable, "-m", "icecore", "verify", str(folder / name.strip("/"))]).returncode
        for name in domains
    ]
    return {
        "counts": dict(service.seen),
        "memory_mb": [round(value / 1e6) for value in memory],
        "wrong": service.wrong,
        "exit": code,
        "verified": verified,
    }


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 900
    with tempfile.TemporaryDirectory() as folder:
        found = run(seconds, Path(folder))
    print(json.dumps(found, indent=1))
    memory = found["memory_mb"]
    is_stable = memory[-1] <= 1.3 * max(memory[: max(len(memory) // 2, 1)]) + 20
    sys.exit(
        0 if not found["wrong"] and is_stable and found["exit"] == 0 and not any(found["verified"]) else 1
    )


if __name__ == "__main__":
    main()
