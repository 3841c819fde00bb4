"""Longitudes modulo 360 degrees: clauses and areas on a sphere."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

from icecore import errors
from icecore.repository.array import Array

#: words in names of columns that hold longitudes: ``lon_ph``, ``CENTER_LONGITUDE``, ``lon180``
LONGITUDES = ("lon", "longitude", "clon")
#: turns within which the where-clause's ``wrap`` finds a longitude
_TURNS = range(-3, 4)
#: degrees by which a box is widened: more than rounding loses when a longitude is shifted by 360
_SLACK = 1e-9


def is_longitude(name: str, column: Array | None) -> bool:
    """Whether a column holds longitudes in degrees, judged by its name, ``standard_name`` and units."""
    attrs = column.attrs if column is not None else {}
    units = str(attrs.get("units", attrs.get("unit", ""))).strip().lower()
    if (units.startswith("degree") and units.endswith(("_east", "_e"))) or units in ("degreee", "degreese"):
        return True
    words = re.split(r"[^a-z]+", name.lower())
    is_named = any(word in LONGITUDES for word in words) or attrs.get("standard_name") == "longitude"
    return is_named and not units.startswith(("rad", "m", "km"))


def side(column: str, west: float, east: float) -> str:
    """Return the where-clause for longitudes from ``west`` to ``east`` modulo 360; never narrower."""
    return f"wrap({column}, {west - _SLACK!r}, {east + _SLACK!r})"


def contains(shapely: Any, area: Any, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether points are inside an area, with longitudes ``x`` modulo 360."""
    west, _, east, _ = area.bounds
    inside = np.zeros(len(x), bool)
    for turn in _TURNS:
        turned = x + 360.0 * turn
        near = (turned >= west) & (turned <= east)
        if near.any():
            inside[near] |= shapely.contains_xy(area, turned[near], y[near])
    return inside


def unwound(shapely: Any, polygon: Any) -> Any:
    """Return a GeoJSON polygon; if it crosses the antimeridian, its longitudes continue beyond 180.

    RFC 7946 asks writers to cut polygons at the antimeridian and to write exterior rings counterclockwise.
    A clockwise ring within -180 to 180 with a side longer than 180 degrees may therefore be a polygon that
    was not cut, for example from 170 eastwards to -170. It is interpreted so, with a warning, because
    programs that ignore the orientation write the same ring for -170 to 170. Polygons that reach beyond 180,
    and polygons whose holes would be outside, are never changed.

    Raises:
        Error: ``invalid`` for such a ring around a pole.
    """
    if polygon.is_empty:
        return polygon
    ring = polygon.exterior
    coords = np.asarray(ring.coords)[:, :2]
    sides = np.abs(np.diff(coords[:, 0]))
    if ring.is_ccw or not (sides > 180).any() or (sides >= 360).any() or (np.abs(coords[:, 0]) > 180).any():
        return polygon
    shell = _along(coords)
    if shell[0, 0] != shell[-1, 0]:
        raise errors.make(
            "invalid",
            "a polygon encloses a pole: its ring is clockwise with a side longer than 180 degrees",
            "add points along -180, the pole and 180; or make the ring counterclockwise if it has no pole",
        )
    holes = [_along(np.asarray(hole.coords)[:, :2]) for hole in polygon.interiors]
    middle = (shell[:, 0].min() + shell[:, 0].max()) / 2
    for hole in holes:
        hole[:, 0] += 360 * np.round((middle - hole[:, 0].mean()) / 360)
    crossing = shapely.Polygon(shell, holes)
    if polygon.is_valid and not crossing.is_valid:
        return polygon
    _warn(coords[:, 0], shell[:, 0])
    return crossing


def _warn(plane: np.ndarray, sphere: np.ndarray) -> None:
    first, last = ((end + 180) % 360 - 180 for end in (sphere.min(), sphere.max()))
    warnings.warn(
        f"a clockwise polygon is interpreted as crossing the antimeridian, from {first:g} eastwards to "
        f"{last:g}; make it counterclockwise for {plane.min():g} to {plane.max():g}, or cut it at 180",
        stacklevel=2,
    )


def _along(coords: np.ndarray) -> np.ndarray:
    """Shift longitudes by multiples of 360 so that neighbouring points differ by at most 180."""
    steps = np.diff(coords[:, 0])
    steps -= 360 * np.round(steps / 360)
    along = coords.copy()
    along[1:, 0] = coords[0, 0] + np.cumsum(steps)
    if abs(along[-1, 0] - along[0, 0]) < _SLACK:
        along[-1, 0] = along[0, 0]
    return along
