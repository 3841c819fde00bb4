"""Table 1, figures 1 to 3: ratio and speed of each compression scheme on each field."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import harmonic_mean

import icecore
from icecore.analyzer.assay_report import FAMILIES, family
from icecore.analyzer.assay_result import ArrayAssay
from icecore.analyzer.measure import Candidate
from icecore.display import figures
from icecore.display.scatter import Point

from icecore_bench.pstore import field
from icecore_bench.study import Outcome, Table


@dataclass
class _Found:
    """What the analyzer measured on the fields: (ratio, write MB/s, read MB/s) of each scheme."""

    #: names of the fields that are not only fill values
    fields: list[str] = dataclasses.field(default_factory=list)
    schemes: dict[str, list[tuple[float, float, float]]] = dataclasses.field(default_factory=dict)
    #: best ratios, field by field
    best: dict[str, list[float]] = dataclasses.field(
        default_factory=lambda: {
            "icecore, archive": [],
            "icecore, speed": [],
            "best scheme of others": [],
        }
    )

    def add(self, label: str, measured: ArrayAssay) -> None:
        """Add one field."""
        self.fields.append(label)
        for candidate in measured.candidates:
            if candidate.ratio:
                figure = (candidate.ratio, candidate.write, candidate.read)
                self.schemes.setdefault(candidate.label, []).append(figure)
        # Compare on the same blocks: chosen candidates may have been measured on more blocks.
        for goal in ("archive", "speed"):
            chosen = [c.ratio for c in measured.candidates if goal in c.chosen_for]
            self.best[f"icecore, {goal}"].append(max(chosen, default=measured.choices[goal].ratio))
        others = [c.ratio for c in measured.candidates if c.ratio and not _ours(c)]
        self.best["best scheme of others"].append(max(others))

    def means(self) -> dict[str, list[float]]:
        """Harmonic means of the schemes that were measured on every field."""
        return {
            label: [harmonic_mean([figure[i] for figure in all_of]) for i in range(3)]
            for label, all_of in self.schemes.items()
            if len(all_of) == len(self.fields)
        }


def measure(folder: Path, fields: Sequence[icecore.Array], say: Callable[[str], None]) -> Outcome:
    """Measure all candidates of the analyzer on a sample of each field; speeds are per CPU core."""
    heads = ["field, scheme", "ratio", "write MB/s", "read MB/s", "chosen for"]
    table = Table("Table 1: schemes of compression that are chosen, or that no other beats", heads)
    everything = Table("All schemes of table 1", heads)
    outcome = Outcome("schemes", [table], [everything])
    found = _Found()
    for array, label in zip(fields, field.labels(fields), strict=True):
        say(f"assay: {array.path}")
        measured = icecore.assay(array).arrays[0]
        if not measured.candidates:
            outcome.notes.append(f"{label}: not in table 1, because it contains only the fill value")
            continue
        found.add(label, measured)
        for candidate in measured.candidates:
            if candidate.ratio:
                name, goals = f"{label}, {candidate.label}", " ".join(candidate.chosen_for)
                row = [name, candidate.ratio, candidate.write, candidate.read, goals]
                everything.rows.append(row)
                if candidate.chosen_for or candidate.frontier:
                    table.rows.append(row)
    outcome.figures = _figures(folder, found)
    return outcome


def _figures(folder: Path, found: _Found) -> list[str]:
    mean = found.means()
    return [
        figures.points(
            folder / "pstore-1.png",
            "Figure 1: ratio against decoding (harmonic means over the fields)",
            ("MB/s decoded by a core", "ratio"),
            [Point(label, m[2], m[0], family(label)) for label, m in mean.items()],
            "x",
            FAMILIES,
            edge=True,
        ),
        figures.points(
            folder / "pstore-2.png",
            "Figure 2: ratio against encoding (harmonic means over the fields)",
            ("MB/s encoded by a core", "ratio"),
            [Point(label, m[1], m[0], family(label)) for label, m in mean.items()],
            "x",
            FAMILIES,
            edge=True,
        ),
        figures.lines(
            folder / "pstore-3.png",
            "Figure 3: ratio, field by field",
            ("field", "ratio"),
            {name: (list(range(len(found.fields))), ratios) for name, ratios in found.best.items()},
            "y",
            ticks=dict(enumerate(found.fields)),
            joined=False,
        ),
    ]


def _ours(candidate: Candidate) -> bool:
    return any(codec["name"].startswith("icecore.") for codec in candidate.codecs)
