"""Outcome of a ``relink``."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from icecore import errors
from icecore.display import text
from icecore.ingest.moved_files import MovedFile

#: largest number of files in ``str(report)``
_SHOWN = 20


@dataclass(repr=False)
class RelinkReport:
    """The outcome of ``relink``; ``str(report)`` is a table.

    Attributes:
        repository: URL of the repository.
        files: the linked files below the old directory.
        unchanged: number of linked files outside the old directory.
        arrays: paths of the arrays with references to the relinked files.
        snapshot: id of the new version; None if nothing was committed.
        seconds: wall time.
        dry_run: whether the files were only checked.
    """

    repository: str
    files: list[MovedFile] = field(default_factory=list)
    unchanged: int = 0
    arrays: list[str] = field(default_factory=list)
    snapshot: str | None = None
    seconds: float = 0.0
    dry_run: bool = False

    @property
    def refused(self) -> list[MovedFile]:
        """The files that are missing or differ."""
        return [file for file in self.files if file.state != "relinked"]

    def of(self, state: str) -> list[MovedFile]:
        """The files with a state: ``relinked``, ``missing`` or ``differing``."""
        return [file for file in self.files if file.state == state]

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values, for ``--json``."""
        return {
            "repository": self.repository,
            "snapshot": self.snapshot,
            "dry_run": self.dry_run,
            "seconds": round(self.seconds, 3),
            "relinked": [file.as_dict() for file in self.of("relinked")],
            "missing": [file.as_dict() for file in self.of("missing")],
            "differing": [file.as_dict() for file in self.of("differing")],
            "unchanged": self.unchanged,
            "arrays": self.arrays,
        }

    def table(self, limit: int | None = None) -> str:
        """One line for each file; missing and differing files first, then at most ``limit`` others."""
        files = self.refused + self.of("relinked")[:limit]
        cells = [[file.state, file.new, file.why] for file in files]
        table = text.table(["state", "file", "why"], cells)
        rest = len(self.files) - len(files)
        return f"{table}\n… and {text.plural(rest, 'file')} more" if rest else table

    @property
    def counts(self) -> str:
        """``3 files relinked, 1 missing, 0 differing, 2 unchanged``."""
        states = Counter(file.state for file in self.files)
        verb = "relinked" if self.snapshot is not None else "can be relinked"
        counts = [f"{text.plural(states['relinked'], 'file')} {verb}"]
        counts += [f"{states[state]:,} {state}" for state in ("missing", "differing")]
        return ", ".join([*counts, f"{self.unchanged:,} unchanged"])

    def error(self) -> errors.Error:
        """The error for files that are missing or differ."""
        first, count = self.refused[0], len(self.refused)
        kind = "source-missing" if first.state == "missing" else "source-changed"
        more = f", and {count - 1:,} more" if count > 1 else ""
        hint = "relink the others: --keep-going; link changed files again: icecore link --replace"
        return errors.make(
            kind, f"{first.new} is {first.state}: {first.why}{more}; nothing was relinked", hint
        )

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<icecore.RelinkReport {self.counts}>\n{self.table(_SHOWN)}"
