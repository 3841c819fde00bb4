"""Reports of an assay: tables of text, HTML pages, pictures and files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from html import escape
from math import ceil, floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.analyzer.measure import Candidate, Choice
from icecore.display import scatter, text
from icecore.display.figures import blank, scales
from icecore.display.scatter import Point, beaten, named_ones
from icecore.filesystem.atomic_output import landing

if TYPE_CHECKING:
    from icecore.analyzer.assay_result import ArrayAssay, Assay, FileAssay


# Text tables and flat rows of an assay.

HEADS = ("codec", "ratio", "write MB/s", "read MB/s", "frontier", "chosen for")
#: column heads for a terminal
_NARROW = ("codec", "ratio", "write", "read", "*", "chosen for")
PROGRAM_HEADS = ("program", "bytes", "ratio", "pack s", "unpack s")


def as_text(assay: Assay) -> str:
    """Return the tables that the command prints."""
    parts = [_array(array) for array in assay.arrays] + [_file(file) for file in assay.files]
    return "\n\n".join([*parts, "\n".join(f"note: {note}" for note in assay.notes)]).strip()


def title(array: ArrayAssay) -> str:
    """Return one line that names the array and what was measured."""
    chunk = f" of shape {array.chunk}" if array.chunk else ""
    return (
        f"{array.path}: {array.dtype} {array.shape}, {text.size(array.nbytes)}; "
        f"{array.chunks:,} of {text.plural(array.of, 'chunk')}{chunk} measured in {array.seconds:.1f} s"
    )


def shown(array: ArrayAssay) -> list[Candidate]:
    """Return the candidates that have measurements."""
    return [c for c in array.candidates if c.blocks and c.state != "failed"]


def cells(candidate: Candidate) -> tuple[str, ...]:
    """Return a table row with the columns of ``HEADS``."""
    label = candidate.label + (" (measured only)" if candidate.state == "measured only" else "")
    # A pruned candidate was not measured on all blocks; its ratio is extrapolated.
    about = "~" if candidate.state == "pruned" else ""
    return (
        label,
        f"{about}{candidate.ratio:.3f}",
        speed(candidate.write),
        speed(candidate.read),
        "*" if candidate.frontier else "",
        ", ".join(candidate.chosen_for),
    )


def choice(found: Choice) -> str:
    """Return a line about a goal's choice, without the goal."""
    codecs = found.label if " | " not in found.label else f"{found.label} (each chunk takes the shortest)"
    return f"{codecs}: ratio {found.ratio:.3f}, writes {speed(found.write)}, reads {speed(found.read)} MB/s"


def speed(value: float) -> str:
    """Format MB/s with at least two digits."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def goal(found: Choice) -> str:
    """Return the goal's name, with the bandwidth for ``balanced``."""
    wanted = found.goal
    return f"{wanted.name} at {text.size(wanted.bandwidth)}/s" if wanted.name == "balanced" else wanted.name


def asides(array: ArrayAssay) -> list[str]:
    """Return lines about candidates without measurements, with the reason."""
    lines = []
    early = [c.label for c in array.candidates if c.state == "pruned" and not c.blocks]
    if early:
        lines.append(f"left out as hopeless: {', '.join(early)}")
    lines += [f"failed: {c.label} ({c.why})" for c in array.candidates if c.state == "failed"]
    if not array.choices:
        lines.append("nothing to choose: it holds text, or nothing but the fill value")
    return lines


def summary(file: FileAssay) -> str:
    """Return one line that names the file and the packed part."""
    part = "" if file.measured == file.nbytes else f" ({text.size(file.measured)} from its middle)"
    return f"{file.name}: no arrays; {text.size(file.nbytes)}{part}, packed as a whole by programs"


def program_cells(file: FileAssay) -> list[tuple[str, ...]]:
    """Return table rows with the columns of ``PROGRAM_HEADS``."""
    return [
        (p.program, f"{p.nbytes:,}", f"{p.ratio:.3f}", f"{p.pack:.3f}", f"{p.unpack:.3f}")
        for p in file.programs
    ]


def records(assay: Assay) -> list[dict[str, Any]]:
    """Return a flat row for every candidate of every array, or every program: the rows of a CSV file."""
    rows: list[dict[str, Any]] = []
    for array in assay.arrays:
        for c in array.candidates:
            figures = {"ratio": c.ratio, "write_mb_s": c.write, "read_mb_s": c.read, "blocks": c.blocks}
            where = {"source": assay.source, "array": array.path, "codec": c.label, "state": c.state}
            goals = " ".join(c.chosen_for)
            rows.append({**where, **figures, "frontier": int(c.frontier), "chosen_for": goals})
    for file in assay.files:
        for p in file.programs:
            figures = {"bytes": p.nbytes, "ratio": p.ratio, "pack_s": p.pack, "unpack_s": p.unpack}
            rows.append({"source": file.name, "program": p.program, **figures})
    return rows


def _array(array: ArrayAssay) -> str:
    table = text.table(_NARROW, [cells(c) for c in shown(array)], (1, 2, 3))
    goals = text.pairs((goal(found), choice(found)) for found in array.choices.values())
    return "\n\n".join(part for part in (title(array), table, goals, "\n".join(asides(array))) if part)


def _file(file: FileAssay) -> str:
    table = text.table(PROGRAM_HEADS, program_cells(file), (1, 2, 3, 4))
    absent = f"not installed here: {', '.join(file.absent)}" if file.absent else ""
    return "\n\n".join(part for part in (summary(file), table, absent) if part)


# Report files of an assay; the suffix selects the format.

SUFFIXES = (".html", ".png", ".csv", ".json")


def check(path: str) -> None:
    """Reject a file name with an unknown suffix before anything is measured.

    Raises:
        Error: ``unsupported`` for an unknown suffix.
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise errors.make("unsupported", f"can't write a report to {path}", "one of " + ", ".join(SUFFIXES))


def write(assay: Assay, path: str) -> None:
    """Write the report in the format that the suffix of ``path`` selects.

    Raises:
        Error: ``unsupported`` for another suffix, or for a picture without matplotlib; also the errors of
            :func:`landing`.
    """
    check(path)
    suffix = Path(path).suffix.lower()
    with landing(path) as part:
        if suffix == ".png":
            draw(assay, part)
        elif suffix == ".html":
            Path(part).write_text(html(assay), "utf-8")
        elif suffix == ".json":
            Path(part).write_text(json.dumps(assay.facts(), indent=1) + "\n", "utf-8")
        else:
            _csv(assay, part)


def _csv(assay: Assay, path: str) -> None:
    rows = records(assay)
    with open(path, "w", newline="", encoding="utf-8") as out:
        table = csv.DictWriter(out, list(rows[0]) if rows else ["source"])
        table.writeheader()
        table.writerows(rows)


# HTML report of an assay: one page with inline SVG, no downloads, light and dark colours.

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
    body = [_array_section(array) for array in assay.arrays] + [_file_section(file) for file in assay.files]
    notes = "".join(f"<li>{escape(note)}</li>" for note in assay.notes)
    name = escape(assay.source)
    return (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>assay of {name}</title>"
        f"<meta name='viewport' content='width=device-width'><style>{_STYLE}{STYLE}</style>"
        f"<h1>Assay of {name}</h1>{''.join(body)}<ul class='dim'>{notes}</ul></html>\n"
    )


def _array_section(array: ArrayAssay) -> str:
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


def _file_section(file: FileAssay) -> str:
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


# SVG plot of ratio against speed; points on the frontier are labelled, the others have a hover text.

#: colours of the codec families, readable on light and dark backgrounds
COLORS = ("#3b82c4", "#3f9f4f", "#e08a1e", "#9a6fd0", "#8a8a8a")
STYLE = """
svg { width: 48%; min-width: 30em; height: auto } svg text { font-size: 11px; fill: var(--ink) }
svg .axis { stroke: var(--line) } svg .tick { fill: var(--dim) }
svg .edge { stroke: var(--dim); fill: none; opacity: .5 } svg .to { stroke: var(--dim); stroke-width: .6 }
svg circle { opacity: .85 } svg circle.ring { fill: none; stroke: var(--chosen); stroke-width: 2; opacity: 1 }
"""
_WIDTH, _HEIGHT, _EDGE = 560, 360, 46
#: approximate width of a letter and height of a line, in pixels
_LETTER, _LINE = 5.6, 12.0
Place = Callable[[float, float], tuple[float, float]]


def plot(label: str, points: Sequence[Point]) -> str:
    """Plot the points and connect those on the frontier. x is MB/s on a logarithmic axis, y is the ratio."""
    points = [point for point in points if point.x > 0]
    if not points:
        return ""
    low, high = floor(log10(min(p.x for p in points))), ceil(log10(max(p.x for p in points)))
    high = max(high, low + 1)
    ratios = _steps(min(p.y for p in points), max(p.y for p in points))
    bottom, top = ratios[0], ratios[-1]

    def place(speed: float, ratio: float) -> tuple[float, float]:
        x = _EDGE + (log10(speed) - low) / (high - low) * (_WIDTH - 2 * _EDGE)
        return x, _HEIGHT - _EDGE - (ratio - bottom) / (top - bottom) * (_HEIGHT - 2 * _EDGE)

    front = sorted((p for p in points if not beaten(p, points)), key=lambda p: p.x)
    edge = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(p.x, p.y) for p in front))
    marks = [_axes(label, range(low, high + 1), ratios, place), f"<polyline class='edge' points='{edge}'/>"]
    marks += [_dot(point, *place(point.x, point.y)) for point in points]
    marks += _names(points, place)
    return f"<svg viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img'>{''.join(marks)}</svg>"


def _steps(low: float, high: float) -> list[float]:
    """Return four to nine round numbers; the first is not above ``low``, the last not below ``high``."""
    span = max(high - low, 1e-3 * high, 1e-9)
    unit = 10.0 ** floor(log10(span / 4))
    step = unit * next(factor for factor in (1, 2, 5, 10) if span / (factor * unit) <= 7)
    first, last = floor(low / step), ceil(high / step)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def _dot(point: Point, x: float, y: float) -> str:
    color = COLORS[FAMILIES.index(point.family)] if point.family else COLORS[0]
    hover = escape(f"{point.name}: ratio {point.y:.3f}, {point.x:,.0f} MB/s")
    at = f"cx='{x:.1f}' cy='{y:.1f}'"
    ring = f"<circle class='ring' {at} r='6.5'/>" if point.chosen else ""
    return f"<circle {at} r='4' fill='{color}'><title>{hover}</title></circle>{ring}"


def _names(points: Sequence[Point], place: Place) -> list[str]:
    def upwards(point: Point) -> scatter.Spot:
        x, y = place(point.x, point.y)
        return x, _HEIGHT - y

    shown = named_ones(points)
    named = [(upwards(p), (_LETTER * len(p.text), _LINE)) for p in shown]
    area = (2.0, float(_EDGE), _WIDTH - 2.0, _HEIGHT - _EDGE / 2)
    corners = scatter.place(named, [upwards(p) for p in points], area)
    marks = []
    for point, (spot, size), (x, y) in zip(shown, named, corners, strict=True):
        box = (x, y, x + size[0], y + size[1])
        if scatter.far(spot, box):
            (a, b), (c, d) = spot, scatter.nearest(spot, box)
            ends = f"x1='{a:.1f}' y1='{_HEIGHT - b:.1f}' x2='{c:.1f}' y2='{_HEIGHT - d:.1f}'"
            marks.append(f"<line class='to' {ends}/>")
        marks.append(f"<text x='{x:.1f}' y='{_HEIGHT - y - 3:.1f}'>{escape(point.text)}</text>")
    return marks


def _axes(label: str, powers: Sequence[int], ratios: Sequence[float], place: Place) -> str:
    (left, bottom), (right, _) = (place(10.0**power, ratios[0]) for power in (powers[0], powers[-1]))
    lines = [
        f"<text x='{(left + right) / 2:.0f}' y='{_HEIGHT - 8}' text-anchor='middle'>{escape(label)}</text>"
    ]
    lines.append(f"<text x='8' y='{_EDGE - 14}'>ratio</text>")
    for power in powers:
        x, _ = place(10.0**power, ratios[0])
        number = text.size(10.0**power * 1e6).replace(" ", " ")
        lines.append(f"<line class='axis' x1='{x:.1f}' y1='{_EDGE}' x2='{x:.1f}' y2='{bottom:.1f}'/>")
        lines.append(
            f"<text class='tick' x='{x:.1f}' y='{bottom + 16:.1f}' text-anchor='middle'>{number}/s</text>"
        )
    for ratio in ratios:
        _, y = place(10.0 ** powers[0], ratio)
        lines.append(f"<line class='axis' x1='{left}' y1='{y:.1f}' x2='{right}' y2='{y:.1f}'/>")
        lines.append(f"<text class='tick' x='4' y='{y + 4:.1f}'>{ratio:.4g}</text>")
    return "".join(lines)


# Families of codecs, for the colours of figures.

#: family → prefixes of its codec labels; the last family takes all other labels
_STARTS = {
    "predicted": ("predict",),
    "pco": ("pco",),
    "XOR, planes of bytes": ("bwc", "xor", "sFPC", "tFPC"),
    "shuffled": ("shuffle", "blosc shuffle", "blosc bitshuffle", "bitshuffle"),
    "as it is": (),
}
FAMILIES = tuple(_STARTS)


def family(label: str) -> str:
    """Return the family of the codec with this label."""
    return next(
        (name for name, starts in _STARTS.items() if starts and label.startswith(starts)), FAMILIES[-1]
    )


# PNG figure of an assay: ratio against speed.

#: largest number of arrays in a figure
_MOST = 6
#: label of the x axis, and the points
Panel = tuple[str, list[Point]]


def draw(assay: Assay, path: str) -> None:
    """Draw a row of plots for each array: read speed on the left, write speed on the right.

    Raises:
        Error: ``unsupported`` if matplotlib is not installed.
    """
    rows = [(f"{array.path} ({array.dtype})", _panel(array)) for array in assay.arrays[:_MOST]]
    rows += [(file.name, _file_panel(file)) for file in assay.files]
    figure = blank(14, 5.5 * max(len(rows), 1))
    panels = []
    for row, (name, pair) in enumerate(rows):
        for column, (what, points) in enumerate(pair):
            axes = figure.add_subplot(len(rows), 2, 2 * row + column + 1)
            axes.set_title(name, fontsize=10)
            axes.grid(alpha=0.3)
            scatter.dots(axes, points, FAMILIES, edge=True)
            scales(axes, (what, "ratio"), "x")
            panels.append((axes, points))
    scatter.legend(figure, [point for _, points in panels for point in points], FAMILIES, "chosen for a goal")
    scatter.names(figure, panels)
    figure.savefig(path)


def _panel(array: ArrayAssay) -> list[Panel]:
    def points(speed: str) -> list[Point]:
        return [
            Point(c.label, getattr(c, speed), c.ratio, family(c.label), ", ".join(c.chosen_for) or None)
            for c in shown(array)
        ]

    return [("read, MB/s of one core", points("read")), ("write, MB/s of one core", points("write"))]


def _file_panel(file: FileAssay) -> list[Panel]:
    speed = file.measured / 1e6
    packed = [Point(p.program, speed / max(p.pack, 1e-9), p.ratio) for p in file.programs]
    again = [Point(p.program, speed / max(p.unpack, 1e-9), p.ratio) for p in file.programs]
    return [("unpack, MB/s", again), ("pack, MB/s", packed)]
