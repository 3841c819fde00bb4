"""Prepare a release: check everything that it needs, set the version, date the changelog, commit.

    python tools/release.py VERSION           or: make release VERSION=0.2.0
    python tools/release.py --notes VERSION   the changelog's section, for the page of the release

Every check runs before anything is changed; each reason for a refusal is printed, and the status is 1. The
version is in `[workspace.package]` of Cargo.toml; Cargo.lock repeats it. Afterwards a maintainer types the
two commands that are printed: tag and push. The tag starts `.github/workflows/release.yml`.
"""

from __future__ import annotations

import datetime
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-rc\.(\d+))?")
_CARGO = re.compile(r'(\[workspace\.package\][^\[]*?^version = ")([^"]+)(")', re.MULTILINE | re.DOTALL)
_LOCKED = re.compile(r'(\[\[package\]\]\nname = "[^"]+"\nversion = ")([^"]+)("\n(?!source))')
_OPEN = re.compile(r"^## \[[^\]]+\](?: - unreleased)?[ \t]*$", re.MULTILINE)
_FORMAT = re.compile(r"^Format version: \*\*(\d+)\*\*", re.MULTILINE)
#: names in the last release, one a line; those that it declared deprecated may go
NAMES = Path("tests/golden/public_names.txt")
#: prints the public names of the package: functions, classes, their methods, commands
_LIST = """
import inspect, icecore
def line(name, found):
    text = inspect.getdoc(found) or ""
    print(name + ("  deprecated" if "Deprecated since" in text else ""))
for name in sorted(icecore.__all__):
    found = getattr(icecore, name)
    line(f"icecore.{name}", found)
    for part in sorted(dir(found)) if inspect.isclass(found) else ():
        if not part.startswith("_"):
            line(f"icecore.{name}.{part}", getattr(found, part))
try:
    from icecore.cli import VERBS
except ImportError:
    VERBS = ()
for verb in sorted(VERBS):
    print(f"icecore {verb}")
"""


class Refused(Exception):
    """A release can't be made; the arguments are the reasons."""


def order(version: str) -> tuple[int, ...]:
    """Return a key that sorts versions; a candidate comes before its release.

    Raises:
        Refused: if it is not a version.
    """
    found = VERSION.fullmatch(version)
    if found is None:
        raise Refused(f"{version!r} is not a version: expected X.Y.Z or X.Y.Z-rc.N")
    *numbers, candidate = found.groups()
    return (*map(int, numbers), int(candidate) if candidate else sys.maxsize)


class Tree:
    """A checkout of the repository."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.root, capture_output=True, text=True)
        if done.returncode:
            raise Refused(f"git {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def text(self, name: str | Path) -> str:
        file = self.root / name
        return file.read_text("utf-8") if file.exists() else ""

    @property
    def version(self) -> str:
        found = _CARGO.search(self.text("Cargo.toml"))
        if found is None:
            raise Refused("Cargo.toml: [workspace.package] has no version")
        return found[2]

    def released(self) -> list[str]:
        """Return the tagged versions, oldest first."""
        tags = [tag[1:] for tag in self.git("tag", "--list", "v*").split() if VERSION.fullmatch(tag[1:])]
        return sorted(tags, key=order)

    def names(self) -> list[str]:
        """Return the public names of the built package."""
        env = {**os.environ, "PYTHONPATH": str(self.root / "python")}
        done = subprocess.run(
            [sys.executable, "-c", _LIST], cwd=self.root, env=env, capture_output=True, text=True
        )
        if done.returncode:
            raise Refused(f"the package can't be imported: {done.stderr.strip().splitlines()[-1]}")
        return done.stdout.splitlines()


def section(changelog: str, version: str | None) -> str:
    """Return a version's section of the changelog without its heading; None: the one to be released."""
    heading = _OPEN if version is None else re.compile(rf"^## \[{re.escape(version)}\].*$", re.MULTILINE)
    found = heading.search(changelog)
    if found is None:
        return ""
    rest = changelog[found.end() :]
    following = re.search(r"^## ", rest, re.MULTILINE)
    return (rest[: following.start()] if following else rest).strip()


def checks(tree: Tree, version: str) -> Iterator[str]:
    """Yield each reason against a release."""
    released = tree.released()
    if version in released:
        yield f"the tag v{version} exists"
    for known in {tree.version, *released[-1:]}:
        if order(version) < order(known):
            yield f"version {version} is older than {known}"
    if changed := tree.git("status", "--porcelain").splitlines():
        shown = ", ".join(line[3:] for line in changed[:5])
        yield f"the tree is not clean: {shown}{' …' if len(changed) > 5 else ''}"
    if not re.search(r"^- ", section(tree.text("CHANGELOG.md"), None), re.MULTILINE):
        yield "CHANGELOG.md: the section of the next release is empty"
    yield from format_checks(tree, released[-1] if released else None)
    yield from name_checks(tree)


def format_checks(tree: Tree, last: str | None) -> Iterator[str]:
    """The stored format: its golden files, its note on migration, never lower than in the last release."""
    document = tree.text("docs/format.md")
    found = _FORMAT.search(document)
    if found is None:
        yield "docs/format.md does not state the format version"
        return
    now = int(found[1])
    if not any((tree.root / "tests" / "golden" / str(now)).glob("*")):
        yield f"format version {now} has no golden repository in tests/golden/{now}"
    before = _FORMAT.search(tree.git("show", f"v{last}:docs/format.md")) if last else None
    if before and now < int(before[1]):
        yield f"format version {now} is lower than {before[1]} of release {last}"
    if before and now > int(before[1]) and not re.search(rf"^\| {now} \|.*\S.*\|$", document, re.MULTILINE):
        yield f"docs/format.md: the table of versions has no row for {now} that describes the migration"


def name_checks(tree: Tree) -> Iterator[str]:
    """Public names of the last release that are gone, unless it declared them deprecated."""
    now = {line.partition("  ")[0] for line in tree.names()}
    for line in tree.text(NAMES).splitlines():
        name, _, deprecated = line.partition("  ")
        if name not in now and not deprecated:
            yield f"{name} was removed, but the last release did not declare it deprecated (Deprecated since)"


def docs_build(tree: Tree) -> None:
    """Build the documentation.

    Raises:
        Refused: if it does not build.
    """
    done = subprocess.run(["make", "-s", "docs"], cwd=tree.root, capture_output=True, text=True)
    if done.returncode:
        last = (done.stdout + done.stderr).strip().splitlines()[-5:]
        raise Refused("the documentation does not build: " + " / ".join(last))


def changes(tree: Tree, version: str, day: datetime.date) -> dict[Path, str]:
    """Return the new contents of the files that a release changes."""
    heading = f"## [Unreleased]\n\n## [{version}] - {day.isoformat()}"
    lock = _LOCKED.sub(
        lambda m: m[0] if m[2] != tree.version else m[1] + version + m[3], tree.text("Cargo.lock")
    )
    found = {
        Path("Cargo.toml"): _CARGO.sub(rf"\g<1>{version}\g<3>", tree.text("Cargo.toml"), count=1),
        Path("Cargo.lock"): lock,
        Path("CHANGELOG.md"): _OPEN.sub(heading, tree.text("CHANGELOG.md"), count=1),
        NAMES: "\n".join(tree.names()) + "\n",
    }
    return {name: text for name, text in found.items() if text and text != tree.text(name)}


def prepare(tree: Tree, version: str) -> None:
    """Check, change and commit.

    Raises:
        Refused: with every reason; nothing is changed then.
    """
    order(version)
    if reasons := list(checks(tree, version)):
        raise Refused(*reasons)
    docs_build(tree)
    if changed := tree.git("status", "--porcelain").strip():
        raise Refused(f"building the documentation changed {changed.split()[-1]}; commit it first")
    written = changes(tree, version, datetime.datetime.now(datetime.UTC).date())
    for name, text in written.items():
        (tree.root / name).parent.mkdir(parents=True, exist_ok=True)
        (tree.root / name).write_text(text, "utf-8")
    names = [str(name) for name in written]
    try:
        tree.git("add", "--", *names)
        tree.git("commit", "-q", "-m", f"Release {version}")
    except Refused:
        tree.git("reset", "-q", "--hard", "HEAD")
        raise


def main(arguments: list[str]) -> int:
    tree = Tree(
        ROOT if "ICECORE_RELEASE_ROOT" not in os.environ else Path(os.environ["ICECORE_RELEASE_ROOT"])
    )
    notes = arguments[:1] == ["--notes"]
    if len(arguments) != 1 + notes or (not notes and arguments[0].startswith("-")):
        print("which version? make release VERSION=X.Y.Z", file=sys.stderr)
        return 2
    version = arguments[-1]
    try:
        if notes:
            text = section(tree.text("CHANGELOG.md"), version.removeprefix("v"))
            if not text:
                raise Refused(f"CHANGELOG.md has no section {version}")
            print(text)
            return 0
        prepare(tree, version)
    except Refused as refused:
        for reason in refused.args:
            print(f"no release: {reason}", file=sys.stderr)
        return 1
    print(f"Release {version} is committed. Next:\n")
    print(f'git tag -a v{version} -m "icecore {version}"')
    print(f"git push origin HEAD v{version}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
