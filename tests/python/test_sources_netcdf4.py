"""netCDF-4 semantics: dimensions, unlimited lengths, fill values, text; xarray sees the same."""

from __future__ import annotations

import warnings

import h5netcdf
import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr
from icecore import link
from icecore.sources import open_source
from sources_kit import everything, same, through_zarr, zarr_store

rng = np.random.default_rng(4)


def written(tmp_path, fill, form="NETCDF4"):
    path = tmp_path / "x.nc"
    with netCDF4.Dataset(path, "w", format=form) as file:
        file.set_auto_maskandscale(False)
        fill(file)
    return path, open_source(path)


def check_xarray(path, amap, group="/", **options):
    """xarray's view of the file and of the map, decoded and raw."""
    for decode in (True, False):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = xr.load_dataset(path, engine="netcdf4", group=group, decode_cf=decode, **options)
            found = xr.load_dataset(
                zarr_store(amap),
                engine="zarr",
                group=group.strip("/"),
                consolidated=False,
                zarr_format=3,
                decode_cf=decode,
                **options,
            )
        if not decode:
            # xarray has no form for the fill value of text in Zarr.
            for variable in wanted.variables.values():
                if variable.dtype.kind in "SO":
                    variable.attrs.pop("_FillValue", None)
        xr.testing.assert_identical(wanted, found)


def simple(file):
    file.createDimension("time", None)
    file.createDimension("lat", 4)
    file.createDimension("lon", 6)
    file.createDimension("n", 5)
    file.title = "grüße"
    file.history = ["one", "two"]
    time = file.createVariable("time", "f8", ("time",))
    time[:] = np.arange(3)
    time.units = "days since 2000-01-01"
    file.createVariable("lat", "f4", ("lat",))[:] = np.arange(4)
    packed = file.createVariable("t", "i2", ("time", "lat", "lon"), zlib=True, fill_value=-99)
    packed[:] = rng.integers(0, 100, (3, 4, 6))
    packed[0, 0, 0] = -99
    packed.scale_factor = 0.5
    packed.add_offset = 10.0
    packed.coordinates = "lat lon2"
    packed.valid_range = np.array([0, 100], "i2")
    real = file.createVariable("r", "f4", ("lat", "lon"), fill_value=np.nan)
    real[:] = rng.normal(size=(4, 6))
    file.createVariable("lon2", "f8", ("lat", "lon"))[:] = rng.normal(size=(4, 6))
    text = file.createVariable("text", "S1", ("lat", "n"))
    text[:] = np.array([list("abcde"), list("fghij"), list("klmno"), list("pqrst")], "S1")
    words = file.createVariable("words", str, ("lat",))
    words[:] = np.array(["a", "grüße", "", "d"], object)
    file.createVariable("scalar", "i4", ())[...] = 7
    file.createVariable("unsigned", "u8", ("lat",))[:] = np.array([0, 1, 2**63, 2**64 - 1], "u8")


@pytest.mark.parametrize("form", ["NETCDF4", "NETCDF3_64BIT_DATA"])
def test_xarray_sees_the_same(tmp_path, form):
    def fill(file):
        if form == "NETCDF4":
            return simple(file)
        file.createDimension("time", None)
        file.createDimension("x", 5)
        file.title = "t"
        packed = file.createVariable("t", "i2", ("time", "x"), fill_value=-99)
        packed[:] = rng.integers(0, 100, (3, 5))
        packed.scale_factor = 0.5
        return None

    path, amap = written(tmp_path, fill, form)
    check_xarray(path, amap)


def test_housekeeping_is_hidden(tmp_path):
    _, amap = written(tmp_path, simple)
    assert amap.groups["/"] == {"title": "grüße", "history": ["one", "two"]}
    assert amap.arrays["/lat"].attrs == {}
    assert amap.arrays["/time"].attrs == {"units": "days since 2000-01-01"}
    assert amap.arrays["/t"].unlimited == (0,)
    assert {note.path: note.kind for note in amap.dropped} == {"/lon": "dimension", "/n": "dimension"}


def test_variables_shorter_than_the_unlimited_dimension_are_filled_up(tmp_path):
    def fill(file):
        file.createDimension("time", None)
        file.createDimension("x", 3)
        file.createVariable("long", "f4", ("time", "x"), chunksizes=(2, 3), zlib=True)[:] = np.ones((7, 3))
        file.createVariable("short", "i4", ("time", "x"), fill_value=-5, chunksizes=(2, 3))[:] = np.ones(
            (3, 3)
        )
        file.createVariable("time", "f8", ("time",))[:] = np.arange(2)
        file.createVariable("never", "i4", ("time",))
        unfilled = file.createVariable("unfilled", "i8", ("time", "x"), fill_value=False, chunksizes=(2, 3))
        unfilled[:] = np.ones((2, 3))

    path, amap = written(tmp_path, fill)
    for name in ("short", "time", "never", "long", "unfilled"):
        entry = amap.arrays[f"/{name}"]
        assert entry.shape[0] == 7
        with netCDF4.Dataset(path) as file:
            file.set_auto_mask(False)
            wanted = file[name][...]
        assert same(entry.read(everything(entry)), wanted)
        assert same(through_zarr(amap, f"/{name}"), wanted)
    assert amap.arrays["/short"].read((slice(2, 5), slice(1, 2))).tolist() == [[1], [-5], [-5]]
    check_xarray(path, amap)


def test_coordinates_of_several_axes_are_filled_up_too(tmp_path):
    def fill(file):
        file.createDimension("station", None)
        file.createDimension("character", 4)
        names = file.createVariable("station", "S1", ("station", "character"))
        names.set_auto_chartostring(False)
        names[:1] = np.array([list("abcd")], "S1")
        file.createGroup("g").createVariable("v", "f4", ("station",))[:] = np.arange(3)

    path, amap = written(tmp_path, fill)
    assert amap.arrays["/station"].shape == (3, 4)
    check_xarray(path, amap)
    check_xarray(path, amap, "/g")


@pytest.mark.parametrize("word", [None, "NA"])
@pytest.mark.parametrize("chunk", [1, 2, 7])
def test_words_that_were_never_written(tmp_path, word, chunk):
    """Beyond a variable's end, in a part of its chunks, or at all: to fill chunks of text of any length, the
    HDF5 library wants to write to the file.
    """

    def fill(file):
        file.createDimension("time", None)
        file.createDimension("x", 5)
        file.createVariable("long", "f4", ("time",))[:] = np.ones(7)
        options = {"fill_value": word}
        file.createVariable("short", str, ("time",), **options)[0] = "a"
        file.createVariable("never", str, ("time",), **options)
        file.createVariable("nowhere", str, ("x",), chunksizes=(min(chunk, 5),), **options)
        some = file.createVariable("some", str, ("time", "x"), chunksizes=(chunk, 2), **options)
        some[1, 3] = "grüße"
        some[4, 0] = "b"

    path, amap = written(tmp_path, fill)
    for name in ("short", "never", "nowhere", "some"):
        entry = amap.arrays[f"/{name}"]
        with netCDF4.Dataset(path) as file:
            file.set_auto_mask(False)
            wanted = file[name][...]
        assert entry.fill_value == (word or "")
        assert same(entry.read(everything(entry)), wanted)
        assert same(through_zarr(amap, f"/{name}"), wanted)
    part = (slice(1, 5), slice(2, 4))
    assert amap.arrays["/some"].read(part).tolist() == [
        ["grüße" if (row, column) == (1, 3) else word or "" for column in (2, 3)] for row in range(1, 5)
    ]


def test_attributes_that_are_no_numbers_in_json_stay_numbers(tmp_path):
    def fill(file):
        file.nothing = np.nan
        file.createDimension("x", 3)
        variable = file.createVariable("v", "f8", ("x",))
        variable[:] = [1, 2, 3]
        variable.missing_value = np.nan
        variable.range = np.array([-np.inf, 5.0])
        variable.large = np.array([2**63 + 2049, 2**53 + 1], "u8")

    path, _ = written(tmp_path, fill)
    link(path, into=tmp_path / "r.icecore", group="/")
    found = xr.load_dataset(tmp_path / "r.icecore", engine="icecore")
    xr.testing.assert_identical(found, xr.load_dataset(path))
    assert found.v.encoding["missing_value"] != found.v.encoding["missing_value"]


def test_groups_and_their_dimensions(tmp_path):
    def fill(file):
        file.createDimension("x", 3)
        file.createVariable("x", "f4", ("x",))[:] = 1
        deep = file.createGroup("a/b")
        deep.createDimension("y", 2)
        deep.description = "deep"
        deep.createVariable("v", "f4", ("x", "y"))[:] = rng.normal(size=(3, 2))
        file.createGroup("empty")

    path, amap = written(tmp_path, fill)
    assert set(amap.groups) == {"/", "/a", "/a/b", "/empty"}
    assert amap.groups["/a/b"] == {"description": "deep"}
    assert amap.arrays["/a/b/v"].dims == ("x", "y")
    check_xarray(path, amap)
    check_xarray(path, amap, "/a/b")


def test_a_variable_that_collides_with_a_dimension(tmp_path):
    """A two-dimensional variable named like a dimension is stored under another name."""

    def fill(file):
        file.createDimension("time", 3)
        file.createDimension("x", 2)
        file.createVariable("time", "i4", ("x", "time"))[:] = np.arange(6).reshape(2, 3)
        file.createVariable("v", "f4", ("time",))[:] = 1
        file.createVariable("x", "i4", ("x", "time"))[:] = 5

    path, amap = written(tmp_path, fill)
    with netCDF4.Dataset(path) as file:
        assert {f"/{name}" for name in file.variables} == set(amap.arrays)
        for name, variable in file.variables.items():
            entry = amap.arrays[f"/{name}"]
            assert entry.dims == variable.dimensions
            assert same(entry.read(everything(entry)), variable[...])
            assert same(through_zarr(amap, f"/{name}"), variable[...])


def test_enum_and_user_types(tmp_path):
    def fill(file):
        file.createDimension("x", 3)
        kind = file.createEnumType(np.uint8, "cloud", {"clear": 0, "cumulus": 1, "missing": 255})
        file.createVariable("clouds", kind, "x", fill_value=255)[:] = np.array([0, 1, 255])
        file.createVariable("rough", "f4", "x", least_significant_digit=1)[:] = [1, 2, 3]
        ragged = file.createVLType(np.int32, "ragged_t")
        file.createVariable("ragged", ragged, "x")
        record = file.createCompoundType(np.dtype([("a", "i4"), ("b", "f8")]), "record_t")
        data = np.zeros(3, np.dtype([("a", "i4"), ("b", "f8")]))
        data["a"] = [1, 2, 3]
        file.createVariable("records", record, "x")[:] = data

    path, amap = written(tmp_path, fill)
    link(path, into=tmp_path / "r.icecore", group="/")
    wanted = xr.load_dataset(path, engine="netcdf4", drop_variables="ragged")
    xr.testing.assert_identical(xr.load_dataset(tmp_path / "r.icecore", engine="icecore"), wanted)
    clouds = amap.arrays["/clouds"]
    assert clouds.read((slice(0, 3),)).tolist() == [0, 1, 255]
    assert clouds.attrs["flag_meanings"] == "clear cumulus missing"
    assert clouds.attrs["flag_values"] == [0, 1, 255]
    assert amap.arrays["/records"].read((slice(0, 3),))["a"].tolist() == [1, 2, 3]
    assert [note.path for note in amap.dropped if note.kind == "unsupported"] == ["/ragged"]


def test_phony_dimensions_are_named_as_h5netcdf_names_them(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["a"] = np.zeros((4, 5))
        file["b"] = np.zeros((5,))
        file["square"] = np.zeros((5, 5))
        file["g/c"] = np.zeros((4, 7))
        file["g/h/d"] = np.zeros((2, 2, 2))
        file["g/lat"] = np.zeros(6)
        file["g/lat"].make_scale("latitude")
        file["g/f"] = np.zeros((6,))
        file["z"] = np.zeros((9, 4))
    amap = open_source(path)
    assert amap.arrays["/g/lat"].dims == ("lat",)
    with h5netcdf.File(path, phony_dims="sort") as file:
        for where in ("a", "b", "square", "z", "g/c", "g/h/d", "g/f"):
            assert amap.arrays[f"/{where}"].dims == file[where].dimensions, where


def test_phony_dimensions_beside_an_unlimited_scale_are_numbered_as_h5netcdf_does(tmp_path):
    path = tmp_path / "granule.h5"
    with h5py.File(path, "w") as file:
        for track in ("gt1l", "gt1r"):
            group = file.create_group(track)
            group.create_dataset("time", data=np.arange(5.0), maxshape=(None,), chunks=(5,))
            group["time"].make_scale("time")
            group["sigma"] = np.zeros((5, 3, 2))  # not attached to the scale
        file["orbit"] = np.zeros(1)
    amap = open_source(path)
    with h5netcdf.File(path, phony_dims="sort") as file:
        for where in ("gt1l/time", "gt1l/sigma", "gt1r/sigma", "orbit"):
            assert amap.arrays[f"/{where}"].dims == file[where].dimensions, where


def test_scales_of_plain_hdf5(tmp_path):
    """A scale's own NAME is only its label; the dimension is called like the dataset."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["axes/time"] = np.arange(3.0)
        file["axes/time"].make_scale("Time in seconds")
        file["v"] = np.zeros((3, 3))
        file["v"].dims[0].attach_scale(file["axes/time"])
        file["v"].dims[1].label = "column"
        file["table"] = np.zeros(3)
        file["table"].attrs["CLASS"] = "TABLE"
    amap = open_source(path)
    assert amap.arrays["/v"].dims == ("time", "phony_dim_0")
    assert amap.arrays["/axes/time"].attrs == {}
    assert amap.arrays["/v"].attrs == {"DIMENSION_LABELS": ["", "column"]}
    assert amap.arrays["/table"].attrs == {"CLASS": "TABLE"}


@pytest.mark.parametrize(
    ("kind", "value"),
    [("f4", 1e20), ("f8", np.nan), ("i2", -7), ("u4", 2**32 - 1), ("i8", -(2**60)), ("f4", -np.inf)],
)
def test_fill_values_reach_xarray(tmp_path, kind, value):
    def fill(file):
        file.createDimension("x", 6)
        variable = file.createVariable("v", kind, ("x",), fill_value=value, chunksizes=(2,))
        variable[:3] = 1
        variable.missing_value = np.dtype(kind).type(value)

    path, amap = written(tmp_path, fill)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = xr.load_dataset(path)
        found = xr.load_dataset(zarr_store(amap), engine="zarr", consolidated=False, zarr_format=3)
    xr.testing.assert_identical(wanted, found)
    assert wanted.v.isnull().sum() == 3
    assert same(found.v.encoding["_FillValue"], np.dtype(kind).type(value))
