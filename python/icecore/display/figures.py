"""Figures of points, lines and bars with labels and a legend, readable in print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from icecore import errors
from icecore.display import scatter
from icecore.display.scatter import Point


def blank(width: float, height: float) -> Any:
    """Create a figure without axes; ``width`` and ``height`` are in inches.

    Raises:
        Error: ``unsupported`` if matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise errors.needs("plot", "figures need matplotlib") from None
    figure = Figure(figsize=(width, height), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def canvas(title: str) -> tuple[Any, Any]:
    """Create a figure and its axes.

    Raises:
        Error: ``unsupported`` if matplotlib is not installed.
    """
    figure = blank(8, 5)
    axes = figure.add_subplot()
    axes.set_title(title)
    axes.grid(alpha=0.3)
    return figure, axes


def points(
    path: Path,
    title: str,
    labels: tuple[str, str],
    named: Sequence[Point],
    log: str = "",
    families: Sequence[str] = (),
    edge: bool = False,
) -> str:
    """Draw named points.

    ``log`` contains ``x`` or ``y`` if that axis is logarithmic. ``edge`` joins the Pareto-optimal points.
    """
    figure, axes = canvas(title)
    scatter.dots(axes, named, families, edge)
    scatter.legend(figure, named, families)
    scales(axes, labels, log)
    scatter.names(figure, [(axes, named)])
    figure.savefig(path)
    return str(path)


def scales(axes: Any, labels: tuple[str, str], log: str) -> None:
    """Label the axes; logarithmic axes show plain numbers instead of powers of ten."""
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    for which, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        if which in log:
            getattr(axes, f"set_{which}scale")("log")
            axis.set_major_formatter(lambda value, _: f"{value:,.10g}")


def lines(
    path: Path,
    title: str,
    labels: tuple[str, str],
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    log: str = "",
    ticks: Mapping[float, str] | None = None,
    joined: bool = True,
) -> str:
    """Draw lines with a legend: name → (x, y).

    ``ticks`` are positions and labels of the x axis. ``joined`` is false for points of separate categories.
    """
    figure, axes = canvas(title)
    for (name, (x, y)), mark in zip(series.items(), cycle("os^vD"), strict=False):
        ours = name.startswith("icecore")
        style = (
            {"linewidth": 2.5 if ours else 1.2}
            if joined
            else {"linestyle": "", "markersize": 9, "alpha": 0.7}
        )
        axes.plot(x, y, marker="o" if joined else mark, label=name, **style)
    scales(axes, labels, log)
    if ticks is not None:
        axes.set_xticks(list(ticks), list(ticks.values()))
        axes.minorticks_off()
    axes.legend(fontsize=8)
    figure.savefig(path)
    return str(path)


def bars(path: Path, title: str, label: str, values: Mapping[str, float]) -> str:
    """Draw horizontal bars on a logarithmic axis; the bars of icecore are highlighted."""
    figure, axes = canvas(title)
    names = list(values)[::-1]
    colors = ["tab:blue" if name.startswith("icecore") else "tab:gray" for name in names]
    drawn = axes.barh(names, [values[name] for name in names], color=colors)
    axes.bar_label(drawn, fmt="%.3g", padding=3, fontsize=8)
    scales(axes, (label, ""), "x")
    figure.savefig(path)
    return str(path)
