"""`make release` checks everything before it changes anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "release.py"
ROOT = TOOL.parents[1]
FILES = {
    "Cargo.toml": '[workspace]\nmembers = ["a"]\n\n[workspace.package]\nversion = "0.1.0"\n\n'
    '[workspace.dependencies]\nbytes = { version = "0.1.0" }\n',
    "Cargo.lock": '[[package]]\nname = "a"\nversion = "0.1.0"\n\n'
    '[[package]]\nname = "bytes"\nversion = "0.1.0"\nsource = "registry"\n',
    "CHANGELOG.md": "# Changelog\n\n## [0.2.0] - unreleased\n\n### Added\n\n- A thing.\n\n"
    "## [0.1.0] - 2026-01-01\n\n- First.\n",
    "docs/format.md": "Format version: **1**\n\n| version | migration |\n| --- | --- |\n| 1 | none |\n",
    "tests/golden/1/values.json": "{}\n",
    "python/icecore/__init__.py": '__all__ = ["read", "old"]\ndef read(): "Read."\n'
    'def old(): "Deprecated since 0.1: use read."\n',
    "Makefile": ".PHONY: docs\ndocs:\n\t@true\n",
    ".gitignore": "__pycache__\n",
}


def git(tree: Path, *words: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    return subprocess.run(["git", *who, *words], cwd=tree, check=True, capture_output=True, text=True).stdout


def commit(tree: Path, **files: str) -> None:
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "work")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    commit(tmp_path, **FILES)
    git(tmp_path, "config", "user.name", "t")
    git(tmp_path, "config", "user.email", "t@example.org")
    return tmp_path


def release(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "ICECORE_RELEASE_ROOT": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(TOOL), *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=100)


def test_a_release(tree: Path) -> None:
    done = release(tree, "0.2.0")
    assert done.returncode == 0, done.stderr
    commands = [line for line in done.stdout.splitlines() if line.startswith("git ")]
    assert commands == ['git tag -a v0.2.0 -m "icecore 0.2.0"', "git push origin HEAD v0.2.0"]
    assert git(tree, "status", "--porcelain") == ""
    assert git(tree, "log", "-1", "--format=%s").strip() == "Release 0.2.0"
    cargo = (tree / "Cargo.toml").read_text()
    assert (cargo.count('version = "0.2.0"'), cargo.count('version = "0.1.0"')) == (1, 1)
    lock = (tree / "Cargo.lock").read_text()
    assert 'name = "a"\nversion = "0.2.0"' in lock
    assert 'name = "bytes"\nversion = "0.1.0"' in lock
    changelog = (tree / "CHANGELOG.md").read_text()
    assert (
        changelog.index("## [Unreleased]") < changelog.index("## [0.2.0] - 2") < changelog.index("- A thing.")
    )
    assert "unreleased" not in changelog
    assert (tree / "tests/golden/public_names.txt").read_text() == "icecore.old  deprecated\nicecore.read\n"
    notes = release(tree, "--notes", "v0.2.0")
    assert notes.stdout == "### Added\n\n- A thing.\n"


def edited(name: str, old: str, new: str) -> dict[str, str]:
    assert old in FILES[name]
    return {name: FILES[name].replace(old, new)}


REFUSALS = [
    ("0.0.9", {}, "version 0.0.9 is older than 0.1.0"),
    ("0.1.0-rc.1", {}, "version 0.1.0-rc.1 is older than 0.1.0"),
    ("two", {}, "'two' is not a version"),
    ("0.2", {}, "'0.2' is not a version"),
    ("0.2.0", edited("CHANGELOG.md", "- A thing.\n", ""), "section of the next release is empty"),
    ("0.2.0", edited("docs/format.md", "**1**", "**2**"), "format version 2 has no golden repository"),
    ("0.2.0", edited("docs/format.md", "Format version: **1**", "x"), "does not state the format version"),
    ("0.2.0", edited("Makefile", "@true", "@echo a broken link; false"), "does not build: a broken link"),
    ("0.2.0", edited("Cargo.toml", "[workspace.package]", "[other]"), "has no version"),
    ("0.2.0", {"python/icecore/__init__.py": "import nosuch\n"}, "can't be imported"),
]


@pytest.mark.parametrize(("version", "files", "reason"), REFUSALS)
def test_refusals_change_nothing(tree: Path, version: str, files: dict[str, str], reason: str) -> None:
    if files:
        commit(tree, **files)
    before = git(tree, "rev-parse", "HEAD")
    done = release(tree, version)
    assert done.returncode == 1
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
    assert (git(tree, "rev-parse", "HEAD"), git(tree, "status", "--porcelain")) == (before, "")


def test_a_tag_that_exists_and_an_unclean_tree_are_both_named(tree: Path) -> None:
    git(tree, "tag", "v0.2.0")
    (tree / "new.txt").write_text("x")
    done = release(tree, "0.2.0")
    assert done.returncode == 1
    assert "the tag v0.2.0 exists" in done.stderr
    assert "the tree is not clean: new.txt" in done.stderr
    (tree / "new.txt").unlink()
    assert "version 0.1.5 is older than 0.2.0" in release(tree, "0.1.5").stderr


def test_public_names_go_only_after_a_deprecation(tree: Path) -> None:
    assert release(tree, "0.2.0").returncode == 0
    git(tree, "tag", "v0.2.0")
    log = (tree / "CHANGELOG.md").read_text().replace("## [Unreleased]\n", "## [Unreleased]\n\n- More.\n", 1)
    package = '__all__ = ["read"]\ndef read(): "Read."\n'
    commit(tree, **{"CHANGELOG.md": log, "python/icecore/__init__.py": package})
    removed = {"python/icecore/__init__.py": "__all__ = []\n"}
    commit(tree, **removed)
    done = release(tree, "0.3.0")
    assert "icecore.read was removed" in done.stderr
    assert "icecore.old" not in done.stderr
    commit(tree, **{"python/icecore/__init__.py": package})
    assert release(tree, "0.3.0").returncode == 0


def test_a_raised_format_needs_golden_files_and_a_migration(tree: Path) -> None:
    git(tree, "tag", "v0.1.0")
    raised = FILES["docs/format.md"].replace("**1**", "**2**")
    commit(tree, **{"docs/format.md": raised, "tests/golden/2/values.json": "{}"})
    done = release(tree, "0.2.0")
    assert "no row for 2 that describes the migration" in done.stderr
    commit(tree, **{"docs/format.md": raised + "| 2 | pack again |\n"})
    assert release(tree, "0.2.0").returncode == 0


@pytest.mark.parametrize("words", [[], ["--help"], ["0.2.0", "0.3.0"]])
def test_a_version_is_required(tree: Path, words: list[str]) -> None:
    done = release(tree, *words)
    assert (done.returncode, "VERSION=X.Y.Z" in done.stderr) == (2, True)


def test_notes_of_an_unknown_version(tree: Path) -> None:
    assert "no section 9.9.9" in release(tree, "--notes", "9.9.9").stderr
