"""Names, codes and units of ``atl06`` against SlideRule's own client (the package ``sliderule``, 5.7)."""

from __future__ import annotations

import importlib.util

import pytest
from icecore.products.atl03 import COLUMNS
from icecore.products.registry import find

#: columns of ATL06-SR and their units in our notation, from ``sliderule.io.get_attributes()`` of 5.7.0
SLIDERULE = {
    "segment_id": "1",
    "latitude": "degrees_north",
    "longitude": "degrees_east",
    "h_mean": "m",
    "h_sigma": "m",
    "rms_misfit": "m",
    "dh_fit_dx": "1",
    "cycle": "1",
    "rgt": "1",
    "gt": "1",
    "x_atc": "m",
    "y_atc": "m",
    "spot": "1",
    "pflags": "1",
}
#: names of version 4 that version 5 replaced, beside ours
RENAMED = {"n_fit_photons": "photon_count", "w_surface_window_final": "window_height"}
#: ``sliderule.icesat2``: constant → parameter and name here
CODES = {
    "CNF_POSSIBLE_TEP": ("cnf", "atl03_tep"),
    "CNF_NOT_CONSIDERED": ("cnf", "atl03_not_considered"),
    "CNF_BACKGROUND": ("cnf", "atl03_background"),
    "CNF_WITHIN_10M": ("cnf", "atl03_within_10m"),
    "CNF_SURFACE_LOW": ("cnf", "atl03_low"),
    "CNF_SURFACE_MEDIUM": ("cnf", "atl03_medium"),
    "CNF_SURFACE_HIGH": ("cnf", "atl03_high"),
    "SRT_DYNAMIC": ("srt", "dynamic"),
    "SRT_LAND": ("srt", "land"),
    "SRT_OCEAN": ("srt", "ocean"),
    "SRT_SEA_ICE": ("srt", "sea_ice"),
    "SRT_LAND_ICE": ("srt", "land_ice"),
    "SRT_INLAND_WATER": ("srt", "inland_water"),
}
VALUES = dict(zip(CODES, [*range(-2, 5), *range(-1, 5)], strict=True))
#: the request in the documentation of ``sliderule.icesat2.atl06p``
REQUEST = {"cnf": 4, "ats": 20.0, "cnt": 10, "len": 40.0, "res": 20.0}


def test_columns_have_the_names_and_units_of_sliderule():
    for name, unit in SLIDERULE.items():
        assert COLUMNS[name][1] in (unit, "" if unit == "1" else unit), name
    assert set(RENAMED.values()) <= set(COLUMNS)
    assert not set(RENAMED) & set(COLUMNS)


@pytest.mark.parametrize("constant", CODES)
def test_codes_are_those_of_sliderule(constant):
    parameter, name = CODES[constant]
    (each,) = [p for p in find("atl06").signature.parameters if p.name == parameter]
    found = {str(key): value for key, value in each.field.names.items()}
    assert found[name] == VALUES[constant]


def test_the_request_of_sliderules_documentation_is_accepted():
    from icecore.products.values import bind

    bound = bind(find("atl06").signature, REQUEST)
    assert {key: bound[key] for key in REQUEST} == REQUEST


@pytest.mark.skipif(importlib.util.find_spec("sliderule") is None, reason="needs the package sliderule")
def test_the_tables_above_are_those_of_the_package():
    from sliderule import icesat2, io

    attributes = io.get_attributes()
    units = {"meters": "m", "meters/meters": "1", "1": "1", None: "1"}
    for name, unit in SLIDERULE.items():
        given = attributes[name].get("units")
        assert units.get(given, given) == unit, name
    assert set(RENAMED) <= set(attributes)
    assert {name: getattr(icesat2, name) for name in CODES} == VALUES
    lowest = attributes["pflags"]["flag_values"]
    assert lowest == [0, 1, 2, 4]
    meanings = attributes["pflags"]["flag_meanings"].split(", ")
    assert meanings == ["valid", "spread too short", "too few photons", "max iterations reached"]
