"""kill -9 of ``icecore serve --writable`` during writes: the repository has all acknowledged flushes."""

from __future__ import annotations

import base64
import json
import os
import random
import subprocess
import sys
import threading
import time
import urllib.parse
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest

ROUNDS = int(os.environ.get("ICECORE_KILLS", "4"))
ROWS, COLUMNS = 64, 500


def start(folder: Path) -> tuple[subprocess.Popen[str], tuple[str, int]]:
    command = [sys.executable, "-m", "icecore", "serve", "--writable", "--port", "0", str(folder)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith("serving at "), line
    parts = urllib.parse.urlsplit(line.split()[2])
    return process, (parts.hostname or "", parts.port or 0)


def ask(connection: HTTPConnection, method: str, target: str, body: Any) -> Any:
    connection.request(method, target, json.dumps(body), {"Content-Type": "application/json"})
    reply = connection.getresponse()
    text = reply.read()
    assert reply.status < 300, text
    return json.loads(text) if text else None


def make(address: tuple[str, int]) -> str:
    connection = HTTPConnection(*address)
    root = ask(connection, "PUT", "/?domain=/d", {})["root"]
    layout = {"layout": {"class": "H5D_CHUNKED", "dims": [8, COLUMNS]}}
    body = {"type": "H5T_STD_I64LE", "shape": [ROWS, COLUMNS], "creationProperties": layout}
    body["link"] = {"id": root, "name": "a"}
    return str(ask(connection, "POST", "/datasets?domain=/d", body)["id"])


def write(address: tuple[str, int], dataset: str, first: int, states: list[tuple[str, int]]) -> None:
    """Write number n into all elements and flush, for n from ``first`` on, until the service is gone."""
    connection = HTTPConnection(*address)
    value = first
    try:
        while True:
            states.append(("sent", value))
            body = {
                "value_base64": base64.b64encode(np.full((ROWS, COLUMNS), value, "<i8").tobytes()).decode()
            }
            ask(connection, "PUT", f"/datasets/{dataset}/value?domain=/d", body)
            ask(connection, "PUT", "/?domain=/d&flush=1", {})
            states.append(("flushed", value))
            value += 1
    except (OSError, HTTPException):
        return


@pytest.mark.slow
def test_acknowledged_flushes_survive(tmp_path: Path) -> None:
    rng = random.Random(28)
    process, address = start(tmp_path)
    dataset = make(address)
    flushed, last = 0, 0
    for _ in range(ROUNDS):
        states: list[tuple[str, int]] = []
        thread = threading.Thread(target=write, args=(address, dataset, last + 1, states))
        thread.start()
        time.sleep(rng.uniform(0.05, 0.6))
        process.kill()
        process.wait()
        thread.join()
        acknowledged = [value for state, value in states if state == "flushed"]
        flushed += len(acknowledged)
        found = icecore.open(tmp_path / "d")["a"][...]
        # One version, whole: the last acknowledged one, or the one that was being written.
        assert len(np.unique(found)) == 1
        assert int(found[0, 0]) in {max([*acknowledged, last]), states[-1][1]}
        last = int(found[0, 0])
        process, address = start(tmp_path)
    process.terminate()
    assert process.wait(20) == 0
    assert flushed >= ROUNDS
    done = subprocess.run([sys.executable, "-m", "icecore", "verify", str(tmp_path / "d")])
    assert done.returncode == 0
