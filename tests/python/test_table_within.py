"""Polygons over longitudes: the same rows whichever turn of the circle polygon and table are given in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.errors import Error
from icecore.tables.summaries import write_for

shapely = pytest.importorskip("shapely")
ROWS = 40_000


def table(path: Path, first: float, name: str = "lon", attrs: dict[str, Any] | None = None) -> Any:
    """Rows all over the sphere, in the order of their longitudes from ``first`` on."""
    random = np.random.default_rng(3)
    lon = np.sort(random.uniform(first, first + 360, ROWS)).round(3)
    with icecore.create(path).writer() as writer:
        for column, data in ((name, lon), ("lat", random.uniform(-90, 90, ROWS)), ("row", np.arange(ROWS))):
            extra = attrs if column == name else None
            array = writer.array(f"/t/{column}", data.dtype, data.shape, chunks=(4096,), attrs=extra)
            array[...] = data
        write_for(writer, [f"/t/{name}", "/t/lat"])
    return icecore.open(path).table("/t")


def expected(of: Any, area: Any) -> np.ndarray:
    """By trying every turn."""
    lon, lat = of["lon"][...], of["lat"][...]
    inside = np.zeros(ROWS, bool)
    for turn in (-720, -360, 0, 360, 720):
        inside |= shapely.contains_xy(area, lon + turn, lat)
    return np.flatnonzero(inside)


def rows(of: Any, area: Any, **options: Any) -> np.ndarray:
    return of.scan(["row"], within=area, **options).read_all()["row"].to_numpy()


AREAS = {
    "west of Greenwich": shapely.box(-40, -20, -10, 30),
    "the same in 0..360": shapely.box(320, -20, 350, 30),
    "across Greenwich": shapely.Polygon([(-20, -10), (15, -5), (0, 40)]),
    "across 360": shapely.Polygon([(340, -10), (375, -5), (360, 40)]),
    "across the antimeridian": shapely.box(170, -10, 190, 10),
    "across it, from the west": shapely.box(-190, -10, -170, 10),
    "cut at it": shapely.MultiPolygon([shapely.box(170, -10, 180, 10), shapely.box(-180, -10, -170, 10)]),
    "most of the circle": shapely.box(-170, -10, 170, 10),
    "the whole circle": shapely.box(-180, -90, 180, 90),
    "with a hole": shapely.Point(0, 0).buffer(30).difference(shapely.Point(0, 0).buffer(8)),
}


@pytest.mark.parametrize("first", [-180, 0, 90])
def test_any_turn(tmp_path: Path, first: float) -> None:
    of = table(tmp_path / "r.icecore", first)
    for name, area in AREAS.items():
        wanted = expected(of, area)
        assert wanted.size > 100, name
        np.testing.assert_array_equal(rows(of, area), wanted, name)
        np.testing.assert_array_equal(rows(of, area, prune=False), wanted, name)
    for one, other in (("west of Greenwich", "the same in 0..360"), ("across the antimeridian", "cut at it")):
        np.testing.assert_array_equal(rows(of, AREAS[one]), rows(of, AREAS[other]))


@pytest.mark.parametrize("first", [-180, 0])
def test_a_ring_that_jumps(tmp_path: Path, first: float) -> None:
    """From 170 to -170, as RFC 7946 has rings run: counterclockwise on the sphere."""
    of = table(tmp_path / "r.icecore", first)
    ring = [[170, -10], [-170, -10], [-170, 10], [170, 10], [170, -10]]
    hole = [[178, -2], [178, 2], [-178, 2], [-178, -2], [178, -2]]
    whole = expected(of, shapely.box(170, -10, 190, 10))
    np.testing.assert_array_equal(rows(of, {"type": "Polygon", "coordinates": [ring]}), whole)
    file = tmp_path / "area.geojson"
    file.write_text(json.dumps({"type": "Polygon", "coordinates": [ring, hole]}))
    inner = expected(of, shapely.box(178, -2, 182, 2))
    np.testing.assert_array_equal(rows(of, file), np.setdiff1d(whole, inner))
    assert inner.size > 0
    cap = [[0, 70], [-120, 70], [120, 70], [0, 70]]
    with pytest.raises(Error, match="round a pole") as caught:
        rows(of, {"type": "Polygon", "coordinates": [cap]})
    assert (caught.value.kind, bool(caught.value.hint)) == ("invalid", True)


def test_columns_that_are_no_longitudes_do_not_wrap(tmp_path: Path) -> None:
    plain = table(tmp_path / "x.icecore", 0, "x")
    assert rows(plain, shapely.box(-40, -20, -10, 30)).size == 0
    by_units = table(tmp_path / "u.icecore", 0, "x", {"units": "degrees_east"})
    assert rows(by_units, shapely.box(-40, -20, -10, 30)).size > 100
    radians = table(tmp_path / "l.icecore", 0, "lon", {"units": "radians"})
    assert rows(radians, shapely.box(-40, -20, -10, 30)).size == 0


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_coordinates_that_make_no_sense(tmp_path: Path, bad: float) -> None:
    of = table(tmp_path / "r.icecore", 0)
    with pytest.raises(Error) as caught:
        rows(of, shapely.Polygon([(0, 0), (bad, 0), (1, 1)]))
    assert (caught.value.kind, bool(caught.value.hint)) == ("invalid", True)
