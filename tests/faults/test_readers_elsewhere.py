"""Readers on another node: attributes and names are cached, deleted files are stale. A reader sees a whole
version, or says that it can't.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import icecore
import numpy as np
import pytest
from crash_kit import NEEDS

pytestmark = pytest.mark.skipif(not NEEDS, reason="needs LD_PRELOAD and a C compiler")

READER = """
import json, sys, time
import icecore
place, seconds = sys.argv[1], float(sys.argv[2])
end, repo = time.monotonic() + seconds, None
while time.monotonic() < end:
    try:
        if repo is None: repo = icecore.open(place)
        now = repo.at("main")
        a, b = now["/a"][...], now["/b"][...]
        same = len({*a.ravel().tolist(), *b.ravel().tolist()}) == 1
        print(json.dumps(["read", int(a.flat[0]) if same else -1]), flush=True)
    except icecore.Error as error:
        print(json.dumps([error.kind, str(error)]), flush=True)
        repo = None
    except BaseException as error:
        print(json.dumps(["raised", repr(error)]), flush=True)
    time.sleep(0.01)
"""


@pytest.mark.parametrize("collects", [False, True])
def test_a_reader_sees_whole_versions_or_says_that_it_cannot(tmp_path: Path, collects: bool) -> None:
    library, place = tmp_path / "delayed.so", tmp_path / "r.icecore"
    source = Path(__file__).with_name("delayed.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl", "-lpthread"], check=True)
    repo = icecore.create(place)
    with repo.writer() as w:
        for name in ("/a", "/b"):
            w.array(name, "i4", (20, 100), chunks=(10, 100), codec="none")[...] = 0
    settings = {"LD_PRELOAD": str(library), "DELAY_HOME": str(place), "DELAY_MS": "120"}
    command = [sys.executable, "-c", READER, str(place), "5"]
    reader = subprocess.Popen(command, env={**os.environ, **settings}, stdout=subprocess.PIPE, text=True)
    from datetime import timedelta

    number = 0
    while reader.poll() is None:
        number += 1
        with repo.writer(f"{number}") as w:
            for name in ("/a", "/b"):
                w[name][...] = np.full((20, 100), number)
        if collects and number % 3 == 0:
            repo.gc(timedelta(0))
    assert reader.stdout is not None
    lines = [json.loads(line) for line in reader.stdout]
    read = [value for kind, value in lines if kind == "read"]
    assert -1 not in read, "a mixture of versions"
    assert len(set(read)) > 3
    assert read == sorted(read), "time does not go back"
    kinds = Counter(kind for kind, _ in lines)
    assert set(kinds) <= {"read", "not-found", "io", "corrupt"}, kinds
    if not collects:
        assert set(kinds) == {"read"}, [line for line in lines if line[0] != "read"][:3]
