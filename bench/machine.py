"""What the figures were measured on, and with which versions."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
from pathlib import Path

from harness import ROOT, environment, python

PEERS = ["numpy", "h5py", "hidefix", "h5coro", "zarr", "zarrs", "numcodecs", "icechunk", "tensorstore"]
PEERS += ["virtualizarr", "obstore", "blosc2", "tiledb"]
VERSIONS = f"""
import json, sys
from importlib.metadata import PackageNotFoundError, version
def of(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
print(json.dumps({{name: of(name) for name in {PEERS!r}}} | {{"Python": sys.version.split()[0]}}))
"""


def facts() -> str:
    """A paragraph of Markdown: machine, load, versions."""
    load = ", ".join(f"{n:.2f}" for n in os.getloadavg())
    versions = json.loads(run([python(), "-c", VERSIONS]) or "{}")
    listed = ", ".join(f"{name} {v}" for name, v in versions.items())
    today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    system = f"{platform.system()} {platform.release()}"
    return (
        f"Machine: {cpu()}, {os.cpu_count()} cores, {memory_gb():.0f} GB memory, {system}; {today}, "
        f"icecore at commit {commit()}. Load (1, 5, 15 min) at the start: {load}.\n\nVersions: {listed}."
    )


def cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def commit() -> str:
    head = run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"])
    changed = run(
        ["git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no", "crates", "python"]
    )
    return (head or "unknown") + (" with uncommitted changes" if changed else "")


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    return done.stdout.strip()
