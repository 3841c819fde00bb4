"""Zarr stores with damaged bytes: refused where a checksum covers them, never other values in silence."""

import contextlib

import icecore
import numpy as np
import pytest

zarr = pytest.importorskip("zarr")


def make(store, layout):
    group = zarr.create_group(store, zarr_format=2 if layout == "v2" else 3)
    how = {"shards": (20,)} if layout == "sharded" else {}
    plain = {} if layout == "v2" else {"compressors": None}
    how |= {"attributes": {"units": "m"}, "fill_value": 7, **plain}
    group.create_array("a", shape=(40,), chunks=(10,), dtype="i4", **how)[...] = np.arange(40)
    group.create_array("b/c", shape=(12,), chunks=(6,), dtype="f8", **plain)[...] = np.arange(12)


def found(source, at):
    repo = icecore.create(at)
    icecore.pack(source, into=repo, group="/")
    repo = icecore.open(at)
    return {path: (array[...].tobytes(), dict(array.attrs)) for path, array in repo.arrays.items()}


@pytest.mark.parametrize("layout", ["plain", "sharded", "v2"])
def test_flipped_bits_of_a_zip_never_give_other_values(tmp_path, layout):
    path = tmp_path / "x.zarr.zip"
    with contextlib.closing(zarr.storage.ZipStore(path, mode="w")) as store:
        make(store, layout)
    whole = path.read_bytes()
    wanted = found(path, tmp_path / "good.icecore")
    for n, i in enumerate(range(0, len(whole), 13)):
        damaged = bytearray(whole)
        damaged[i] ^= 1 << n % 8
        path.write_bytes(damaged)
        with contextlib.suppress(icecore.Error):
            assert found(path, tmp_path / f"{n}.icecore") == wanted, f"byte {i}"


@pytest.mark.parametrize("how", ["renamed", "swallowed"])
def test_a_zip_that_lost_chunks_is_refused(tmp_path, how):
    """Its directory calls them otherwise, or counts them to the member before."""
    path = tmp_path / "x.zarr.zip"
    with contextlib.closing(zarr.storage.ZipStore(path, mode="w")) as store:
        make(store, "plain")
    whole = bytearray(path.read_bytes())
    entry = whole.rindex(b"PK\x01\x02", 0, whole.rindex(b"a/c/2"))
    if how == "renamed":
        whole[entry + 46 + 4] ^= 1  # a/c/2 → a/c/3
    else:
        following = whole.index(b"PK\x01\x02", entry + 4)
        after = whole.index(b"PK\x01\x02", following + 4)
        whole[entry + 32] = after - following  # its comment is as long as the next entry
    path.write_bytes(whole)
    with pytest.raises(icecore.Error) as caught:
        found(path, tmp_path / "r.icecore")
    assert caught.value.kind == "corrupt"


@pytest.mark.parametrize("sharded", [False, True])
def test_chunks_with_crc32c_are_refused_when_damaged(tmp_path, sharded):
    how = {"shards": (20,)} if sharded else {}
    store = tmp_path / "x.zarr"
    array = zarr.create_array(
        store, shape=(40,), chunks=(10,), dtype="i4", compressors=[{"name": "crc32c"}], **how
    )
    array[...] = np.arange(40)
    chunk = store / "c" / "1"
    for i in range(0, chunk.stat().st_size, 5):
        whole = chunk.read_bytes()
        damaged = bytearray(whole)
        damaged[i] ^= 16
        chunk.write_bytes(damaged)
        with pytest.raises(icecore.Error) as caught:
            found(store, tmp_path / f"{i}.icecore")
        assert caught.value.kind == "corrupt"
        chunk.write_bytes(whole)
