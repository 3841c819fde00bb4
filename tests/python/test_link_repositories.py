"""Repositories as sources of `link`: references are kept, also those of Icechunk; the rest is copied."""

from __future__ import annotations

from pathlib import Path

import icecore
import numpy as np
import pytest


def test_references_of_a_repository(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(1000.0))
    icecore.link(tmp_path / "x.npy", tmp_path / "a.icecore", group="/g")
    with icecore.open(tmp_path / "a.icecore").writer() as writer:
        writer.array("/g/own", "i4", (50,))[...] = np.arange(50)
    for name, path in ((tmp_path / "a.icecore", "/g"), (f"{tmp_path / 'a.icecore'}:/g", "/h")):
        into = tmp_path / f"{path[1:]}.icecore"
        icecore.link(name, into, **({} if path == "/g" else {"group": path}))
        repo = icecore.open(into)
        assert repo[f"{path}/x"].linked
        assert repo[f"{path}/x"][...].tolist() == [*range(1000)]
        assert not repo[f"{path}/own"].linked
        assert repo[f"{path}/own"][...].tolist() == [*range(50)]
    np.save(tmp_path / "x.npy", np.arange(1001.0))
    with pytest.raises(icecore.Error) as caught:
        icecore.open(tmp_path / "g.icecore")["/g/x"][...]
    assert caught.value.kind == "source-changed"


@pytest.mark.filterwarnings("ignore")
def test_virtual_chunks_of_icechunk(tmp_path: Path) -> None:
    icechunk = pytest.importorskip("icechunk")
    zarr = pytest.importorskip("zarr")
    folder = tmp_path / "data"
    folder.mkdir()
    np.arange(20, dtype="f4").tofile(folder / "a.bin")
    url = f"{folder.as_uri()}/"
    config = icechunk.RepositoryConfig.default()
    store = icechunk.local_filesystem_store(str(folder))
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(url, store))
    session = icechunk.Repository.create(
        icechunk.local_filesystem_storage(str(tmp_path / "r")),
        config=config,
        authorize_virtual_chunk_access={url: None},
    ).writable_session("main")
    group = zarr.group(session.store)
    plain = {"compressors": None, "filters": None, "fill_value": -1}
    group.create_array("v", shape=(30,), chunks=(10,), dtype="f4", **plain)
    for i in range(2):
        session.store.set_virtual_ref(f"v/c/{i}", f"{url}a.bin", offset=40 * i, length=40)
    values = np.random.default_rng(1).random(3000)
    group.create_array("own", shape=(3000,), chunks=(1000,), dtype="f8")[:] = values
    session.commit("x")
    icecore.link(tmp_path / "r", tmp_path / "out.icecore", group="/")
    repo = icecore.open(tmp_path / "out.icecore")
    assert repo["/v"].linked
    assert repo["/v"][...].tolist() == [*range(20)] + [-1] * 10
    assert np.array_equal(repo["/own"][...], values)
