"""Scatter plot with a colour per family and labels for few points, without overlaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from icecore.display import label_placement

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
        corners = label_placement.place(named, every, (left, low, right, high))
        for text, (spot, size), corner in zip(texts, named, corners, strict=True):
            _put(axes, text, spot, size, corner, unit)


def _spot(axes: Any, point: Point, unit: float) -> label_placement.Spot:
    """Return the position of a point in typographic points."""
    x, y = axes.transData.transform((point.x, point.y))
    return float(x) * unit, float(y) * unit


def _put(
    axes: Any,
    text: Any,
    spot: label_placement.Spot,
    size: tuple[float, float],
    corner: label_placement.Spot,
    unit: float,
) -> None:
    """Move a label to its position; draw a line to its point if that is far."""
    text.set_in_layout(False)
    text.set_position((corner[0] - spot[0], corner[1] - spot[1]))
    text.anncoords = "offset points"
    box = (*corner, corner[0] + size[0], corner[1] + size[1])
    if label_placement.far(spot, box):
        ends = [[x / unit, y / unit] for x, y in (spot, label_placement.nearest(spot, box))]
        xs, ys = axes.transData.inverted().transform(ends).T
        line = axes.plot(xs, ys, "-", color="black", linewidth=0.5, alpha=0.6, zorder=2)[0]
        line.set_in_layout(False)
