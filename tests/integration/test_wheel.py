"""The wheel as a user gets it: a fresh environment without compiler, node, git and source tree.

The wheel is that of `make wheel` in dist/, or the one that ICECORE_WHEEL names.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from icecore import errors

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "tests" / "docs"
sys.path.insert(0, str(DOCS))
import doc_pages  # noqa: E402

pytestmark = pytest.mark.integration
#: what the pages' shell blocks use beside icecore
COMMANDS = (
    *("bash", "cat", "cp", "curl", "cut", "echo", "env", "grep", "head", "kill", "ls", "mkdir", "mv", "rm"),
    *("sed", "sh", "sleep", "sort", "tail", "test", "touch", "tr", "uname", "wc"),
)
#: largest size of our own files after installing, in MB; those of the dependencies are theirs
OURS = 45
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]


@pytest.fixture(scope="module")
def wheel() -> Path:
    found = [Path(os.environ["ICECORE_WHEEL"])] if "ICECORE_WHEEL" in os.environ else []
    found += sorted((ROOT / "dist").glob("icecore_archive-*.whl"))
    if not found:
        pytest.skip("no wheel: make wheel, or ICECORE_WHEEL=FILE")
    return found[0].resolve()


class Place:
    """An environment, and a PATH with nothing but its commands and those of COMMANDS."""

    def __init__(self, folder: Path, wheel: Path, extras: list[str], packages: list[str]) -> None:
        self.folder = folder
        self.python = folder / "venv" / "bin" / "python"
        uv = str(Path(sys.executable).with_name("uv"))
        if not os.path.exists(uv):
            pytest.skip("uv is not installed")
        subprocess.run([uv, "venv", "-q", "--python", sys.executable, str(folder / "venv")], check=True)
        wanted = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
        install = [uv, "pip", "install", "-q", "--only-binary", ":all:", "--python", str(self.python)]
        subprocess.run([*install, wanted, *packages], check=True, timeout=900)
        commands = folder / "bin"
        commands.mkdir()
        for name in COMMANDS:
            if path := shutil.which(name):
                (commands / name).symlink_to(path)
        self.work = folder / "work"
        self.work.mkdir()
        self.env = {"PATH": f"{self.python.parent}:{commands}", "HOME": str(folder), "LANG": "C.UTF-8"}

    def run(self, *words: str, seconds: int = 300) -> str:
        done = subprocess.run(
            words, cwd=self.work, env=self.env, capture_output=True, text=True, timeout=seconds
        )
        assert done.returncode == 0, f"{words}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout

    def megabytes(self, *names: str) -> float:
        """Size of the installed files of packages, or of all."""
        site = next((self.folder / "venv" / "lib").glob("python3*")) / "site-packages"
        files = [f for name in names or ("",) for f in (site / name).rglob("*") if f.suffix != ".pyc"]
        return sum(f.stat().st_size for f in files if f.is_file()) / 1e6


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("base"), wheel, [], [])


def test_base(base: Place) -> None:
    for tool in ("cc", "gcc", "cargo", "node", "git"):
        assert shutil.which(tool, path=base.env["PATH"]) is None
    assert "icecore" in base.run("icecore", "--version")
    base.run("icecore", "demo")
    where = base.run("python", "-c", "import icecore; print(icecore.__file__)")
    assert str(base.folder) in where


def test_size_of_the_base_install(base: Place) -> None:
    """The settings page names the size of the whole; ours is bounded."""
    said = re.search(r"(\d+) MB on disk", (ROOT / "docs" / "reference" / "settings.md").read_text("utf-8"))
    assert said is not None
    ours, whole = base.megabytes("icecore"), base.megabytes()
    print(f"base install: {whole:.0f} MB, icecore {ours:.0f} MB")
    assert ours <= OURS
    assert 0.8 * int(said[1]) <= whole <= int(said[1])


@pytest.mark.parametrize("extra", errors.EXTRAS)
def test_each_extra_installs_and_imports(wheel: Path, tmp_path: Path, extra: str) -> None:
    place = Place(tmp_path, wheel, [extra], [])
    modules = [name for name in errors.EXTRAS[extra] if name != "backports"]
    if sys.version_info < (3, 12):
        modules = [name for name in modules if name != "icechunk"]
    place.run("python", "-c", f"import icecore{''.join(', ' + name for name in modules)}")


def test_an_extra_that_does_not_exist(base: Place) -> None:
    lines = [
        "from icecore import errors",
        "try: errors.needs('tabel', 'x')",
        "except errors.Error as error: print(error.kind, error)",
    ]
    code = "\n".join(lines)
    assert base.run("python", "-c", code).startswith("invalid icecore-archive has no extra 'tabel'")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs_with_the_packages_that_it_names(wheel: Path, tmp_path: Path, page: Path) -> None:
    extras, packages = doc_pages.needs(page)
    place = Place(tmp_path, wheel, extras, packages)
    code = (
        f"import os, sys; sys.path.insert(0, {str(DOCS)!r}); import doc_pages; from pathlib import Path; "
        f"sys.path.pop(0); doc_pages.run(Path({str(page)!r}), dict(os.environ))"
    )
    place.run("python", "-c", code, seconds=900)
