""".npy and .npz: linked where raw, copied where compressed, refused where pickled; damage never crashes."""

from __future__ import annotations

import io
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from icecore import errors, pack
from icecore.sources import open_source
from sources_kit import everything, same, through_zarr

rng = np.random.default_rng(8)

DTYPES = [
    "f4",
    ">f8",
    "i2",
    "?",
    "u1",
    ">c8",
    "S5",
    "M8[ms]",
    "m8[D]",
    "V6",
    "f2",
    "<U4",
    np.dtype([("a", "<i4"), ("b", "<f4"), ("c", "S3")]),
]


def data(dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind == "U":
        return np.array(["grün", "ab", ""], dtype)[rng.integers(0, 3, shape)]
    if dtype.kind in "SV" and dtype.names is None:
        return np.frombuffer(rng.bytes(dtype.itemsize * int(np.prod(shape))), dtype).reshape(shape)
    if dtype.names:
        out = np.zeros(shape, dtype)
        out["a"], out["b"], out["c"] = 3, rng.normal(size=shape), b"xy"
        return out
    return rng.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(13,), (7, 5), (3, 4, 5), (0, 4), ()])
def test_npy(tmp_path, dtype, order, shape):
    wanted = np.asarray(data(dtype, shape), order=order)
    np.save(tmp_path / "field.npy", wanted)
    amap = open_source(tmp_path / "field.npy")
    entry = amap.arrays["/field"]
    assert entry.linked == (shape != ())
    assert same(entry.read(everything(entry)), wanted)
    assert same(through_zarr(amap, "/field"), wanted)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(3, 1100, 700), (1_500_007,), (1021, 2039)])
def test_large_npy_in_chunks(tmp_path, order, shape):
    wanted = np.asarray(rng.integers(0, 1000, shape).astype(">i4"), order=order)
    np.save(tmp_path / "x.npy", wanted)
    amap = open_source(tmp_path / "x.npy")
    entry = amap.arrays["/x"]
    assert len(entry.links) > 1
    assert same(through_zarr(amap, "/x"), wanted)
    for flat, chunk in entry.native.items():
        assert same(chunk(), wanted[entry.chunk_region(flat)])
    region = tuple(slice(n // 3, min(n, n // 3 + 5)) for n in shape)
    assert same(entry.read(region), wanted[region])


def test_records_with_gaps_and_mixed_orders_are_copied(tmp_path):
    dtype = np.dtype({"names": ["a", "b"], "formats": [">i2", "<f8"], "offsets": [0, 8], "itemsize": 24})
    wanted = np.zeros(5, dtype)
    wanted["a"], wanted["b"] = np.arange(5), rng.normal(size=5)
    np.save(tmp_path / "x.npy", wanted)
    amap = open_source(tmp_path / "x.npy")
    entry = amap.arrays["/x"]
    assert not entry.linked
    assert "gaps" in entry.note
    assert entry.dtype == np.dtype([("a", "<i2"), ("b", "<f8")])
    assert same(through_zarr(amap, "/x"), wanted)


def test_objects_are_refused_by_name(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{}, 1], object), allow_pickle=True)
    with pytest.raises(errors.Error) as caught:
        open_source(tmp_path / "x.npy")
    assert caught.value.kind == "unsupported"
    assert "x.npy" in caught.value.message
    np.savez(tmp_path / "y.npz", bad=np.array([None], object), good=np.arange(3))
    amap = open_source(tmp_path / "y.npz")
    assert set(amap.arrays) == {"/good"}
    assert [note.path for note in amap.dropped] == ["/bad"]


def test_headers_of_python_2(tmp_path):
    data = np.arange(6.0).reshape(2, 3)
    np.save(tmp_path / "new.npy", data)
    raw = (tmp_path / "new.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(raw.replace(b"(2, 3), }  ", b"(2L, 3L), }"))
    entry = open_source(tmp_path / "x.npy").arrays["/x"]
    assert same(entry.read(everything(entry)), data)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_npz_of_objects_alone_says_so(tmp_path, save):
    save(tmp_path / "x.npz", a=np.array([{}, 1], object))
    with pytest.raises(errors.Error, match="pickled Python objects") as caught:
        open_source(tmp_path / "x.npz")
    assert caught.value.kind == "unsupported"


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path, save):
    wanted = {
        "a": rng.normal(size=(40, 5)),
        "f": np.asfortranarray(rng.normal(size=(6, 7))),
        "text": np.array([b"ab", b"c"]),
        "zero": np.float32(3),
        "none": np.zeros((0, 3)),
    }
    save(tmp_path / "x.npz", **wanted)
    amap = open_source(tmp_path / "x.npz")
    assert set(amap.arrays) == {f"/{name}" for name in wanted}
    for name, value in wanted.items():
        entry = amap.arrays[f"/{name}"]
        assert entry.linked == (save is np.savez and name != "zero")
        assert same(entry.read(everything(entry)), value)
        assert same(through_zarr(amap, f"/{name}"), value)
    part = (slice(3, 9), slice(1, 3))
    assert same(amap.arrays["/a"].read(part), wanted["a"][part])
    assert same(amap.arrays["/f"].read((slice(2, 4), slice(3, 7))), wanted["f"][2:4, 3:7])


def test_npz_local_headers_have_lengths_of_their_own(tmp_path):
    """zip64 extra fields stand in the local header only: the central directory would give a wrong offset."""
    wanted = np.arange(100.0)
    with (
        zipfile.ZipFile(tmp_path / "x.npz", "w") as archive,
        archive.open("a.npy", "w", force_zip64=True) as file,
    ):
        np.lib.format.write_array(file, wanted)
    assert same(through_zarr(open_source(tmp_path / "x.npz"), "/a"), wanted)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_pack_checks_what_a_zip_says_of_its_members(tmp_path, save):
    path = tmp_path / "x.npz"
    save(path, good=np.arange(5), wrong=np.arange(1000.0))
    raw = bytearray(path.read_bytes())
    at = raw.index(np.float64(700).tobytes()) + 6 if save is np.savez else raw.index(b"wrong.npy") + 400
    raw[at] ^= 1
    path.write_bytes(raw)
    with pytest.raises(errors.Error) as caught:
        pack(path, tmp_path / "r.icecore")
    assert caught.value.kind == "corrupt"
    assert f"{path}:wrong.npy" in str(caught.value)
    assert not (tmp_path / "r.icecore").exists()


def test_other_zips_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(errors.Error) as caught:
        open_source(tmp_path / "x.zip")
    assert caught.value.kind == "format"


def test_damage_is_an_error_or_right(tmp_path):
    file = io.BytesIO()
    np.save(file, np.arange(50.0))
    check_damage(tmp_path / "x.npy", file.getvalue())
    file = io.BytesIO()
    np.savez(file, a=np.arange(20), b=np.zeros((2, 2)))
    check_damage(tmp_path / "x.npz", file.getvalue())
    file = io.BytesIO()
    np.savez_compressed(file, a=np.arange(20))
    check_damage(tmp_path / "x.npz", file.getvalue())


def check_damage(path, raw):
    """Every cut and every single flipped byte: an icecore error, or arrays that read."""
    for size in range(0, len(raw), 7):
        path.write_bytes(raw[:size])
        with pytest.raises(errors.Error):
            read_all(path)
    for at in range(len(raw)):
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 0xFF]) + raw[at + 1 :])
        with suppress(errors.Error):
            read_all(path)


def read_all(path):
    amap = open_source(path)
    for entry in amap.arrays.values():
        assert entry.nbytes < 1 << 20
        entry.zarr_json()
        entry.read(everything(entry))
