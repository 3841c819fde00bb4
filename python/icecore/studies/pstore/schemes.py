"""Table 1, figures 1 to 3: ratio and speed of each compression scheme on each field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import harmonic_mean

import icecore
from icecore.analyzer.codec_families import FAMILIES, family
from icecore.analyzer.measure import Candidate
from icecore.display import figures
from icecore.display.scatter import Point
from icecore.studies.pstore import field
from icecore.studies.study import Outcome, Table


def measure(folder: Path, fields: Sequence[icecore.Array], say: Callable[[str], None]) -> Outcome:
    """Measure all candidates of the analyzer on a sample of each field; speeds are per CPU core."""
    heads = ["field, scheme", "ratio", "write MB/s", "read MB/s", "chosen for"]
    table = Table("Table 1: schemes of compression that are chosen, or that no other beats", heads)
    everything = Table("All schemes of table 1", heads)
    found: dict[str, list[tuple[float, float, float]]] = {}
    best: dict[str, list[float]] = {
        "icecore, archive": [],
        "icecore, speed": [],
        "best scheme of others": [],
    }
    outcome = Outcome("schemes", [table], [everything])
    shown: list[str] = []
    for array, label in zip(fields, field.labels(fields), strict=True):
        say(f"assay: {array.path}")
        measured = icecore.assay(array).arrays[0]
        if not measured.candidates:
            outcome.notes.append(f"{label}: not in table 1, because it contains only the fill value")
            continue
        shown.append(label)
        for candidate in measured.candidates:
            if candidate.ratio:
                name = f"{label}, {candidate.label}"
                figure = (candidate.ratio, candidate.write, candidate.read)
                row = [name, *figure, " ".join(candidate.chosen_for)]
                everything.rows.append(row)
                if candidate.chosen_for or candidate.frontier:
                    table.rows.append(row)
                found.setdefault(candidate.label, []).append(figure)
        # Compare on the same blocks: chosen candidates may have been measured on more blocks.
        for goal in ("archive", "speed"):
            chosen = [c.ratio for c in measured.candidates if goal in c.chosen_for]
            best[f"icecore, {goal}"].append(max(chosen, default=measured.choices[goal].ratio))
        best["best scheme of others"].append(
            max(c.ratio for c in measured.candidates if c.ratio and not _ours(c))
        )
    everywhere = {label: figure for label, figure in found.items() if len(figure) == len(shown)}
    mean = {
        label: [harmonic_mean([f[i] for f in all_of]) for i in range(3)]
        for label, all_of in everywhere.items()
    }
    outcome.figures = [
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
            {name: (list(range(len(shown))), ratios) for name, ratios in best.items()},
            "y",
            ticks=dict(enumerate(shown)),
            joined=False,
        ),
    ]
    return outcome


def _ours(candidate: Candidate) -> bool:
    return any(codec["name"].startswith("icecore.") for codec in candidate.codecs)
