"""From outcomes to tables: each workload's section and goals, and RESULTS.md from the latest run of each."""

from __future__ import annotations

import dataclasses
import json
import operator
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from harness import HERE, Outcome

OUT = HERE / "out"
Results = dict[str, Outcome]
Measure = Callable[[Results], "float | None"]
COMPARE = {"<=": (operator.le, "≤"), ">=": (operator.ge, "≥")}


@dataclass(frozen=True)
class Goal:
    """A number that issue 2 asks for: what is measured, and on which side of `limit` it must lie."""

    text: str
    measure: Measure
    relation: str
    limit: float

    def row(self, results: Results) -> list[str]:
        compare, sign = COMPARE[self.relation]
        value = self.measure(results)
        verdict = (
            "not measured"
            if value is None
            else ("**reached**" if compare(value, self.limit) else "**missed**")
        )
        by_cpu = number(self.measure.by_cpu(results)) if isinstance(self.measure, Ratio) else ""
        return [self.text, f"{sign} {self.limit:g}", number(value), verdict, by_cpu]


@dataclass(frozen=True)
class Ratio:
    """One side's median over another's; None where either did not run."""

    above: str
    below: str
    label: str
    what: str = "wall"

    def __call__(self, results: Results) -> float | None:
        a, b = (results[side].seconds(self.label, self.what) for side in (self.above, self.below))
        return None if a is None or not b else a / b

    def by_cpu(self, results: Results) -> float | None:
        """The same by CPU time, which a busy machine disturbs less."""
        return dataclasses.replace(self, what="cpu")(results)


def number(value: float | None) -> str:
    """Three significant digits, without an exponent."""
    if value is None:
        return "-"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:.{digits}f}"


def milliseconds(value: float | None) -> str:
    return number(None if value is None else value * 1e3)


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def section(workload: ModuleType, measured: dict[str, Any]) -> str:
    """One workload as Markdown: what it is, the table, the goals, who was left out and why."""
    if hasattr(workload, "section"):
        own: str = workload.section(measured)
        return own
    outcomes: list[Outcome] = measured["outcomes"]
    extras: dict[str, list[str]] = getattr(workload, "EXTRAS", {})
    head = ["reader"]
    for label, title in workload.LABELS.items():
        head += [f"{title}: wall ms", "CPU ms", *extras.get(label, [])]
    head += ["peak MB", "above output MB", "runs", "configuration"]
    results = {o.side.name: o for o in outcomes}
    rows = [line(workload, o, extras) for o in outcomes if o.runs]
    parts = [f"## {workload.TITLE}", workload.ABOUT, table(head, rows)]
    goals = [goal.row(results) for goal in workload.GOALS]
    parts.append(table(["goal of icecore", "asked", "measured", "", "by CPU time"], goals))
    left_out = [f"- **{o.side.name}**: {o.absent or o.error}" for o in outcomes if not o.runs]
    if left_out:
        parts.append("Not in the table:\n\n" + "\n".join(left_out))
    busy = [run["others"] for o in outcomes for run in o.runs]
    if busy:
        busy.sort()
        middle, most = busy[len(busy) // 2], busy[-1]
        parts.append(
            f"Others on the machine used {middle:.2f} cores in the median run, {most:.2f} in the worst."
        )
    return "\n\n".join(parts)


def line(workload: ModuleType, outcome: Outcome, extras: dict[str, list[str]]) -> list[str]:
    name = outcome.side.name + (f" **WRONG VALUES: {', '.join(outcome.wrong)}**" if outcome.wrong else "")
    cells = [name]
    for label in workload.LABELS:
        cells += [milliseconds(outcome.seconds(label)), milliseconds(outcome.seconds(label, "cpu"))]
        cells += [number(outcome.extra(label, extra)) for extra in extras.get(label, [])]
    cells += [number(outcome.memory("peak_mb")), number(outcome.memory("over_mb"))]
    return [*cells, str(len(outcome.runs)), outcome.side.config]


def keep(workload: ModuleType, measured: dict[str, Any], machine: str, quick: bool) -> None:
    """Write the raw measurements and the section; RESULTS.md is assembled from the sections."""
    OUT.mkdir(exist_ok=True)
    kind = "quick" if quick else "full"
    raw = [
        {"side": o.side.name, "absent": o.absent, "error": o.error, "wrong": o.wrong, "runs": o.runs}
        for o in measured["outcomes"]
    ]
    text = section(workload, measured)
    name = f"{kind}-{workload.__name__}.json"
    kept = {"machine": machine, "section": text, "params": measured["params"], "sides": raw}
    (OUT / name).write_text(json.dumps(kept, indent=1))


def assemble(workloads: list[str], quick: bool, study: str = "") -> Path:
    """RESULTS{study}.md (full size) or out/RESULTS{study}-quick.md, from the latest run of each workload."""
    kind = "quick" if quick else "full"
    kept = [json.loads(f.read_text()) for w in workloads if (f := OUT / f"{kind}-{w}.json").exists()]
    parts = ["# Speed, beside the peers", INTRODUCTION]
    previous = None
    for one in kept:
        if one["machine"] != previous:
            parts.append(one["machine"])
            previous = one["machine"]
        parts.append(one["section"])
    path = OUT / f"RESULTS{study}-quick.md" if quick else HERE / f"RESULTS{study}.md"
    path.write_text("\n\n".join(parts) + "\n")
    return path


INTRODUCTION = """\
Written by `python bench/run.py all`; `bench/README.md` says how it is measured. Medians over fresh processes
that take turns; wall and CPU time (user and system, all threads) of the block that is named, in milliseconds.
Where a block is a series of queries: median wall time and mean CPU time of one query. "Peak" is resident
memory while reading; "above output" is what of it is neither the interpreter with its imports nor the arrays
read. Every side's result was compared with the generator's checksum."""
