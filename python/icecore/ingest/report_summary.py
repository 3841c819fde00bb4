"""Many arrays of a report in a few lines: counts and bytes by group, reasons by array."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from icecore.display import text

if TYPE_CHECKING:
    from icecore.ingest.report import Row

#: groups, and reasons, that are listed at most
_GROUPS, _REASONS = 20, 12
#: paths that a reason names
_PATHS = 3
_HOWS = ("linked", "mixed", "copied", "packed", "skipped")


def summarize(rows: Sequence[Row]) -> str:
    """A line for each group with counts and bytes, then the reasons of copies with the arrays they apply to.

    Groups with the same start are added up where there are more than 20.
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
    """``36 linked, 2 copied``."""
    counts = {how: sum(row.how == how for row in rows) for how in _HOWS}
    return ", ".join(f"{count:,} {how}" for how, count in counts.items() if count)


def _by_group(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows by group, or by the first parts of their paths where there would be too many groups."""
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
    """Why arrays were copied, or what is worth knowing of them: a line a reason, most arrays first."""
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
