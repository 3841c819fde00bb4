"""Files of a Pelican federation on loopback: discovery, director, and a cache that is another server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore import errors
from icecore.sources.files import pelican


class Director(BaseHTTPRequestHandler):
    """Names itself as the director, and redirects requests for files to the cache."""

    def log_message(self, *args: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        server: Any = self.server
        if self.path == "/.well-known/pelican-configuration":
            body, status, location = json.dumps({"director_endpoint": server.director}).encode(), 200, None
        else:
            body, status, location = b"", 307, f"{server.cache}{self.path}"
        self.send_response(status)
        if location is not None:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def federation(site: Any) -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Director)
    server.host = f"127.0.0.1:{server.server_port}"
    server.director, server.cache = f"http://{server.host}/", site.url
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    pelican._director.cache_clear()
    yield server
    pelican._director.cache_clear()
    server.shutdown()
    server.server_close()
    thread.join(5)


def test_a_file_is_linked(site: Any, federation: Any, tmp_path: Path, run: Any) -> None:
    np.save(site.folder / "x y.npy", np.arange(1000.0))
    name = f"pelican://{federation.host}/x y.npy"
    icecore.link(name, tmp_path / "r.icecore", group="/g")
    array = next(iter(icecore.open(tmp_path / "r.icecore").arrays.values()))
    assert array.linked
    assert array[...].tolist() == [*range(1000)]
    assert run("ls", name)[0] == 0


def test_what_is_no_federation(federation: Any) -> None:
    for name in ("osdf://", f"pelican://{federation.host}"):
        with pytest.raises(errors.Error) as caught:
            pelican.address(name)
        assert caught.value.kind == "invalid"
    federation.director = "nowhere"
    with pytest.raises(errors.Error) as caught:
        pelican.address(f"pelican://{federation.host}/x")
    assert caught.value.kind == "network"
    assert caught.value.hint
