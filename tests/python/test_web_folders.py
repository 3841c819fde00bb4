"""Directories of plain web servers as sources: the pages of Apache, nginx, Python and PDS nodes."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import h5py
import icecore
import numpy as np
import pytest
from icecore import errors
from icecore.sources.files import web_folders
from icecore.sources.source_list import expand
from tables_kit import labelled

APACHE = (
    "<!DOCTYPE HTML><html><head><title>Index of {path}</title></head><body><pre>"
    '<a href="?C=N;O=D">Name</a> <hr><a href="/">Parent Directory</a>\n{rows}</pre>'
)
NGINX = '<html>\r\n<head></head><body><hr><pre><a href="../">../</a>\r\n{rows}</pre></body>'
PDS = (
    '<html><body><nav><a href="https://pds.example/">PDS</a><a href="/help.html">Help</a></nav><table>'
    '<tr><td><a href="#top">top</a></td></tr>{rows}</table></body></html>'
)
STYLES = {"apache": (APACHE, "{name}"), "nginx": (NGINX, "{name}"), "pds": (PDS, "{path}{name}")}


class Handler(BaseHTTPRequestHandler):
    """A file server whose directories are pages in the server's ``style``."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        server: Any = self.server
        server.paths.append(self.path)
        if self.path.startswith("/moved/"):
            return self.answer(302, b"", Location=self.path.removeprefix("/moved"))
        path = server.folder / unquote(self.path.partition("?")[0]).lstrip("/")
        if path.is_dir():
            return self.answer(200, self.listed(path).encode(), Content_Type="text/html")
        if not path.is_file():
            return self.answer(404, b"")
        data = path.read_bytes()
        asked = self.headers.get("Range", "").removeprefix("bytes=").partition("-")
        if not asked[0]:
            return self.answer(200, data)
        low, high = int(asked[0]), min(int(asked[2]) + 1, len(data))
        return self.answer(206, data[low:high], Content_Range=f"bytes {low}-{high - 1}/{len(data)}")

    def listed(self, folder: Path) -> str:
        page, form = STYLES[self.server.style]  # type: ignore[attr-defined]
        path = self.path.partition("?")[0]
        names = [each.name + ("/" if each.is_dir() else "") for each in sorted(folder.iterdir())]
        rows = (
            f'<a href="{form.format(path=path, name=quote(name))}">{name}</a> 2026-01-01 12K'
            for name in names
        )
        return page.format(path=path, rows="\n".join(rows))

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(params=[*STYLES])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.folder, server.style, server.paths = tmp_path / "www", request.param, []
    server.folder.mkdir()
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(5)


def fill(folder: Path) -> None:
    for name in ("a.h5", "b ü.h5", "2025/c.h5", "2026/deep/d.h5", "2026/.hidden.h5"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with h5py.File(folder / name, "w") as file:
            file["x"] = np.arange(3)
    (folder / "readme.txt").write_text("About this archive.\nNo table at all, but text.\n")


def test_patterns(archive: Any) -> None:
    fill(archive.folder)
    found = expand(f"{archive.url}/*.h5")
    assert found == [f"{archive.url}/a.h5", f"{archive.url}/b%20%C3%BC.h5"]
    assert archive.paths == ["/"]
    assert expand(f"{archive.url}/20*/*.h5") == [f"{archive.url}/2025/c.h5"]
    assert len(expand(f"{archive.url}/**/*.h5")) == 4
    with pytest.raises(errors.Error) as caught:
        expand(f"{archive.url}/*.TAB")
    assert caught.value.kind == "source-missing"


def test_a_directory_is_linked(archive: Any, tmp_path: Path) -> None:
    fill(archive.folder)
    assert expand(f"{archive.url}/") == expand(f"{archive.url}/**/*.h5")
    icecore.link(f"{archive.url}/2026/", tmp_path / "r.icecore")
    assert icecore.open(tmp_path / "r.icecore")["/d/x"][...].tolist() == [0, 1, 2]


def test_labels_of_a_volume(archive: Any, tmp_path: Path) -> None:
    label, _, columns = labelled(archive.folder, 300)
    icecore.pack(f"{archive.url}/*{label.suffix}", tmp_path / "r.icecore", group="/t")
    table = icecore.open(tmp_path / "r.icecore").table("/t")
    assert all(table[name][...].tolist() == values.tolist() for name, values in columns.items())


def test_a_redirected_directory(archive: Any) -> None:
    fill(archive.folder)
    assert web_folders.listing(f"{archive.url}/moved/2025/") == [f"{archive.url}/moved/2025/c.h5"]


def test_directories_that_cannot_be_listed(archive: Any) -> None:
    fill(archive.folder)
    with pytest.raises(errors.Error) as caught:
        expand(f"{archive.url}/nowhere/*.h5")
    assert caught.value.kind == "source-missing"
    (archive.folder / "2025" / "c.h5").unlink()
    with pytest.raises(errors.Error) as caught:
        expand(f"{archive.url}/2025/")
    assert caught.value.kind == "source-missing"
    with pytest.raises(errors.Error) as caught:
        web_folders.listing(f"{archive.url}/readme.txt")
    assert caught.value.kind == "unsupported"


def test_a_long_listing(archive: Any) -> None:
    rows = "".join(f'<a href="f{i:06}.h5">f{i:06}.h5</a>\n' for i in range(100_000))
    links = web_folders._Links(f"{archive.url}/")
    links.feed(APACHE.format(path="/", rows=rows))
    assert len(links.found) == 100_000
