"""HTML report of an assay: one page with inline SVG, no downloads, light and dark colours."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from icecore.analyzer.codec_families import FAMILIES, family
from icecore.analyzer.measure import Candidate
from icecore.analyzer.svg_plot import COLORS, STYLE, plot
from icecore.analyzer.text_report import (
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
from icecore.display.scatter import Point

if TYPE_CHECKING:
    from icecore.analyzer.assay_result import ArrayAssay, Assay, FileAssay

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
.key span { margin-right: 1.4em } .key i { display: inline-block; width: .7em; height: .7em;
  border-radius: 50%; margin-right: .4em }
"""


def html(assay: Assay) -> str:
    """Return the whole page."""
    body = [_array(array) for array in assay.arrays] + [_file(file) for file in assay.files]
    notes = "".join(f"<li>{escape(note)}</li>" for note in assay.notes)
    name = escape(assay.source)
    return (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>assay of {name}</title>"
        f"<meta name='viewport' content='width=device-width'><style>{_STYLE}{STYLE}</style>"
        f"<h1>Assay of {name}</h1>{''.join(body)}<ul class='dim'>{notes}</ul></html>\n"
    )


def _array(array: ArrayAssay) -> str:
    found = shown(array)
    rows = [(_kind(c), cells(c)) for c in found]
    goals = "".join(
        f"<tr><th>{escape(goal(item))}</th><td>{escape(choice(item))}</td></tr>"
        for item in array.choices.values()
    )
    plots = plot("read, MB/s", [_point(c, c.read) for c in found])
    plots += plot("write, MB/s", [_point(c, c.write) for c in found])
    more = "".join(f"<p class='dim'>{escape(line)}</p>" for line in asides(array))
    return (
        f"<h2>{escape(title(array))}</h2><table>{goals}</table>{plots}{_key()}"
        f"{_table(HEADS, rows, (1, 2, 3))}{more}"
    )


def _file(file: FileAssay) -> str:
    mega = file.measured / 1e6
    plots = plot(
        "unpack, MB/s", [Point(p.program, mega / max(p.unpack, 1e-9), p.ratio) for p in file.programs]
    )
    plots += plot("pack, MB/s", [Point(p.program, mega / max(p.pack, 1e-9), p.ratio) for p in file.programs])
    rows = [("", row) for row in program_cells(file)]
    absent = f"<p class='dim'>not installed here: {escape(', '.join(file.absent))}</p>" if file.absent else ""
    return f"<h2>{escape(summary(file))}</h2>{plots}{_table(PROGRAM_HEADS, rows, (1, 2, 3, 4))}{absent}"


def _point(candidate: Candidate, speed: float) -> Point:
    goals = ", ".join(candidate.chosen_for) or None
    return Point(candidate.label, speed, candidate.ratio, family(candidate.label), goals)


def _key() -> str:
    """Return the legend of the colours."""
    named = zip(FAMILIES, COLORS, strict=True)
    spans = "".join(
        f"<span><i style='background: {color}'></i>{escape(name)}</span>" for name, color in named
    )
    return f"<p class='key dim'>{spans}ringed: chosen for a goal</p>"


def _kind(candidate: Candidate) -> str:
    return "chosen" if candidate.chosen_for else "front" if candidate.frontier else ""


def _table(heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], numbers: Sequence[int]) -> str:
    def line(kind: str, row: Sequence[str], tag: str) -> str:
        inner = "".join(
            f"<{tag}{' class=n' if i in numbers else ''}>{escape(cell)}</{tag}>" for i, cell in enumerate(row)
        )
        return f"<tr class='{kind}'>{inner}</tr>"

    return f"<table>{line('', heads, 'th')}{''.join(line(kind, row, 'td') for kind, row in rows)}</table>"
