"""Outcome of a ``link`` or a ``pack``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from icecore.display import text
from icecore.sources.failure import Failure

if TYPE_CHECKING:
    from icecore.ingest.plan.link_plan import LinkPlan
    from icecore.ingest.plan.pack_plan import PackPlan


#: largest number of arrays in ``str(report)``
_SHOWN = 20


@dataclass
class Row:
    """One array of the result.

    ``how`` is ``linked``, ``copied`` (written into the repository), ``mixed``, ``packed`` or ``skipped``.
    ``chunks`` and ``bytes`` count the linked chunks and their bytes (0 for a copy until it is written);
    ``raw`` is the number of decoded bytes.
    """

    path: str
    how: str
    why: str = ""
    chunks: int = 0
    bytes: int = 0
    raw: int = 0


@dataclass(repr=False)
class Report:
    """The outcome of ``link`` or ``pack``; ``str(report)`` is a table.

    Attributes:
        rows: one for each array.
        failures: sources and arrays that could not be used.
        notes: notes for readers of the arrays.
        snapshot: id of the new version; None if nothing was committed.
        seconds: wall time.
        dry_run: whether only a plan was made.
        bytes_stored: bytes written to the repository.
        plan: the plan of a dry run.
    """

    rows: list[Row] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    notes: list[Failure] = field(default_factory=list)
    snapshot: str | None = None
    seconds: float = 0.0
    dry_run: bool = False
    bytes_stored: int = 0
    plan: PackPlan | LinkPlan | None = None

    def sort(self) -> None:
        """Order the rows by path."""
        self.rows.sort(key=lambda row: row.path)

    @property
    def bytes_raw(self) -> int:
        """Decoded bytes of all arrays."""
        return sum(row.raw for row in self.rows if row.how != "skipped")

    def count(self, *hows: str) -> int:
        """Number of arrays with one of these outcomes."""
        return sum(row.how in hows for row in self.rows)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values, for ``--json``."""
        planned = {} if self.plan is None else {"plan": self.plan.as_dict()}
        return {
            "snapshot": self.snapshot,
            "dry_run": self.dry_run,
            "seconds": round(self.seconds, 3),
            "arrays": [asdict(row) for row in self.rows],
            "bytes_raw": self.bytes_raw,
            "bytes_stored": self.bytes_stored,
            "failures": [asdict(item) for item in self.failures],
            "notes": [asdict(item) for item in self.notes],
            **planned,
        }

    def table(self, limit: int | None = None) -> str:
        """Return one line per array, at most ``limit``; if some are left out, exceptional ones come first."""
        rows = self.rows
        if limit is not None and len(rows) > limit:
            rows = sorted(rows, key=lambda row: row.how in ("linked", "packed"))[:limit]
        cells = [
            [row.path, row.how, f"{row.chunks:,}", text.size(row.bytes), text.size(row.raw), row.why]
            for row in rows
        ]
        table = text.table(["array", "how", "chunks", "stored", "raw", "why"], cells, (2, 3, 4))
        rest = len(self.rows) - len(rows)
        return f"{table}\n… and {text.plural(rest, 'array')} more" if rest else table

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {how}" for how, count in Counter(row.how for row in self.rows).items())
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"<icecore.Report {counts or 'no array'}{failed}>\n{self.table(_SHOWN)}"


# Summarize many arrays of a report: counts and bytes by group, reasons with their arrays.

#: largest numbers of listed groups and reasons
_GROUPS, _REASONS = 20, 12
#: largest number of paths listed for a reason
_PATHS = 3
_HOWS = ("linked", "mixed", "copied", "packed", "skipped")


def summarize(rows: Sequence[Row]) -> str:
    """Return a line for each group with counts and bytes, then the reasons for copies with their arrays.

    Groups with the same parent are summed if there are more than 20.
    """
    groups = _by_group(rows)
    cells = [
        [
            group,
            f"{len(members):,}",
            _counts(members),
            f"{sum(row.chunks for row in members):,}",
            text.size(sum(row.bytes for row in members)),
            text.size(sum(row.raw for row in members)),
        ]
        for group, members in list(groups.items())[:_GROUPS]
    ]
    lines = [text.table(["group", "arrays", "how", "chunks", "stored", "raw"], cells, (1, 3, 4, 5))]
    if len(groups) > _GROUPS:
        lines.append(f"… and {text.plural(len(groups) - _GROUPS, 'group')} more")
    return "\n".join([*lines, *_reasons(rows)])


def _counts(rows: Sequence[Row]) -> str:
    """Return counts such as ``36 linked, 2 copied``."""
    counts = {how: sum(row.how == how for row in rows) for how in _HOWS}
    return ", ".join(f"{count:,} {how}" for how, count in counts.items() if count)


def _by_group(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows by group, or by a common parent if there would be too many groups."""
    deepest = max(row.path.count("/") for row in rows)
    groups: dict[str, list[Row]] = {}
    for depth in range(deepest, 0, -1):
        groups = defaultdict(list)
        for row in rows:
            parts = row.path.split("/")[1:-1]
            start = "/" + "/".join(parts[: depth - 1])
            groups[f"{start.rstrip('/')}/…" if len(parts) > depth - 1 else start].append(row)
        if len(groups) <= _GROUPS:
            break
    return dict(sorted(groups.items()))


def _reasons(rows: Sequence[Row]) -> list[str]:
    """Return one line per reason for a copy or remark, those with the most arrays first."""
    reasons: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        if row.why:
            reasons[row.how, row.why].append(row.path)
    ordered = sorted(reasons.items(), key=lambda item: -len(item[1]))
    lines = [
        f"{text.plural(len(paths), 'array')} {how}: {why} ({_few(paths)})"
        for (how, why), paths in ordered[:_REASONS]
    ]
    if len(ordered) > _REASONS:
        lines.append(f"… and {text.plural(len(ordered) - _REASONS, 'reason')} more")
    return ["", *lines] if lines else []


def _few(paths: Sequence[str]) -> str:
    return ", ".join(paths[:_PATHS]) + (", …" if len(paths) > _PATHS else "")
