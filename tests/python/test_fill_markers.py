"""``_FillValue`` and ``missing_value`` of any type: missing is what xarray's netCDF engines mask.

docs/design/0052 has the decision.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest
import xarray as xr
from icecore.export.save import save
from icecore.repository.missing_values import missing

CASES = {
    "f4_1e20_f8": (np.array([1, 1e20, 3], "f4"), np.float64(1e20)),
    "f4_0.1_f8": (np.array([1, 0.1, 3], "f4"), np.float64(0.1)),
    "f4_1e15_f8": (np.array([1, 1e15, 3], "f4"), np.float64(1e15)),
    "f4_-999_f8": (np.array([1, -999, 3], "f4"), np.float64(-999)),
    "f4_f8_of_f4": (np.array([1, 0.1, 3], "f4"), np.float64(np.float32(0.1))),
    "f4_beyond_f8": (np.array([1, np.inf, 3], "f4"), np.float64(1e300)),
    "f4_i4": (np.array([1, 16777216, 3], "f4"), np.int32(16777217)),
    "f4_i4_exact": (np.array([1, -999, 3], "f4"), np.int32(-999)),
    "f4_i8": (np.array([1, 2.0**53, 3], "f4"), np.int64(2**53)),
    "f4_text": (np.array([1, -999, 3], "f4"), "-999"),
    "f8_f4": (np.array([1, 0.1, np.float32(0.1)]), np.float32(0.1)),
    "f8_f4_1e20": (np.array([1, 1e20, np.float32(1e20)]), np.float32(1e20)),
    "f8_i2": (np.array([1.0, -999, 3]), np.int16(-999)),
    "i2_1e20": (np.array([1, -32768, 3], "i2"), np.float64(1e20)),
    "i2_f8": (np.array([1, -999, 3], "i2"), np.float64(-999)),
    "i2_half": (np.array([1, -999, 3], "i2"), np.float64(-999.5)),
    "i2_40000": (np.array([1, -25536, 3], "i2"), np.int32(40000)),
    "u1_-1": (np.array([1, 255, 3], "u1"), np.int8(-1)),
    "i1_255": (np.array([1, -1, 3], "i1"), np.uint8(255)),
    "i4_f4": (np.array([1, 2147483647, 3], "i4"), np.float32(2147483648)),
    "i4_f8": (np.array([1, 2147483647, 3], "i4"), np.float64(2147483647)),
    "u4_i8": (np.array([1, 4294967295, 3], "u4"), np.int64(4294967295)),
    "f4_list": (np.array([1, 1e20, -999], "f4"), np.array([1e20, -999])),
    "i2_list": (np.array([1, -1, -2], "i2"), np.array([-1, -2], "i4")),
}
EXTRAS = {"plain": {}, "scaled": {"scale_factor": np.float32(0.5)}, "unsigned": {"_Unsigned": "true"}}


def written(path: Path, name: str, attributes: tuple[str, ...], extra: str) -> None:
    data, value = CASES[name]
    with h5py.File(path, "w") as file:
        file.create_dataset("v", data=data)
        file["x"] = np.arange(3.0)
        file["x"].make_scale("x")
        file["v"].dims[0].attach_scale(file["x"])
        for attribute in attributes:
            file["v"].attrs[attribute] = value
        file["v"].attrs.update(EXTRAS[extra])


def seen(source: Path, **options: str) -> tuple[str, list[bool]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of several fill values
        with xr.open_dataset(source, **options) as dataset:
            values = dataset["v"].values
    return str(values.dtype), np.isnan(values.astype("f8")).tolist()


def cases() -> list[tuple[str, tuple[str, ...], str]]:
    found = []
    for name, (data, value) in CASES.items():
        for attributes in (("_FillValue",), ("missing_value",), ("_FillValue", "missing_value")):
            for extra in EXTRAS:
                many = np.ndim(value) and attributes != ("missing_value",)
                if not many and (extra != "unsigned" or data.dtype.kind in "iu"):
                    found.append((name, attributes, extra))
    return found


@pytest.mark.parametrize(("name", "attributes", "extra"), cases())
def test_as_the_netcdf_engines_of_xarray(
    tmp_path: Path, name: str, attributes: tuple[str, ...], extra: str
) -> None:
    path = tmp_path / "a.nc"
    written(path, name, attributes, extra)
    expected = seen(path, engine="h5netcdf")
    assert seen(path, engine="netcdf4") == expected
    for verb in (icecore.link, icecore.pack):
        repo = tmp_path / f"{verb.__name__}.icecore"
        verb(path, repo, group="/g")
        array = icecore.open(repo)["/g/v"]
        assert seen(repo, engine="icecore", group="/g") == expected
        save(array, (), str(tmp_path / f"{verb.__name__}.nc"))
        assert seen(tmp_path / f"{verb.__name__}.nc", engine="h5netcdf") == expected
        np.testing.assert_array_equal(array[...], CASES[name][0])
        if extra != "plain":  # xarray compares what it converted already, in float32 for a float32 scale
            continue
        assert missing(array, array[...]).tolist() == expected[1]
        column = icecore.open(repo).table("/g").scan(columns=["v"]).read_all()["v"]
        assert [item is None for item in column.to_pylist()] == expected[1]


def test_of_large_integers_only_equal_ones_are_missing(tmp_path: Path) -> None:
    """xarray compares them as float64, where neighbours are equal: a value would vanish from tables."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["v"] = np.array([1, 2**53, 2**53 + 1])
        file["v"].attrs["_FillValue"] = np.float64(2**53)
    icecore.link(tmp_path / "a.h5", tmp_path / "r.icecore", group="/g")
    array = icecore.open(tmp_path / "r.icecore")["/g/v"]
    assert missing(array, array[...]).tolist() == [False, True, False]


def test_values_of_arrays_that_were_written_are_of_their_type(tmp_path: Path) -> None:
    """A number without a type, as in a Zarr store, is one of the array's, as in xarray's Zarr engine."""
    repo = icecore.create(tmp_path / "r.icecore")
    with repo.writer() as writer:
        writer.array("/v", "f4", (3,), attrs={"_FillValue": 1e20})[...] = [1, 1e20, 3]
    array = repo.at("main")["/v"]
    assert missing(array, array[...]).tolist() == [False, True, False]
