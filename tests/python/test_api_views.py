"""The same array as other libraries index it, read it and hold it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import icecore
import numpy as np
import pytest
from icecore.errors import Error

DATA = np.arange(60 * 40, dtype="f4").reshape(60, 40)


@pytest.fixture
def array(tmp_path: Path) -> icecore.Array:
    path = tmp_path / "r.icecore"
    with icecore.create(path).writer() as w:
        x = w.array("/g/x", "f4", (60, 40), dims=("t", "y"), chunks=(10, 20), shards=(20, 40))
        x[...] = DATA
        w.array("/g/t", "f8", (60,), dims=("t",))[...] = np.linspace(0, 1, 60)
    found = icecore.open(path)["/g/x"]
    assert isinstance(found, icecore.Array)
    return found


def test_vindex_is_zarr_s(array: icecore.Array) -> None:
    zarr = pytest.importorskip("zarr")
    theirs = zarr.create_array({}, shape=DATA.shape, dtype="f4", chunks=(10, 20))
    theirs[...] = DATA
    rows, columns = np.array([[3], [-1], [59]]), np.array([0, 7])
    for sel in ((rows, columns), ([1, 1, 2], [5, 5, 0]), (4, [1, 2]), DATA % 7 == 0):
        np.testing.assert_array_equal(array.vindex[sel], theirs.vindex[sel])
    assert array.vindex[3, 4] == DATA[3, 4]
    np.testing.assert_array_equal(array.points([[1, 5], [2, 0]]), array.vindex[[1, 2], [5, 0]])
    with pytest.raises(Error, match="not slices"):
        array.vindex[:, [1, 2]]
    with pytest.raises(IndexError):
        array.vindex[[60], [0]]


def test_reading_in_an_event_loop(array: icecore.Array) -> None:
    async def both() -> tuple[np.ndarray, dict[str, np.ndarray]]:
        one, many = await asyncio.gather(array.aread((slice(0, 5), 3)), array.repo.aread({"/g/t": None}))
        return one, many

    one, many = asyncio.run(both())
    np.testing.assert_array_equal(one, DATA[:5, 3])
    np.testing.assert_array_equal(many["/g/t"], np.linspace(0, 1, 60))


def test_dask_blocks_are_shards(array: icecore.Array) -> None:
    pytest.importorskip("dask")
    lazy = array.to_dask()
    assert lazy.chunks == ((20, 20, 20), (40,))
    assert lazy.dtype == array.dtype
    np.testing.assert_array_equal(lazy[5:33, ::3].compute(), DATA[5:33, ::3])
    assert array.to_dask(chunks=(60, 10)).chunks == ((60,), (10,) * 4)


def test_dask_of_a_scalar(tmp_path: Path) -> None:
    pytest.importorskip("dask")
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        w.array("/s", "i4", ())[...] = 7
    assert int(icecore.open(tmp_path / "r.icecore")["/s"].to_dask().compute()) == 7


def test_xarray_with_coordinates(array: icecore.Array) -> None:
    pytest.importorskip("xarray")
    found = array.to_xarray()
    assert found.dims == ("t", "y")
    np.testing.assert_array_equal(found.sel(t=1.0), DATA[-1])
    dataset = array.repo.to_xarray("/g")
    np.testing.assert_array_equal(dataset["x"], DATA)
    assert array.repo.to_xarray("/g/x").identical(found)
    with pytest.raises(KeyError):
        array.repo.to_xarray("/nothing")


@pytest.mark.parametrize(("package", "verb"), [("xarray", "to_xarray"), ("dask", "to_dask")])
def test_a_missing_extra_is_named(
    array: icecore.Array, monkeypatch: pytest.MonkeyPatch, package: str, verb: str
) -> None:
    monkeypatch.delitem(sys.modules, f"icecore.integrations.{package}", raising=False)
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(Error, match=f"{verb} needs {package}") as caught:
        getattr(array, verb)()
    assert caught.value.hint == f"pip install 'icecore-archive[{package}]'"
