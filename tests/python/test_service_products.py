"""Products of other packages on a server; clients that close the connection."""

from __future__ import annotations

import http.client
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import icecore
import numpy as np
import pytest
from serving import get, serving

PARTS = 2000
#: writes a line for each part that it computes
MODULE = f'''
from typing import Annotated
import pyarrow as pa
from icecore.products import Field, Inputs, Rows

def parts(inputs: Inputs, log: Annotated[str, Field("A file.")]) -> Rows:
    """Parts, of 30,000 rows each."""
    schema = pa.schema([("n", pa.int64())])
    def batches():
        for part in range({PARTS}):
            with open(log, "a") as file:
                file.write("x")
            yield pa.record_batch({{"n": pa.array([part] * 30_000, pa.int64())}}, schema=schema)
    return Rows(schema, batches())
'''


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package that registers the product ``parts``, and a repository."""
    place = tmp_path_factory.mktemp("packages")
    (place / "partly.py").write_text(MODULE)
    info = place / "partly-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: partly\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[icecore.products]\nparts = partly:parts\n")
    with icecore.create(str(place / "a.icecore")).writer() as w:
        w.array("/t/x", "f8", (3,))[...] = np.arange(3.0)
    return place


@pytest.fixture(scope="module")
def environment(packages: Path) -> Iterator[None]:
    patch = pytest.MonkeyPatch()
    before = [each for each in [os.environ.get("PYTHONPATH")] if each]
    package = str(Path(icecore.__file__).parents[1])
    patch.setenv("PYTHONPATH", os.pathsep.join([str(packages), package, *before]))
    yield
    patch.undo()


@pytest.fixture(scope="module")
def offered(packages: Path, environment: None) -> Iterator[str]:
    with serving(packages / "a.icecore", "--product", "parts") as address:
        yield address


def test_products_of_packages_are_off_unless_named(packages: Path, environment: None) -> None:
    with serving(packages / "a.icecore") as address:
        assert get(f"{address}/products/parts")[0] == 404
        assert "parts" not in get(f"{address}/products")[2].decode()


def test_a_named_product_of_a_package_is_offered(offered: str) -> None:
    schema = json.loads(get(f"{offered}/products/parts")[2])
    assert schema["required"] == ["log"]
    assert "parts" in get(f"{offered}/products")[2].decode()


def test_a_client_that_closes_the_connection_ends_the_computation(offered: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    body = json.dumps({"sources": ["/a.icecore"], "parameters": {"log": str(log)}})
    connection = http.client.HTTPConnection(offered.removeprefix("http://"))
    connection.request("POST", "/products/parts.csv", body, {"content-type": "application/json"})
    reply = connection.getresponse()
    assert reply.status == 200
    assert reply.read(4) == b'"n"\n'
    assert log.stat().st_size < PARTS  # rows arrive before all are computed
    connection.close()
    reply.close()
    computed, before = log.stat().st_size, -1
    while computed != before:
        time.sleep(0.5)
        before, computed = computed, log.stat().st_size
    assert computed < PARTS / 2
    assert get(f"{offered}/health")[0] == 200
