"""A format and a command are added in a copy by following ARCHITECTURE.md, in the files that it names.

A codec needs a Rust build, so the places that its steps name are compared with the tree instead.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import icecore
import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(icecore.__file__).parent
TEXT = (ROOT / "ARCHITECTURE.md").read_text("utf-8")

TOY = '''"""Toy format: TOY1, a count of 4 bytes, then that many little-endian integers of 2 bytes."""

from __future__ import annotations

import numpy as np

from icecore import errors
from icecore.sources.files.byte_source import open_bytes
from icecore.sources.files.identity import identity, unchanged
from icecore.sources.mapping.array_map import ArrayMap
from icecore.sources.numpy.npy import raw_entry


def open(source: str) -> ArrayMap:
    """Index a file."""
    before = identity(source)
    data = open_bytes(source)
    try:
        count = int.from_bytes(data.read_at(4, 4), "little")
    finally:
        data.close()
    if 8 + 2 * count > before.size:
        raise errors.make("corrupt", f"{source}: {count} integers in {before.size} bytes", "copy it again")
    result = ArrayMap(source)
    result.add(raw_entry("/values", source, before, 8, 2 * count, (count,), np.dtype("<i2"), False))
    unchanged(source, before)
    return result
'''
COMMAND = '''"""``icecore toy``: print a greeting."""

from __future__ import annotations

from icecore.cli.console import RepoArgument, emit

EXAMPLES = ("icecore toy a", "icecore toy b")


def toy(repo: RepoArgument) -> None:
    """Greet a repository."""
    emit({}, False, f"hello {repo}")
'''


def steps(title: str) -> str:
    """The section of ARCHITECTURE.md with this title."""
    return TEXT.partition(f"## {title}\n")[2].partition("\n## ")[0]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package, without its tests."""
    into = tmp_path / "copy"
    shutil.copytree(PACKAGE, into / "icecore", ignore=shutil.ignore_patterns("__pycache__", "page"))
    return into


def edited(copy: Path, name: str, old: str, new: str, title: str) -> None:
    """Edit a file of the copy once; the section must name it."""
    assert f"`{name}`" in steps(title), f"{title} doesn't name {name}"
    path = copy / "icecore" / name
    text = path.read_text("utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf-8")


def run(copy: Path, code: str, *arguments: str) -> str:
    """Run Python on the copy and return what it prints."""
    start = f"import sys\nsys.path.insert(0, {str(copy)!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", start + code, *arguments], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_format(copy: Path, tmp_path: Path) -> None:
    title = "Add a format"
    assert "`python/icecore/sources/`" in steps(title)
    (copy / "icecore/sources/toy").mkdir()
    (copy / "icecore/sources/toy/__init__.py").write_text(TOY, "utf-8")
    row = 'FORMATS = [\n    Format("toy", "icecore.sources.toy", _starts(b"TOY1")),\n'
    edited(copy, "sources/formats.py", "FORMATS = [\n", row, title)
    data = tmp_path / "data"
    data.mkdir()
    file = data / "a.toy"
    file.write_bytes(b"TOY1" + (3).to_bytes(4, "little") + b"\1\0\2\0\3\0")
    code = (
        "import icecore; report = icecore.{verb}({file!r}, {into!r}); "
        "print(report.rows[0].how, icecore.open({into!r})['/a/values'][:].tolist())"
    )
    for verb, how in (("link", "linked"), ("pack", "packed")):
        into = str(tmp_path / f"{verb}.icecore")
        assert run(copy, code.format(verb=verb, file=str(file), into=into)) == f"{how} [1, 2, 3]"
    listing = "from icecore.sources.source_list import expand; print(len(expand(sys.argv[1])))"
    assert run(copy, listing, str(data)) == "1", "a directory is searched for the format"
    file.write_bytes(file.read_bytes()[:-1])
    damaged = (
        "import icecore\ntry: icecore.link(sys.argv[1], 'memory://')\n"
        "except icecore.Error as error: print(error.kind)"
    )
    assert run(copy, damaged, str(file)) == "corrupt"


def test_a_command(copy: Path) -> None:
    title = "Add a command"
    assert "`python/icecore/cli/`" in steps(title)
    (copy / "icecore/cli/read/toy.py").write_text(COMMAND, "utf-8")
    edited(copy, "cli/__init__.py", '"read.": (', '"read.": ("toy", ', title)
    assert (
        run(copy, "from icecore.cli import run; sys.exit(run(sys.argv[1:]))", "toy", "moon") == "hello moon"
    )
    shown = run(copy, "from icecore.cli import run; sys.exit(run(['--help']))")
    assert re.search(r"^\s*toy\s+Greet a repository", shown, re.MULTILINE)


def test_the_places_of_a_codec_exist() -> None:
    section = steps("Add a codec")
    crate = ROOT / "crates/icecore-chunk/src"
    if not crate.is_dir():
        pytest.skip("no Rust sources beside the tests")
    tables = re.findall(r"`(\w+\.rs)`", section)
    assert tables, "the section names the tables of codecs"
    for table in tables:
        assert list(crate.rglob(table)), table
    for folder in re.findall(r"`(\w+/)`", section):
        assert (crate / "codecs" / folder).is_dir(), folder
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    ours = [name for name in project["project"]["entry-points"]["zarr.codecs"] if name.startswith("icecore.")]
    documented = (ROOT / "docs/format.md").read_text("utf-8")
    assert len(ours) > 5
    for name in ours:
        assert f"`{name}`" in documented, f"docs/format.md doesn't describe {name}"
