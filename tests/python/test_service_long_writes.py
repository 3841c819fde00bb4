"""Long writes of HDF clients: in pieces, up to the operator's limit."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from serving import serving

COLUMNS = 1 << 10


@pytest.mark.parametrize(("limit", "status"), [("200", 200), ("150", 413)])
def test_a_long_value_is_written_up_to_the_limit(tmp_path: Path, limit: str, status: int) -> None:
    (tmp_path / "r").mkdir()
    values = np.arange((160 << 20) // 8, dtype="<f8").reshape(-1, COLUMNS)
    with serving(tmp_path / "r", "--writable", "--write-limit", limit) as url:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)

        def ask(
            method: str, path: str, body: object = None, kind: str = "application/json"
        ) -> tuple[int, bytes]:
            data = body if isinstance(body, (bytes, memoryview)) else json.dumps(body).encode()
            headers = {
                "Content-Type": kind,
                "Accept": "application/octet-stream" if "value" in path else "*/*",
            }
            connection.request(method, path, body=None if body is None else data, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()

        root = json.loads(ask("PUT", "/?domain=/x.h5")[1])["root"]
        made = {"type": "H5T_IEEE_F64LE", "shape": values.shape, "link": {"id": root, "name": "x"}}
        dataset = json.loads(ask("POST", "/datasets?domain=/x.h5", made)[1])["id"]
        place = f"/datasets/{dataset}/value?domain=/x.h5"
        octets = "application/octet-stream"
        assert ask("PUT", place, memoryview(values).cast("B"), octets)[0] == status
        if status != 200:
            return
        for first in (0, len(values) // 2 - 3, len(values) - 5):
            _, found = ask("GET", f"{place}&select=[{first}:{first + 5},:]")
            assert np.array_equal(np.frombuffer(found, "<f8").reshape(-1, COLUMNS), values[first : first + 5])
        # The number of elements must be that of the selection.
        assert ask("PUT", f"{place}&select=[1:9,:]", memoryview(values).cast("B"), octets)[0] in (
            400,
            409,
            422,
        )
