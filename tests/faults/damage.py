"""Damage done to the files of a small repository, and the reader that meets it in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

WORKER = str(Path(__file__).with_name("worker.py"))
#: what a reader may say about damaged bytes; anything else names the wrong cause
KINDS = {
    "corrupt",
    "codec",
    "dtype",
    "format",
    "invalid",
    "io",
    "memory",
    "mismatch",
    "not-found",
    "source-missing",
    "link-not-allowed",
    "unsupported",
}
_HANG = 240.0


def run(jobs: list[dict[str, Any]]) -> list[tuple[Any, str]]:
    """What the worker said of each edit; fails where it died or hung, naming the last edit it finished."""
    text = "".join(json.dumps(job) + "\n" for job in jobs)
    try:
        done = subprocess.run(
            [sys.executable, WORKER], input=text, capture_output=True, text=True, timeout=_HANG, check=False
        )
    except subprocess.TimeoutExpired as error:
        said = (error.stdout or b"").decode().splitlines()
        raise AssertionError(f"the reader hangs after {said[-1:]}") from None
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (
        f"the reader died ({done.returncode}) after {lines[-1:]}: {done.stderr[-2000:]}"
    )
    return [(what, outcome) for what, outcome in lines]


def hurt(repo: str, file: Path, edits: list[list[Any]]) -> Counter[str]:
    """Do each edit to a file of a repository and count the outcomes; bad ones keep their place."""
    outcomes = run([{"repo": repo, "file": str(file), "edits": [*edits, ["none"]], "warm": repo}])
    assert len(outcomes) == len(edits) + 1
    assert outcomes[-1] == (["none"], "right")
    counts: Counter[str] = Counter()
    for edit, outcome in outcomes[:-1]:
        bad = outcome.startswith(("wrong", "raised", "internal"))
        counts[f"{outcome} (after {edit})" if bad else outcome] += 1
    return counts


def flips(file: Path, step: int = 1) -> list[list[Any]]:
    """Each byte (or each ``step``-th) changed: all its bits, or one of them, by turns."""
    positions = range(0, file.stat().st_size, step)
    return [["flip", i, 0xFF if turn % 2 else 1 << turn // 2 % 8] for turn, i in enumerate(positions)]


def cuts(file: Path, step: int = 1) -> list[list[Any]]:
    """The file ended early at each length (or each ``step``-th), and lengthened."""
    return [["cut", n] for n in range(0, file.stat().st_size, step)] + [["grow", 1], ["grow", 1000]]


def clean(counts: Counter[str]) -> None:
    """Assert that everything was right or an error with a kind that fits."""
    odd = [outcome for outcome in counts if outcome != "right" and outcome not in KINDS]
    assert not odd, "; ".join(odd[:5]) + (f" and {len(odd) - 5} more" if len(odd) > 5 else "")


def only(repo: str, folder: str) -> Path:
    """The one file of a folder of a repository."""
    (file,) = (path for path in (Path(repo) / folder).iterdir() if path.is_file())
    return file
