"""Fill values, missing values and ranges of another type than their variable's: read, masked, exported."""

from __future__ import annotations

import h5py
import icecore
import numpy as np
import pytest
import xarray as xr
from icecore.export.save import save
from icecore.repository.missing_values import missing

CASES = {
    "ubyte_-1": (np.array([1, 255, 3], "u1"), np.int8(-1)),
    "ubyte_255": (np.array([1, 255, 3], "u1"), np.int16(255)),
    "ushort_-1": (np.array([1, 65535, 3], "u2"), np.int16(-1)),
    "byte_255": (np.array([1, -1, 3], "i1"), np.uint8(255)),
    "short_1e20": (np.array([1, 2, 3], "i2"), np.float32(1e20)),
    "short_2.5": (np.array([1, 2, 3], "i2"), np.float64(2.5)),
    "short_2.0": (np.array([1, 2, 3], "i2"), np.float64(2)),
    "short_nan": (np.array([1, 0, 3], "i2"), np.float64("nan")),
    "short_-99999": (np.array([1, 2, 3], "i2"), np.int32(-99999)),
    "uint64_-5": (np.array([1, 2, 3], "u8"), np.int64(-5)),
    "int64_big": (np.array([1, 2, 3], "i8"), np.uint64(2**63 + 7)),
    "float_int": (np.array([1, -999, 3], "f4"), np.int32(-999)),
    "float_double": (np.array([1, 1e15, 3], "f4"), np.float64(np.float32(1e15))),
    "double_float": (np.array([1, 2, 3], "f8"), np.float32(2)),
    "float_text": (np.array([1, 2, 3], "f4"), "none"),
    "short_text": (np.array([1, 2, 3], "i2"), "-99"),
    "short_list": (np.array([1, 2, 3], "i2"), np.array([-99999], "i4")),
}
NAMES = ("_FillValue", "missing_value", "valid_min", "valid_range", "flag_values")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A file with every case under every attribute, and a repository with links to it."""
    folder = tmp_path_factory.mktemp("fills")
    with h5py.File(folder / "a.h5", "w") as file:
        for attribute in NAMES:
            for name, (data, value) in CASES.items():
                array = file.create_dataset(f"{attribute}/{name}", data=data)
                array.attrs[attribute] = [value, value] if attribute == "valid_range" else value
    report = icecore.link(folder / "a.h5", folder / "r.icecore", group="/g")
    lost = {note.name.rpartition("/")[2] for note in report.notes if note.kind == "attribute"}
    assert lost == {"short_nan", "float_text"}
    return folder


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("attribute", NAMES)
@pytest.mark.parametrize("end", ["nc", "h5", "csv", "parquet", "npy"])
def test_exports_keep_numbers_and_attributes(made, tmp_path, attribute, name, end):
    array = icecore.open(made / "r.icecore")[f"/g/{attribute}/{name}"]
    path = tmp_path / f"x.{end}"
    save(array, (), str(path), **{})
    if end not in ("nc", "h5"):
        return
    lost = attribute == "_FillValue" and name in ("short_nan", "float_text")  # link names these in its notes
    with h5py.File(path) as file, h5py.File(made / "a.h5") as original:
        assert np.array_equal(file[name][...], original[attribute][name][...])
        assert (attribute not in file[name].attrs) == lost
        if lost:
            return
        found, given = (each.attrs[attribute] for each in (file[name], original[attribute][name]))
        if name == "short_text" and attribute == "_FillValue":
            given = int(given)  # as xarray reads it
        assert (
            np.allclose(np.ravel(found), np.ravel(given), rtol=1e-7, equal_nan=True)
            if np.asarray(given).dtype.kind == "f"
            else np.array_equal(np.ravel(found), np.ravel(given))
        )


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("attribute", ["_FillValue", "missing_value"])
def test_the_same_elements_are_masked_as_by_xarray(made, tmp_path, attribute, name):
    array = icecore.open(made / "r.icecore")[f"/g/{attribute}/{name}"]
    save(array, (), str(tmp_path / "x.nc"))
    seen = []
    for source, options in (
        (made / "a.h5", {"engine": "h5netcdf", "phony_dims": "sort", "group": attribute}),
        (made / "r.icecore", {"engine": "icecore", "group": f"/g/{attribute}"}),
        (tmp_path / "x.nc", {"engine": "h5netcdf"}),
    ):
        dropped = {"drop_variables": [each for each in CASES if each != name]}
        try:
            with xr.open_dataset(source, **options, **dropped) as dataset:
                seen.append(np.isnan(dataset[name].values.astype("f8")).tolist())
        except (TypeError, ValueError, OverflowError) as error:  # xarray's, of such attributes
            seen.append(type(error).__name__)
    assert seen[1:] == seen[:1] * 2
    if isinstance(seen[0], list):
        assert missing(array, array[...]).tolist() == seen[0]


def test_records_with_texts_of_any_length(tmp_path):
    kind = np.dtype([("id", "i4"), ("name", h5py.string_dtype()), ("in", [("t", h5py.string_dtype())])])
    data = np.zeros(2, kind)
    data["id"], data["name"], data["in"]["t"] = [1, 2], ["ab", "cdé"], ["", "longer text"]
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["events"] = data
    icecore.link(tmp_path / "a.h5", tmp_path / "r.icecore", group="/g")
    array = icecore.open(tmp_path / "r.icecore")["/g/events"]
    save(array, (), str(tmp_path / "x.h5"))
    with h5py.File(tmp_path / "x.h5") as file:
        found = file["events"][...]
    assert found["id"].tolist() == [1, 2]
    assert [each.decode() for each in found["name"]] == ["ab", "cdé"]
    assert [each.decode() for each in found["in"]["t"]] == ["", "longer text"]
    for end in ("nc", "csv", "parquet"):
        with pytest.raises(icecore.Error) as caught:
            save(array, (), str(tmp_path / f"x.{end}"))
        assert caught.value.kind == "dtype"


def test_times_of_numpy_are_saved_by_xarray(tmp_path):
    rows = "".join(f"2020-01-{day:02}T00:00:00,{day}.5,a{day}\n" for day in range(1, 20))
    (tmp_path / "t.csv").write_text(f"utc,tb,name\n{rows}")
    icecore.pack(tmp_path / "t.csv", tmp_path / "r.icecore", group="/t")
    writer = icecore.open(tmp_path / "r.icecore").writer()
    writer.array("/t/lag", "m8[s]", (19,))[...] = np.arange(19).astype("m8[s]")
    writer.array("/t/code", "U3", (19,))[...] = [f"c{i}" for i in range(19)]
    writer.commit()
    dataset = xr.open_dataset(tmp_path / "r.icecore", engine="icecore", group="/t").load()
    for engine in ("netcdf4", "h5netcdf"):
        dataset.to_netcdf(tmp_path / f"{engine}.nc", engine=engine)
        with xr.open_dataset(tmp_path / f"{engine}.nc", decode_timedelta=True) as again:
            for name in dataset:
                assert np.array_equal(again[name].values, dataset[name].values), name


def test_a_dimension_scale_without_data(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        values = file.create_dataset("temp", data=np.arange(6.0).reshape(2, 3))
        other = file.create_dataset("other", data=np.arange(2.0))
        row = file.create_dataset("row", shape=None, dtype="i4")
        row.make_scale("row")
        values.dims[0].attach_scale(row)
        other.dims[0].attach_scale(row)
        column = file.create_dataset("col", data=np.arange(3.0))
        column.make_scale("col")
        values.dims[1].attach_scale(column)
        file.create_dataset("nothing", shape=None, dtype="i4")
        file["nothing"].attrs["units"] = "K"
    report = icecore.link(tmp_path / "a.h5", tmp_path / "r.icecore", group="/g")
    assert [(note.name, note.kind) for note in report.notes if note.kind == "dimension"] == [
        (f"{tmp_path / 'a.h5'}:/row", "dimension")
    ]
    dataset = xr.open_dataset(tmp_path / "r.icecore", engine="icecore", group="/g")
    assert dataset["temp"].dims == ("row", "col")
    assert dataset["other"].dims == ("row",)
    assert "row" not in dataset.variables
