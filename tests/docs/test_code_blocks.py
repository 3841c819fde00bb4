"""Every code block of README, tutorials and how-to pages runs as printed, page by page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import doc_pages
import icecore
import pytest
from icecore import errors

#: blocks that need a network, a running server, credentials or a reader's own files; may only go down
MOST_SKIPPED = 7
#: what the examples use beside the base install
_NEEDED = (
    "xarray",
    "zarr",
    "dask",
    "pyarrow",
    "pandas",
    "polars",
    "duckdb",
    "matplotlib",
    "shapely",
    "h5netcdf",
)
#: what single pages use: icechunk needs Python 3.12, h5pyd is a client of the service
_NEEDED_BY = {
    "plain-zarr": ("icechunk",),
    "serve": ("h5pyd",),
    "serve-an-archive": ("h5pyd", "aiohttp"),
    "many-machines": ("distributed",),
}


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An empty current directory, and `icecore` and `python` of this environment as commands."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, words in (("icecore", "-m icecore"), ("python", "")):
        command = commands / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        command.chmod(0o755)
    place = tmp_path / "reader"
    place.mkdir()
    monkeypatch.chdir(place)
    package = str(Path(icecore.__file__).parents[1])
    path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    # The tools of h5pyd are beside the interpreter.
    search = os.pathsep.join([str(commands), os.environ["PATH"], str(Path(sys.executable).parent)])
    return {**os.environ, "PATH": search, "PYTHONPATH": path}


@pytest.mark.parametrize("page", doc_pages.pages(), ids=lambda page: page.stem)
def test_code_blocks_run(page: Path, environment: dict[str, str]) -> None:
    for package in (*_NEEDED, *_NEEDED_BY.get(page.stem, ())):
        pytest.importorskip(package)
    doc_pages.run(page, environment)


def test_few_blocks_are_skipped() -> None:
    skipped = [
        (page.name, block.line, block.skipped)
        for page in doc_pages.pages()
        for block in doc_pages.blocks(page)
        if block.skipped
    ]
    run = sum(block.skipped is None for page in doc_pages.pages() for block in doc_pages.blocks(page))
    print(f"{run} code blocks run, {len(skipped)} skipped: {skipped}")
    assert len(skipped) <= MOST_SKIPPED
    assert run >= 40


#: modules of the base install
_BASE = {"h5py", "icecore", "numpy", "rich", "typer"}
TUTORIALS = [page for page in doc_pages.pages() if page.parent.name == "tutorials"]


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_names_the_packages_that_it_imports(page: Path) -> None:
    extras, packages = doc_pages.needs(page)
    named = {re.split(r"\W", package)[0] for package in packages}
    named |= {module for extra in extras for module in errors.EXTRAS[extra]}
    used: set[str] = set()
    for block in doc_pages.blocks(page):
        if block.language == "python":
            used |= set(re.findall(r"^(?:import|from) (\w+)", block.text, re.MULTILINE))
    assert used - set(sys.stdlib_module_names) - _BASE <= named


@pytest.mark.parametrize(
    "program", sorted((doc_pages.ROOT / "examples").glob("*.py")), ids=lambda path: path.stem
)
def test_examples_run(program: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, program], env=environment, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr


def test_charts_are_those_of_the_results() -> None:
    check = [sys.executable, doc_pages.ROOT / "tools" / "docs" / "charts.py", "--check"]
    done = subprocess.run(check, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
