"""Result of a study: tables and figures, written to one directory."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from icecore.display import text


@dataclass
class Table:
    """A table of numbers and words with a title and headers."""

    title: str
    heads: Sequence[str]
    rows: list[list[Any]] = field(default_factory=list)

    def __str__(self) -> str:
        shown = [[_cell(cell) for cell in row] for row in self.rows]
        numbers = [i for i in range(len(self.heads)) if i]
        return f"{self.title}\n\n{text.table(self.heads, shown, numbers)}"

    def markdown(self) -> str:
        """Return the table in Markdown."""
        lines = [list(self.heads), ["---"] * len(self.heads), *([_cell(c) for c in row] for row in self.rows)]
        return f"## {self.title}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(cell: Any) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:.3g}" if abs(cell) < 1000 else f"{cell:,.0f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


@dataclass
class Outcome:
    """Tables, notes and file names of figures; ``more`` are tables too long for a terminal."""

    name: str
    tables: list[Table] = field(default_factory=list)
    more: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        parts = [*map(str, self.tables), *self.notes]
        if self.figures:
            parts.append("figures: " + ", ".join(self.figures))
        return "\n\n".join(parts)

    def write(self, folder: Path) -> None:
        """Write ``NAME.md`` and ``NAME.json`` into the directory of the figures."""
        parts = [f"# icecore bench {self.name}", *(t.markdown() for t in self.tables), *self.notes]
        parts += [f"![{Path(f).stem}]({Path(f).name})" for f in self.figures]
        parts += [table.markdown() for table in self.more]
        (folder / f"{self.name}.md").write_text("\n\n".join(parts) + "\n")
        (folder / f"{self.name}.json").write_text(json.dumps(asdict(self), indent=1, default=str))


class Study(Protocol):
    """``run(folder, source, progress, quick)``: measure and draw figures into ``folder``."""

    def __call__(
        self, folder: Path, source: str | None, say: Callable[[str], None], quick: bool = False, /
    ) -> Outcome: ...
