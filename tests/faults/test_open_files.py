"""A limit on open files, which is 256 or 1,024 on most machines: reads of more files than that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest

pytest.importorskip("resource")
FILES, LIMIT = 120, 64

CHILD = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({LIMIT}, {LIMIT}))
import icecore, numpy as np
repo = icecore.open(sys.argv[1])
for path in repo.arrays:
    for _ in range(2):
        found = repo[path].read((slice(None), 3))
        np.testing.assert_array_equal(found, np.arange({FILES} * 20).reshape(-1, 10)[:, 3])
assert repo.verify(deep=True) == []
"""


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"f{i:03}.h5" for i in range(FILES)]
    for i, path in enumerate(paths):
        with h5py.File(path, "w") as file:
            data = np.arange(i * 20, i * 20 + 20).reshape(2, 10)
            file.create_dataset("x", data=data, chunks=(1, 10), maxshape=(None, 10))
    return paths


def test_reads_of_more_files_than_may_be_open(tmp_path: Path, repo_path: str, files: list[Path]) -> None:
    icecore.link(files, into=repo_path, group="/linked", concat="phony_dim_0")
    with icecore.open(repo_path).writer() as writer:
        data = np.arange(FILES * 20).reshape(-1, 10)
        array = writer.array("/own", "i8", data.shape, chunks=(2, 10), codec="none")
        array[...] = data
    done = subprocess.run(
        [sys.executable, "-c", CHILD, repo_path], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_packing_more_files_than_may_be_open(tmp_path: Path, repo_path: str, files: list[Path]) -> None:
    code = (
        f"import resource, sys\nresource.setrlimit(resource.RLIMIT_NOFILE, ({LIMIT}, {LIMIT}))\n"
        "import icecore\nicecore.pack(sys.argv[2:], into=sys.argv[1], concat='phony_dim_0', group='/g')\n"
    )
    command = [sys.executable, "-c", code, repo_path, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    np.testing.assert_array_equal(
        icecore.open(repo_path)["/g/x"].read(), np.arange(FILES * 20).reshape(-1, 10)
    )


def test_threads_that_cannot_start_are_an_error(repo_path: str) -> None:
    """They were a panic, which no `except Exception` catches."""
    icecore.create(repo_path)
    code = (
        "import resource, sys\nimport icecore\nfrom icecore import _icecore\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))\n"
        "try:\n    icecore.open(sys.argv[1])\nexcept icecore.Error as error:\n    print(error.kind)\n"
    )
    command = [sys.executable, "-c", code, repo_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "memory\n"), done.stderr[-2000:]
