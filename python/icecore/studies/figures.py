"""Figures of the studies: points with names, lines with a legend, readable in print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from icecore import errors

#: points of which each can be named
_MANY = 20


def blank(width: float, height: float) -> Any:
    """A figure without axes; inches.

    Raises:
        Error: ``unsupported`` without matplotlib.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise errors.make("unsupported", "figures need matplotlib", "pip install 'icecore[plot]'") from None
    figure = Figure(figsize=(width, height), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def canvas(title: str) -> tuple[Any, Any]:
    """A figure and its axes.

    Raises:
        Error: ``unsupported`` without matplotlib.
    """
    figure = blank(8, 5)
    axes = figure.add_subplot()
    axes.set_title(title)
    axes.grid(alpha=0.3)
    return figure, axes


def points(
    path: Path, title: str, labels: tuple[str, str], named: Mapping[str, tuple[float, float]], log: str = ""
) -> str:
    """Named points; ``log`` holds ``x`` and ``y`` where that axis is logarithmic. icecore's stand out."""
    figure, axes = canvas(title)
    shown = named_ones(named)
    for name, (x, y) in named.items():
        ours = name.startswith("icecore")
        axes.plot(x, y, "o", color="tab:red" if ours else "tab:blue", markersize=8 if ours else 5)
        if name in shown:
            axes.annotate(name, (x, y), xytext=(5, 4), textcoords="offset points", fontsize=8)
    axes.set_xscale("log" if "x" in log else "linear")
    axes.set_yscale("log" if "y" in log else "linear")
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    figure.savefig(path)
    return str(path)


def named_ones(points: Mapping[str, tuple[float, float]]) -> set[str]:
    """Of many points those that no other beats in both directions, and icecore's: others would hide them."""

    def beaten(x: float, y: float) -> bool:
        return any(a >= x and b >= y and (a, b) != (x, y) for a, b in points.values())

    few = len(points) <= _MANY
    return {name for name, point in points.items() if few or name.startswith("icecore") or not beaten(*point)}


def lines(
    path: Path,
    title: str,
    labels: tuple[str, str],
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    log: str = "",
) -> str:
    """Lines with a legend: name → (x, y)."""
    figure, axes = canvas(title)
    for name, (x, y) in series.items():
        axes.plot(x, y, "o-", label=name, linewidth=2.5 if name.startswith("icecore") else 1.2)
    axes.set_xscale("log" if "x" in log else "linear")
    axes.set_yscale("log" if "y" in log else "linear")
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.legend(fontsize=8)
    figure.savefig(path)
    return str(path)
