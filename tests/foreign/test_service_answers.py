"""The service gives the library's answers, and opens large granules with few requests."""

from __future__ import annotations

import json
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import icecore
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from serving import get, serving

h5pyd = pytest.importorskip("h5pyd")
pytestmark = pytest.mark.integration

MANY = 1000
SELECTIONS = ("", "[3:9,:]", "[::4,2]", "[10,1:7:3]", "[[0,5,19],:]", "[0:0,:]", "[7,3]")
DTYPES = ("i1", "u2", "i4", "u8", ">i2", ">f8", "f4", "f8", "bool", "S3")


def numpy_index(select: str) -> Any:
    return eval(f"np.s_{select}") if select else ...


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("answers")
    rng = np.random.default_rng(3)
    with h5py.File(place / "file.h5", "w") as file:
        for dtype in DTYPES:
            values = rng.integers(0, 100, (20, 8))
            group = file.create_group(f"types/{dtype.replace('>', 'big ')}")
            group.create_dataset("a", data=values.astype(dtype), chunks=(6, 5), compression="gzip")
    with h5py.File(place / "many.h5", "w") as file:
        for number in range(MANY):
            item = file.create_dataset(f"g{number % 10}/d{number}", data=np.arange(3) + number)
            item.attrs["number"] = number
    icecore.link(place / "file.h5", place / "linked")
    icecore.pack(place / "file.h5", place / "packed")
    return place


@pytest.fixture(scope="module")
def address(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(archive, "--cache", tmp_path_factory.mktemp("cache")) as found:
        yield found


def objects(address: str, domain: str) -> tuple[str, dict[str, Any]]:
    with urllib.request.urlopen(f"{address}/?domain={domain}&getobjs=1") as reply:
        body = json.load(reply)
    return body["root"], body["domain_objs"]


def by_path(address: str, domain: str, paths: list[str]) -> dict[str, Any]:
    body = json.dumps({"h5paths": paths}).encode()
    kind = {"content-type": "application/json"}
    status, _, found = get(f"{address}/?domain={domain}&follow_soft_links=1", kind, body)
    assert status == 200, found
    return json.loads(found)["h5paths"]


@pytest.mark.parametrize("domain", ["/file.h5", "/linked", "/packed"])
def test_selections_are_those_of_the_library(archive: Path, address: str, domain: str) -> None:
    name = "packed" if domain == "/packed" else "linked"
    repo = icecore.open(archive / name)
    top = "" if domain == "/file.h5" else "/file"
    folders = [f"types/{dtype.replace('>', 'big ')}/a" for dtype in DTYPES]
    found = by_path(address, domain, [f"{top}/{folder}" for folder in folders])
    for folder in folders:
        array = repo[f"/file/{folder}"]
        id = found[f"{top}/{folder}"]["id"]
        for select in SELECTIONS:
            expected = np.asarray(array[numpy_index(select)], array.dtype)
            query = urllib.parse.urlencode({"domain": domain, **({"select": select} if select else {})})
            url = f"{address}/datasets/{id}/value?{query}"
            status, _, sent = get(url, {"accept": "application/octet-stream"})
            # Packing stores little-endian elements.
            order = ">" if "big" in folder and domain != "/packed" else "<"
            assert status == 200
            assert sent == expected.astype(expected.dtype.newbyteorder(order)).tobytes(), (folder, select)
            if expected.dtype.kind != "S":
                _, _, text = get(url, {"accept": "application/json"})
                values = np.array(json.loads(text)["value"], expected.dtype)
                np.testing.assert_array_equal(values.reshape(expected.shape), expected)


def test_objects_by_path(address: str) -> None:
    _, all_of_them = objects(address, "/many.h5")
    found = by_path(address, "/many.h5", ["/g3/d13", "g3", "/"])
    assert found["/g3/d13"]["class"] == "dataset"
    assert found["g3"]["class"] == "group"
    assert {each["id"] for each in found.values()} <= set(all_of_them)
    for body, status in (({"h5paths": ["/g3/none"]}, 404), ({"h5paths": "/g3"}, 400), ({}, 400)):
        kind = {"content-type": "application/json"}
        assert get(f"{address}/?domain=/many.h5", kind, json.dumps(body).encode())[0] == status


def test_a_thousand_datasets_are_walked_with_few_requests(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import requests

    asked = []
    original = requests.Session.request
    monkeypatch.setattr(requests.Session, "request", lambda *a, **k: asked.append(a) or original(*a, **k))
    numbers: list[int] = []
    with h5pyd.File("/many.h5", "r", endpoint=address) as file:
        file.visititems(
            lambda _, item: numbers.append(item.attrs["number"]) if isinstance(item, h5pyd.Dataset) else None
        )
        assert file["g3/d13"].shape == (3,)
    assert sorted(numbers) == list(range(MANY))
    assert len(asked) <= 3
