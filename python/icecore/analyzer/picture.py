"""An assay as a PNG: ratio against speed, as the studies draw it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from icecore.analyzer.report import shown
from icecore.studies.figures import blank

if TYPE_CHECKING:
    from icecore.analyzer.outcome import Assay

#: arrays that one picture has room for
_MOST = 6
#: name, MB/s, ratio, the goals that choose it
Point = tuple[str, float, float, tuple[str, ...]]


def draw(assay: Assay, path: str) -> None:
    """A row for each array, reading to the left and writing to the right.

    Raises:
        Error: ``unsupported`` without matplotlib.
    """
    rows: list[tuple[str, list[tuple[str, list[Point]]]]] = []
    for array in assay.arrays[:_MOST]:
        found = shown(array)
        read: list[Point] = [(c.label, c.read, c.ratio, c.chosen_for) for c in found]
        written: list[Point] = [(c.label, c.write, c.ratio, c.chosen_for) for c in found]
        rows.append((f"{array.path} ({array.dtype})", [("read", read), ("write", written)]))
    for file in assay.files:
        speed = file.measured / 1e6
        packed: list[Point] = [(p.program, speed / max(p.pack, 1e-9), p.ratio, ()) for p in file.programs]
        again: list[Point] = [(p.program, speed / max(p.unpack, 1e-9), p.ratio, ()) for p in file.programs]
        rows.append((file.name, [("unpack", again), ("pack", packed)]))
    figure = blank(13, 5 * max(len(rows), 1))
    for row, (name, panels) in enumerate(rows):
        for column, (what, points) in enumerate(panels):
            axes = figure.add_subplot(len(rows), 2, 2 * row + column + 1)
            _panel(axes, name, what, points)
    figure.savefig(path)


def _panel(axes: Any, name: str, what: str, points: Sequence[Point]) -> None:
    """The points; those that another beats in both ratio and speed have no name, or none could be read."""
    for label, speed, ratio, goals in points:
        beaten = any(s >= speed and r >= ratio and (s, r) != (speed, ratio) for _, s, r, _ in points)
        color = "tab:red" if goals else "tab:gray" if beaten else "tab:blue"
        axes.plot(speed, ratio, "o", color=color, markersize=8 if goals else 5, zorder=2 if beaten else 3)
        if goals or not beaten:
            text = f"{label} ({', '.join(goals)})" if goals else label
            axes.annotate(text, (speed, ratio), xytext=(5, 4), textcoords="offset points", fontsize=7)
    axes.set_title(name, fontsize=10)
    axes.set_xscale("log")
    axes.set_xlabel(f"{what}, MB/s of one core")
    axes.set_ylabel("ratio")
    axes.grid(alpha=0.3)
    axes.margins(x=0.15)
