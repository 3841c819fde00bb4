"""Requests of the page: who may ask, what is refused."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import time
import urllib.error
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


def ask(url: str, method: str, user: str, body: object = None) -> int:
    """Return the status of a request that a user sends; the password is the user's name."""
    login = base64.b64encode(f"{user}:{user}".encode()).decode()
    headers = {"authorization": f"Basic {login}", "content-type": "application/json"} if user else {}
    data = json.dumps(body).encode() if body is not None else None
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method)) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.fixture(scope="module")
def owned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service with a domain of ann's that bob may not read, and a table in it."""
    folder = tmp_path_factory.mktemp("owned")
    users, data = folder / "users", folder / "data"
    data.mkdir()
    for name in ("ann", "bob", "admin"):
        command = [sys.executable, "-m", "icecore", "serve", "--users", str(users), "--add-user", name]
        subprocess.run(command, input=f"{name}\n", text=True, check=True)
    with serving(data, "--users", users, "--writable") as address:
        for name, rights in (("default", {"read": True}), ("ann", {"read": True, "create": True})):
            assert ask(f"{address}/acls/{name}?domain=/", "PUT", "admin", rights) == 201
        assert ask(f"{address}/?domain=/d", "PUT", "ann") == 201
        root = json.loads(_as("ann", f"{address}/?domain=/d"))["root"]
        for name in ("lon", "lat", "h"):
            made = {"type": "H5T_IEEE_F64LE", "shape": [3], "link": {"id": root, "name": name}}
            assert ask(f"{address}/datasets?domain=/d", "POST", "ann", made) == 201
        assert ask(f"{address}/groups?domain=/d", "POST", "ann", {"link": {"id": root, "name": "g"}}) == 201
        commit(address)
        yield address


def commit(address: str) -> None:
    """The page and products see committed versions, and so the rights of these."""
    assert ask(f"{address}/?domain=/d&flush=1", "PUT", "ann") in (200, 204)
    time.sleep(1.1)  # the service looks for new versions once a second


def _as(user: str, url: str) -> bytes:
    login = base64.b64encode(f"{user}:{user}".encode()).decode()
    with urllib.request.urlopen(
        urllib.request.Request(url, headers={"authorization": f"Basic {login}"})
    ) as reply:
        return bytes(reply.read())


#: every request of the page, and a path that it can answer
ASKED = {
    "children": "/",
    "node": "/h",
    "values": "/h",
    "axes": "/h",
    "plan": "/h",
    "trend": "/h",
    "map": "/",
    "storage": "/h",
    "versions": "/",
}


def test_every_request_of_the_page_is_known_here() -> None:
    from icecore.service.view.answers import ANSWERS

    sources = Path(__file__).parents[2] / "viewer" / "src"
    named = {
        name for path in sources.glob("*.ts*") for name in re.findall(r"\bapi\('(\w+)'", path.read_text())
    }
    assert named == set(ANSWERS) == set(ASKED)


@pytest.mark.parametrize("name", ASKED)
def test_rights_of_a_domain_hold_for_every_request_of_the_page(owned: str, name: str) -> None:
    url = f"{owned}/view/api/{name}?file=d&path={ASKED[name]}&x=lon&y=lat"
    assert ask(url, "GET", "") == 401
    assert ask(url, "GET", "bob") == 403
    assert ask(url, "GET", "ann") == 200


@pytest.mark.parametrize("name", ["stats.csv", "subset.arrow"])
def test_rights_of_a_domain_hold_for_products(owned: str, name: str) -> None:
    body = {"sources": ["/d"], "parameters": {"table": "/"}}
    assert ask(f"{owned}/products/{name}", "POST", "", body) == 401
    assert ask(f"{owned}/products/{name}", "POST", "bob", body) == 403
    assert ask(f"{owned}/products/{name}", "POST", "ann", body) == 200


def test_the_list_of_the_page_names_no_domain_without_its_right(owned: str) -> None:
    url = f"{owned}/domains?domain=/"
    assert ask(url, "GET", "") == 401
    assert [each["name"] for each in json.loads(_as("ann", url))["domains"]] == ["/d"]
    assert ask(f"{owned}/view/", "GET", "") == 401


def test_a_right_holds_from_the_version_that_gives_it(owned: str) -> None:
    url = f"{owned}/view/api/values?file=d&path=/h"
    assert ask(url, "GET", "bob") == 403
    for right, status in ((True, 200), (False, 403)):
        assert ask(f"{owned}/acls/bob?domain=/d", "PUT", "ann", {"read": right}) == 201
        commit(owned)
        assert ask(url, "GET", "bob") == status


def test_a_right_that_was_taken_away_holds_for_no_version_and_no_group(owned: str) -> None:
    assert ask(f"{owned}/acls/bob?domain=/d", "PUT", "ann", {"read": True}) == 201
    commit(owned)
    versions = json.loads(_as("ann", f"{owned}/view/api/versions?file=d"))
    before = versions["commits"][0]["id"]
    assert ask(f"{owned}/view/api/node?file=d@{before}&path=/h", "GET", "bob") == 200
    assert ask(f"{owned}/acls/bob?domain=/d", "PUT", "ann", {"read": False}) == 201
    commit(owned)
    for file in (f"d@{before}", "d/g", f"d@{before}/g", "d@main"):
        assert ask(f"{owned}/view/api/node?file={file}&path=/", "GET", "bob") == 403, file
        for path in (f"dap/{file}.dds", f"dap/{file}.dap", f"nc/{file}.nc", f"thredds/{file}/catalog.xml"):
            assert ask(f"{owned}/{path}", "GET", "bob") == 403, path
            assert ask(f"{owned}/{path}", "GET", "") == 401, path
        assert ask(f"{owned}/?domain=/{file}", "GET", "bob") == 403, file
        assert ask(f"{owned}/view/api/node?file={file}&path=/", "GET", "ann") == 200, file
