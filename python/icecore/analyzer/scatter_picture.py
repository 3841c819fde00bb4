"""PNG figure of an assay: ratio against speed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from icecore.analyzer.codec_families import FAMILIES, family
from icecore.analyzer.text_report import shown
from icecore.display import scatter
from icecore.display.figures import blank, scales
from icecore.display.scatter import Point

if TYPE_CHECKING:
    from icecore.analyzer.assay_result import ArrayAssay, Assay, FileAssay

#: largest number of arrays in a figure
_MOST = 6
#: label of the x axis, and the points
Panel = tuple[str, list[Point]]


def draw(assay: Assay, path: str) -> None:
    """Draw a row of plots for each array: read speed on the left, write speed on the right.

    Raises:
        Error: ``unsupported`` if matplotlib is not installed.
    """
    rows = [(f"{array.path} ({array.dtype})", _array(array)) for array in assay.arrays[:_MOST]]
    rows += [(file.name, _file(file)) for file in assay.files]
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


def _array(array: ArrayAssay) -> list[Panel]:
    def points(speed: str) -> list[Point]:
        return [
            Point(c.label, getattr(c, speed), c.ratio, family(c.label), ", ".join(c.chosen_for) or None)
            for c in shown(array)
        ]

    return [("read, MB/s of one core", points("read")), ("write, MB/s of one core", points("write"))]


def _file(file: FileAssay) -> list[Panel]:
    speed = file.measured / 1e6
    packed = [Point(p.program, speed / max(p.pack, 1e-9), p.ratio) for p in file.programs]
    again = [Point(p.program, speed / max(p.unpack, 1e-9), p.ratio) for p in file.programs]
    return [("unpack, MB/s", again), ("pack, MB/s", packed)]
