"""Build the extension module into the virtual environment and show progress.

python tools/build.py MATURIN_ARGUMENT...   runs `maturin develop` with these arguments

On a terminal one line is rewritten; elsewhere a line appears every 15 seconds. Errors and warnings are
printed in full.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO

#: seconds between two lines where the output is not a terminal
INTERVAL = 15
MATURIN = Path(sys.executable).with_name("maturin")
COUNTER = re.compile(r"Building \[[^\]]*\] +(\d+)/(\d+)(?:: (.*))?")
CRATE = re.compile(r"^\s*Compiling (\S+)")
DOWNLOAD = re.compile(r"^\s*(?:Downloading|Downloaded|Updating|Locking|Adding|Fetch)\b")
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
#: lines of cargo and maturin without news beyond the counter; the warning about the rpath does not apply,
#: because the module links all native libraries statically
QUIET = re.compile(
    r"^\s*(?:Finished|Blocking|Building|Installed|Compiling)\b"
    r"|^\W*(?:Found|Built|Setting|Using|Not using)\b"
    r"|^\W*Warning: Failed to set rpath\b"
)


class Progress:
    """The one line that says what is being done."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.shown = 0.0
        self.terminal = sys.stderr.isatty()
        self.width = os.get_terminal_size(2).columns if self.terminal else 100

    def show(self, text: str) -> None:
        now = time.monotonic()
        if now - self.shown < (0.1 if self.terminal else INTERVAL):
            return
        self.shown = now
        seconds = int(now - self.start)
        line = f"{text}  [{seconds // 60}:{seconds % 60:02}]"
        if self.terminal:
            print(f"\r\x1b[K{line[: self.width - 1]}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def end(self, what: str) -> None:
        self.clear()
        seconds = int(time.monotonic() - self.start)
        print(f"{what} after {seconds // 60} min {seconds % 60:02} s", file=sys.stderr)


def parts(stream: IO[bytes]) -> Iterator[str]:
    """Lines, also those that end with a carriage return, without escape sequences."""
    rest = ""
    while more := os.read(stream.fileno(), 65536):
        *whole, rest = re.split(r"[\r\n]+", rest + more.decode(errors="replace"))
        for line in whole:
            yield ESCAPES.sub("", line)
    yield ESCAPES.sub("", rest)


def follow(stream: IO[bytes], progress: Progress) -> deque[str]:
    """Show what the build does; return the last lines that are not progress."""
    kept: deque[str] = deque(maxlen=400)
    count = ""
    for line in parts(stream):
        if counted := COUNTER.search(line):
            done, total, names = counted.groups()
            count = f"{done} of {total} crates"
            progress.show(f"compiling: {count}" + (f" ({names.strip()})" if names else ""))
        elif crate := CRATE.match(line):
            progress.show(f"compiling: {count} ({crate[1]})" if count else f"compiling: {crate[1]}")
        elif DOWNLOAD.match(line):
            progress.show("downloading the crates")
        elif line.strip() and not QUIET.match(line):
            kept.append(line)
            if not line.startswith((" ", "+")):
                progress.show(line.strip())
    return kept


def remove_old_name(env: dict[str, str]) -> None:
    """Uninstall a distribution of the old name `icecore`: with both, every entry point would exist twice."""
    try:
        version("icecore")
    except PackageNotFoundError:
        return
    uv = str(MATURIN.with_name("uv"))
    uninstall = [uv, "pip", "uninstall", "-q", "--python", sys.executable, "icecore"]
    subprocess.run(uninstall, env=env, check=True)


def main(arguments: list[str]) -> int:
    progress = Progress()
    progress.show("building the Rust engine (a first build takes minutes)")
    env = {**os.environ, "CARGO_TERM_PROGRESS_WHEN": "always", "CARGO_TERM_PROGRESS_WIDTH": "100"}
    remove_old_name(env)
    command = [str(MATURIN), "develop", *arguments]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    try:
        kept = follow(process.stdout, progress)
    except KeyboardInterrupt:
        process.wait()
        return 130
    status = process.wait()
    failed = status != 0
    warned = any(line.lstrip().startswith(("warning", "error")) for line in kept)
    if not failed:  # the studies of `icecore bench`, from this checkout
        studies = [str(MATURIN.with_name("uv")), "pip", "install", "-q", "--no-deps", "-e", "bench"]
        status = subprocess.run(studies, env=env).returncode
        failed = status != 0
    progress.end("build failed" if failed else "built")
    if failed or warned:
        print("\n".join(kept), file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
