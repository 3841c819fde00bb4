"""Tables of bench/RESULTS*.md as values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Results:
    """One results file: for each section, the rows of its tables, by the first cell."""

    sections: dict[str, dict[str, dict[str, str]]]

    def value(self, section: str, row: str, column: str) -> float:
        """A number of the table under the heading that begins with ``section``."""
        for heading, rows in self.sections.items():
            if heading.startswith(section):
                return float(rows[row][column])
        raise KeyError(section)


def load(name: str) -> Results:
    """Parse a file of ``bench/``."""
    sections: dict[str, dict[str, dict[str, str]]] = {}
    heading, header = "", []
    for line in (ROOT / "bench" / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading, header = line[3:], []
        elif not line:
            header = []  # the next table has its own
        elif line.startswith("| ") and heading and not header:
            header = _cells(line)
        elif line.startswith("| ---"):
            continue
        elif line.startswith("| ") and header:
            cells = _cells(line)
            if len(cells) == len(header):
                sections.setdefault(heading, {}).setdefault(cells[0], dict(_columns(header, cells)))
    return Results(sections)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _columns(header: list[str], cells: list[str]) -> list[tuple[str, str]]:
    """Name each cell: ``cold: CPU ms`` where a header names the measurement only once."""
    named, measurement = [], ""
    for title, cell in zip(header, cells, strict=True):
        before, colon, _ = title.partition(": ")
        measurement = before if colon else measurement
        known = {name for name, _ in named}
        named.append((title if colon or title not in known else f"{measurement}: {title}", cell))
        if not colon:
            named.append((f"{measurement}: {title}", cell))
    return named
