"""Outcome of the demonstration: checks of all values, and its report."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from icecore.display import text
from icecore.ingest.report import Report


@dataclass(frozen=True)
class Check:
    """Result of comparing an array with its source element by element, or a table's text byte by byte."""

    path: str
    same: bool
    detail: str = ""


@dataclass
class Outcome:
    """Result of the demonstration.

    Attributes:
        folder: directory of the files.
        rows: one dictionary per sample: file, arrays by method, size of the file, raw bytes, bytes in the
            repository, seconds to write, seconds to read everything with icecore and with the field's own
            library.
        checks: one per array, and one per text table.
        notes: lines about figures and skipped sections.
    """

    folder: Path
    rows: list[dict[str, object]] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    snapshot: str = ""

    @property
    def passed(self) -> bool:
        """Whether there are checks and all of them passed."""
        return bool(self.checks) and all(check.same for check in self.checks)


def check(path: str, ours: np.ndarray | None, theirs: np.ndarray | None) -> Check:
    """Compare an array with its source, bit for bit."""
    if ours is None or theirs is None:
        return Check(path, False, "not in the repository" if ours is None else "not in the source")
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype.newbyteorder("="):
        return Check(path, False, f"{ours.dtype} {ours.shape}, in the source {theirs.dtype} {theirs.shape}")
    differing = int(
        np.sum(ours.view(f"V{ours.itemsize}") != theirs.astype(ours.dtype).view(f"V{ours.itemsize}"))
    )
    return Check(path, differing == 0, f"{differing:,} of {ours.size:,} elements differ" if differing else "")


def describe(outcome: Outcome) -> str:
    """Format the outcome as text: sizes of the file and in the repository, and the times to write, to read
    with icecore, and to read with h5py and NumPy.
    """
    cells = [
        [
            row["file"],
            row["arrays"],
            text.size(_number(row["bytes_file"])),
            text.size(_number(row["bytes_stored"])),
            *(_time(row[f"seconds_{what}"]) for what in ("write", "read", "reference")),
        ]
        for row in outcome.rows
    ]
    headers = ["sample", "arrays", "file", "stored", "written", "read", "h5py, np"]  # within 80 columns
    lines = [text.table(headers, cells, (2, 3, 4, 5, 6)), ""]
    wrong = [check for check in outcome.checks if not check.same]
    lines += [f"WRONG {check.path}: {check.detail}" for check in wrong]
    right = len(outcome.checks) - len(wrong)
    count = f"{right} of {len(outcome.checks)}"
    lines.append(f"{count} arrays and tables are the same as in their source, element by element")
    return "\n".join([*lines, *outcome.notes])


def counts(report: Report) -> str:
    """Format the number of arrays by method: ``36 linked, 2 copied``."""
    return ", ".join(
        f"{n} {how}" for how in ("linked", "mixed", "copied", "packed") if (n := report.count(how))
    )


def _time(seconds: object) -> str:
    milliseconds = _number(seconds) * 1e3
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
