"""What the page gets has physical values, coordinates and dates, as CF's attributes define them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.service.view import envelope
from icecore.service.view.points import coordinates
from icecore.service.view.values import values as page_values
from serving import get, serving

PACKED = {"scale_factor": 0.001, "add_offset": 300.0, "_FillValue": np.int16(-32767), "units": "K"}
STORED = np.array([[-20000, -10000, 1], [-32767, 0, 2]], "i2")
LARGE = 2**60 + 1


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    place = tmp_path_factory.mktemp("physical") / "a.icecore"
    with icecore.create(str(place)).writer() as w:

        def put(path: str, values: Any, *dims: str, **attrs: Any) -> None:
            found = np.asarray(values)
            w.array(path, found.dtype, found.shape, dims=dims or None, attrs=attrs)[...] = found

        put("/t2m", STORED, "time", "lat", **PACKED)
        put("/time", [0, 36], "time", units="hours since 2000-01-01")
        put("/lat", np.array([700, 600, 500], "i2"), "lat", scale_factor=0.1, units="degrees_north")
        put("/f", np.array([1, -9999, 9.969209968386869e36], "f4"), "z", _FillValue=np.float32(-9999))
        put("/z", [1.0, 3.0, 2.0], "z")
        put("/d", np.array([1, 9.969209968386869e36], "f4"), units="m")
        put("/marked", np.array([LARGE, -1]), _FillValue=-1)
        put("/unmarked", np.array([LARGE, 5]), _FillValue=-1)
        put("/bytes", np.array([-1, 3], "i1"), _Unsigned="true", units="1")
        put("/bad", np.array([4, 5], "i2"), scale_factor="two", units="K")
        for name, values in {"lon": [1, 2, 3], "lat": [60, 61, 62], "h": [-9, 10, 20]}.items():
            scaled = {"scale_factor": 0.5, "missing_value": np.int32(-9), "units": "m"}
            put(f"/track/{name}", np.array(values, "i4"), **scaled)
        put("/series", np.arange(1000, dtype="i2"), **PACKED)
    with serving(place) as address:
        yield f"{address}/view/api"


def ask(api: str, request: str) -> Any:
    status, kind, body = get(f"{api}/{request.replace('?', '?file=a.icecore&')}")
    assert status == 200, body
    return json.loads(body) if kind.startswith("application/json") else body


def values(api: str, path: str, selection: str = "") -> Any:
    """The numbers of an array as the page decodes them: by the node's wire, or from JSON."""
    found = ask(api, f"values?path={path}&selection={selection}")
    wire = ask(api, f"node?path={path}")["wire"]
    return found if isinstance(found, list) else np.frombuffer(found, f"<{wire}")


@pytest.mark.parametrize(
    ("path", "selection", "expected"),
    [
        ("/t2m", "", [280, 290, 300.001, np.nan, 300, 300.002]),
        ("/t2m", "0,::2", [280, 300.001]),
        ("/t2m", "1,0", [np.nan]),
        ("/f", "", [1, np.nan, 9.969209968386869e36]),
        ("/d", "", [1, np.nan]),
        ("/bytes", "", [255, 3]),
        ("/bad", "", [4, 5]),
        ("/lat", "", [70, 60, 50]),
    ],
)
def test_values_are_physical(api: str, path: str, selection: str, expected: list[float]) -> None:
    np.testing.assert_allclose(values(api, path, selection), expected, rtol=1e-7)


def test_integers_of_64_bits_stay_exact(api: str) -> None:
    assert values(api, "/unmarked").tolist() == [LARGE, 5]
    assert values(api, "/marked") == [str(LARGE), None]


def test_a_unit_is_named_only_for_physical_values(api: str) -> None:
    shown = {path: ask(api, f"node?path={path}") for path in ("/t2m", "/bad", "/d")}
    assert {path: (each["units"], each["is_physical"]) for path, each in shown.items()} == {
        "/t2m": ("K", True),
        "/bad": (None, False),
        "/d": ("m", True),
    }
    assert shown["/t2m"]["itemsize"] == 8  # what is sent bounds the first view


def test_axes_are_coordinates_and_dates(api: str) -> None:
    time, lat = ask(api, "axes?path=/t2m&selection=:,:")["axes"]
    assert time == {"units": None, "is_date": True, "is_down": False, "values": [10957, 10958.5]}
    assert (lat["units"], lat["is_date"], lat["values"]) == ("degrees_north", False, [70, 60, 50])
    time, lat = ask(api, "axes?path=/t2m&selection=-1,::2")["axes"]
    assert (time["values"], lat["values"]) == ([10958.5], [70, 50])


def test_an_axis_without_order_counts(api: str) -> None:
    assert ask(api, "axes?path=/f&selection=:")["axes"] == [None]
    assert ask(api, "axes?path=/d&selection=:")["axes"] == [None]
    assert ask(api, "axes?path=/lat&selection=:")["axes"] == [None]


def test_maps_and_trends_are_physical(api: str) -> None:
    found = ask(api, "map?path=/track&color=h")
    assert (found["x"], found["z"], found["units"]) == ([0.5, 1, 1.5], [None, 5, 10], "m")
    found = ask(api, "trend?path=/series&points=10")
    assert (found["min"][0], found["max"][-1]) == (300, 300.999)


@pytest.mark.parametrize(
    ("x", "y", "attrs"),
    [
        ("lon_ph", "lat_ph", {}),
        ("Longitude", "Latitude", {}),
        ("lon_lowestmode", "lat_lowestmode", {}),
        ("geolon2", "geolat2", {}),
        ("east", "north", {"standard_name": ("longitude", "latitude")}),
        ("e", "n", {"units": ("degree_east", "degreesN")}),
        ("x", "y", {}),
    ],
)
def test_coordinates_of_a_map_are_found(tmp_path: Path, x: str, y: str, attrs: dict[str, Any]) -> None:
    repo = icecore.create(str(tmp_path / "a.icecore"))
    with repo.writer() as w:
        w.array("/flat_field", "f4", (3,))[...] = 0
        w.array("/other_lat", "f4", (4,))[...] = 0
        w.array("/conf", "i1", (3, 5))[...] = 0
        for place, name in enumerate((x, y)):
            stated = {key: value[place] for key, value in attrs.items()}
            w.array(f"/{name}", "f8", (3,), attrs=stated)[...] = [1, 2, 3]
    found = coordinates(repo.at("main")["/"])  # type: ignore[arg-type]
    assert found == {"x": x, "y": y, "rows": 3, "others": ["flat_field"]}


def test_names_that_only_contain_the_words_are_no_coordinates(tmp_path: Path) -> None:
    repo = icecore.create(str(tmp_path / "a.icecore"))
    with repo.writer() as w:
        for name in ("flat", "flon", "late", "lone", "lat", "longest"):
            w.array(f"/{name}", "f4", (3,))[...] = 0
    assert coordinates(repo.at("main")["/"]) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [1 << 30, 200_000])
def test_a_trend_of_more_samples_than_are_read_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """All samples in blocks below the limit; beyond it the start of each window, in bounded chunks."""
    repo, samples = icecore.create(str(tmp_path / "a.icecore")), np.arange(100_001, dtype="f4")
    with repo.writer() as w:
        w.array("/s", "f4", samples.shape, chunks=(1000,))[...] = samples
    monkeypatch.setattr(envelope, "DECODED", limit)
    monkeypatch.setattr(envelope, "_STRETCH", 10)
    shown = repo.at("main")
    found = envelope.trend(shown, {"path": "/s", "points": "50"})
    starts = np.arange(0, len(samples), found["step"])
    seen = [samples[first : first + found["seen"]] for first in starts]
    assert found["min"] == [float(each.min()) for each in seen]
    assert found["max"] == [float(each.max()) for each in seen]
    assert found["seen"] == (found["step"] if limit > 1 << 20 else 10)
    assert len(starts) * 4000 <= max(limit // 2, 4000) or limit > 1 << 20
    part = envelope.trend(shown, {"path": "/s", "points": "50", "start": "10", "stop": "60"})
    assert (part["step"], part["seen"], part["min"][0]) == (1, 1, 10)


def test_what_is_sent_bounds_a_slice(tmp_path: Path) -> None:
    """One byte stored is eight sent where it is scaled."""
    repo = icecore.create(str(tmp_path / "a.icecore"))
    with repo.writer() as w:
        for name, attrs in {"packed": {"scale_factor": 0.5}, "plain": {}}.items():
            w.array(f"/{name}", "i1", (10_000_000,), chunks=(10_000_000,), attrs=attrs)
    shown = repo.at("main")
    assert len(page_values(shown, {"path": "/plain"})) == 10_000_000
    with pytest.raises(icecore.Error, match="needs 80"):
        page_values(shown, {"path": "/packed"})
