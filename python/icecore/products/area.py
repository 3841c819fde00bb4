"""Areas of products: GeoJSON, points of SlideRule, boxes, as shapely geometries; checked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from icecore import errors
from icecore.tables.query import region
from icecore.tables.query.region import _shapely

#: points of a polygon; testing more takes longer than reading the rows
MOST_POINTS = 1_000_000
_HINT = 'a GeoJSON file or geometry, or points: [{"lon": -45.1, "lat": 70.2}, …] or [[-45.1, 70.2], …]'


def area(poly: Any = None, box: list[float] | None = None) -> Any:
    """Return the area of the parameters ``poly`` and ``box``; None if neither is given.

    Args:
        poly: a GeoJSON file (its path) or mapping, a shapely geometry, or a list of points of one ring. A
            side of a list that spans more than 180 degrees crosses the antimeridian; a ring with a side from
            -180 to 180 is drawn on the plane, as GeoJSON's are.
        box: west, south, east, north; west > east crosses the antimeridian.

    Raises:
        Error: ``invalid`` for both, for a polygon that crosses itself, has too few or too many points or
            latitudes beyond 90.
    """
    if poly is not None and box is not None:
        raise errors.make("invalid", "poly and box are both given", "give one of them")
    if box is not None:
        return _box(box)
    if poly is None or isinstance(poly, (str, os.PathLike)):
        return None if poly is None else _checked_file(os.fspath(poly))
    if isinstance(poly, Mapping):
        return _checked(dict(poly))
    if isinstance(poly, (list, tuple)):
        return _ring(poly)
    if isinstance(poly, _shapely().Geometry):
        _check_shape(poly)
        return poly
    raise errors.make("invalid", f"poly must be an area (got {type(poly).__name__})", _HINT)


def _box(box: list[float]) -> Any:
    if len(box) != 4:
        raise errors.make("invalid", f"box must have 4 numbers (got {len(box)})", "west,south,east,north")
    west, south, east, north = box
    if not (-90 <= south < north <= 90) or abs(west) > 360 or abs(east) > 360 or west == east:
        message = f"box must be west,south,east,north with -90 <= south < north <= 90 (got {box})"
        raise errors.make("invalid", message, "for example -50,69,-49,70")
    return _shapely().box(west, south, east if east > west else east + 360, north)


def _checked_file(path: str) -> Any:
    from icecore.tables.query.region import _load

    return _checked(_load(path))


def _checked(geojson: dict[str, Any]) -> Any:
    """Return GeoJSON whose polygons are valid: the table's own reader interprets the antimeridian."""
    from icecore.tables.query.region import _areas

    shape = _shapely().geometry.shape
    try:
        shapes = [shape(each) for each in _areas(geojson, [])]
    except errors.Error:
        raise
    except Exception as error:  # shapely's readers raise many types
        raise errors.make("format", f"poly: not a GeoJSON geometry: {error}", _HINT) from None
    for each in shapes:
        _check_shape(each)
    return geojson


def _ring(points: Any) -> Any:
    try:
        pairs = [(p["lon"], p["lat"]) if isinstance(p, Mapping) else tuple(p)[:2] for p in points]
        coords = np.asarray(pairs, "f8").reshape(-1, 2)
    except (KeyError, TypeError, ValueError):
        raise errors.make("invalid", "poly: a point needs lon and lat", _HINT) from None
    if len(coords) < 3:
        raise errors.make("invalid", f"poly must have at least 3 points (got {len(coords)})", _HINT)
    _check_count(len(coords))
    if not np.isfinite(coords).all():
        raise errors.make("invalid", "poly has coordinates that are not finite", "use finite numbers")
    if not np.array_equal(coords[0], coords[-1]):
        coords = np.concatenate([coords, coords[:1]])
    around = coords if _is_around(coords) else region.unwrap(coords)
    if around[0, 0] != around[-1, 0]:
        message = "poly encloses a pole"
        raise errors.make("invalid", message, "add points along -180, the pole and 180, as GeoJSON")
    found = _shapely().Polygon(around)
    _check_shape(found)
    if not found.area:
        raise errors.make(
            "invalid", "poly has no area: its points lie on one line", "add points off that line"
        )
    return found


def _is_around(coords: np.ndarray) -> bool:
    """Whether a side leads from -180 to 180 or back: around the globe, as in GeoJSON."""
    return bool((np.abs(np.diff(coords[:, 0])) >= 360).any())


def _check_count(count: int) -> None:
    if count > MOST_POINTS:
        message = f"poly has {count:,} points (at most {MOST_POINTS:,})"
        raise errors.make("invalid", message, "simplify it: shapely.simplify(geometry, 0.001)")


def _check_shape(shape: Any) -> None:
    shapely = _shapely()
    _check_count(int(shapely.get_num_coordinates(shape)))
    if shape.is_empty:
        return
    _, south, _, north = shape.bounds
    if south < -90 or north > 90:
        message = f"poly has latitudes from {south:g} to {north:g}"
        raise errors.make("invalid", message, "points are longitude, then latitude, in degrees")
    reason = shapely.is_valid_reason(shape)
    if "Self-intersection" in reason:
        at = reason.partition("[")[2].rstrip("]").replace(" ", ", ")
        hint = "order the points along the boundary; for several parts use a MultiPolygon"
        raise errors.make("invalid", f"poly crosses itself near ({at})", hint)
