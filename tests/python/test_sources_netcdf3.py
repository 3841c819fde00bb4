"""netCDF-3 files of all three versions against netCDF4 and scipy-free arithmetic: layout, records, damage."""

from __future__ import annotations

import struct

import netCDF4
import numpy as np
import pytest
from icecore import errors
from icecore.sources import open_source
from sources_kit import everything, same, zarr_store

FORMATS = ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]
TYPES = {"i1": "b", "i2": "s", "i4": "i", "f4": "f", "f8": "d"}
rng = np.random.default_rng(3)


def write(path, form, fill):
    with netCDF4.Dataset(path, "w", format=form) as file:
        file.set_auto_maskandscale(False)
        fill(file)
    return open_source(path)


def check(path, amap):
    """Every variable through the links and through ``read`` is what netCDF4 reads."""
    import zarr

    group = zarr.open_group(zarr_store(amap), mode="r")
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        file.set_auto_chartostring(False)
        assert set(amap.arrays) == {f"/{name}" for name in file.variables}
        for name, variable in file.variables.items():
            entry = amap.arrays[f"/{name}"]
            wanted = np.ma.getdata(variable[...])
            assert entry.dims == variable.dimensions
            assert same(entry.read(everything(entry)), wanted), name
            assert same(group[name][...], wanted), name
            assert set(entry.attrs) | {"_FillValue"} == set(variable.ncattrs()) | {"_FillValue"}


def grids(file):
    file.title = "grüße"
    file.createDimension("y", 5)
    file.createDimension("x", 7)
    file.createDimension("n", 3)
    for kind in [*TYPES, *(("u1", "u2", "u4", "i8", "u8") if "DATA" in file.data_model else ())]:
        variable = file.createVariable(kind, kind, ("y", "x"), fill_value=np.dtype(kind).type(7))
        variable[:] = rng.integers(0, 100, (5, 7))
        variable.scale_factor = np.float32(0.25)
        variable.valid_range = np.array([1, 2], kind)
    text = file.createVariable("text", "S1", ("y", "n"))
    text[:] = np.array([list("abc"), list("def"), list("ghi"), list("jkl"), list("mno")], "S1")
    text.long_name = "three letters"
    file.createVariable("scalar", "f8", ())[...] = 2.5


def records(file):
    grids(file)
    file.createDimension("time", None)
    for name, kind, dims in [
        ("time", "f8", ("time",)),
        ("wind", "f4", ("time", "y", "x")),
        ("flag", "i1", ("time", "n")),
        ("label", "S1", ("time", "n")),
        ("big", "i2", ("time", "y", "x")),
    ]:
        variable = file.createVariable(name, kind, dims)
        shape = (11, *(len(file.dimensions[d]) for d in dims[1:]))
        data = rng.integers(65, 90, shape)
        variable[:] = data.astype("u1").view("S1").reshape(shape) if kind == "S1" else data


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("fill", [grids, records])
def test_every_variable(tmp_path, form, fill):
    path = tmp_path / "x.nc"
    amap = write(path, form, fill)
    check(path, amap)
    assert amap.groups["/"] == {"title": "grüße"}
    entry = amap.arrays["/f4"]
    assert entry.linked
    assert entry.codecs == [{"name": "bytes", "configuration": {"endian": "big"}}]
    assert entry.fill_value == 7
    assert entry.attrs["valid_range"] == [1, 2]
    assert entry.attr_types["scale_factor"] == "<f4"


@pytest.mark.parametrize("kind", ["i1", "i2", "S1", "f8"])
def test_a_single_record_variable_has_no_padding(tmp_path, kind):
    """The one exception of the format: records of 3 bytes lie 3 bytes apart, not 4."""

    def fill(file):
        file.createDimension("t", None)
        file.createDimension("n", 3)
        data = rng.integers(65, 90, (9, 3))
        file.createVariable("only", kind, ("t", "n"))[:] = (
            data.astype("u1").view("S1").reshape(9, 3) if kind == "S1" else data
        )

    path = tmp_path / "x.nc"
    amap = write(path, "NETCDF3_CLASSIC", fill)
    check(path, amap)
    assert len(amap.arrays["/only"].links) == 1


def test_large_records_are_cut_and_small_ones_copied(tmp_path):
    def fill(file):
        file.createDimension("t", None)
        file.createDimension("y", 1200)
        file.createDimension("x", 1300)
        file.createVariable("t", "f8", ("t",))[:] = np.arange(3)
        file.createVariable("map", "f4", ("t", "y", "x"))[:] = rng.normal(size=(3, 1200, 1300))

    path = tmp_path / "x.nc"
    amap = write(path, "NETCDF3_64BIT_OFFSET", fill)
    check(path, amap)
    entry = amap.arrays["/map"]
    assert entry.chunks[0] == 1
    assert int(entry.links.lengths.max()) <= 4 << 20
    assert len(entry.links) + len(entry.native) == np.prod(entry.grid) > 3
    assert not amap.arrays["/t"].linked
    assert "8 bytes" in amap.arrays["/t"].note
    whole = entry.read(everything(entry))
    for region in [(slice(1, 3), slice(7, 9), slice(0, 1300)), (slice(0, 3), slice(5, 6), slice(1, 4))]:
        assert same(entry.read(region), whole[region])


def test_streaming_record_count(tmp_path):
    """numrecs = -1: the writer didn't know; the length of the file tells."""
    path = tmp_path / "x.nc"
    write(path, "NETCDF3_CLASSIC", records)
    raw = bytearray(path.read_bytes())
    raw[4:8] = b"\xff\xff\xff\xff"
    other = tmp_path / "stream.nc"
    other.write_bytes(raw)
    one, two = open_source(path), open_source(other)
    assert two.arrays["/wind"].shape == (11, 5, 7)
    for name, entry in one.arrays.items():
        assert same(entry.read(everything(entry)), two.arrays[name].read(everything(two.arrays[name])))


def test_no_records_yet(tmp_path):
    def fill(file):
        file.createDimension("t", None)
        file.createDimension("y", 3)
        file.createVariable("a", "f4", ("t", "y"))
        file.createVariable("b", "i2", ("t",))

    amap = write(tmp_path / "x.nc", "NETCDF3_CLASSIC", fill)
    assert amap.arrays["/a"].shape == (0, 3)
    assert amap.arrays["/a"].read((slice(0, 0), slice(0, 3))).shape == (0, 3)


def test_cut_off_says_both_sizes(tmp_path):
    path = tmp_path / "x.nc"
    write(path, "NETCDF3_CLASSIC", records)
    raw = path.read_bytes()
    for size in [len(raw) - 40, len(raw) // 2, 300, 60, 9]:
        cut = tmp_path / f"{size}.nc"
        cut.write_bytes(raw[:size])
        with pytest.raises(errors.Error) as caught:
            open_source(cut)
        assert caught.value.kind == "corrupt"
        assert str(size) in caught.value.message


def test_impossible_counts_are_refused_before_any_allocation(tmp_path):
    """2**31 dimensions of 2**31 in 100 bytes."""
    path = tmp_path / "x.nc"
    for body in [
        struct.pack(">IIII", 0, 10, 2**31 - 1, 4),
        struct.pack(">IIIIII", 0, 0, 0, 12, 2**31 - 1, 4),
        struct.pack(">IIIIIIII", 0, 0, 0, 0, 0, 11, 2**31 - 1, 4),
        struct.pack(">III", 0, 99, 1),
        struct.pack(">IIII", 0, 10, 1, 2**31 - 1),
    ]:
        path.write_bytes(b"CDF\x01" + body + bytes(60))
        with pytest.raises(errors.Error) as caught:
            open_source(path)
        assert caught.value.kind == "corrupt"


def test_names_end_at_their_nul(tmp_path):
    path = tmp_path / "x.nc"

    def fill(file):
        file.createDimension("n", 3)
        file.createVariable("temp@", "f4", ("n",))[:] = [1, 2, 3]
        file.setncattr("history@", "made")

    write(path, "NETCDF3_CLASSIC", fill)
    path.write_bytes(path.read_bytes().replace(b"@", b"\0"))
    amap = open_source(path)
    assert list(amap.arrays) == ["/temp"]
    assert amap.attrs == {"history": "made"}
