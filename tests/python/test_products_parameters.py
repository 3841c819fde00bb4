"""Parameters of products: types, units, bounds, names, nested values, areas; JSON schemas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import icecore
import numpy as np
import pytest
from icecore.products.area import area
from icecore.products.registry import BUILT_IN, find
from icecore.products.signature import Field, signature_of
from icecore.products.values import bind

shapely = pytest.importorskip("shapely")


@dataclass(frozen=True)
class Inner:
    most: Annotated[int, Field("Most.", low=1)] = 5
    width: Annotated[float, Field("Width.", unit="m")] = 2.0


def product(
    inputs: Any,
    length: Annotated[float, Field("Length.", unit="m", low=1, high=1000)] = 40.0,
    wait: Annotated[float | None, Field("Time.", unit="s")] = None,
    count: Annotated[int, Field("Count.", low=1)] = 10,
    level: Annotated[int | list[int], Field("Level.", names={"low": 1, "high": 2})] = 1,
    names: Annotated[list[str] | None, Field("Names.")] = None,
    is_on: Annotated[bool, Field("Whether.")] = False,
    inner: Annotated[Inner, Field("Inner.")] = Inner(),
    text: Annotated[str, Field("Text.")] = "",
) -> None:
    """Nothing."""


SIGNATURE = signature_of("p", product)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"length": "0.04 km"}, {"length": 40.0}),
        ({"length": "40m"}, {"length": 40.0}),
        ({"length": 40}, {"length": 40.0}),
        ({"wait": "2 min"}, {"wait": 120.0}),
        ({"wait": None}, {"wait": None}),
        ({"count": "12"}, {"count": 12}),
        ({"count": np.int64(12)}, {"count": 12}),
        ({"level": "high"}, {"level": 2}),
        ({"level": "[1, 2]"}, {"level": [1, 2]}),
        ({"level": ["low", 2]}, {"level": [1, 2]}),
        ({"level": "1,high"}, {"level": [1, 2]}),
        ({"names": "a"}, {"names": ["a"]}),
        ({"names": "a, b"}, {"names": ["a", "b"]}),
        ({"is_on": "true"}, {"is_on": True}),
        ({"inner": {"most": 3}}, {"inner": Inner(3)}),
        ({"inner": '{"width": "30 cm"}'}, {"inner": Inner(5, 0.3)}),
        ({"inner.most": "2", "inner.width": 1}, {"inner": Inner(2, 1.0)}),
    ],
)
def test_values_are_converted(given, expected):
    assert bind(SIGNATURE, given) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lenght": 1}, "p has no parameter lenght\n  try: did you mean length"),
        ({"length": "1 furlong"}, "length: unknown unit 'furlong'\n  try: accepted units: m, km, cm, mm"),
        ({"count": "3 m"}, "count: unknown unit 'm'\n  try: accepted units: none"),
        ({"length": 0}, "length must be 1 to 1,000 m (got 0)"),
        ({"length": "2 km"}, "length must be 1 to 1,000 m (got '2 km')"),
        ({"length": "long"}, "length must be 1 to 1,000 m (got 'long')"),
        ({"length": float("nan")}, "length must be a finite number"),
        ({"length": True}, "length must be a finite number"),
        ({"length": [1, 2]}, "length must be one value"),
        ({"count": 1.5}, "count must be an integer"),
        ({"level": "middle"}, "level must be one of 1 (low), 2 (high)"),
        ({"is_on": "perhaps"}, "is_on must be true or false"),
        ({"inner": {"least": 1}}, "p.inner has no parameter least"),
        ({"inner": 3}, "inner must be an object with most, width"),
        ({"inner": "{most: 1}"}, "is not JSON"),
        ({"text": 3}, "text must be a string"),
        ({"inner.most": 0}, "p.inner: most must be at least 1"),
    ],
)
def test_errors_say_what_is_accepted(given, message):
    with pytest.raises(icecore.Error) as caught:
        bind(SIGNATURE, given)
    assert caught.value.kind == "invalid"
    assert message in str(caught.value)


def test_a_required_parameter_must_be_given():
    with pytest.raises(icecore.Error, match="histogram needs the parameter column"):
        bind(find("histogram").signature, {})


def test_the_schema_is_that_of_the_signature():
    schema = SIGNATURE.schema()
    assert schema["properties"]["length"] == {
        "type": "number",
        "minimum": 1,
        "maximum": 1000,
        "description": "Length.",
        "unit": "m",
        "default": 40.0,
    }
    assert schema["properties"]["level"]["anyOf"][1] == {
        "type": "array",
        "items": {"enum": [1, 2, "low", "high"]},
    }
    assert schema["properties"]["inner"]["properties"]["most"]["minimum"] == 1
    assert schema["additionalProperties"] is False


def test_every_built_in_product_has_a_schema_and_a_description():
    for name in BUILT_IN:
        signature = find(name).signature
        assert signature.doc
        assert all(row[3].endswith(".") for row in signature.rows()), name
        assert signature.schema()["title"] == name


def test_parameters_need_a_description():
    def bare(inputs: Any, x: float = 1.0) -> None:
        """Nothing."""

    with pytest.raises(icecore.Error, match="parameter x has no description"):
        signature_of("bare", bare)


def circle(points):
    angle = np.linspace(0, 2 * np.pi, points, endpoint=False)
    return np.column_stack([10 + np.cos(angle), 50 + np.sin(angle)])


def test_areas():
    assert area() is None
    assert area(box=[-50, 60, -40, 70]).bounds == (-50, 60, -40, 70)
    assert area(box=[170, 60, -170, 70]).bounds == (170, 60, 190, 70)
    ring = [{"lon": 179, "lat": 0}, {"lon": -179, "lat": 0}, {"lon": -179, "lat": 1}]
    for points in (ring, ring[::-1]):
        assert area(points).bounds[2] - area(points).bounds[0] == 2
    assert area(circle(100_000).tolist()).area == pytest.approx(np.pi, rel=1e-6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"poly": [[0, 0], [1, 1], [1, 0], [0, 1]]}, r"poly crosses itself near \(0\.5, 0\.5\)"),
        (
            {"poly": {"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]]}},
            "poly crosses itself",
        ),
        ({"poly": [[0, 0], [1, 1]]}, "at least 3 points"),
        ({"poly": [[0, 0], [1, 1], ["a", 3]]}, "a point needs lon and lat"),
        ({"poly": [[0, 0], [1, 1], [0, float("nan")]]}, "not finite"),
        ({"poly": [[70, 100], [71, 100], [71, 120]]}, "latitudes from 100 to 120"),
        ({"poly": 3}, "poly must be an area"),
        ({"poly": [[-180, 80], [-60, 80], [60, 80]]}, "encloses a pole"),
        ({"box": [1, 2, 3]}, "box must have 4 numbers"),
        ({"box": [1, 5, 3, 2]}, "-90 <= south < north <= 90"),
        ({"box": [1, 2, 3, 4], "poly": [[0, 0], [1, 0], [1, 1]]}, "both given"),
    ],
)
def test_areas_that_are_not_valid(given, message):
    with pytest.raises(icecore.Error, match=message) as caught:
        area(**given)
    assert caught.value.kind in ("invalid", "format")


def test_a_polygon_of_too_many_points():
    with pytest.raises(icecore.Error, match=r"poly has 1,000,00\d points \(at most 1,000,000\)"):
        area(circle(1_000_001).tolist())


@pytest.mark.parametrize(
    ("ring", "size"),
    [
        ([[-180, 89.95], [180, 89.95], [180, 90], [-180, 90]], 360 * 0.05),
        ([[-180, -80], [-180, -90], [180, -90], [180, -80]], 360 * 10),
        ([[-180, 80], [-60, 80], [60, 80], [180, 80], [180, 90], [-180, 90]], 360 * 10),
        ([[-180, 10], [180, 10], [180, 20], [-180, 20]], 360 * 10),
        ([[170, 80], [170, 90], [-170, 90], [-170, 80]], 20 * 10),
    ],
)
def test_rings_around_the_globe_are_those_of_geojson(ring, size):
    assert area(ring).area == pytest.approx(size)


def test_a_ring_without_an_area_is_refused():
    with pytest.raises(icecore.Error, match=r"poly (has no area|crosses itself)"):
        area([[0, 0], [1, 0], [0, 0], [0, 0]])
