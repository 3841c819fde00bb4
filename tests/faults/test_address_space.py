"""A limit on addresses (``ulimit -v``), as batch systems set it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.cli.process import describe

pytest.importorskip("resource")
LIMIT = 450 << 20

CHILD = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({LIMIT}, {LIMIT}))
import icecore
icecore.pack(sys.argv[2], into=sys.argv[1], group="/g")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="others don't keep to the limit")
def test_packing_with_few_addresses(tmp_path: Path, repo_path: str) -> None:
    """The C library sets 64 MB of addresses apart for each thread: blocks of some bytes found no place."""
    data = np.random.default_rng(1).normal(size=(2000, 1000)).astype("f4")
    np.save(tmp_path / "a.npy", data)
    command = [sys.executable, "-c", CHILD, repo_path, str(tmp_path / "a.npy")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    np.testing.assert_array_equal(icecore.open(repo_path)["/g/a"][...], data)


def test_a_library_that_finds_no_memory() -> None:
    error = ImportError("x.so: failed to map segment from shared object", name="numpy.linalg")
    text, status = describe(error, ["pack"])
    assert status == 2
    assert "error[memory]: not enough memory to load numpy\n" in text
    assert "ulimit -v" in text
    assert "error[internal]" in describe(ImportError("no module x"), ["pack"])[0]
