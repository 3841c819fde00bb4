"""``repo.store()``: zarr-python reads what icecore reads."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path

import h5py
import icecore
import numpy as np
import pytest

zarr = pytest.importorskip("zarr")
DATA = np.arange(50 * 12, dtype="i4").reshape(50, 12)


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> icecore.Repo:
    folder = tmp_path_factory.mktemp("store")
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("x", data=DATA, chunks=(7, 5), compression="gzip", shuffle=True)
    icecore.link([folder / "a.h5"], folder / "s.icecore", "/linked")
    with icecore.open(folder / "s.icecore").writer() as w:
        w.group("/", {"title": "store"})
        w.array(
            "/packed", "i4", DATA.shape, ("t", "x"), chunks=(7, 5), shards=(14, 10), attrs={"units": "m"}
        )[...] = DATA
        w.array("/names", str, (3,))[...] = np.array(["a", "bc", ""], "O")
        w.array("/scalar", "f8", ())[...] = 1.5
    return icecore.open(folder / "s.icecore")


@pytest.fixture(params=["icechunk", "icecore"])
def group(repo: icecore.Repo, request: pytest.FixtureRequest) -> object:
    if request.param == "icechunk":
        pytest.importorskip("icechunk")
    return zarr.open_group(repo.store(request.param), mode="r")


def test_arrays(group: object) -> None:
    np.testing.assert_array_equal(group["packed"][...], DATA)
    np.testing.assert_array_equal(group["packed"][3:20, ::2], DATA[3:20, ::2])
    np.testing.assert_array_equal(group["linked/x"][...], DATA)
    assert group["names"][...].tolist() == ["a", "bc", ""]
    assert group["scalar"][...] == 1.5
    assert dict(group.attrs) == {"title": "store"}
    assert dict(group["packed"].attrs) == {"units": "m"}
    assert group["packed"].metadata.dimension_names == ("t", "x")


def test_icechunk_that_knows_an_older_format_is_passed_over(
    repo: icecore.Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For Python 3.11 there is none that knows the newer one."""
    icechunk = pytest.importorskip("icechunk")
    monkeypatch.setattr(icechunk, "__version__", "1.1.21")
    np.testing.assert_array_equal(zarr.open_group(repo.store(), mode="r")["packed"][...], DATA)
    assert type(repo.store()).__name__ == "DecodedStore"
    with pytest.raises(icecore.Error, match="icechunk ≥ 2") as refused:
        repo.store("icechunk")
    assert refused.value.kind == "unsupported"


def test_linked_files_are_allowed_in_a_way_that_icechunk_keeps(
    repo: icecore.Repo, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("icechunk")
    assert np.array_equal(zarr.open_group(repo.store("icechunk"), mode="r")["linked/x"][...], DATA)
    assert "DEPRECATED" not in "".join(capfd.readouterr())


def test_listing(group: object) -> None:
    assert {"packed", "names", "scalar", "linked"} <= set(group)
    assert set(group["linked"].array_keys()) == {"x"}


def test_our_store_lists_what_can_be_asked_for(repo: icecore.Repo) -> None:
    """A copy of a store goes by its list."""
    store = repo.store("icecore")
    memory = zarr.storage.MemoryStore()
    prototype = zarr.core.buffer.default_buffer_prototype()

    async def copy() -> None:
        async for key in store.list():
            assert await store.exists(key)
            await memory.set(key, await store.get(key, prototype))

    async def names(prefix: str) -> list[str]:
        return [name async for name in store.list_dir(prefix)]

    async def exist(keys: list[str]) -> list[str]:
        return [key for key in keys if await store.exists(key) or await store.get(key, prototype)]

    asyncio.run(copy())
    copied = zarr.open_group(memory, mode="r")
    for path in ("packed", "linked/x", "names", "scalar"):
        assert np.array_equal(copied[path][...], repo["/" + path][...])
    assert asyncio.run(names("packed")) == ["c", "zarr.json"]
    assert asyncio.run(names("packed/c/1")) == ["0", "1", "2"]
    assert asyncio.run(names("scalar")) == ["c", "zarr.json"]
    assert "packed" in asyncio.run(names(""))
    none = ["", "packed/c", "packed/c/0", "packed/c/8/0", "packed/c/00/0", "packed/c/-1/0", "packed/c/²/0"]
    none += [
        "packed/c/0/0/",
        "packed/c/0/0/0",
        "linked/c/0",
        "scalar/c/0",
        "../zarr.json",
        "packed/zarr.json/",
    ]
    assert asyncio.run(exist(none)) == []
    assert zarr.open_array(store, path="packed", mode="r").nchunks_initialized > 0


def test_our_store_conforms_to_one_of_files(repo: icecore.Repo, tmp_path: Path) -> None:
    """What zarr-python's own tests of stores ask of one that only reads (``zarr.testing.store``)."""
    from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest

    store, files = repo.store("icecore"), zarr.storage.LocalStore(tmp_path)
    prototype = zarr.core.buffer.default_buffer_prototype()
    parts = [
        None,
        OffsetByteRequest(3),
        OffsetByteRequest(10**6),
        SuffixByteRequest(2),
        SuffixByteRequest(10**6),
    ]
    parts += [RangeByteRequest(0, 0), RangeByteRequest(1, 4), RangeByteRequest(9, 10**6)]

    async def listed(of: object, prefix: str) -> tuple[object, ...]:
        keys, names = [key async for key in of.list_prefix(prefix)], [n async for n in of.list_dir(prefix)]
        return sorted(keys), sorted(names), await of.is_empty(prefix), await of.getsize_prefix(prefix)

    async def compare() -> None:
        async for key in store.list():
            await files.set(key, await store.get(key, prototype))
        for prefix in ("", "packed", "packed/", "packed/c/1", "pack", "linked", "nothing"):
            assert await listed(store, prefix) == await listed(files, prefix), prefix
        for key in ("zarr.json", "packed/c/0/0", "packed/c/99/0", "pack", "/zarr.json/"):
            for part in parts:
                ours, theirs = [await of.get(key, prototype, part) for of in (store, files)]
                assert (ours and ours.to_bytes()) == (theirs and theirs.to_bytes()), (key, part)
        assert await store.get("/zarr.json", prototype) is None
        with pytest.raises(ValueError, match="names no part"):
            await store.get("zarr.json", prototype, (0, 2))

    asyncio.run(compare())
    assert pickle.loads(pickle.dumps(store)) == store


def test_chunks_are_counted_beside_a_longer_name(tmp_path: Path) -> None:
    with icecore.create(tmp_path / "r.icecore").writer() as w:
        for name in ("/g/t", "/g/t2"):
            w.array(name, "i4", (4,), chunks=(2,))[...] = 1
    repo = icecore.open(tmp_path / "r.icecore")
    assert zarr.open(repo.store("icecore"))["g/t"].nchunks_initialized == 2


def test_our_store_only_reads(repo: icecore.Repo) -> None:
    group = zarr.open_group(repo.store("icecore"), mode="r")
    with pytest.raises((PermissionError, ValueError)):
        group["packed"][0] = 1
    with pytest.raises(icecore.Error, match="no store"):
        repo.store("magic")


def test_a_version_stays_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "v.icecore"
    with icecore.create(path).writer() as w:
        w.array("/x", "i4", (4,))[...] = 1
    stores = [icecore.open(path).store(via) for via in ("auto", "icecore")]
    with icecore.open(path).writer() as w:
        w["/x"][...] = 2
    for store in stores:
        assert zarr.open_group(store, mode="r")["x"][...].tolist() == [1] * 4


def test_in_memory() -> None:
    repo = icecore.create("memory://store-in-memory")
    with repo.writer() as w:
        w.array("/x", "f4", (10,), chunks=(3,))[...] = np.arange(10)
    store = icecore.open(repo.url).store()
    np.testing.assert_array_equal(zarr.open_group(store, mode="r")["x"][...], np.arange(10))


def test_what_a_pack_chooses_is_read_by_default(tmp_path: Path) -> None:
    """Also pcodec, for which zarr-python needs a package that nothing here depends on."""
    data = np.random.default_rng(1).normal(size=(20, 30, 40)).astype("f4").cumsum(0)
    np.save(tmp_path / "x.npy", data)
    codec = [{"name": "numcodecs.pcodec", "configuration": {"level": 8}}]
    icecore.pack(tmp_path / "x.npy", tmp_path / "r.icecore", "/", codec=codec)
    store = icecore.open(tmp_path / "r.icecore").store()
    np.testing.assert_array_equal(zarr.open_group(store, mode="r")["x"][...], data)
