"""``Dataset.load`` and its relatives read all variables in one plan; single reads stay single."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import icecore
import numpy as np
import pytest
from icecore.integrations import lazy_array
from rounds import RoundServer

xr = pytest.importorskip("xarray")
COUNT = 30


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoundServer]:
    """A repository of 30 small variables in a dataset and in two groups, behind 30 ms."""
    folder = tmp_path_factory.mktemp("load")
    repo = icecore.create(folder / "r.icecore")
    with repo.writer() as writer:
        for group in ("", "/a", "/b"):
            for i in range(COUNT):
                attrs = {"scale_factor": 0.5, "_FillValue": -1} if i % 3 == 0 else {}
                array = writer.array(
                    f"{group}/v{i:02}", "i2", (50, 40), ("y", "x"), chunks=(25, 40), attrs=attrs
                )
                array[...] = RNG.integers(0, 9999, (50, 40)) + i
            writer.array(f"{group}/x", "f8", (40,), ("x",))[...] = np.arange(40)
            writer.array(f"{group}/name", str, (40,), ("x",))[...] = [f"n{k}" for k in range(40)]
    with RoundServer(folder) as served:
        yield served


RNG = np.random.default_rng(46)


def values(dataset: Any) -> dict[str, np.ndarray]:
    """The values that the same dataset has without reading together."""
    return {name: variable.values for name, variable in dataset.variables.items()}


LOADS: dict[str, Callable[[Any], Any]] = {
    "load": lambda ds: ds.load(),
    "compute": lambda ds: ds.compute(),
    "isel": lambda ds: ds.isel(x=slice(3, 9), y=4).load(),
    "isel in two steps": lambda ds: ds.isel(x=slice(3, 30)).isel(x=[1, 5, 2], y=slice(None, None, -2)).load(),
    "isel by position in pairs": lambda ds: ds.isel(
        x=xr.DataArray([1, 5, 2], dims="p"), y=xr.DataArray([7, 0, 49], dims="p")
    ).load(),
    "sel": lambda ds: ds.sel(x=[3.0, 5.0]).load(),
    "transpose": lambda ds: ds.transpose("x", "y").load(),
    "subset": lambda ds: ds[["v03", "v04", "name"]].load(),
    "load_async": lambda ds: asyncio.run(ds.load_async()),
}


@pytest.mark.parametrize("how", LOADS)
def test_a_dataset_loads_in_two_rounds(server: RoundServer, how: str, monkeypatch) -> None:
    dataset = xr.open_dataset(f"{server.url}/r.icecore", engine="icecore")
    server.reset()
    loaded = LOADS[how](dataset)
    assert server.rounds <= 2, f"{server.requests} requests"
    monkeypatch.setattr(lazy_array, "_loading", lambda: None)
    alone = xr.open_dataset(f"{server.url}/r.icecore", engine="icecore")
    expected = LOADS["load" if how == "load_async" else how](alone)
    xr.testing.assert_identical(loaded, expected)
    assert lazy_array._ahead.frame is None
    assert not lazy_array._ahead.values


def test_a_tree_loads_in_two_rounds(server: RoundServer) -> None:
    tree = xr.open_datatree(f"{server.url}/r.icecore", engine="icecore")
    server.reset()
    tree.load()
    assert server.rounds <= 2
    xr.testing.assert_identical(tree, xr.open_datatree(f"{server.url}/r.icecore", engine="icecore"))


def test_one_variable_is_read_alone(server: RoundServer) -> None:
    dataset = xr.open_dataset(f"{server.url}/r.icecore", engine="icecore")
    repo = icecore.open(f"{server.url}/r.icecore")
    for read in (lambda: dataset.v03.values, lambda: dataset["v04"].mean().item()):
        calls: list[object] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lazy_array, "read_together", calls.append)
            read()
        assert not calls
    assert dataset.v05.variable._in_memory is False
    assert np.array_equal(dataset.v04.values, repo["/v04"][...])


def test_large_datasets_are_read_in_parts(server: RoundServer, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    together = lazy_array.read_together
    monkeypatch.setattr(lazy_array, "MOST", 5 * 50 * 40 * 2)
    monkeypatch.setattr(
        lazy_array, "read_together", lambda items: sizes.append(len(items)) or together(items)
    )
    loaded = xr.open_dataset(f"{server.url}/r.icecore", engine="icecore").load()
    assert max(sizes) <= 5 + 2
    assert sum(sizes) >= COUNT
    monkeypatch.setattr(lazy_array, "_loading", lambda: None)
    xr.testing.assert_identical(loaded, xr.open_dataset(f"{server.url}/r.icecore", engine="icecore"))


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_error_is_that_of_its_variable(tmp_path: Path, asynchronous: bool) -> None:
    data = np.arange(2000.0)
    for name in ("a", "b", "c"):
        np.save(tmp_path / f"{name}.npy", data)
    repo = icecore.create(tmp_path / "r.icecore")
    icecore.link([tmp_path / "a.npy", tmp_path / "b.npy", tmp_path / "c.npy"], into=repo, group="/")
    dataset = xr.open_dataset(tmp_path / "r.icecore", engine="icecore")
    (tmp_path / "b.npy").unlink()
    with pytest.raises(icecore.Error, match=r"b\.npy"):
        asyncio.run(dataset.load_async()) if asynchronous else dataset.load()
    names = [name for name in dataset.variables if name.startswith("a")]
    assert names
    assert np.array_equal(dataset[names[0]].values, data)


def test_the_same_variable_twice(tmp_path: Path) -> None:
    with icecore.create(tmp_path / "r.icecore").writer() as writer:
        for name in "ab":
            writer.array(f"/{name}", "f4", (5,), ("x",))[...] = range(5)
    dataset = xr.open_dataset(tmp_path / "r.icecore", engine="icecore", cache=False)
    dataset["c"] = dataset["a"]
    dataset["d"] = dataset["b"]
    assert all(np.array_equal(dataset.compute()[name], range(5)) for name in "abcd")
    assert not lazy_array._ahead.values


def test_variables_of_several_repositories_and_precisions(tmp_path: Path) -> None:
    data = RNG.random((64, 64)).astype("f4") + 1
    for name in "ab":
        with icecore.create(tmp_path / f"{name}.icecore").writer() as writer:
            writer.array(f"/{name}", "f4", data.shape, ("y", "x"), codec="planes")[...] = data
    both = xr.merge(
        [
            xr.open_dataset(tmp_path / "a.icecore", engine="icecore", rtol=0.01),
            xr.open_dataset(tmp_path / "b.icecore", engine="icecore"),
        ]
    ).load()
    assert np.array_equal(both.b, data)
    assert 0 < np.abs(both.a / data - 1).max() <= 0.01
