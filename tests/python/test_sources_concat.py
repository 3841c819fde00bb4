"""Several files as one: what stays linked, what is copied or refused; values are never silently wrong."""

from __future__ import annotations

import itertools
from fractions import Fraction

import h5py
import icecore
import netCDF4
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from icecore import errors
from icecore.repository.json_attributes import fill_of_attribute
from icecore.sources import open_source
from icecore.sources.hdf5 import region_reader
from icecore.sources.hdf5.file import open_file
from icecore.sources.mapping import stitched_array
from icecore.sources.mapping.time_units import conversion
from icecore.sources.mapping.virtual_concat import concat
from sources_kit import everything, same, through_zarr

rng = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def _nothing_is_small(monkeypatch):
    """Joined arrays of a few bytes would be copied: these tests are about larger ones."""
    monkeypatch.setattr(stitched_array, "SMALL", -1)


counter = itertools.count()


def netcdf(folder, data, form="NETCDF4", units="K", start=0, time_units="hours since 2000-01-01", **options):
    """A file with time, y, x: the variable ``v`` of shape (time, y, x), and ``lat`` without time."""
    path = folder / f"{next(counter)}.nc"
    attrs = options.pop("attrs", {})
    with netCDF4.Dataset(path, "w", format=form) as file:
        file.set_auto_maskandscale(False)
        for name, n in zip(("time", "y", "x"), data.shape, strict=True):
            file.createDimension(name, None if name == "time" and options.get("unlimited", True) else n)
        options.pop("unlimited", None)
        time = file.createVariable("time", options.pop("time_type", "f8"), ("time",))
        time[:] = start + np.arange(len(data))
        time.units = time_units
        lat = file.createVariable("lat", "f4", ("y",))
        lat[:] = np.linspace(-90, 90, data.shape[1]) + options.pop("tilt", 0)
        variable = file.createVariable("v", data.dtype, ("time", "y", "x"), **options)
        variable[:] = data
        variable.units = units
        variable.setncatts(attrs)
    return open_source(path)


def fields(*lengths, dtype="f4", rest=(5, 6)):
    return [rng.normal(size=(n, *rest)).astype(dtype) for n in lengths]


def joined(parts, maps):
    amap = concat(maps, "time")
    entry = amap.arrays["/v"]
    wanted = np.concatenate(parts)
    assert entry.shape == wanted.shape
    assert same(entry.read(everything(entry)), wanted)
    assert same(through_zarr(amap, "/v"), wanted)
    middle = (slice(1, len(wanted) - 1), slice(1, 3), slice(0, 4))
    assert same(entry.read(middle), wanted[middle])
    return entry


def test_multiples_of_the_chunk_keep_a_regular_grid(tmp_path):
    parts = fields(8, 4, 6)
    entry = joined(parts, [netcdf(tmp_path, p, zlib=True, chunksizes=(4, 5, 6)) for p in parts])
    assert entry.chunks == (4, 5, 6)
    assert len(entry.links.urls) == 3
    assert not entry.native


def test_other_lengths_make_a_rectilinear_grid(tmp_path):
    parts = fields(7, 9, 5)
    maps = [netcdf(tmp_path, p, zlib=True, chunksizes=(4, 3, 6)) for p in parts]
    entry = joined(parts, maps)
    assert entry.chunks == [[4, 3, 4, 4, 1, 4, 4], [3, 3], [6]]
    # The chunks that files cut off hold more than their cells: copied.
    assert len(entry.native) == 4
    assert len(entry.links) == 10
    assert "cut off" in entry.note


def test_small_arrays_are_copied_rather_than_irregular(tmp_path, monkeypatch):
    """So that zarr-python opens a time axis of many files without a switch for experimental grids."""
    monkeypatch.setattr(stitched_array, "SMALL", 4 << 20)
    parts = fields(7, 9, 5)
    entry = joined(parts, [netcdf(tmp_path, p, zlib=True, chunksizes=(4, 3, 6)) for p in parts])
    assert not entry.linked
    assert entry.chunks == (21, 5, 6)
    assert "small" in entry.note
    parts = fields(8, 8)
    assert joined(parts, [netcdf(tmp_path, p, zlib=True, chunksizes=(4, 5, 6)) for p in parts]).linked


def test_one_record_chunks_never_copy(tmp_path):
    parts = fields(3, 5, 1, 4)
    entry = joined(parts, [netcdf(tmp_path, p, zlib=True, shuffle=True, chunksizes=(1, 5, 6)) for p in parts])
    assert entry.chunks == (1, 5, 6)
    assert not entry.native


@pytest.mark.parametrize("form", ["NETCDF3_CLASSIC", "NETCDF4"])
def test_contiguous_files_of_unlike_lengths_stay_linked(tmp_path, form):
    """Months of 31, 28 and 31 days, raw: ranges are arithmetic, so nothing needs copying."""
    parts = fields(31, 28, 31, rest=(50, 60))
    entry = joined(parts, [netcdf(tmp_path, p, form=form, unlimited=False) for p in parts])
    assert not entry.native
    assert sum(entry.links.lengths) == sum(p.nbytes for p in parts)


def test_large_raw_rows_get_a_portable_grid(tmp_path):
    parts = fields(6, 4, rest=(200, 200))
    entry = joined(parts, [netcdf(tmp_path, p, form="NETCDF3_CLASSIC", unlimited=False) for p in parts])
    assert entry.chunks == (2, 200, 200)


def test_compression_levels_may_differ(tmp_path):
    parts = fields(4, 4)
    maps = [
        netcdf(tmp_path, p, zlib=True, complevel=i + 1, chunksizes=(2, 5, 6)) for i, p in enumerate(parts)
    ]
    assert not joined(parts, maps).native


def test_other_codecs_are_copied_and_noted(tmp_path):
    parts = fields(4, 4, 4)
    maps = [netcdf(tmp_path, p, zlib=True, shuffle=i != 1, chunksizes=(2, 5, 6)) for i, p in enumerate(parts)]
    entry = joined(parts, maps)
    assert len(entry.native) == 2
    assert "1 of 3 files" in entry.note


def test_other_chunk_shapes_are_copied(tmp_path):
    parts = fields(4, 4)
    maps = [netcdf(tmp_path, p, zlib=True, chunksizes=(2, 5, 6 - 3 * i)) for i, p in enumerate(parts)]
    assert len(joined(parts, maps).native) == 2


def test_byte_orders_may_differ(tmp_path):
    parts = fields(4, 4)
    maps = [netcdf(tmp_path, parts[0], form="NETCDF3_CLASSIC"), netcdf(tmp_path, parts[1], form="NETCDF4")]
    joined(parts, maps)


def test_wider_types_are_copied_or_refused(tmp_path):
    parts = [fields(3, dtype="i2")[0], fields(3, dtype="i4")[0]]
    maps = [netcdf(tmp_path, p) for p in parts]
    entry = joined(parts, maps)
    assert entry.dtype == np.dtype("i4")
    parts = [fields(3, dtype="i8")[0], fields(3, dtype="u8")[0]]
    refused("mismatch", ["int64", "uint64", "/v"], [netcdf(tmp_path, p) for p in parts])


@pytest.mark.parametrize("kinds", [("i8", "f8"), ("f8", "i8"), ("f4", "f8"), ("i4", "f4"), ("u8", "f4")])
def test_integers_beside_floats_are_exact_or_refused(tmp_path, kinds):
    parts = [np.abs(fields(3)[0] * 9).astype(kind) for kind in kinds]
    maps = [netcdf(tmp_path, p, fill_value=77) for p in parts]
    entry = joined(parts, maps)
    assert entry.dtype == np.dtype("f8")
    assert fill_of_attribute(entry.attrs["_FillValue"], entry.dtype) == 77
    assert len(entry.native) == (3 if "f8" in kinds else 0)
    for n, kind in enumerate(kinds):
        if kind in ("i8", "u8"):
            parts[n][0] = 2**60 + 2**10
            joined(parts, [netcdf(tmp_path, p, fill_value=77) for p in parts])
            parts[n][0] = 2**63 - 1
            maps = [netcdf(tmp_path, p, fill_value=77) for p in parts]
            whole = concat(maps, "time").arrays["/v"]
            with pytest.raises(errors.Error, match=f"{2**63 - 1}"):
                whole.read(tuple(slice(0, size) for size in whole.shape))


def test_a_fill_value_in_a_form_of_others(tmp_path):
    """As other programs write it into Zarr's attributes."""
    maps = [netcdf(tmp_path, part) for part in fields(3, 3)]
    maps[0].arrays["/v"].attrs["_FillValue"] = "NaN"
    refused("mismatch", ["_FillValue", "'NaN'"], maps)


def test_a_fill_value_that_is_no_number_says_nothing(tmp_path):
    """Xarray gives it to floats, not to the integers that the next file may have."""
    parts = [fields(3, dtype="i4")[0], fields(3, dtype="f8")[0]]
    joined(parts, [netcdf(tmp_path, parts[0]), netcdf(tmp_path, parts[1], fill_value=np.nan)])


def refused(kind, words, maps, dim="time"):
    with pytest.raises(errors.Error) as caught:
        concat(maps, dim)
    assert caught.value.kind == kind
    for word in words:
        assert word in caught.value.message
    return caught.value


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ({"units": "K"}, {"units": "degC"}, ["units", "'K'", "'degC'", "/v"]),
        ({"attrs": {"scale_factor": 0.1}}, {"attrs": {"scale_factor": 0.2}}, ["scale_factor", "0.1", "0.2"]),
        ({"attrs": {"add_offset": 1.0}}, {}, ["add_offset", "1.0", "None"]),
        ({"fill_value": -1.0}, {"fill_value": -2.0}, ["_FillValue"]),
        ({"attrs": {"missing_value": 1}}, {"attrs": {"missing_value": 2}}, ["missing_value"]),
        ({"tilt": 0}, {"tilt": 1}, ["/lat", "differs"]),
    ],
)
def test_other_meanings_are_refused_by_name(tmp_path, first, second, words):
    one, two = fields(3, 3)
    maps = [netcdf(tmp_path, one, **first), netcdf(tmp_path, two, **second)]
    refused("mismatch", [*words, maps[1].source, maps[0].source], maps)


def test_shapes_arrays_and_dimensions_that_do_not_fit(tmp_path):
    one, two = fields(3)[0], fields(3, rest=(5, 7))[0]
    maps = [netcdf(tmp_path, one), netcdf(tmp_path, two)]
    error = refused("mismatch", ["x=6", "x=7"], maps)
    assert "time=" not in error.message
    assert "pack" not in error.hint
    error = refused("not-found", ["'depth'"], maps, "depth")
    assert "time" in error.hint
    del maps[1].arrays["/v"]
    refused("mismatch", ["/v", maps[1].source], maps)
    refused("invalid", [], [])


def test_times_in_other_units_are_converted_exactly(tmp_path):
    one, two = fields(24, 24)
    maps = [
        netcdf(tmp_path, one, time_units="hours since 2000-01-01"),
        netcdf(tmp_path, two, time_units="hours since 2000-01-02 00:00:00"),
    ]
    amap = concat(maps, "time")
    entry = amap.arrays["/time"]
    assert entry.read((slice(0, 48),)).tolist() == list(range(48))
    assert through_zarr(amap, "/time").tolist() == list(range(48))
    assert "converted" in entry.note
    assert entry.attrs["units"] == "hours since 2000-01-01"
    maps[1] = netcdf(tmp_path, two, time_units="minutes since 2000-01-01", start=1440, time_type="i4")
    maps[0] = netcdf(tmp_path, one, time_units="seconds since 2000-01-01", time_type="i4")
    assert concat(maps, "time").arrays["/time"].read((slice(23, 26),)).tolist() == [23, 86400, 86460]


def test_names_of_a_calendar_and_the_lack_of_one_are_the_same(tmp_path):
    def file(units, **attrs):
        return open_source(times(tmp_path, 1, units=units, **attrs))

    day = "days since 2000-{:02d}-01"
    maps = [file(day), file(day, calendar="gregorian"), file("hours since 2000-01-02", calendar="Standard")]
    assert concat(maps, "time").arrays["/time"].attrs.get("calendar") is None
    noleap = [file(day, calendar="noleap"), file("days since 2000-03-01", calendar="365_day")]
    assert concat(noleap, "time").arrays["/time"].read((slice(3, 4),)).tolist() == [59]
    refused("mismatch", ["calendar", "'noleap'", "None"], [maps[0], noleap[0]])


def test_types_are_named_before_what_follows_from_them(tmp_path):
    one, two = fields(3, dtype="i2")[0], fields(3, dtype="f4")[0]
    maps = [netcdf(tmp_path, one, fill_value=-999), netcdf(tmp_path, two, fill_value=-1e20)]
    error = refused("mismatch", ["float32 with _FillValue -1", "int16 with -999"], maps)
    assert "=" not in error.message


def test_many_reasons_are_not_all_spelled_out(tmp_path):
    maps = [open_source(times(tmp_path, month)) for month in range(1, 8)]
    note = concat(maps, "time").arrays["/time"].note
    assert "2000-02-01" in note
    assert note.endswith("more")
    assert len(note) < 250


def test_times_without_an_integer_counterpart_are_refused(tmp_path):
    one, two = fields(3, 3)
    maps = [
        netcdf(tmp_path, one, time_units="days since 2000-01-01", time_type="i4"),
        netcdf(tmp_path, two, time_units="hours since 2000-01-01", time_type="i4"),
    ]
    entry = concat(maps, "time").arrays["/time"]
    with pytest.raises(errors.Error) as caught:
        entry.read((slice(0, 6),))
    assert caught.value.kind == "mismatch"


@pytest.mark.parametrize(
    ("old", "new", "calendar", "value", "wanted"),
    [
        ("days since 2000-01-01", "hours since 2000-01-01", "standard", 2, 48),
        ("hours since 1970-01-01", "days since 1900-01-01", "gregorian", 24, 25568),
        ("seconds since 1970-01-01T00:00:00Z", "seconds since 1970-01-01 01:00:00 +01:00", "standard", 5, 5),
        ("seconds since 2000-01-01 00:00:00.5", "milliseconds since 2000-01-01", "standard", 1, 1500),
        ("days since 2000-03-01", "days since 2000-02-01", "360_day", 0, 30),
        ("days since 2001-03-01", "days since 2000-03-01", "noleap", 0, 365),
        ("days since 0001-01-01", "days since 0001-01-02", "proleptic_gregorian", 0, -1),
        ("days since 1582-10-15", "days since 1582-10-04", "standard", 0, 1),
    ],
)
def test_conversion_agrees_with_the_calendar(old, new, calendar, value, wanted):
    found = conversion(old, new, calendar)
    assert found.apply(np.array([value]))[0] == wanted
    assert found.apply(np.array([float(value)]))[0] == wanted
    cftime = pytest.importorskip("cftime")
    date = cftime.num2date(value, old, calendar=calendar)
    assert cftime.date2num(date, new, calendar=calendar) == wanted


@pytest.mark.parametrize(
    "units", ["months since 2000-01-01", "days since yesterday", "days", "days since 2000-13-01"]
)
def test_units_that_cannot_be_converted_exactly(units):
    assert conversion(units, "days since 2000-01-01") is None


def test_fill_values_in_times_stay(tmp_path):
    found = conversion("days since 2000-01-01", "hours since 2000-01-01")
    assert found.apply(np.array([1, -999, 2]), fill=-999).tolist() == [24, -999, 48]


def times(folder, month, kind="f8", units="days since 2000-{:02d}-01", marks=None, **attrs):
    """A file of three days of a month: ``time`` with bounds that have no units, and ``v``."""
    path = folder / f"{next(counter)}.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.set_auto_maskandscale(False)
        file.createDimension("time", None)
        file.createDimension("nv", 2)
        time = file.createVariable("time", kind, ("time",))
        time.setncatts({"units": units.format(month), "bounds": "time_bnds", **attrs})
        time[:] = [0, 1, 2] if marks is None else marks
        file.createVariable("time_bnds", kind, ("time", "nv"))[:] = [[0, 1], [1, 2], [2, 3]]
        file.createVariable("v", "f4", ("time",))[:] = month
    return path


def test_bounds_move_with_the_variable_that_names_them(tmp_path):
    """CF, 7.1: bounds take over units and calendar."""
    maps = [open_source(times(tmp_path, month)) for month in (1, 3)]
    amap = concat(maps, "time")
    assert amap.arrays["/time"].read((slice(2, 6),)).tolist() == [2, 60, 61, 62]
    entry = amap.arrays["/time_bnds"]
    assert entry.read((slice(2, 5), slice(0, 2))).tolist() == [[2, 3], [60, 61], [61, 62]]
    assert "converted" in entry.note
    with netCDF4.Dataset(maps[1].source, "a") as file:
        file["time_bnds"].units = "days since 2000-03-02"
    own = concat([maps[0], open_source(maps[1].source)], "time").arrays["/time_bnds"]
    assert own.read((slice(3, 4), slice(0, 2))).tolist() == [[61, 62]]


def test_climatological_bounds_in_another_group_move_too(tmp_path):
    maps = []
    for month in (1, 3):
        path = times(tmp_path, month, climatology="time_bnds")
        with netCDF4.Dataset(path, "a") as file:
            file["time"].delncattr("bounds")
            late = file.createGroup("g").createVariable("late", "f8", ("time",))
            late.setncatts({"units": f"days since 2001-{month:02d}-01", "climatology": "time_bnds"})
        maps.append(open_source(path))
    entry = concat(maps, "time").arrays["/time_bnds"]
    assert entry.read((slice(3, 4), slice(0, 2))).tolist() == [[60, 61]]


def test_bounds_that_cannot_be_converted_are_refused(tmp_path):
    maps = [open_source(times(tmp_path, month)) for month in (1, 3)]
    maps[1].arrays["/time_bnds"].attrs["scale_factor"] = 2.0
    maps[0].arrays["/time_bnds"].attrs["scale_factor"] = 2.0
    refused("mismatch", ["/time_bnds", "units", "2000-03-01", maps[1].source], maps)


@pytest.mark.parametrize("append", [False, True])
@pytest.mark.parametrize("verb", [icecore.link, icecore.pack])
def test_bounds_move_through_every_door(tmp_path, verb, append):
    files, into = [times(tmp_path, month) for month in (1, 3)], tmp_path / "r.icecore"
    if append:
        verb(files[0], into, "/", concat="time")
        verb(files[1], into, "/", concat="time", append=True)
    else:
        verb(files, into, "/", concat="time")
    assert icecore.open(into)["/time_bnds"][3:].tolist() == [[60, 61], [61, 62], [62, 63]]


@pytest.mark.parametrize("missing", [-1, [-1, -2], -1.0])
@pytest.mark.parametrize("kind", ["i4", "f8", "f4"])
def test_missing_values_are_no_times(tmp_path, kind, missing):
    value = np.array(missing, kind)
    maps = [
        open_source(times(tmp_path, month, kind, marks=[0, -1, 2], missing_value=value)) for month in (1, 3)
    ]
    assert concat(maps, "time").arrays["/time"].read((slice(2, 6),)).tolist() == [2, 60, -1, 62]


def test_records_that_were_never_written_are_no_times(tmp_path):
    maps = []
    for month in (1, 3):
        path = times(tmp_path, month)
        with netCDF4.Dataset(path, "a") as file:
            file["v"][3] = 1
        maps.append(open_source(path))
    found = concat(maps, "time").arrays["/time"].read((slice(3, 8),)).tolist()
    unwritten = netCDF4.default_fillvals["f8"]
    assert found == [unwritten, 60, 61, 62, unwritten]


def test_limits_of_times_have_units_too(tmp_path):
    paths = [
        times(tmp_path, 1, valid_range=[0.0, 366.0]),
        times(tmp_path, 2, valid_range=[-31.0, 335.0]),
        times(tmp_path, 3, valid_range=[0.0, 366.0]),
    ]
    maps = [open_source(path) for path in paths]
    assert concat(maps[:2], "time").arrays["/time"].attrs["valid_range"] == [0.0, 366.0]
    refused("mismatch", ["valid_range", "/time", maps[2].source], [maps[0], maps[2]])
    refused("mismatch", ["valid_min", "None"], [open_source(times(tmp_path, 1)), _with_minimum(tmp_path)])


def _with_minimum(folder):
    return open_source(times(folder, 2, valid_min=0.0))


def test_unsigned_times_are_not_converted(tmp_path):
    maps = [open_source(times(tmp_path, month, "i2", _Unsigned="true")) for month in (1, 3)]
    refused("mismatch", ["units", "/time"], maps)


def test_fill_values_of_text_have_a_meaning(tmp_path):
    maps = []
    for fill in ("NA", "-"):
        path = tmp_path / f"{next(counter)}.nc"
        with netCDF4.Dataset(path, "w") as file:
            file.createDimension("time", None)
            file.createVariable("word", str, ("time",), fill_value=fill)[:2] = np.array(["a", fill], object)
        maps.append(open_source(path))
    refused("mismatch", ["_FillValue", "'NA'", "'-'", "/word"], maps)
    assert concat([maps[0], maps[0]], "time").arrays["/word"].text_fill == "NA"


@pytest.mark.parametrize(
    ("name", "one", "two"),
    [
        ("flag_meanings", "land sea", "sea land"),
        ("flag_values", np.array([0, 1], "i1"), np.array([1, 2], "i1")),
        ("flag_masks", np.array([1, 2], "i1"), np.array([2, 4], "i1")),
        ("flag_meanings", "land sea", None),
    ],
)
def test_codes_with_other_meanings_are_refused(tmp_path, name, one, two):
    part = fields(3, dtype="i1")[0]
    given = [{name: value} if value is not None else {} for value in (one, two)]
    maps = [netcdf(tmp_path, part, attrs=attrs) for attrs in given]
    refused("mismatch", [name, "/v", maps[1].source], maps)
    spaced = {"flag_meanings": "land  sea "} if name == "flag_meanings" else given[0]
    assert concat([maps[0], netcdf(tmp_path, part, attrs=spaced)], "time")


def test_characters_of_another_encoding_are_refused(tmp_path):
    def file(encoding):
        path = tmp_path / f"{next(counter)}.nc"
        with netCDF4.Dataset(path, "w") as file:
            file.createDimension("time", None)
            file.createDimension("letters", 4)
            names = file.createVariable("names", "S1", ("time", "letters"))
            if encoding:
                names._Encoding = encoding
        return open_source(path)

    maps = [file(encoding) for encoding in ("latin-1", "utf-8", "UTF8", "iso-8859-1", None)]
    refused("mismatch", ["_Encoding", "'utf-8'", "'latin-1'", "/names"], maps[:2])
    for alike in ((0, 3), (1, 2), (0, 4), (4, 1)):
        assert concat([maps[i] for i in alike], "time")


def test_truth_values_are_no_numbers(tmp_path):
    """xarray stores them as int8, and says so in an attribute."""
    part = fields(3, dtype="i1")[0]
    maps = [netcdf(tmp_path, part, attrs=attrs) for attrs in ({"dtype": "bool"}, {}, {"dtype": "int8"})]
    refused("mismatch", ["dtype", "'bool'", "/v"], maps[:2])
    assert concat(maps[1:], "time")


def test_members_of_enumerations_are_compared(tmp_path):
    def file(**members):
        path = tmp_path / f"{next(counter)}.nc"
        with netCDF4.Dataset(path, "w") as file:
            file.createDimension("time", None)
            kind = file.createEnumType("u1", "sky_t", members)
            file.createVariable("sky", kind, ("time",))[:3] = np.array([0, 1, 1], "u1")
        return open_source(path)

    maps = [file(clear=0, cloudy=1), file(cloudy=1, clear=0), file(clear=1, cloudy=0)]
    assert concat(maps[:2], "time").arrays["/sky"].shape == (6,)
    refused("mismatch", ["/sky", "enum", "'clear': 1"], [maps[0], maps[2]])


@pytest.mark.parametrize("kind", ["f4", "i2"])
def test_times_that_would_be_rounded_are_refused_by_name(tmp_path, kind):
    units = "seconds since 2000-{:02d}-01"
    maps = [open_source(times(tmp_path, month, kind, units, marks=[0, 1, 3])) for month in (1, 9)]
    with pytest.raises(errors.Error) as caught:
        concat(maps, "time").arrays["/time"].read((slice(0, 6),))
    assert caught.value.kind == "mismatch"
    for word in ("/time", maps[1].source, "counterpart", np.dtype(kind).name):
        assert word in caught.value.message
    assert "float64" in caught.value.hint


def test_a_wider_type_of_another_file_has_room_for_the_times(tmp_path):
    units = "seconds since 2000-{:02d}-01"
    maps = [open_source(times(tmp_path, i, kind, units)) for i, kind in ((1, "f8"), (9, "f4"))]
    assert concat(maps, "time").arrays["/time"].read((slice(3, 6),)).tolist() == [
        21081600,
        21081601,
        21081602,
    ]


@settings(max_examples=200)
@given(
    values=st.lists(
        st.one_of(
            st.floats(-1e9, 1e9), st.integers(-(10**6), 10**6).map(float), st.sampled_from([np.nan, np.inf])
        ),
        min_size=1,
        max_size=5,
    ),
    units=st.sampled_from(["days", "hours", "seconds", "milliseconds", "nanoseconds"]),
    other=st.sampled_from(["days", "hours", "seconds", "milliseconds", "nanoseconds"]),
    date=st.sampled_from(["1850-01-01", "2000-01-01 06:00:00.25", "2020-02-29"]),
)
def test_converted_doubles_are_the_nearest(values, units, other, date):
    found = conversion(f"{units} since {date}", f"{other} since 1970-01-01")
    new = found.apply(np.array(values))
    for one, two in zip(values, new.tolist(), strict=True):
        exact = float(Fraction(one) * found.factor + found.shift) if np.isfinite(one) else one
        assert two == exact or (np.isnan(two) and np.isnan(exact))


@settings(max_examples=100)
@given(st.lists(st.integers(1 - 2**63, 2**63 - 1), min_size=1, max_size=5))  # -2**63 is not-a-time
def test_integers_of_any_size_are_exact_or_refused(values):
    found = conversion("hours since 2000-01-01", "seconds since 1970-01-01")
    wanted = [int(value * found.factor + found.shift) for value in values]
    if all(-(2**63) <= value < 2**63 for value in wanted):
        assert found.apply(np.array(values, "i8")).tolist() == wanted
    else:
        with pytest.raises(errors.Error, match="counterpart"):
            found.apply(np.array(values, "i8"))


@settings(max_examples=60)
@given(
    lengths=st.lists(st.integers(0, 9), min_size=1, max_size=4),
    chunk=st.integers(1, 5),
    inner=st.integers(1, 4),
    axis=st.integers(0, 1),
    compression=st.sampled_from([None, "gzip"]),
    seed=st.integers(0, 99),
)
def test_any_lengths_and_chunks(tmp_path_factory, lengths, chunk, inner, axis, compression, seed):
    """Whatever the lengths and chunks: NumPy's concatenation, through links and through read."""
    folder = tmp_path_factory.mktemp("any")
    data = np.random.default_rng(seed)
    parts, maps = [], []
    for i, length in enumerate(lengths):
        shape = (length, 6) if axis == 0 else (6, length)
        parts.append(data.integers(0, 99, shape).astype("i4"))
        path = folder / f"{i}.h5"
        with h5py.File(path, "w") as file:
            for name, n in zip("ab", shape, strict=True):
                file.create_dataset(name, data=np.zeros(n)).make_scale(name)
            chunks = (chunk, inner) if axis == 0 else (inner, chunk)
            dataset = file.create_dataset(
                "v",
                data=parts[-1],
                chunks=chunks,
                maxshape=(None, None),
                compression=compression,
                fillvalue=7,
            )
            for i_axis, name in enumerate("ab"):
                dataset.dims[i_axis].attach_scale(file[name])
        maps.append(open_source(path))
    amap = concat(maps, "ab"[axis])
    entry = amap.arrays["/v"]
    wanted = np.concatenate(parts, axis)
    assert same(entry.read(everything(entry)), wanted)
    assert same(through_zarr(amap, "/v"), wanted)


def test_each_file_is_opened_once_to_compare_what_is_the_same_everywhere(tmp_path, monkeypatch):
    """However many arrays it has; the first file is not read again for each of the others."""

    def file(i, last=0.0):
        with h5py.File(tmp_path / f"{i}.h5", "w") as f:
            f["time"] = np.array([i])
            f["time"].make_scale("time")
            for name in "abc":
                f[name] = np.array([1.0, 2.0, 3.0 + (last if name == "c" else 0)])
        return open_source(tmp_path / f"{i}.h5")

    maps = [file(i) for i in range(5)]
    opened = []
    monkeypatch.setattr(region_reader, "open_file", lambda source: opened.append(source) or open_file(source))
    concat(maps, "time")
    assert len(opened) == len(set(opened)) == 5
    refused("mismatch", ["/c has no dimension 'time' and differs"], [*maps, file(5, 1.0)])


def test_a_dimension_that_is_not_there(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f["x"] = np.arange(3)
        f["x"].make_scale("x")
    np.save(tmp_path / "f.npy", np.arange(3))
    for name, hint in (("f.h5", "it has x"), ("f.npy", "its axes have no names")):
        with pytest.raises(errors.Error, match=hint) as caught:
            concat([open_source(tmp_path / name)], "time")
        assert caught.value.kind == "not-found"
