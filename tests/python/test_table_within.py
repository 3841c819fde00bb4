"""Polygons over longitudes: the same rows whichever turn of the circle polygon and table are given in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.errors import Error
from icecore.tables.summaries.write import write_for

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
    with pytest.raises(Error, match="encloses a pole") as caught:
        rows(of, {"type": "Polygon", "coordinates": [cap]})
    assert (caught.value.kind, bool(caught.value.hint)) == ("invalid", True)


def wound(area: Any, clockwise: bool) -> Any:
    """The same polygons, with exterior rings that all run one way and holes the other."""
    from shapely.geometry.polygon import orient

    parts = [orient(part, -1.0 if clockwise else 1.0) for part in getattr(area, "geoms", [area])]
    return parts[0] if len(parts) == 1 else shapely.MultiPolygon(parts)


PLANE = {
    **AREAS,
    "most of a circle from 0": shapely.box(10, -20, 350, 30),
    "most of it, with a hole": shapely.box(-170, -40, 170, 40).difference(shapely.box(-20, -5, 20, 5)),
    "a triangle with a long side": shapely.Polygon([(5, -30), (355, -30), (180, 50)]),
    "with holes at the poles": shapely.box(-180, -90, 180, 90)
    - shapely.box(-180, 80, 180, 90)
    - shapely.box(-40, -90, 40, -85),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("clockwise", [False, True])
@pytest.mark.parametrize("geojson", [False, True])
def test_rings_may_run_either_way_round(tmp_path: Path, geojson: bool, clockwise: bool) -> None:
    of = table(tmp_path / "r.icecore", -180)
    for name, area in PLANE.items():
        if geojson and clockwise and name == "most of the circle":
            continue  # the one that may be meant to cross the antimeridian
        given = wound(area, clockwise)
        given = shapely.geometry.mapping(given) if geojson else given
        np.testing.assert_array_equal(rows(of, given), expected(of, area), name)


def test_a_clockwise_ring_that_may_cross_is_said_to(tmp_path: Path, run: Any) -> None:
    of = table(tmp_path / "r.icecore", 0)
    area = shapely.geometry.mapping(wound(shapely.box(-170, -10, 160, 10), True))
    with pytest.warns(UserWarning, match="from 160 eastwards to -170; .* for -170 to 160"):
        got = rows(of, area)
    np.testing.assert_array_equal(got, expected(of, shapely.box(160, -10, 190, 10)))
    (tmp_path / "area.geojson").write_text(json.dumps(area))
    arguments = ("/t", "--within", tmp_path / "area.geojson", "--reduce", "count")
    status, out, err = run("query", tmp_path / "r.icecore", *arguments)
    assert (status, out.split()) == (0, ['"count"', str(got.size)])
    assert err.startswith("icecore: warning: a clockwise polygon")
    assert len(err.splitlines()) == 1


def feature(geometry: Any) -> dict[str, Any]:
    if geometry is not None and not isinstance(geometry, dict):
        geometry = shapely.geometry.mapping(geometry)
    return {"type": "Feature", "properties": {}, "geometry": geometry}


def test_features_without_an_area_are_left_out(tmp_path: Path) -> None:
    of = table(tmp_path / "r.icecore", 0)
    area, other = shapely.box(10, -20, 50, 30), shapely.box(100, 0, 120, 20)
    point, line = shapely.Point(3, 4), shapely.LineString([(1, 1), (200, 50)])
    wanted = expected(of, area | other)
    inner = shapely.GeometryCollection([shapely.MultiPolygon([other]), line])
    features = [feature(None), feature(area), feature(point), feature(line), feature(inner)]
    np.testing.assert_array_equal(rows(of, {"type": "FeatureCollection", "features": features}), wanted)
    assert rows(of, {"type": "FeatureCollection", "features": []}).size == 0
    for without, words in (([None], "not null"), ([None, point, line, point], "not null, Point, LineString")):
        collection = {"type": "FeatureCollection", "features": [feature(item) for item in without]}
        with pytest.raises(Error, match=words) as caught:
            rows(of, collection)
        assert caught.value.kind == "invalid"
    assert rows(of, shapely.Polygon()).size == 0
    for plain in (point, line):
        with pytest.raises(Error, match=f"needs polygons, not {plain.geom_type}"):
            rows(of, plain)
    with pytest.raises(Error, match="not Circle"):
        rows(of, {"type": "FeatureCollection", "features": [feature(area), feature({"type": "Circle"})]})


def test_rings_that_cross_themselves(tmp_path: Path) -> None:
    of = table(tmp_path / "r.icecore", 0)
    bow = [[10, 0], [50, 40], [50, 0], [10, 40], [10, 0]]
    lobes = shapely.make_valid(shapely.Polygon(bow))
    other = shapely.box(30, 5, 80, 30)
    collection = [feature({"type": "Polygon", "coordinates": [bow]}), feature(other)]
    got = rows(of, {"type": "FeatureCollection", "features": collection})
    np.testing.assert_array_equal(got, expected(of, lobes | other))


@pytest.mark.parametrize("within_another", [False, True])
def test_parts_of_a_geometry_may_overlap(tmp_path: Path, within_another: bool) -> None:
    """As they may in GeoJSON: what lies in both is inside."""
    of = table(tmp_path / "r.icecore", 0)
    one, other = shapely.box(10, 0, 50, 40), shapely.box(30, 5, 80, 30)
    area = shapely.MultiPolygon([one, other])
    given = shapely.GeometryCollection([area, shapely.Point(0, 0)]) if within_another else area
    for form in (given, shapely.geometry.mapping(given)):
        np.testing.assert_array_equal(rows(of, form), expected(of, one | other))


def test_numpy_of_some_rows_of_an_area(tmp_path: Path) -> None:
    of, box = table(tmp_path / "r.icecore", 0), shapely.box(30, 5, 80, 30)
    inside = expected(of, box)
    got = of.to_numpy(["row"], "row > 100", within=box, limit=7)["row"]
    np.testing.assert_array_equal(got, inside[inside > 100][:7])
    np.testing.assert_array_equal(of.to_numpy(["row"], limit=3)["row"], [0, 1, 2])


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    of, box = table(tmp_path / "r.icecore", 0), shapely.box(30, 5, 80, 30)
    path = tmp_path / "box.geojson"
    path.write_text(shapely.to_geojson(box), encoding="utf-8-sig")
    np.testing.assert_array_equal(rows(of, path), expected(of, box))


@pytest.mark.parametrize("name", ["CENTER_LONGITUDE", "lon180", "longitude_20hz", "sub.lon", "clon_deg"])
def test_longitudes_are_known_by_a_word_of_their_name(tmp_path: Path, name: str) -> None:
    of = table(tmp_path / "r.icecore", -180, name)
    area, lon, lat = shapely.box(170, -10, 190, 10), of[name][...], of["lat"][...]
    wanted = (np.abs(lon) > 170) & (np.abs(lat) < 10)
    assert wanted.sum() > (lon[wanted] < 0).sum() > 0
    found = rows(of, area, xy=(name, "lat"))
    np.testing.assert_array_equal(found, np.flatnonzero(wanted))


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


def test_mistakes_in_a_clause_beside_a_polygon_are_shown_in_that_clause(tmp_path: Path) -> None:
    of = table(tmp_path / "r.icecore", -180)
    for clause in ("rwo > 1", "row > 1) or (row < 5"):
        alone, beside = "", ""
        try:
            of.scan(["row"], clause)
        except Error as error:
            alone = str(error)
        with pytest.raises(Error) as caught:
            of.scan(["row"], clause, within=shapely.box(0, 0, 1, 1))
        beside = str(caught.value)
        assert beside == alone
        assert clause in alone


def test_coordinates_are_found_by_what_they_are(tmp_path: Path) -> None:
    """ATL06's quality groups have lon_mean and lat_mean."""
    names = {"longitude": "lon_mean", "latitude": "lat_mean"}
    with icecore.create(tmp_path / "r.icecore").writer() as writer:
        for stated, name in names.items():
            writer.array(f"/t/{name}", "f8", (3,), attrs={"standard_name": stated})[...] = [1.0, 20.0, 30.0]
            for of in ("first", "last"):
                writer.array(f"/u/{name[:3]}_{of}", "f8", (3,))[...] = 0
        writer.array("/t/row", "i8", (3,))[...] = np.arange(3)
    repo = icecore.open(tmp_path / "r.icecore")
    assert rows(repo.table("/t"), shapely.box(10, 10, 25, 25)).tolist() == [1]
    with pytest.raises(Error) as error:
        repo.table("/u").scan(within=shapely.box(0, 0, 1, 1))
    assert "similar names: lon_first, lon_last" in error.value.hint
