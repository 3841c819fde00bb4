"""Place the labels of points in a figure: near their points, without overlapping other labels.

Lengths are in typographic points (1/72 inch).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, hypot, pi, sin

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
