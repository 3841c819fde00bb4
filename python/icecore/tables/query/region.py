"""Select rows inside polygons: bounding boxes become a where-clause, shapely tests the remaining rows."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.repository.array import Array
from icecore.sources.files import access
from icecore.tables.query.arrow_numbers import arrow_array, floats

if TYPE_CHECKING:
    import pyarrow as pa

    from icecore.tables.query.table import Table


#: names of columns of longitude and latitude, in the order in which they are looked up
X = ("lon", "longitude", "clon", "x", "lon_ph")
Y = ("lat", "latitude", "clat", "y", "lat_ph")
_EXAMPLE = 'write {"type": "Polygon", "coordinates": [[[x, y], [x, y], [x, y], [x, y]]]}'
_NO_AREAS = ("Point", "MultiPoint", "LineString", "MultiLineString")
#: with more parts than this, one box around all of them is used
_BOXES = 64


class Region:
    """An area in the stored coordinates of two columns, x and y; longitudes are compared modulo 360."""

    def __init__(self, table: Table, area: Any, xy: tuple[str, str] | None = None) -> None:
        self._shapely = _shapely()
        self.xy = xy if xy is not None else (_find(table, X, "x"), _find(table, Y, "y"))
        if len(table._names(self.xy)) != 2:
            raise errors.make("invalid", f"xy must name two columns (got {self.xy!r})", 'xy=("clon", "clat")')
        self._is_round = is_longitude(self.xy[0], table._columns.get(self.xy[0]))
        self._area = self._geometry(area)
        self._shapely.prepare(self._area)

    @property
    def clause(self) -> str:
        """The where-clause for the bounding boxes of the area's parts."""
        x, y = ('"' + name.replace('"', '""') + '"' for name in self.xy)
        boxes = [part.bounds for part in _parts(self._area) if not part.is_empty]
        if len(boxes) > _BOXES:
            boxes = [self._area.bounds]
        across = side if self._is_round else _side
        sides = [
            f"({across(x, west, east)} and {_side(y, south, north)})" for west, south, east, north in boxes
        ]
        return " or ".join(sides) or "false"

    def mask(self, batch: pa.RecordBatch) -> pa.Array:
        """Return which rows of a batch are inside, not on the edge (``shapely.contains_xy``)."""
        x, y = (floats(batch[name]) for name in self.xy)
        if self._is_round:
            return arrow_array(contains(self._shapely, self._area, x, y))
        return arrow_array(np.asarray(self._shapely.contains_xy(self._area, x, y), bool))

    def _geometry(self, area: Any) -> Any:
        """Return one geometry with finite coordinates; for GeoJSON the union of its polygons."""
        shapely, is_geojson = self._shapely, not isinstance(area, self._shapely.Geometry)
        if isinstance(area, (str, os.PathLike)):
            area = _load(os.fspath(area))
        elif not is_geojson and shapely.get_dimensions(area) < 2 and not area.is_empty:
            raise _no_area(area.geom_type)
        # Repair each part separately: make_valid of the whole would remove the overlap of two parts.
        shapes = self._polygons(area) if is_geojson else _flat(shapely, area)
        if not np.isfinite(shapely.get_coordinates(shapes)).all():
            message = "within: a polygon has coordinates that are not finite"
            raise errors.make("invalid", message, "use finite numbers")
        if is_geojson and self._is_round:  # in shapely geometries the orientation has no meaning
            shapes = [unwound(shapely, polygon) for polygon in shapes]
        shapes = [shape if shape.is_valid else shapely.make_valid(shape) for shape in shapes]
        return shapely.union_all(shapes) if len(shapes) != 1 else shapes[0]

    def _polygons(self, area: Any) -> list[Any]:
        others: list[str] = []
        try:
            shapes = [self._shapely.geometry.shape(item) for item in _areas(area, others)]
        except errors.Error:
            raise
        except Exception as error:  # shapely's readers raise many types
            message = f"within: not a GeoJSON geometry: {type(error).__name__}: {error}"
            raise errors.make("format", message, _EXAMPLE) from None
        if others and not shapes:
            raise _no_area(", ".join(dict.fromkeys(others)))
        return [part for shape in shapes for part in _parts(shape)]


def _side(column: str, low: float, high: float) -> str:
    return f"{column} between {low!r} and {high!r}"


def _load(path: str) -> Any:
    access.check(path)
    try:
        with open(path, encoding="utf-8-sig") as file:  # programs on Windows write a byte order mark
            return json.load(file)
    except FileNotFoundError:
        raise errors.no_file(f"no file at {path}", "within needs a GeoJSON file with polygons") from None
    except OSError as error:
        raise errors.make("io", f"{path} can't be read: {error.strerror}", "name a GeoJSON file") from None
    except ValueError as error:
        raise errors.make("format", f"{path} is not GeoJSON: {error}", _EXAMPLE) from None


def _areas(area: Any, others: list[str]) -> Iterator[Any]:
    """Yield the Polygons and MultiPolygons of GeoJSON; the types of other geometries go to ``others``."""
    kind = area.get("type") if isinstance(area, dict) else None
    members = {"FeatureCollection": "features", "GeometryCollection": "geometries"}
    if kind in members:
        for member in area.get(members[kind], []):
            yield from _areas(member, others)
    elif kind == "Feature":
        if area.get("geometry") is None:  # a feature without geometry
            others.append("null")
        else:
            yield from _areas(area["geometry"], others)
    elif kind in ("Polygon", "MultiPolygon"):
        yield area
    elif kind in _NO_AREAS:
        others.append(kind)
    else:
        raise _no_area(str(kind or type(area).__name__))


def _no_area(what: str) -> errors.Error:
    hint = "give a shapely geometry, or GeoJSON whose type is Polygon, MultiPolygon, Feature or a collection"
    return errors.make("invalid", f"within needs polygons, not {what}", hint)


def _parts(area: Any) -> list[Any]:
    return list(getattr(area, "geoms", [area]))


def _flat(shapely: Any, area: Any) -> list[Any]:
    """Return the polygons of a geometry, including those of nested collections."""
    if hasattr(area, "geoms"):
        return [polygon for part in area.geoms for polygon in _flat(shapely, part)]
    return [area] if shapely.get_dimensions(area) == 2 else []


def _find(table: Table, names: tuple[str, ...], axis: str) -> str:
    lower = {name.lower(): name for name in table._columns}
    for name in names:
        if name in lower:
            return lower[name]
    stated = {"x": "longitude", "y": "latitude"}[axis]
    known = [name for name, array in table._columns.items() if array.attrs.get("standard_name") == stated]
    if len(known) == 1:
        return known[0]
    near = known or [name for name in table._columns if name.lower().startswith(stated[:3])]
    there = f"; similar names: {', '.join(near)}" if near else ""
    raise errors.make(
        "not-found",
        f"{table.path} has no column for {axis} (expected one of {', '.join(names)})",
        f'name the columns: xy=("clon", "clat"), --xy clon,clat{there}',
    )


def _shapely() -> Any:
    try:
        import shapely
        import shapely.geometry
    except ModuleNotFoundError:
        raise errors.needs("table", "selecting by polygons needs shapely") from None
    return shapely


# Longitudes modulo 360 degrees: clauses and areas on a sphere.

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
    shell = unwrap(coords)
    if shell[0, 0] != shell[-1, 0]:
        raise errors.make(
            "invalid",
            "a polygon encloses a pole: its ring is clockwise with a side longer than 180 degrees",
            "add points along -180, the pole and 180; or make the ring counterclockwise if it has no pole",
        )
    holes = [unwrap(np.asarray(hole.coords)[:, :2]) for hole in polygon.interiors]
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


def unwrap(coords: np.ndarray) -> np.ndarray:
    """Shift longitudes by multiples of 360 so that neighbouring points differ by at most 180."""
    steps = np.diff(coords[:, 0])
    steps -= 360 * np.round(steps / 360)
    along = coords.copy()
    along[1:, 0] = coords[0, 0] + np.cumsum(steps)
    if abs(along[-1, 0] - along[0, 0]) < _SLACK:
        along[-1, 0] = along[0, 0]
    return along
