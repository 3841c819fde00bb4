"""The examples in C and TypeScript read what the library reads, and their types are those of the service."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import icecore
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from serving import serving

pytestmark = pytest.mark.integration
ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
MODULES = ROOT / ".integration" / "typescript" / "node_modules"
GRID = np.random.default_rng(0).normal(size=(300, 7))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    place = tmp_path_factory.mktemp("examples") / "moon é"
    with icecore.create(str(place)).writer(message="made") as w:
        w.array("/a group/grid", "f8", GRID.shape, chunks=(100, 7))[...] = GRID
        w.array("/counts", "i2", (5,))[...] = np.arange(5)
    with serving(place.parent) as found:
        yield found


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the TypeScript example as JavaScript."""
    node = shutil.which("node")
    if node is None or not (MODULES / "typescript").exists():
        pytest.skip("the TypeScript compiler is not installed: make integration-deps TOOLS=typescript")
    place = tmp_path_factory.mktemp("typescript")
    for file in (EXAMPLES / "typescript").iterdir():
        if file.is_file():
            shutil.copy(file, place)
    (place / "node_modules").symlink_to(MODULES)
    subprocess.run([node, MODULES / "typescript" / "bin" / "tsc"], cwd=place, check=True)
    return place


def ran(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60)


def test_c(address: str, tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    program = tmp_path / "read"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *flags, EXAMPLES / "c" / "read.c", "-o", program], check=True)
    host, port = address.removeprefix("http://").split(":")
    for select, expected in (("[0:10,3]", GRID[:10, 3]), ("", GRID)):
        done = ran(program, host, port, "/moon é", "/a group/grid", select)
        assert done.returncode == 0, done.stderr
        np.testing.assert_array_equal(np.array(done.stdout.split(), "f8"), expected.ravel())
    assert "no link" in ran(program, host, port, "/moon é", "/nothing").stderr
    assert "H5T_STD_I16LE" in ran(program, host, port, "/moon é", "/counts").stderr


def test_typescript(address: str, compiled: Path) -> None:
    done = ran("node", compiled / "read.js", address, "/moon é", "/a group/grid", "[5:7,3]")
    assert done.returncode == 0, done.stderr
    words = done.stdout.split()
    assert words[-3] == "Float64Array:"
    assert [float(word) for word in words[-2:]] == GRID[5:7, 3].tolist()
    assert ran("node", compiled / "read.js", address, "/moon é", "/counts").stdout.endswith("0 1 2 3 4\n")
    assert "no link nothing" in ran("node", compiled / "read.js", address, "/moon é", "/nothing").stderr


def test_types_are_those_of_the_service(address: str, compiled: Path) -> None:
    program = MODULES / "openapi-typescript" / "bin" / "cli.js"
    done = ran("node", program, f"{address}/openapi.json", "-o", compiled / "fresh.ts")
    assert done.returncode == 0, done.stderr
    assert (compiled / "fresh.ts").read_text() == (EXAMPLES / "typescript" / "api.ts").read_text()
