"""SVG plot of ratio against speed; points on the frontier are labelled, the others have a hover text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import ceil, floor, log10

from icecore.analyzer.codec_families import FAMILIES
from icecore.display import label_placement, text
from icecore.display.scatter import Point, beaten, named_ones

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
    def upwards(point: Point) -> label_placement.Spot:
        x, y = place(point.x, point.y)
        return x, _HEIGHT - y

    shown = named_ones(points)
    named = [(upwards(p), (_LETTER * len(p.text), _LINE)) for p in shown]
    area = (2.0, float(_EDGE), _WIDTH - 2.0, _HEIGHT - _EDGE / 2)
    corners = label_placement.place(named, [upwards(p) for p in points], area)
    marks = []
    for point, (spot, size), (x, y) in zip(shown, named, corners, strict=True):
        box = (x, y, x + size[0], y + size[1])
        if label_placement.far(spot, box):
            (a, b), (c, d) = spot, label_placement.nearest(spot, box)
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
