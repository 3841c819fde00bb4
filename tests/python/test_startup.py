"""A command imports what it needs: a list of names must not wait for numbers and tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import icecore
import pytest

#: each takes longer to import than `ls` has to do
HEAVY = {
    "numpy",
    "h5py",
    "xarray",
    "dask",
    "pandas",
    "polars",
    "pyarrow",
    "matplotlib",
    "zarr",
    "rich",
    "pydantic",
}
SHOW = """
import sys
from icecore.cli import run
status = run(sys.argv[1:])
print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
sys.exit(status)
"""


def imported(*arguments: str) -> set[str]:
    """The packages that are there after a command."""
    command = [sys.executable, "-c", SHOW, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of one array."""
    place = tmp_path_factory.mktemp("startup") / "r.icecore"
    with icecore.create(place).writer() as writer:
        writer.array("/g/a", dtype="f4", shape=(10,))[...] = 1
    return place


@pytest.mark.parametrize("verb", ["ls", "log", "tag", "branch"])
def test_looking_around_needs_nothing_heavy(verb: str, repo: Path) -> None:
    there = imported(verb, str(repo))
    assert {"icecore", "typer"} <= there, "this is what is counted"
    assert not there & HEAVY


def test_help_needs_nothing_heavy() -> None:
    assert not imported("--help") & HEAVY


def test_reading_needs_numpy_alone(repo: Path) -> None:
    assert imported("read", str(repo), "/g/a", "0:3") & HEAVY == {"numpy"}


def test_restoring_needs_nothing_heavy(tmp_path: Path) -> None:
    text = tmp_path / "t.csv"
    text.write_bytes(b"a,b,c\n" + b"".join(b"%d,%.2f,x%d\n" % (i, i / 7, i % 3) for i in range(20_000)))
    icecore.pack(text, into=tmp_path / "r", group="/t")
    again = tmp_path / "again.csv"
    assert not imported("restore", str(tmp_path / "r"), "/t", "-o", str(again)) & HEAVY
    assert again.read_bytes() == text.read_bytes()
