"""Made data, the same on every machine: generated once and kept in `bench/data`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "data"


def folder(quick: bool) -> Path:
    """Where the data of full size or of a quick run lies."""
    path = FOLDER / ("quick" if quick else "full")
    path.mkdir(parents=True, exist_ok=True)
    return path


def built(path: Path, version: str, make: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """What `make(path)` returned when it made `path`, a file or a folder.

    It runs only where that version is not there yet; what it leaves unfinished is never taken for whole.
    """
    facts = path.with_name(path.name + ".facts.json")
    if path.exists() and facts.exists():
        known = json.loads(facts.read_text())
        if known["version"] == version:
            return dict(known["facts"])
    forget(path)
    facts.unlink(missing_ok=True)
    unfinished = path.with_name("unfinished-" + path.name)
    forget(unfinished)
    made = make(unfinished)
    unfinished.rename(path)
    facts.write_text(json.dumps({"version": version, "facts": made}))
    return made


def forget(path: Path) -> None:
    """Remove a file or a folder, if there is one."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def size_mb(path: Path) -> float:
    """Bytes of a file, or of all files in a folder, in MB."""
    files = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    return sum(p.stat().st_size for p in files) / 1e6
