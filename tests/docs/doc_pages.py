"""Fenced code blocks of the documentation pages, and a runner for them."""

from __future__ import annotations

import contextlib
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
#: stands on a line of its own before a block that needs what a test doesn't have
_MARK = re.compile(r"<!-- not run: (.+?) -->\s*$")
_RUN = {"python", "sh"}


@dataclass(frozen=True)
class Block:
    """A code block: its language, text, first line in the page, and the reason why it is not run."""

    language: str
    text: str
    line: int
    skipped: str | None


def pages() -> list[Path]:
    """README and all pages for users, in the order of their names; generated pages are left out."""
    folders = [ROOT / "docs" / name for name in ("tutorials", "how-to")]
    return [
        ROOT / "README.md",
        ROOT / "docs" / "index.md",
        *sorted(p for f in folders for p in f.glob("*.md")),
    ]


def blocks(page: Path) -> Iterator[Block]:
    """The Python and shell blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        if match[1] in _RUN:
            mark = _MARK.search(text[: match.start()].rstrip("\n"))
            yield Block(match[1], match[2], text.count("\n", 0, match.start()) + 2, mark[1] if mark else None)


def needs(page: Path) -> tuple[list[str], list[str]]:
    """The extras, and the packages of others, that a page names before its first block that runs."""
    text = page.read_text(encoding="utf-8")
    extras = set(re.findall(r"icecore-archive\[(\w+)\]", text))
    named = re.search(r"^The tutorial takes [^.]*\.", text, re.MULTILINE)
    if named is None:
        return sorted(extras), []
    extras |= set(re.findall(r"`(\w+)`", named[0]))
    commands = re.findall(r"`pip install ([^`]+)`", named[0])
    packages = [word for command in commands for word in shlex.split(command)]
    return sorted(extras), packages


def run(page: Path, environment: dict[str, str]) -> None:
    """Run the blocks of a page in order, in the current directory.

    Python blocks share their variables, as in a notebook; a shell block is a script of its own. One that ends
    with ``&`` starts a service, which runs until the end of the page.
    """
    with contextlib.ExitStack() as services:
        _run(page, environment, services)


def _run(page: Path, environment: dict[str, str], services: contextlib.ExitStack) -> None:
    variables: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.skipped:
            continue
        where = f"{page.name}:{block.line}"
        if block.language == "python":
            # Blank lines in front give tracebacks the line numbers of the page.
            code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
            exec(code, variables)
        elif block.text.rstrip().endswith("&"):
            services.enter_context(_service(block.text.rstrip().removesuffix("&"), environment, where))
        else:
            script = f"set -euo pipefail\n{block.text}"
            done = subprocess.run(
                ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=100
            )
            assert done.returncode == 0, f"{where}: status {done.returncode}\n{done.stdout}{done.stderr}"


@contextlib.contextmanager
def _service(command: str, environment: dict[str, str], where: str) -> Iterator[None]:
    """Start a command, wait until it says that it serves, and end it by its process id."""
    told = Path(f"service-{where.replace(':', '-')}.log")
    with told.open("w") as log:
        process = subprocess.Popen(["bash", "-c", f"exec {command}"], env=environment, stdout=log, stderr=log)
    try:
        until = time.monotonic() + 60
        while "serving at" not in told.read_text():
            is_late = process.poll() is not None or time.monotonic() > until
            assert not is_late, f"{where}: {told.read_text()}"
            time.sleep(0.05)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
