"""The HTTP service and requests of strangers: names, rights, origins, secrets, products, messages."""

from __future__ import annotations

import base64
import http.client
import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import h5py
import numpy as np
import pytest
from icecore.cli.serve import warnings
from serving import serving

PASSWORDS = {"admin": "a", "ann": "b", "bob": "c"}


class Client:
    """Requests to a service."""

    def __init__(self, endpoint: str) -> None:
        self.port = int(endpoint.rsplit(":", 1)[1])

    def ask(
        self, method: str, path: str, body: Any = None, user: str = "", headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of a reply."""
        headers = dict(headers or {})
        if user:
            word = base64.b64encode(f"{user}:{PASSWORDS[user]}".encode()).decode()
            headers["Authorization"] = f"Basic {word}"
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            return reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    with h5py.File(folder / "a.h5", "w") as file:
        file["x"] = np.arange(10)
        file["g/y"] = np.arange(5)
    (folder / "bad.h5").write_bytes(b"password=hunter2")
    return folder


@pytest.fixture(scope="module")
def open_service(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(archive, "--writable", "--cache", tmp_path_factory.mktemp("cache")) as endpoint:
        yield Client(endpoint)


@pytest.fixture(scope="module")
def with_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("owned")
    users = tmp_path_factory.mktemp("users") / "users"
    for name, word in PASSWORDS.items():
        command = [sys.executable, "-m", "icecore", "serve", "--users", str(users), "--add-user", name]
        subprocess.run(command, input=word, text=True, check=True, capture_output=True)
    with serving(folder, "--writable", "--users", users) as endpoint:
        yield Client(endpoint)


RESERVED = [
    "snapshots",
    "refs",
    "repo",
    "manifests",
    "chunks",
    "config.yaml",
    "zarr.json",
    ".icecore.lock",
    ".x",
    "..",
    "c",
]
STRANGE = ["a" * 256, "x\r\ny", "x\0y", "x\\y", "a*", "-rf", "x\u202ey", "x.", "x\x7f"]


@pytest.mark.parametrize("is_folder", [False, True])
@pytest.mark.parametrize("name", RESERVED + STRANGE)
def test_names_that_could_do_harm_are_refused(open_service: Client, name: str, is_folder: bool) -> None:
    body = {"folder": 1} if is_folder else None
    status, _, reply = open_service.ask("PUT", f"/?domain=/{quote(name)}", body)
    assert status == 400, reply
    assert open_service.ask("GET", "/?domain=/a.h5")[0] == 200


def test_a_missing_domain_of_any_depth_is_a_quick_404(open_service: Client) -> None:
    for parts in (2, 60, 2000):
        status, _, reply = open_service.ask("GET", "/?domain=" + "/d" * parts)
        assert (status, json.loads(reply)["kind"]) == (404, "not-found")
    assert open_service.ask("GET", "/?domain=" + "/d" * 2100)[0] == 400


@pytest.mark.parametrize(
    "path",
    [
        "/?domain=/bad.h5",
        "/view/api/node?file=/a.h5&path=/no",
        "/zarr/bad.h5/zarr.json",
        "/tables/a.h5/no.csv",
        "/zarr/a.h5/no/c/0",
    ],
)
def test_messages_have_no_paths_and_no_bytes_of_files(open_service: Client, archive: Path, path: str) -> None:
    status, headers, reply = open_service.ask("GET", path)
    assert 400 <= status < 500, reply
    assert not [word for word in (str(archive).encode(), b"hunter2", b"/tmp") if word in reply]
    assert headers["x-content-type-options"] == "nosniff"


def test_pages_of_other_origins_get_nothing(open_service: Client) -> None:
    evil = {"Origin": "https://evil.example"}
    for method, path in (
        ("GET", "/domains"),
        ("DELETE", "/?domain=/a.h5"),
        ("PUT", "/?domain=/n.h5"),
        ("POST", "/groups?domain=/a.h5"),
    ):
        status, headers, _ = open_service.ask(method, path, headers=evil)
        assert (status, headers.get("access-control-allow-origin")) == (403, None)
    ask = {**evil, "Access-Control-Request-Method": "DELETE"}
    assert "access-control-allow-origin" not in open_service.ask("OPTIONS", "/?domain=/a.h5", headers=ask)[1]
    image = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert open_service.ask("GET", "/domains", headers=image)[0] == 403
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert open_service.ask("GET", "/domains", headers=link)[0] == 200
    own = {"Origin": f"http://127.0.0.1:{open_service.port}"}
    assert open_service.ask("GET", "/domains", headers=own)[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "localhost@evil.example", ""]
)
def test_a_foreign_host_is_not_answered(open_service: Client, host: str) -> None:
    assert open_service.ask("GET", "/domains", headers={"Host": host})[0] == 421
    assert open_service.ask("GET", "/domains", headers={"Host": "localhost:1"})[0] == 200


def test_a_named_origin_may_use_the_service(archive: Path, tmp_path: Path) -> None:
    with serving(
        archive, "--writable", "--cache", tmp_path, "--origin", "https://viewer.example.org"
    ) as endpoint:
        client = Client(endpoint)
        page = {"Origin": "https://viewer.example.org"}
        status, headers, _ = client.ask("GET", "/domains", headers=page)
        assert (status, headers["access-control-allow-origin"]) == (200, "https://viewer.example.org")
        assert client.ask("PUT", "/?domain=/made.h5", headers=page)[0] == 201
        assert client.ask("DELETE", "/?domain=/made.h5", headers=page)[0] == 200
        assert client.ask("GET", "/domains", headers={"Host": "viewer.example.org"})[0] == 200
        assert client.ask("GET", "/domains", headers={"Origin": "https://other.example.org"})[0] == 403


def test_only_who_knows_its_secret_reads_what_view_shows(archive: Path) -> None:
    command = [sys.executable, "-m", "icecore", "view", str(archive / "a.h5"), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.match(
                r"http://127\.0\.0\.1:(\d+)/([\w-]{32,})/view/\?repo=a\.h5", process.stdout.readline()
            )
            assert found
            client = Client(f"x:{found[1]}")
            assert client.ask("GET", f"/{found[2]}/view/")[0] == 200
            assert client.ask("GET", f"/{found[2]}/view/api/node?file=a.h5&path=/x")[0] == 200
            for path in ("/", "/domains", "/health", "/view/", f"/{found[2][:-1]}/domains", f"/{found[2]}"):
                assert client.ask("GET", path)[0] == 403, path
        finally:
            process.terminate()


def test_only_admin_creates_at_the_top_and_gives_others_the_right(with_users: Client) -> None:
    for body in (None, {"folder": 1}):
        assert with_users.ask("PUT", "/?domain=/top", body, "bob")[0] == 403
    assert with_users.ask("PUT", "/acls/bob?domain=/", {"read": True, "create": True}, "ann")[0] == 403
    assert with_users.ask("PUT", "/acls/bob?domain=/", {"read": True, "create": True}, "admin")[0] == 201
    assert with_users.ask("PUT", "/?domain=/bobs.h5", None, "bob")[0] == 201
    assert with_users.ask("PUT", "/?domain=/anns.h5", None, "ann")[0] == 403
    assert with_users.ask("PUT", "/?domain=/other.h5", {"owner": "ann"}, "bob")[0] == 403
    assert with_users.ask("GET", "/acls/bob?domain=/", None, "bob")[0] == 200


def test_a_user_makes_the_own_home_only(with_users: Client) -> None:
    assert with_users.ask("PUT", "/?domain=/home", {"folder": 1}, "admin")[0] == 201
    assert with_users.ask("PUT", "/?domain=/home/ann", {"folder": 1}, "bob")[0] == 403
    assert with_users.ask("PUT", "/?domain=/home/ann", {"folder": 1}, "ann")[0] == 201
    assert with_users.ask("PUT", "/?domain=/home/ann/x.h5", None, "ann")[0] == 201


def test_health_names_nothing_to_strangers(with_users: Client) -> None:
    status, _, reply = with_users.ask("GET", "/health")
    assert (status, set(json.loads(reply))) == (200, {"status", "seconds"})
    assert with_users.ask("GET", "/domains")[0] == 401


def test_the_login_comes_before_the_body(with_users: Client) -> None:
    head = b"PUT /datasets/x/value?domain=/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", with_users.port), 10) as stream:
        stream.sendall(head)
        assert stream.recv(100).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("within", '"/etc/passwd"'),
        ("within", "1"),
        ("within", "[" * 100_000),
        ("limit", "9" * 5000),
        ("limit", "²"),
    ],
)
def test_tables_open_no_files_of_parameters(open_service: Client, name: str, value: str) -> None:
    status, _, reply = open_service.ask("GET", f"/tables/a.h5/g.csv?{name}={quote(value)}")
    if len(value) < 60_000:
        assert (status, b"root:" in reply) == (400, False), reply
    else:
        assert status in (400, 414, 431)


@pytest.mark.parametrize(
    "value", ['"/etc/passwd"', "/etc/passwd", "1", ["/etc/passwd"], 5, "file:///etc/passwd"]
)
def test_products_open_no_files_of_parameters(open_service: Client, value: Any) -> None:
    for product, name in (("stats", "poly"), ("atl06", "poly"), ("atl06", "atl08")):
        more = {"atl08_class": [1]} if name == "atl08" else {}
        body = {"sources": ["/a.h5"], "parameters": {name: value, **more}}
        status, _, reply = open_service.ask("POST", f"/products/{product}.csv", body)
        assert (status // 100, b"root:" in reply) == (4, False), reply


@pytest.mark.parametrize(
    "body", [b"1," * 4_000_000, b"[" * 200_000, b'{"a":' * 200_000, b"[[],[],[]," * 200_000]
)
@pytest.mark.parametrize(
    "path",
    ["/products/stats.csv", "/groups?domain=/a.h5", "/?domain=/a.h5", "/datasets/x/value?domain=/a.h5"],
)
def test_large_json_costs_little(open_service: Client, path: str, body: bytes) -> None:
    status, _, _ = open_service.ask("POST", path, b"[" + body + b"1]")
    assert status in (400, 403, 404, 413)


@pytest.mark.parametrize(
    "headers",
    [{"Content-Encoding": "gzip"}, {"Content-Encoding": "zstd, gzip"}],
)
def test_compressed_bodies_are_refused(open_service: Client, headers: dict[str, str]) -> None:
    assert open_service.ask("POST", "/products/stats.csv", b"\x1f\x8b", headers=headers)[0] == 415


def test_operators_are_warned() -> None:
    assert warnings("127.0.0.1", False, False, True) == [] == warnings("::1", False, False, True)
    assert len(warnings("0.0.0.0", False, False, True)) == 2
    assert "read and change" in warnings("0.0.0.0", False, False, True)[0]
    assert "passwords" in warnings("::", True, False, False)[0]
    assert warnings("192.0.2.1", True, True, False) == []
