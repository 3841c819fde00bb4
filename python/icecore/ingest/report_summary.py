"""Summarize many arrays of a report: counts and bytes by group, reasons with their arrays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from icecore.display import text

if TYPE_CHECKING:
    from icecore.ingest.report import Row

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
