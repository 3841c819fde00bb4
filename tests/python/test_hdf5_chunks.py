"""HDF5 chunk indexes, edge and missing chunks, contiguous data and fill values."""

from __future__ import annotations

import h5py
import icecore
import numpy as np
import pytest
from hdf5_kit import check, indexed
from icecore import link, pack
from icecore.sources import open_source

rng = np.random.default_rng(5)


@pytest.mark.parametrize("libver", ["earliest", "latest", ("v108", "v108"), ("v110", "v110")])
@pytest.mark.parametrize("maxshape", [None, (None, 17), (None, None), (23, 17)])
def test_chunk_indexes_of_all_kinds(tmp_path, libver, maxshape):
    """B-trees of both versions, fixed and extensible arrays, single and implicit chunks."""
    data = rng.integers(0, 9, (23, 17))

    def fill(file):
        file.create_dataset("x", data=data, chunks=(4, 3), maxshape=maxshape, compression="gzip")
        file.create_dataset("raw", data=data, chunks=(4, 3), maxshape=maxshape)
        file.create_dataset("one", data=data, chunks=(23, 17), maxshape=maxshape, compression="gzip")

    path, amap = indexed(tmp_path, fill, libver=libver)
    for name in ("/x", "/raw", "/one"):
        check(path, amap, name)
    assert len(amap.arrays["/one"].links) == 1


def test_unfiltered_edge_chunks_of_newer_files_are_copied(tmp_path):
    """HDF5 1.10 may leave filters out of partial edge chunks, and the mask doesn't say so."""
    data = np.arange(70, dtype="<i4").reshape(7, 10)
    path = tmp_path / "x.h5"
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((4, 4))
    if not hasattr(plist, "set_chunk_opts"):
        pytest.skip("h5py has no set_chunk_opts")
    plist.set_chunk_opts(2)
    plist.set_deflate(6)
    with h5py.File(path, "w", libver="latest") as file:
        space = h5py.h5s.create_simple(data.shape)
        h5py.h5d.create(file.id, b"x", h5py.h5t.STD_I32LE, space, plist)
        file["x"][...] = data
    check(path, open_source(path), "/x")


def test_edge_chunk_with_the_size_of_a_raw_one_is_copied(tmp_path):
    data = np.arange(70, dtype="<i4").reshape(7, 10)
    path, amap = indexed(tmp_path, lambda f: f.create_dataset("x", data=data, chunks=(4, 4), shuffle=True))
    entry = check(path, amap, "/x")
    assert sorted(entry.native) == [2, 3, 4, 5]


def test_missing_chunks_are_the_fill_value(tmp_path):
    def fill(file):
        dataset = file.create_dataset("x", (10, 10), "f4", chunks=(5, 5), fillvalue=-7.5, compression="gzip")
        dataset[0:5, 5:10] = 1
        file.create_dataset("never", (100,), "i2", fillvalue=11)
        file.create_dataset("zero", (100,), ">i2", chunks=(10,))

    path, amap = indexed(tmp_path, fill)
    assert check(path, amap, "/x").links.chunks.tolist() == [1]
    assert amap.arrays["/x"].fill_value == -7.5
    assert len(check(path, amap, "/never").links) == 0
    check(path, amap, "/zero")


def test_fill_value_nan_and_infinity_are_strict_json(tmp_path):
    def fill(file):
        for name, value in [("nan", np.nan), ("inf", np.inf), ("ninf", -np.inf)]:
            dataset = file.create_dataset(name, (4,), "f8", chunks=(2,), fillvalue=value)
            dataset.attrs["missing_value"] = value
            dataset.attrs["range"] = np.array([value, 1.5])

    path, amap = indexed(tmp_path, fill)
    assert [amap.arrays[n].fill_value for n in ("/nan", "/inf", "/ninf")] == ["NaN", "Infinity", "-Infinity"]
    assert amap.arrays["/ninf"].attrs == {"missing_value": "-Infinity", "range": ["-Infinity", 1.5]}
    for name in ("/nan", "/inf", "/ninf"):
        check(path, amap, name)


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [
        ("f2", [0xFE00]),
        ("f4", [0x7FC12345]),
        (">f4", [0xFFC00000]),
        ("f8", [0xFFF8000000000007]),
        ("c8", [0x7FC12345, 0xFFC00000]),
        ("f8", [0x8000000000000000]),
    ],
)
def test_fill_values_keep_every_bit(tmp_path, dtype, bits):
    """The sign and the payload of a NaN too."""
    native = np.dtype(dtype).newbyteorder("=")
    value = np.array(bits, f"u{native.itemsize // len(bits)}").view(native)[0]

    def fill(file):
        file.create_dataset("x", (5,), dtype, chunks=(2,), fillvalue=value)[:1] = 1

    path, _ = indexed(tmp_path, fill)
    link(path, into=tmp_path / "r.icecore", group="/")
    found = icecore.open(tmp_path / "r.icecore")["/x"]
    assert found[2:].tobytes() == np.full(3, value).tobytes()
    pack(path, into=tmp_path / "r.icecore", group="/p")
    assert icecore.open(tmp_path / "r.icecore")["/p/x"][2:].tobytes() == np.full(3, value).tobytes()


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((5,), "f8"),
        ((1000, 300), ">f4"),
        ((3, 700, 300), "f4"),
        ((2_500_007,), "u1"),
        ((4999, 97), "i8"),
        ((2, 3_000_000), "f4"),
        ((7, 1_299_709), "u1"),
        ((0, 5), "f4"),
        ((1, 1, 1), "i4"),
    ],
)
def test_contiguous_data_are_cut_into_chunks(tmp_path, shape, dtype):
    data = rng.integers(0, 100, shape).astype(dtype)
    path, amap = indexed(tmp_path, lambda f: f.create_dataset("x", data=data))
    entry = check(path, amap, "/x")
    if len(entry.links):
        assert int(entry.links.lengths.max()) <= 4 << 20
        if data.nbytes > 4 << 20:
            assert len(entry.links) > 1
    copied = sum(chunk().nbytes for chunk in entry.native.values())
    assert copied <= data.nbytes / 2
    assert len(entry.links) + len(entry.native) == np.prod(entry.grid)


def test_user_block(tmp_path):
    """Addresses in the file are relative to the end of the user block; links are not."""
    data = rng.normal(size=(40, 30))

    def fill(file):
        file.create_dataset("c", data=data)
        file.create_dataset("x", data=data, chunks=(16, 16), compression="gzip")
        file.create_dataset("never", (7,), "i4", fillvalue=-3)

    path, amap = indexed(tmp_path, fill, userblock_size=1024)
    check(path, amap, "/c")
    check(path, amap, "/x")
    assert len(check(path, amap, "/never").links) == 0


def test_fill_values_of_every_type(tmp_path):
    """Chunks that were never written: the fill value of enums, booleans, text, records, arrays and times."""
    record = np.dtype([("a", "<i4"), ("b", "<f8")])
    odd = np.dtype([("a", ">i4"), ("b", "<f8")])
    colours = h5py.enum_dtype({"RED": 0, "GREEN": 1}, basetype="i2")
    cases = {
        "enum": (colours, 1),
        "bool": ("?", True),
        "text": ("S4", b"ab"),
        "opaque": ("V3", np.void(b"xyz")),
        "record": (record, np.array((3, 2.5), record)),
        "odd": (odd, np.array((3, 2.5), odd)),
        "big": (">i4", 77),
        "complex": ("c16", 1 + 2j),
        "half": ("f2", 0.1),
        "array": (np.dtype(("f4", (2,))), None),
    }

    def fill(file):
        for name, (dtype, value) in cases.items():
            if name == "array":
                kind = h5py.h5t.py_create(np.dtype((np.dtype("f4"), (2,))))
                plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                plist.set_chunk((2,))
                h5py.h5d.create(file.id, b"array", kind, h5py.h5s.create_simple((5,)), plist)
            else:
                file.create_dataset(name, (5,), dtype, chunks=(2,), fillvalue=value)

    path, amap = indexed(tmp_path, fill)
    for name in cases:
        if name != "array":
            assert check(path, amap, f"/{name}", linked=name != "odd").shape == (5,)
