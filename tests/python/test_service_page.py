"""Requests of the page: who may ask, what is refused."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import icecore
import numpy as np
import pytest
from serving import get, serving


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("page") / "a.icecore"
    with icecore.create(str(found)).writer() as w:
        w.array("/x", "f4", (4, 5))[...] = np.arange(20).reshape(4, 5)
        w.array("/large", "f8", (10**8,), chunks=(10**6,))
        w.array("/z", "c8", (2,))[...] = [3 + 4j, 1]
    return found


@pytest.fixture(scope="module")
def api(place: Path) -> Iterator[str]:
    with serving(place) as address:
        yield f"{address}/view/api"


def test_a_slice_is_little_endian_numbers(api: str) -> None:
    status, kind, body = get(f"{api}/values?file=a.icecore&path=/x&selection=1:3,::2")
    assert (status, kind) == (200, "application/octet-stream")
    assert np.frombuffer(body, "<f4").tolist() == [5, 7, 9, 10, 12, 14]
    assert np.frombuffer(get(f"{api}/values?file=a.icecore&path=/z")[2], "<f8").tolist() == [5, 1]


@pytest.mark.parametrize(
    ("request_", "status", "kind"),
    [
        ("nothing?file=a.icecore", 404, "not-found"),
        ("node?path=/x", 400, "invalid"),
        ("node?file=b.icecore", 404, "not-found"),
        ("node?file=a.icecore@v9", 404, "not-found"),
        ("node?file=../a.icecore", 400, "invalid"),
        ("node?file=a.icecore&path=/nope", 404, "not-found"),
        ("values?file=a.icecore&path=/", 400, "mismatch"),
        ("values?file=a.icecore&path=/x&selection=0", 400, "selection"),
        ("values?file=a.icecore&path=/x&selection=0,a", 400, "selection"),
        ("values?file=a.icecore&path=/x&selection=0,::0", 400, "selection"),
        ("values?file=a.icecore&path=/x&selection=9,0", 400, "selection"),
        ("values?file=a.icecore&path=/x&field=q", 404, "not-found"),
        ("values?file=a.icecore&path=/large", 413, "memory"),
        ("trend?file=a.icecore&path=/x", 422, "unsupported"),
        ("trend?file=a.icecore&path=/large", 413, "memory"),
        ("trend?file=a.icecore&path=/large&start=a", 400, "invalid"),
        ("trend?file=a.icecore&path=/large&start=nan&stop=5", 400, "invalid"),
        ("trend?file=a.icecore&path=/large&stop=1e999", 400, "invalid"),
        ("trend?file=a.icecore&path=/large&start=9&stop=3", 400, "selection"),
        ("map?file=a.icecore&path=/", 422, "unsupported"),
    ],
)
def test_bad_requests_say_what_is_wrong(api: str, request_: str, status: int, kind: str) -> None:
    found, _, body = get(f"{api}/{request_}")
    assert (found, json.loads(body)["kind"]) == (status, kind)
    assert json.loads(body)["hint"]


@pytest.mark.parametrize("name", ["..%2Fopened.py", "../opened.py", "nothing.js", "index.html.gz", "%00"])
def test_only_files_of_the_page_are_sent(api: str, name: str) -> None:
    assert get(f"{api.removesuffix('/api')}/{name}")[0] in (400, 404)


def test_a_browser_is_led_to_the_page_and_a_program_is_not(api: str) -> None:
    root = api.removesuffix("view/api")
    with urllib.request.urlopen(urllib.request.Request(root, headers={"accept": "text/html"})) as reply:
        assert reply.url == f"{root}view/"
        assert "default-src 'none'" in reply.headers["content-security-policy"]
    assert get(root)[1].startswith("application/json")


def test_users_without_the_right_get_nothing(place: Path, tmp_path: Path) -> None:
    users = tmp_path / "users"
    command = [sys.executable, "-m", "icecore", "serve", "--users", str(users), "--add-user", "ann"]
    subprocess.run(command, input="secret\n", text=True, check=True)
    right = {"authorization": f"Basic {base64.b64encode(b'ann:secret').decode()}"}
    wrong = {"authorization": f"Basic {base64.b64encode(b'ann:guess').decode()}"}
    with serving(place, "--users", users) as address:
        url = f"{address}/view/api/values?file=a.icecore&path=/x&selection=0,0"
        same = f"{address}/datasets?domain=/a.icecore"
        assert get(url, wrong)[0] == get(same, wrong)[0] == 401
        assert get(url, right)[0] == get(same, right)[0] == 200
        assert get(url)[0] == get(same)[0]
