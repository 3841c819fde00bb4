"""Objects in memory as sources of `pack`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest

xr = pytest.importorskip("xarray")
pytest.importorskip("dask")
import dask.array  # noqa: E402

RNG = np.random.default_rng(5)


def dataset() -> Any:
    t2m = RNG.normal(280, 5, (6, 4, 5)).astype("f4")
    t2m[0, 0, 0] = np.nan
    return xr.Dataset(
        {
            "t2m": (("time", "lat", "lon"), t2m, {"units": "K", "scale": np.float32(0.1)}),
            "flag": (("time",), np.array([True, False] * 3)),
            "name": (("lat",), np.array(["a", "bb", "ccc", ""], object)),
            "count": (("lat",), np.arange(4, dtype="u2")),
            "scalar": ((), np.int64(7)),
        },
        coords={
            "time": np.datetime64("2020-01-01", "ns") + np.arange(6) * np.timedelta64(6, "h"),
            "lat": np.linspace(-60, 60, 4),
            "lon": np.arange(5.0),
            "area": (("lat", "lon"), RNG.random((4, 5))),
        },
        attrs={"title": "test", "levels": [1, 2]},
    )


def test_a_dataset_comes_back(tmp_path: Path) -> None:
    ds = dataset()
    icecore.pack(ds, tmp_path / "r.icecore", group="/g")
    with xr.open_dataset(tmp_path / "r.icecore", engine="icecore", group="/g") as found:
        xr.testing.assert_identical(found.load(), ds)
        assert found["t2m"].dtype == np.dtype("f4")
        assert found["t2m"].attrs["scale"].dtype == np.dtype("f4")


def test_missing_strings_stay_missing(tmp_path: Path) -> None:
    icecore.pack(xr.Dataset({"x": ("n", np.array(["a", None], object))}), tmp_path / "r")
    back = xr.open_dataset(tmp_path / "r", engine="icecore")["x"]
    assert back[0] == "a"
    assert bool(back[1].isnull())


def test_encodings_are_kept(tmp_path: Path) -> None:
    ds = dataset()
    ds["t2m"].encoding = {
        "dtype": "i2",
        "scale_factor": 0.5,
        "add_offset": 280.0,
        "_FillValue": np.int16(-999),
    }
    ds["t2m"] = (ds["t2m"] / 0.5).round() * 0.5
    ds["t2m"].encoding = {
        "dtype": "i2",
        "scale_factor": 0.5,
        "add_offset": 280.0,
        "_FillValue": np.int16(-999),
    }
    ds["time"].encoding = {"units": "hours since 2019-01-01", "dtype": "i4"}
    icecore.pack(ds, tmp_path / "r.icecore")
    repo = icecore.open(tmp_path / "r.icecore")
    assert repo["/t2m"].dtype == np.dtype("i2")
    assert repo["/time"].attrs["units"] == "hours since 2019-01-01"
    assert repo["/time"].dtype == np.dtype("i4")
    with xr.open_dataset(tmp_path / "r.icecore", engine="icecore") as found:
        # CF: a float64 scale makes float64 of 16-bit integers.
        xr.testing.assert_allclose(found.load(), ds.assign(t2m=ds["t2m"].astype("f8")))
        assert found["t2m"].encoding["_FillValue"] == -999


def test_a_data_array_and_a_tree(tmp_path: Path) -> None:
    ds = dataset()
    icecore.pack(ds["t2m"], tmp_path / "a.icecore")
    with xr.open_dataset(tmp_path / "a.icecore", engine="icecore") as found:
        xr.testing.assert_identical(found["t2m"].load(), ds["t2m"])
    icecore.pack(ds["lat"], tmp_path / "c.icecore")
    np.testing.assert_array_equal(icecore.open(tmp_path / "c.icecore")["/lat"][...], ds["lat"])
    tree = xr.DataTree.from_dict({"/": ds, "/deep/er": xr.Dataset({"x": ("n", np.arange(3))})})
    icecore.pack(tree, tmp_path / "t.icecore")
    with xr.open_datatree(tmp_path / "t.icecore", engine="icecore") as found:
        xr.testing.assert_identical(found.load(), tree)


def test_a_dask_array_is_computed_box_by_box(tmp_path: Path) -> None:
    """32 MB in chunks of 1 MB with 8 MB of memory: no computation exceeds the budget of a box."""
    sizes: list[int] = []

    def block(block_info: Any = None) -> np.ndarray:
        start = block_info[None]["array-location"][0][0]
        return np.full((8, 256, 128), start, "f4") + np.arange(128, dtype="f4")

    lazy = dask.array.map_blocks(
        block, chunks=((8,) * 32, (256,), (128,)), dtype="f4", meta=np.empty(0, "f4")
    )
    from icecore.sources.memory.array_mappings import RegionReader

    read = RegionReader.__call__
    patch = pytest.MonkeyPatch()
    with patch.context() as context:

        def counting(self: RegionReader, region: Any) -> np.ndarray:
            data = read(self, region)
            sizes.append(data.nbytes)
            return data

        context.setattr(RegionReader, "__call__", counting)
        ds = xr.Dataset({"x": (("t", "y", "z"), lazy)})
        icecore.pack(ds, tmp_path / "r.icecore", memory="8MB", codec="zstd:1", shard=(8, 256, 128))
    assert sum(sizes) == lazy.nbytes  # each element once
    assert max(sizes) <= 2 << 20
    np.testing.assert_array_equal(icecore.open(tmp_path / "r.icecore")["/x"][...], lazy.compute())


def test_arrays_by_name(tmp_path: Path) -> None:
    records = np.array([(1, 2.5), (3, 4.5)], [("a", "i4"), ("b", ">f8")])
    arrays = {
        "x": np.arange(6.0).reshape(2, 3),
        "deep/y": np.arange(4, dtype=">i2"),
        "more": {"text": np.array(["a", "ü"], object), "lazy": dask.array.arange(10, chunks=4)},
        "records": records,
    }
    icecore.pack(arrays, tmp_path / "r.icecore", group="/g")
    repo = icecore.open(tmp_path / "r.icecore")
    assert set(repo.arrays) == {"/g/x", "/g/deep/y", "/g/more/text", "/g/more/lazy", "/g/records"}
    np.testing.assert_array_equal(repo["/g/x"][...], arrays["x"])
    np.testing.assert_array_equal(repo["/g/deep/y"][...], arrays["deep/y"])
    np.testing.assert_array_equal(repo["/g/more/lazy"][...], np.arange(10))
    assert repo["/g/more/text"][...].tolist() == ["a", "ü"]
    assert repo["/g/records"][...]["b"].tolist() == [2.5, 4.5]


def test_datasets_are_joined_and_appended(tmp_path: Path) -> None:
    ds = dataset()
    parts = [ds.isel(time=slice(i, i + 2)) for i in (0, 2, 4)]
    for part in parts:
        part["time"].encoding = {"units": "hours since 2020-01-01", "dtype": "i8"}
    icecore.pack(parts[:2], tmp_path / "r.icecore", "/g", "time")
    icecore.pack(parts[2], tmp_path / "r.icecore", "/g", "time", append=True)
    with xr.open_dataset(tmp_path / "r.icecore", engine="icecore", group="/g") as found:
        xr.testing.assert_equal(found.load(), ds)


@pytest.mark.parametrize(
    ("item", "kind", "said"),
    [
        (3, "invalid", "int"),
        (np.arange(3), "invalid", "ndarray"),
        ({"x": np.array([object()])}, "dtype", "object"),
        ({"x": np.ma.masked_array([1, 2], [True, False])}, "invalid", "masked"),
        ({3: np.arange(3)}, "invalid", "3"),
        (xr.DataArray(np.arange(3)), "invalid", "name"),
        (xr.Dataset(attrs={"a": object()}), "invalid", "object"),
    ],
)
def test_refused(tmp_path: Path, item: Any, kind: str, said: str) -> None:
    with pytest.raises(icecore.Error, match=said) as caught:
        icecore.pack(item, tmp_path / "r.icecore")
    assert caught.value.kind == kind
    assert not (tmp_path / "r.icecore").exists()


def test_the_error_for_an_unknown_object_lists_accepted_types(tmp_path: Path) -> None:
    with pytest.raises(icecore.Error, match="ndarray") as caught:
        icecore.pack(np.arange(3), tmp_path / "r.icecore")
    assert "xarray Dataset" in caught.value.hint


def test_a_data_frame_is_not_a_list_of_its_column_names(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    icecore.pack(pandas.DataFrame({"a": [1]}), tmp_path / "r.icecore")
    assert list(icecore.open(tmp_path / "r.icecore").arrays) == ["/a"]


def test_nothing_in_memory_can_be_linked(tmp_path: Path) -> None:
    with pytest.raises(icecore.Error, match="no file can be linked"):
        icecore.link(dataset(), tmp_path / "r.icecore")
