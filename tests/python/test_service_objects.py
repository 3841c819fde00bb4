"""HDF5 files that `icecore serve` serves in place: all objects, typed attributes, scales, paths."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import h5py
import numpy as np
import pytest
from serving import get, serving


def _objects(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(3)
        group = file.create_group("g")
        group["y"] = np.arange(3)
        group["back"] = file["/"]
        group["type"] = h5py.SoftLink("/type")
        file["same"] = group
        file["also x"] = file["x"]
        file["type"] = np.dtype([("a", "i4")])
        file["type"].attrs["of"] = "committed"
        file["soft"] = h5py.SoftLink("/later")
        file["to x"] = h5py.SoftLink("/x")
        file["ext"] = h5py.ExternalLink("other.h5", "/q")
        sequences = file.create_dataset("vlen", (2,), h5py.vlen_dtype("i4"))
        sequences[0], sequences[1] = [1], [2, 3]
        regions = file.create_dataset("region", (1,), h5py.regionref_dtype)
        regions[0] = file["x"].regionref[0:2]


def _attributes(path: Path) -> None:
    with h5py.File(path, "w") as file:
        for target in (file, file.create_group("g"), file.create_dataset("d", data=np.arange(2))):
            attrs = target.attrs
            attrs["f4"], attrs["i2"], attrs["one"] = np.float32(0.1), np.int16(3), np.array([5], "i4")
            attrs["texts"], attrs["null"] = np.array([b"x"], "S1"), h5py.Empty("f4")
            attrs["opaque"], attrs["nan"] = np.void(b"\1\2\3"), np.nan
            attrs["big"], attrs["flag"] = np.array([1], ">i2"), True
            attrs.create("record", np.array([(1, 2.5)], [("x", "i4"), ("y", "f4")]))
            attrs.create("enum", 5, dtype=h5py.enum_dtype({"A": 0, "B": 5}, "u1"))
            attrs["to"] = target.ref


def _scales(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["lat"] = np.linspace(-1, 1, 4)
        file["lat"].make_scale("lat")
        file["t"] = np.zeros(4, "f4")
        file["t"].dims[0].attach_scale(file["lat"])
        only = file.create_dataset("n", (3,), "f4")
        only.make_scale("This is a netCDF dimension but not a netCDF variable.         3")
        file["_nc4_non_coord_n"] = np.ones(3)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("files")
    _objects(folder / "objects.h5")
    _attributes(folder / "attributes.h5")
    _scales(folder / "scales.nc")
    with serving(folder, "--cache", str(tmp_path_factory.mktemp("cache"))) as address:
        yield address


def answer(url: str, path: str, domain: str, **params: str) -> dict[str, Any]:
    query = "&".join(f"{name}={quote(value)}" for name, value in {"domain": domain, **params}.items())
    status, _, body = get(f"{url}{path}?{query}")
    assert status == 200, body
    return json.loads(body)


def links(url: str, domain: str, group: str) -> dict[str, Any]:
    return {link["title"]: link for link in answer(url, f"/groups/{group}/links", domain)["links"]}


def test_every_link_of_a_file_is_listed(url):
    root = answer(url, "/", "/objects.h5")["root"]
    found = links(url, "/objects.h5", root)
    assert sorted(found) == ["also x", "ext", "g", "region", "same", "soft", "to x", "type", "vlen", "x"]
    assert found["g"]["id"] == found["same"]["id"]
    assert found["x"]["id"] == found["also x"]["id"]
    assert (found["soft"]["class"], found["soft"]["h5path"]) == ("H5L_TYPE_SOFT", "/later")
    assert (found["to x"]["class"], found["to x"]["h5path"]) == ("H5L_TYPE_SOFT", "/x")
    assert (found["ext"]["class"], found["ext"]["h5domain"]) == ("H5L_TYPE_EXTERNAL", "other.h5")
    inside = links(url, "/objects.h5", found["g"]["id"])
    assert inside["back"]["id"] == root
    for name, link in found.items():
        if "id" in link:
            one = answer(url, f"/{link['collection']}/{link['id']}", "/objects.h5", include_attrs="1")
            assert one["id"] == link["id"], name
    listed = {
        kind: len(answer(url, f"/{kind}", "/objects.h5")[kind])
        for kind in ("groups", "datasets", "datatypes")
    }
    assert listed == {"groups": 1, "datasets": 4, "datatypes": 1}
    objects = answer(url, "/", "/objects.h5", getobjs="1")["domain_objs"]
    assert sorted(each[0] for each in objects) == ["d", "d", "d", "d", "g", "g", "t"]


def test_values_that_are_not_served_are_refused_with_the_reason(url):
    root = answer(url, "/", "/objects.h5")["root"]
    found = links(url, "/objects.h5", root)
    for name, why in {"vlen": "variable-length sequences", "region": "region references"}.items():
        one = answer(url, f"/datasets/{found[name]['id']}", "/objects.h5")
        assert why in one["left_out"]
        status, _, body = get(f"{url}/datasets/{found[name]['id']}/value?domain=/objects.h5")
        assert status in (400, 415, 422, 501), body
        assert why in body.decode()


def test_attributes_have_their_types_and_shapes(url):
    root = answer(url, "/", "/attributes.h5")["root"]
    members = links(url, "/attributes.h5", root)
    places = [f"/groups/{root}", f"/groups/{members['g']['id']}", f"/datasets/{members['d']['id']}"]
    for place in places:
        found = answer(url, place, "/attributes.h5", include_attrs="1")["attributes"]
        kinds = {name: each["type"].get("base", each["type"]["class"]) for name, each in found.items()}
        shapes = {name: each["shape"].get("dims", each["shape"]["class"]) for name, each in found.items()}
        assert kinds["f4"] == "H5T_IEEE_F32LE"
        assert kinds["i2"] == "H5T_STD_I16LE"
        assert kinds["big"] == "H5T_STD_I16BE"
        assert (kinds["null"], shapes["null"]) == ("H5T_IEEE_F32LE", "H5S_NULL")
        assert (shapes["one"], shapes["texts"], shapes["record"]) == ([1], [1], [1])
        assert found["record"]["value"] == [[1, 2.5]]
        assert found["enum"]["type"]["mapping"] == {"A": 0, "B": 5}
        assert (found["opaque"]["type"]["class"], found["opaque"]["value"]) == ("H5T_OPAQUE", "AQID")
        assert found["nan"]["value"] == "NaN"
        assert found["to"]["value"] == place.lstrip("/")
        for name in found:
            status, _, body = get(
                f"{url}{place}/attributes/{name}/value?domain=/attributes.h5",
                {"Accept": "application/octet-stream"},
            )
            assert status == 200, (name, body)


def test_dimension_scales_of_a_file(url):
    root = answer(url, "/", "/scales.nc")["root"]
    members = links(url, "/scales.nc", root)
    assert sorted(members) == ["_nc4_non_coord_n", "lat", "n", "t"]
    objects = answer(url, "/", "/scales.nc", getobjs="1")["domain_objs"]
    attributes = {name: objects[link["id"]]["attributes"] for name, link in members.items()}
    assert attributes["lat"]["CLASS"]["value"] == "DIMENSION_SCALE"
    assert attributes["t"]["DIMENSION_LIST"]["value"] == [[f"datasets/{members['lat']['id']}"]]
    assert attributes["lat"]["REFERENCE_LIST"]["value"] == [[f"datasets/{members['t']['id']}", 0]]
    assert attributes["n"]["NAME"]["value"].startswith("This is a netCDF dimension")
    values = answer(url, f"/datasets/{members['_nc4_non_coord_n']['id']}/value", "/scales.nc")
    assert values["value"] == [1, 1, 1]


def test_a_group_as_a_domain_has_the_objects_below_it(url):
    root = answer(url, "/", "/objects.h5/g")["root"]
    found = links(url, "/objects.h5/g", root)
    assert sorted(found) == ["type", "y"]
    assert found["type"]["class"] == "H5L_TYPE_SOFT"
    values = answer(url, f"/datasets/{found['y']['id']}/value", "/objects.h5/g")
    assert values["value"] == [0, 1, 2]


def test_objects_by_their_paths(url):
    root = answer(url, "/", "/objects.h5")["root"]
    found = links(url, "/objects.h5", root)
    group = answer(url, f"/groups/{root}", "/objects.h5", h5path="g")
    assert group["id"] == found["g"]["id"]
    for path in ("/g/y", "g/y", "/same/y", "/g/back/g/y"):
        one = answer(url, "/", "/objects.h5", h5path=path)
        assert one["class"] == "dataset"
        assert one["id"] == answer(url, "/datasets/", "/objects.h5", h5path=path)["id"]
    assert answer(url, "/", "/objects.h5", h5path="/to x")["id"] == found["x"]["id"]
    for place in ("/?domain=/objects.h5&h5path=/none", f"/groups/{root}?domain=/objects.h5&h5path=x"):
        assert get(f"{url}{place}")[0] == 404
    for place in (
        f"/groups/{root}/links",
        f"/groups/{root}/attributes",
        f"/datasets/{found['x']['id']}/value",
    ):
        assert get(f"{url}{place}?domain=/objects.h5&h5path=/g")[0] == 400


def test_tables_have_a_length_and_ranges(tmp_path):
    import http.client

    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["g/x"], file["g/y"] = np.arange(1000), np.arange(1000) / 2
    with serving(tmp_path, "--cache", str(tmp_path / "cache")) as url:
        for suffix in ("parquet", "arrow", "csv"):
            path = f"/tables/t.h5/g.{suffix}"
            _, _, whole = get(f"{url}{path}")
            connection = http.client.HTTPConnection(url.removeprefix("http://"))
            connection.request("HEAD", path)
            head = connection.getresponse()
            head.read()
            assert int(head.headers["content-length"]) == len(whole)
            assert head.headers["accept-ranges"] == "bytes"
            for asked, part in {
                "bytes=0-3": whole[:4],
                "bytes=-8": whole[-8:],
                "bytes=5-": whole[5:],
            }.items():
                connection.request("GET", path, headers={"Range": asked})
                answer = connection.getresponse()
                assert (answer.status, answer.read()) == (206, part), (suffix, asked)
            connection.request("GET", path, headers={"Range": f"bytes={len(whole)}-"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 416


def test_lists_name_the_owner_of_each_domain(tmp_path):
    import base64

    users = tmp_path / "users"
    for name in ("admin", "ann"):
        subprocess.run(
            [sys.executable, "-m", "icecore", "serve", "--users", str(users), "--add-user", name],
            input="password\n",
            text=True,
            check=True,
        )
    (tmp_path / "r" / "home").mkdir(parents=True)
    login = {"Authorization": "Basic " + base64.b64encode(b"ann:password").decode()}
    with serving(tmp_path / "r", "--writable", "--users", users) as url:
        assert put(f"{url}/?domain=/home/ann", b'{"folder": 1}', login) == 201
        assert put(f"{url}/?domain=/home/ann/a.h5", b"", login) == 201
        for more in ("", "&verbose=1"):
            _, _, body = get(f"{url}/domains?domain=/home/ann/{more}", login)
            assert [each["owner"] for each in json.loads(body)["domains"]] == ["ann"], body


def put(url: str, body: bytes, headers: dict[str, str]) -> int:
    """Send a PUT request; return its status."""
    request = urllib.request.Request(url, body, headers, method="PUT")
    try:
        with urllib.request.urlopen(request) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
