"""`icecore serve`: tables in other formats, plain files indexed on first use, TLS, users of every face."""

from __future__ import annotations

import http.client
import io
import json
import os
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import h5py
import icecore
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import pytest
from serving import get, serving

ROWS = 300_000
#: a certificate for localhost and its key, made for these tests; valid for a hundred years
CERTIFICATE = """-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIUSyE2ajSaEYSRk9HeR9FfQx3IXDIwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNTE5MzAyM1oYDzIxMjYxMTAx
MTkzMDIzWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASkJbDL1LK66qQuiz4bpUQ5Yv3ldeTb87o9cvhFHJ+C0qZJgaHPDJMC
L5VjXJvYjsuQjZIsAearz4ShR/8UlL1jo28wbTAdBgNVHQ4EFgQUbuUfrMgwfQeX
uY7Tu+XlNT0zV5IwHwYDVR0jBBgwFoAUbuUfrMgwfQeXuY7Tu+XlNT0zV5IwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSQAwRgIhAMnf+h+Af0M/LlsJW2cD5n0oYYlnqbz2ZsGqNsqXxJFpAiEA
xEmVq662SBkm+bIogBCBT63DbJjQIm6rMS+GmPn0EJg=
-----END CERTIFICATE-----
"""
KEY = """-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgYoNEFqsh9+FIyyNg
/b84LA0VuumEL28MypTuZ/GXY4mhRANCAASkJbDL1LK66qQuiz4bpUQ5Yv3ldeTb
87o9cvhFHJ+C0qZJgaHPDJMCL5VjXJvYjsuQjZIsAearz4ShR/8UlL1j
-----END PRIVATE KEY-----
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a table, and two HDF5 files."""
    folder = tmp_path_factory.mktemp("served")
    random = np.random.default_rng(1)
    columns = {
        "lon": random.uniform(-180, 180, ROWS),
        "lat": random.uniform(-90, 90, ROWS),
        "h": np.arange(ROWS, dtype="i4"),
    }
    icecore.pack(columns, into=folder / "moon.icecore", group="/obs/rdr")
    for name in ("a.h5", "b.h5"):
        with h5py.File(folder / name, "w") as file:
            file["g/x"] = np.arange(10.0)
    return folder


@pytest.fixture(scope="module")
def endpoint(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(folder, "--cache", tmp_path_factory.mktemp("cache")) as address:
        yield address


def table(body: bytes, kind: str) -> pa.Table:
    """Parse a reply by its content type."""
    if "arrow.file" in kind:
        return pa.ipc.open_file(body).read_all()
    if "arrow.stream" in kind:
        return pa.ipc.open_stream(body).read_all()
    return pa.parquet.read_table(io.BytesIO(body)) if "parquet" in kind else pa.csv.read_csv(io.BytesIO(body))


@pytest.mark.parametrize("suffix", [".csv", ".arrow", ".arrows", ".parquet"])
def test_tables_in_every_format(folder: Path, endpoint: str, suffix: str) -> None:
    status, kind, body = get(f"{endpoint}/tables/moon.icecore/obs/rdr{suffix}")
    assert status == 200
    expected = icecore.open(folder / "moon.icecore").table("/obs/rdr").scan().read_all()
    got = table(body, kind)
    assert got.column_names == expected.column_names
    for name in expected.column_names:
        np.testing.assert_array_equal(got[name].to_numpy(), expected[name].to_numpy())


def test_accept_chooses_the_format(endpoint: str) -> None:
    url = f"{endpoint}/tables/moon.icecore/obs/rdr?limit=3"
    for accept, kind in [
        ("application/vnd.apache.parquet", "application/vnd.apache.parquet"),
        ("application/vnd.apache.arrow.stream, */*", "application/vnd.apache.arrow.stream"),
        ("*/*", "text/csv; charset=utf-8"),
    ]:
        status, got, body = get(url, {"accept": accept})
        assert (status, got, table(body, got).num_rows) == (200, kind, 3)
    status, _, body = get(url, {"accept": "image/png"})
    assert status == 422
    assert b"text/csv" in body


def test_rows_and_columns_are_selected(folder: Path, endpoint: str) -> None:
    box = {"type": "Polygon", "coordinates": [[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]]}
    where = {"where": "h < 100000", "columns": "h,lat", "within": json.dumps(box)}
    status, kind, body = get(f"{endpoint}/tables/moon.icecore/obs/rdr.arrow?{urlencode(where)}")
    assert status == 200, body
    source = icecore.open(folder / "moon.icecore").table("/obs/rdr").to_numpy()
    inside = (source["lon"] >= 0) & (source["lon"] <= 10) & (source["lat"] >= 0) & (source["lat"] <= 10)
    got = table(body, kind)
    assert got.column_names == ["h", "lat"]
    np.testing.assert_array_equal(got["h"].to_numpy(), source["h"][inside & (source["h"] < 100_000)])
    assert got.num_rows > 100


@pytest.mark.parametrize(
    ("query", "status", "word"),
    [
        ("colums=h", 400, "columns"),
        ("columns=nope", 404, "nope"),
        ("limit=many", 400, "limit"),
        ("xy=lon", 400, "xy"),
        ("where=" + quote("h >"), 400, "h >"),
        ("within=/etc/passwd", 400, "GeoJSON"),
    ],
)
def test_wrong_parameters_are_named(endpoint: str, query: str, status: int, word: str) -> None:
    got, _, body = get(f"{endpoint}/tables/moon.icecore/obs/rdr.csv?{query}")
    assert got == status, body
    assert word in body.decode()
    assert b"root:" not in body


def test_what_is_no_table_is_named(endpoint: str) -> None:
    for path, status in [
        ("moon.icecore/none.csv", 404),
        ("moon.icecore@v9/obs/rdr.csv", 404),
        ("none.csv", 404),
    ]:
        assert get(f"{endpoint}/tables/{path}")[0] == status, path


def test_files_are_indexed_on_first_use(folder: Path, endpoint: str) -> None:
    listed = json.loads(get(f"{endpoint}/domains?domain=/")[2])["domains"]
    assert [each["name"] for each in listed] == ["/a.h5", "/b.h5", "/moon.icecore"]
    chunk = get(f"{endpoint}/zarr/a.h5/g/x/c/0")[2]
    np.testing.assert_array_equal(np.frombuffer(chunk, "<f8"), np.arange(10.0))
    links = json.loads(get(f"{endpoint}/?domain=/a.h5/g&getobjs=1")[2])
    assert links["class"] == "domain"


def test_a_changed_file_is_indexed_again(tmp_path: Path) -> None:
    file, cache = tmp_path / "x.h5", tmp_path / "cache"
    for values in (np.arange(5.0), np.arange(7.0) + 1):
        with h5py.File(file, "w") as made:
            made["x"] = values
        with serving(file, "--cache", cache) as endpoint:
            assert get(f"{endpoint}/zarr/x.h5/x/c/0")[2] == values.tobytes()
    assert len(list(cache.glob("*.icecore"))) == 1
    with serving(file, "--cache", cache) as endpoint:
        assert get(f"{endpoint}/zarr/x.h5/x/c/0")[0] == 200
        with h5py.File(file, "w") as made:
            made["x"] = np.arange(9.0)
        deadline = 50
        while get(f"{endpoint}/zarr/x.h5/x/c/0")[2] != np.arange(9.0).tobytes():
            deadline -= 1
            assert deadline, "the old file is served"
            subprocess.run(["sleep", "0.1"], check=True)


def test_a_file_that_is_no_array_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.h5").write_bytes(b"not HDF5 at all" * 100)
    with serving(tmp_path, "--cache", tmp_path / "cache") as endpoint:
        status, _, body = get(f"{endpoint}/?domain=/bad.h5")
        assert 400 <= status < 500, body
        assert b"bad.h5" in body
        assert get(f"{endpoint}/domains")[0] == 200


def test_files_and_groups_are_read_while_clients_write(folder: Path, tmp_path: Path) -> None:
    with serving(folder, "--writable", "--cache", tmp_path) as endpoint:
        assert get(f"{endpoint}/?domain=/a.h5")[0] == 200
        assert get(f"{endpoint}/?domain=/moon.icecore/obs")[0] == 200
        root = json.loads(get(f"{endpoint}/?domain=/a.h5")[2])["root"]
        status, _, body = get(f"{endpoint}/groups/{root}/links/new?domain=/a.h5", data=None)
        assert status == 404, body
        request = urllib.request.Request(f"{endpoint}/groups?domain=/a.h5", b"{}", method="POST")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        assert refused.value.code == 403
        assert b"a.h5" in refused.value.read()


def test_https(folder: Path, tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    certificate.write_text(CERTIFICATE)
    key.write_text(KEY)
    with serving(folder / "moon.icecore", "--cert", certificate, "--key", key) as endpoint:
        assert endpoint.startswith("https://")
        trusting = ssl.create_default_context(cafile=certificate)
        with urllib.request.urlopen(f"{endpoint}/about", context=trusting) as reply:
            assert reply.status == 200
        with pytest.raises((OSError, http.client.HTTPException)):
            urllib.request.urlopen(endpoint.replace("https", "http") + "/about", timeout=5)
        with urllib.request.urlopen(f"{endpoint}/about", context=trusting) as reply:
            assert reply.status == 200


def test_a_wrong_certificate_is_named(folder: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    for arguments, word in [
        (["--cert", empty, "--key", empty], "no certificate"),
        (["--cert", tmp_path / "none", "--key", empty], "none"),
        (["--cert", empty], "belong together"),
    ]:
        command = [sys.executable, "-m", "icecore", "serve", folder, *arguments, "--port", "0"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=os.environ)
        assert done.returncode != 0
        assert word in done.stderr


def test_every_face_wants_a_user(folder: Path, tmp_path: Path) -> None:
    users = tmp_path / "users"
    add = [sys.executable, "-m", "icecore", "serve", "--users", str(users), "--add-user", "ann"]
    subprocess.run(add, input="secret\n", text=True, check=True, env=os.environ)
    ann = {"authorization": "Basic YW5uOnNlY3JldA=="}
    paths = [
        "/?domain=/moon.icecore",
        "/zarr/moon.icecore/zarr.json",
        "/tables/moon.icecore/obs/rdr.csv",
        "/dap/moon.icecore.dds",
        "/dap/moon.icecore.dmr",
        "/nc/moon.icecore/obs.nc",
        "/thredds/catalog.xml",
        "/thredds/moon.icecore/catalog.xml",
    ]
    with serving(folder, "--users", users, "--cache", tmp_path / "cache") as endpoint:
        for path in paths:
            assert get(endpoint + path)[0] == 401, path
            assert get(endpoint + path, ann)[0] == 200, path


def post(endpoint: str, name: str, body: object, accept: str = "text/csv") -> tuple[int, str, bytes]:
    """Ask for a product."""
    headers = {"accept": accept, "content-type": "application/json"}
    return get(f"{endpoint}/products/{name}", headers, json.dumps(body).encode())


def test_products_say_their_parameters(endpoint: str) -> None:
    listed = json.loads(get(f"{endpoint}/products")[2])["products"]
    assert {"atl06", "histogram", "query", "stats", "subset", "trend"} <= {each["name"] for each in listed}
    assert all(each["description"] for each in listed)
    schema = json.loads(get(f"{endpoint}/products/atl06")[2])
    assert schema["properties"]["res"]["unit"] == "m"
    assert get(f"{endpoint}/products/none")[0] == 404


def test_products_equal_those_of_the_library(folder: Path, endpoint: str) -> None:
    sources, parameters = ["/moon.icecore/obs"], {"where": "h < 1000", "box": [-90, -45, 90, 45]}
    body = {"sources": sources, "parameters": parameters}
    status, kind, reply = post(endpoint, "subset.parquet", body)
    assert status == 200, reply
    expected = icecore.run("subset", f"{folder / 'moon.icecore'}:/obs", **parameters).read_all()
    got = table(reply, kind)
    assert got.num_rows == expected.num_rows > 100
    for name in expected.column_names:
        np.testing.assert_array_equal(got[name].to_numpy(), expected[name].to_numpy())


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"parameters": {}}, "sources"),
        ({"sources": ["/none"]}, "none"),
        ({"sources": ["/moon.icecore/obs"], "parameters": {"wher": "h < 3"}}, "wher"),
        ({"sources": ["/moon.icecore/obs"], "parameters": {"poly": "/etc/passwd"}}, "poly"),
        ({"sources": ["/moon.icecore/obs"], "more": 1}, "more"),
    ],
)
def test_wrong_requests_for_products_are_named(endpoint: str, body: object, word: str) -> None:
    status, _, reply = post(endpoint, "subset", body)
    assert 400 <= status < 500, reply
    assert word in reply.decode()
    assert b"root:" not in reply


def test_a_body_that_is_no_json_is_refused(endpoint: str) -> None:
    for body in (b"", b"[", b"[1]", b"\xff"):
        status, _, reply = get(
            f"{endpoint}/products/stats", {"content-type": "application/json"}, body or b" "
        )
        assert status == 400, reply
