"""Scatter plot with a colour per family and labels for few points, without overlaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, hypot, pi, sin
from typing import Any

#: largest number of points that are all labelled
_MANY = 20
_COLORS = ("tab:blue", "tab:green", "tab:orange", "tab:purple", "tab:gray")
_FONT = 8
_RING: dict[str, Any] = {"markerfacecolor": "none", "markeredgewidth": 1.8}


@dataclass(frozen=True)
class Point:
    """A point; ``chosen`` is the reason to highlight it, such as the goals that choose it, or None."""

    name: str
    x: float
    y: float
    family: str = ""
    chosen: str | None = None

    @property
    def text(self) -> str:
        """Label of the point in the figure."""
        return f"{self.name} ({self.chosen})" if self.chosen else self.name


def beaten(point: Point, points: Sequence[Point]) -> bool:
    """Return whether another point is at least as good in both directions."""
    here = (point.x, point.y)
    return any(p.x >= point.x and p.y >= point.y and (p.x, p.y) != here for p in points)


def named_ones(points: Sequence[Point]) -> list[Point]:
    """Return the points to label, most important first: of many, the highlighted and Pareto-optimal ones."""
    few = len(points) <= _MANY
    shown = [p for p in points if few or p.chosen is not None or not beaten(p, points)]
    return sorted(shown, key=lambda point: (point.chosen is None, -point.y))


def dots(axes: Any, points: Sequence[Point], families: Sequence[str] = (), edge: bool = False) -> None:
    """Draw the points; ``edge`` joins the Pareto-optimal ones."""
    front = sorted((p for p in points if not beaten(p, points)), key=lambda point: point.x)
    if edge and len(front) > 1:
        line = [[p.x for p in front], [p.y for p in front]]
        axes.plot(*line, "-", color="black", linewidth=0.8, alpha=0.35, zorder=1)
    for point in points:
        color = _COLORS[list(families).index(point.family) % len(_COLORS)] if point.family else _COLORS[0]
        axes.plot(point.x, point.y, "o", color=color, markersize=6, zorder=3, alpha=0.85)
        if point.chosen is not None:
            axes.plot(point.x, point.y, "o", color="tab:red", markersize=11, zorder=4, **_RING)
    axes.margins(x=0.12, y=0.12)


def legend(figure: Any, points: Sequence[Point], families: Sequence[str], chosen: str = "") -> None:
    """Draw the legend above the figure; ``chosen`` is the label of highlighted points."""
    from matplotlib.lines import Line2D

    present = [(i, name) for i, name in enumerate(families) if any(p.family == name for p in points)]
    dot: dict[str, Any] = {"linestyle": "", "marker": "o"}
    marks = [Line2D([], [], color=_COLORS[i % len(_COLORS)], label=name, **dot) for i, name in present]
    if chosen and any(point.chosen is not None for point in points):
        marks.append(Line2D([], [], color="tab:red", label=chosen, markersize=9, **dot, **_RING))
    if len(marks) > 1:
        place = {"loc": "outside upper center", "ncols": len(marks), "frameon": False}
        figure.legend(handles=marks, fontsize=9, **place)


def names(figure: Any, panels: Sequence[tuple[Any, Sequence[Point]]]) -> None:
    """Label the points of each panel (axes, points); call it after the layout is final."""
    figure.draw_without_rendering()
    renderer, unit = figure.canvas.get_renderer(), 72 / figure.dpi
    for axes, points in panels:
        shown = named_ones(points)
        texts = [axes.annotate(p.text, (p.x, p.y), fontsize=_FONT, va="bottom", zorder=5) for p in shown]
        extents = [text.get_window_extent(renderer) for text in texts]
        named = [
            (_spot(axes, p, unit), (e.width * unit, e.height * unit))
            for p, e in zip(shown, extents, strict=True)
        ]
        left, low, right, high = (side * unit for side in axes.bbox.extents)
        every = [_spot(axes, p, unit) for p in points]
        corners = place(named, every, (left, low, right, high))
        for text, (spot, size), corner in zip(texts, named, corners, strict=True):
            _put(axes, text, spot, size, corner, unit)


def _spot(axes: Any, point: Point, unit: float) -> Spot:
    """Return the position of a point in typographic points."""
    x, y = axes.transData.transform((point.x, point.y))
    return float(x) * unit, float(y) * unit


def _put(
    axes: Any,
    text: Any,
    spot: Spot,
    size: tuple[float, float],
    corner: Spot,
    unit: float,
) -> None:
    """Move a label to its position; draw a line to its point if that is far."""
    text.set_in_layout(False)
    text.set_position((corner[0] - spot[0], corner[1] - spot[1]))
    text.anncoords = "offset points"
    box = (*corner, corner[0] + size[0], corner[1] + size[1])
    if far(spot, box):
        ends = [[x / unit, y / unit] for x, y in (spot, nearest(spot, box))]
        xs, ys = axes.transData.inverted().transform(ends).T
        line = axes.plot(xs, ys, "-", color="black", linewidth=0.5, alpha=0.6, zorder=2)[0]
        line.set_in_layout(False)


# Place the labels of points in a figure: near their points, without overlapping other labels.
#
# Lengths are in typographic points (1/72 inch).

Spot = tuple[float, float]
#: left, low, right, high; "low" is the smaller number even on an inverted axis
Box = tuple[float, float, float, float]
#: candidate distances from the point, and directions for each: to the right and upwards first
_REACH = (7.0, 12.0, 18.0, 27.0, 38.0, 52.0, 70.0, 92.0)
_TURNS = (1, 0, 2, 15, 3, 14, 6, 7, 9, 10, 8, 5, 11, 4, 12, 13)
#: costs in units of distance: overlap with a label or outside the figure (per area), and a covered point
_OVER, _POINT = 10.0, 2.5


def place(named: Sequence[tuple[Spot, tuple[float, float]]], points: Sequence[Spot], area: Box) -> list[Spot]:
    """Return the lower left corner of each label's box.

    Args:
        named: (point, (width, height) of its label); earlier labels get better positions.
        points: all points of the figure.
        area: the box that labels should stay in.
    """
    taken: list[Box] = []
    for spot, size in named:
        boxes = [_beside(spot, size, reach, turn) for reach in _REACH for turn in _TURNS]
        costs = [_cost(box, spot, taken, points, area) + i / 16 for i, box in enumerate(boxes)]
        taken.append(boxes[costs.index(min(costs))])
    return [(box[0], box[1]) for box in taken]


def nearest(spot: Spot, box: Box) -> Spot:
    """Return the point of a box that is nearest to ``spot``: the start of a connecting line."""
    return min(max(spot[0], box[0]), box[2]), min(max(spot[1], box[1]), box[3])


def far(spot: Spot, box: Box) -> bool:
    """Return whether a label is so far from its point that it needs a connecting line."""
    x, y = nearest(spot, box)
    return hypot(x - spot[0], y - spot[1]) > _REACH[1] + 1


def _beside(spot: Spot, size: tuple[float, float], reach: float, turn: int) -> Box:
    """Return the box that touches a circle around the point from outside, in one of sixteen directions."""
    across, up = cos(turn * pi / 8), sin(turn * pi / 8)
    x = spot[0] + reach * across + size[0] / 2 * (across if abs(across) < 0.5 else (1 if across > 0 else -1))
    y = spot[1] + reach * up + size[1] / 2 * (up if abs(up) < 0.5 else (1 if up > 0 else -1))
    return x - size[0] / 2, y - size[1] / 2, x + size[0] / 2, y + size[1] / 2


def _cost(box: Box, spot: Spot, taken: Sequence[Box], points: Sequence[Spot], area: Box) -> float:
    over = sum(_shared(box, other) for other in taken)
    outside = (box[2] - box[0]) * (box[3] - box[1]) - _shared(box, area)
    wide = (box[0] - 3, box[1] - 3, box[2] + 3, box[3] + 3)
    hidden = sum(wide[0] <= x <= wide[2] and wide[1] <= y <= wide[3] for x, y in points if (x, y) != spot)
    return _OVER * (over + outside) + _POINT * hidden


def _shared(a: Box, b: Box) -> float:
    """Return the area of the intersection of two boxes."""
    return max(min(a[2], b[2]) - max(a[0], b[0]), 0.0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0.0)
