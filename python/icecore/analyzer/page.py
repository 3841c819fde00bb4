"""An assay as one HTML page: drawn in SVG, nothing fetched, readable on light and dark ground."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from icecore import text
from icecore.analyzer.measure import Candidate
from icecore.analyzer.report import (
    HEADS,
    PROGRAM_HEADS,
    asides,
    cells,
    choice,
    goal,
    program_cells,
    shown,
    summary,
    title,
)

if TYPE_CHECKING:
    from icecore.analyzer.outcome import ArrayAssay, Assay, FileAssay

_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --dim: #767676; --line: #d8d8d8;
  --chosen: #c62828; --front: #1565c0 }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --paper: #16181b; --dim: #9a9a9a;
  --line: #3a3d42; --chosen: #ff7b72; --front: #79b8ff } }
body { font: 14px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 76em; margin: 2em auto; padding: 0 1em }
h2 { font-size: 1.1em; margin-top: 2.2em } table { border-collapse: collapse }
td, th { padding: .15em .9em .15em 0; text-align: left; border-bottom: 1px solid var(--line) }
.n { text-align: right; font-variant-numeric: tabular-nums }
.chosen { color: var(--chosen); font-weight: 600 } .front { color: var(--front) } .dim { color: var(--dim) }
svg { width: 48%; min-width: 30em; height: auto } svg text { font-size: 11px; fill: var(--ink) }
svg .axis { stroke: var(--line) } svg .tick { fill: var(--dim) }
circle { fill: var(--dim); opacity: .75 }
circle.chosen { fill: var(--chosen); opacity: 1 } circle.front { fill: var(--front); opacity: 1 }
"""
_WIDTH, _HEIGHT, _EDGE = 560, 360, 46


def html(assay: Assay) -> str:
    """The whole page."""
    body = [_array(array) for array in assay.arrays] + [_file(file) for file in assay.files]
    notes = "".join(f"<li>{escape(note)}</li>" for note in assay.notes)
    name = escape(assay.source)
    return (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>assay of {name}</title>"
        f"<meta name='viewport' content='width=device-width'><style>{_STYLE}</style>"
        f"<h1>Assay of {name}</h1>{''.join(body)}<ul class='dim'>{notes}</ul></html>\n"
    )


def _array(array: ArrayAssay) -> str:
    found = shown(array)
    rows = [(_kind(c), cells(c)) for c in found]
    goals = "".join(
        f"<tr><th>{escape(goal(item))}</th><td>{escape(choice(item))}</td></tr>"
        for item in array.choices.values()
    )
    plots = _plot("read, MB/s", [(c.label, c.read, c.ratio, _kind(c)) for c in found])
    plots += _plot("write, MB/s", [(c.label, c.write, c.ratio, _kind(c)) for c in found])
    more = "".join(f"<p class='dim'>{escape(line)}</p>" for line in asides(array))
    return (
        f"<h2>{escape(title(array))}</h2><table>{goals}</table>{plots}{_table(HEADS, rows, (1, 2, 3))}{more}"
    )


def _file(file: FileAssay) -> str:
    mega = file.measured / 1e6
    plots = _plot(
        "unpack, MB/s", [(p.program, mega / max(p.unpack, 1e-9), p.ratio, "") for p in file.programs]
    )
    plots += _plot("pack, MB/s", [(p.program, mega / max(p.pack, 1e-9), p.ratio, "") for p in file.programs])
    rows = [("", row) for row in program_cells(file)]
    absent = f"<p class='dim'>not installed here: {escape(', '.join(file.absent))}</p>" if file.absent else ""
    return f"<h2>{escape(summary(file))}</h2>{plots}{_table(PROGRAM_HEADS, rows, (1, 2, 3, 4))}{absent}"


def _kind(candidate: Candidate) -> str:
    return "chosen" if candidate.chosen_for else "front" if candidate.frontier else ""


def _table(heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], numbers: Sequence[int]) -> str:
    def line(kind: str, row: Sequence[str], tag: str) -> str:
        inner = "".join(
            f"<{tag}{' class=n' if i in numbers else ''}>{escape(cell)}</{tag}>" for i, cell in enumerate(row)
        )
        return f"<tr class='{kind}'>{inner}</tr>"

    return f"<table>{line('', heads, 'th')}{''.join(line(kind, row, 'td') for kind, row in rows)}</table>"


def _plot(label: str, points: Sequence[tuple[str, float, float, str]]) -> str:
    """Ratio against speed; the speed's axis is logarithmic. What counts is named."""
    points = [point for point in points if point[1] > 0]
    if not points:
        return ""
    low, high = floor(log10(min(p[1] for p in points))), ceil(log10(max(p[1] for p in points)))
    high = max(high, low + 1)
    top = max(p[2] for p in points) * 1.05

    def place(speed: float, ratio: float) -> tuple[float, float]:
        x = _EDGE + (log10(speed) - low) / (high - low) * (_WIDTH - 2 * _EDGE)
        return x, _HEIGHT - _EDGE - ratio / top * (_HEIGHT - 2 * _EDGE)

    marks = [_axes(label, low, high, top, place)]
    for name, speed, ratio, kind in points:
        x, y = place(speed, ratio)
        hover = escape(f"{name}: ratio {ratio:.3f}, {speed:,.0f} MB/s")
        radius = 5 if kind == "chosen" else 4
        marks.append(
            f"<circle class='{kind}' cx='{x:.1f}' cy='{y:.1f}' r='{radius}'><title>{hover}</title></circle>"
        )
        if kind or len(points) <= 20:
            marks.append(f"<text x='{x + 7:.1f}' y='{y - 5:.1f}'>{escape(name)}</text>")
    return f"<svg viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img'>{''.join(marks)}</svg>"


def _axes(label: str, low: int, high: int, top: float, place: object) -> str:
    assert callable(place)
    (left, bottom), (right, _) = place(10.0**low, 0.0), place(10.0**high, 0.0)
    lines = [
        f"<text x='{(left + right) / 2:.0f}' y='{_HEIGHT - 8}' text-anchor='middle'>{escape(label)}</text>"
    ]
    lines.append(f"<text x='8' y='{_EDGE - 14}'>ratio</text>")
    for power in range(low, high + 1):
        x, _ = place(10.0**power, 0.0)
        number = text.size(10.0**power * 1e6).replace(" ", " ")
        lines.append(f"<line class='axis' x1='{x:.1f}' y1='{_EDGE}' x2='{x:.1f}' y2='{bottom:.1f}'/>")
        lines.append(
            f"<text class='tick' x='{x:.1f}' y='{bottom + 16:.1f}' text-anchor='middle'>{number}/s</text>"
        )
    for step in range(5):
        ratio = top * step / 4
        _, y = place(10.0**low, ratio)
        lines.append(f"<line class='axis' x1='{left}' y1='{y:.1f}' x2='{right}' y2='{y:.1f}'/>")
        lines.append(f"<text class='tick' x='4' y='{y + 4:.1f}'>{ratio:.3g}</text>")
    return "".join(lines)
