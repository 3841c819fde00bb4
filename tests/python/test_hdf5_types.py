"""HDF5 data types: those that Zarr has link, the rest is converted or named."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from h5py import h5a, h5d, h5p, h5s, h5t
from hdf5_kit import check, indexed
from icecore.sources import open_source
from sources_kit import everything, same, through_zarr

rng = np.random.default_rng(5)


def test_compact_scalar_null_and_empty(tmp_path):
    def fill(file):
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((6,))
        h5py.h5d.create(file.id, b"compact", h5py.h5t.STD_I32BE, space, plist)
        file["compact"][...] = np.arange(6)
        file["scalar"] = 3.25
        file["text"] = "grüße"
        file["bytes"] = np.bytes_(b"abc")
        file["null"] = h5py.Empty("f4")
        file.create_dataset("empty", (0, 4), "f4", chunks=(1, 4), maxshape=(None, 4))

    path, amap = indexed(tmp_path, fill)
    for name in ("/compact", "/scalar", "/bytes"):
        assert check(path, amap, name, linked=False).note
    assert "compact" in amap.arrays["/compact"].note
    assert amap.arrays["/scalar"].shape == ()
    assert amap.arrays["/text"].read(())[()] == "grüße"
    assert through_zarr(amap, "/text")[()] == "grüße"
    null = amap.arrays["/null"]
    assert null.shape == (0,)
    assert "null" in null.note
    assert null.read((slice(0, 0),)).shape == (0,)
    assert check(path, amap, "/empty").shape == (0, 4)


def test_text(tmp_path):
    words = ["", "a", "grüße", "日本", "x" * 300]

    def fill(file):
        file.create_dataset("vlen", data=np.array(words, object), dtype=h5py.string_dtype())
        file.create_dataset(
            "chunked", data=np.array(words * 3, object), dtype=h5py.string_dtype(), chunks=(4,)
        )
        file.create_dataset("ascii", data=np.array([b"a", b"\xff"], object), dtype=h5py.string_dtype("ascii"))
        file.create_dataset(
            "fixed", data=np.array([b"ab", b"abcde", b""], "S5"), chunks=(2,), compression="gzip"
        )
        file.create_dataset("one", data=np.array([b"a", b"b", b"c"], "S1"))
        for name, pad in [("space", h5py.h5t.STR_SPACEPAD), ("nullterm", h5py.h5t.STR_NULLTERM)]:
            kind = h5py.h5t.C_S1.copy()
            kind.set_size(6)
            kind.set_strpad(pad)
            dataset = h5py.h5d.create(file.id, name.encode(), kind, h5py.h5s.create_simple((3,)))
            raw = np.array([b"ab    ", b"a\0xyz\0", b"abcdef"], "S6")
            dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, raw, mtype=kind)

    path, amap = indexed(tmp_path, fill)
    for name, expected in [("/vlen", words), ("/chunked", words * 3), ("/ascii", ["a", "ÿ"])]:
        entry = amap.arrays[name]
        assert entry.data_type == "string"
        assert not entry.linked
        assert entry.codecs[0]["name"] == "vlen-utf8"
        assert entry.read(everything(entry)).tolist() == expected
        assert through_zarr(amap, name).tolist() == expected
    assert check(path, amap, "/fixed").data_type["configuration"] == {"length_bytes": 5}
    check(path, amap, "/one")
    assert "blanks" in check(path, amap, "/space", linked=False).note
    assert "NUL" in check(path, amap, "/nullterm", linked=False).note


def test_bool_enum_opaque_and_array_types(tmp_path):
    colours = h5py.enum_dtype({"RED": 0, "GREEN": 1, "deep blue": 42}, basetype="i2")

    def fill(file):
        file.create_dataset("bool", data=rng.integers(0, 2, 50).astype(bool), chunks=(8,), compression="gzip")
        file.create_dataset(
            "enum", data=np.array([0, 1, 42, 1], "i2"), dtype=colours, chunks=(3,), compression="gzip"
        )
        file.create_dataset("opaque", data=np.array([b"abc\0\0ef", b"1234567"], "V7"))
        file.create_dataset("array", (5,), np.dtype(("<f4", (2, 3))), chunks=(2,), compression="gzip")
        file["array"][...] = np.arange(30, dtype="f4").reshape(5, 2, 3)
        times = np.array(["2001-01-01", "NaT"], "M8[ns]")
        file.create_dataset("times", data=times.astype(h5py.opaque_dtype(times.dtype)))

    path, amap = indexed(tmp_path, fill)
    assert check(path, amap, "/bool").data_type == "bool"
    entry = check(path, amap, "/enum")
    assert entry.data_type == "int16"
    assert entry.attrs["flag_values"] == [0, 1, 42]
    assert entry.attrs["flag_meanings"] == "RED GREEN deep_blue"
    assert entry.attrs["enum"] == {"RED": 0, "GREEN": 1, "deep blue": 42}
    assert check(path, amap, "/opaque").data_type["name"] == "raw_bytes"
    assert check(path, amap, "/array").shape == (5, 2, 3)
    assert amap.arrays["/array"].chunks == (2, 2, 3)
    assert same(
        amap.arrays["/array"].read((slice(1, 3), slice(1, 2), slice(0, 2))),
        np.arange(30, dtype="f4").reshape(5, 2, 3)[1:3, 1:2, 0:2],
    )
    assert check(path, amap, "/times").data_type["name"] == "numpy.datetime64"


def test_compound_types(tmp_path):
    packed = np.dtype([("a", "<i4"), ("b", "<f8"), ("c", "S3"), ("in", [("x", "<u2"), ("y", "<f4")])])
    gaps = np.dtype({"names": ["a", "b"], "formats": ["<i2", "<f8"], "offsets": [0, 8], "itemsize": 24})
    mixed = np.dtype([("a", ">i4"), ("b", "<f8")])
    arrays = np.dtype([("a", "<i4"), ("v", "<f4", (2, 2))])
    text = np.dtype([("a", "<i4"), ("s", h5py.string_dtype())])

    def fill(file):
        for name, dtype in [("packed", packed), ("gaps", gaps), ("mixed", mixed), ("arrays", arrays)]:
            data = np.frombuffer(rng.bytes(dtype.itemsize * 20), dtype).copy()
            for field in ("b", "v"):
                if field in dtype.names:
                    data[field] = rng.normal(size=data[field].shape)
            if name == "packed":
                data["c"] = [b"%d" % i for i in range(20)]
                data["in"]["y"] = 1.5
            file.create_dataset(name, data=data, chunks=(6,), compression="gzip")
        file.create_dataset("text", (3,), text)
        file.create_dataset("empty", (2, 0), arrays, maxshape=(2, None))
        file.create_dataset("complex", data=rng.normal(size=9) + 1j, chunks=(4,))

    path, amap = indexed(tmp_path, fill)
    assert check(path, amap, "/packed").dtype == packed
    assert "gaps" in check(path, amap, "/gaps", linked=False).note
    check(path, amap, "/mixed", linked=False)
    entry = amap.arrays["/arrays"]
    assert entry.linked
    with h5py.File(path) as file:
        wanted = file["arrays"][...]
    for found in (entry.read((slice(0, 20),)), through_zarr(amap, "/arrays")):
        assert same(found["a"], wanted["a"])
        assert same(np.stack([found["v"][str(i)] for i in range(4)], axis=1), wanted["v"].reshape(20, 4))
    entry = amap.arrays["/empty"]
    assert entry.read(everything(entry)).shape == (2, 0)
    entry = amap.arrays["/text"]
    assert entry.read(everything(entry)).tolist() == [(0, "")] * 3
    assert not amap.dropped
    assert "complex128" in str(check(path, amap, "/complex").data_type)


def test_long_double_vlen_and_references(tmp_path):
    def fill(file):
        file.create_dataset("long", data=np.array([1.5, 2.25], np.longdouble))
        file.create_dataset("ragged", (2,), h5py.vlen_dtype("i4"))
        file.create_group("g/deep")
        data = np.array([file["g"].ref, file["g/deep"].ref, h5py.Reference()], object)
        file.create_dataset("refs", data=data, dtype=h5py.ref_dtype)
        file.create_dataset("regions", (1,), h5py.regionref_dtype)

    _path, amap = indexed(tmp_path, fill)
    entry = amap.arrays["/long"]
    assert entry.dtype == np.dtype("f8")
    assert "rounded" in entry.note
    # `pack` reports it too
    assert ("/long", "rounded") in [(n.path, n.kind) for n in amap.dropped]
    assert entry.read((slice(0, 2),)).tolist() == [1.5, 2.25]
    assert amap.arrays["/refs"].read((slice(0, 3),)).tolist() == ["/g", "/g/deep", ""]
    assert {n.path for n in amap.dropped if n.kind == "unsupported"} == {"/ragged", "/regions"}
    assert "/g/deep" in amap.groups


def test_numbers_of_odd_layout_are_copied(tmp_path):
    kind = h5py.h5t.STD_I32LE.copy()
    kind.set_precision(20)

    def fill(file):
        h5py.h5d.create(file.id, b"x", kind, h5py.h5s.create_simple((4,)))
        file["x"][...] = [1, -2, 3, -4]

    path, amap = indexed(tmp_path, fill)
    assert "converts" in check(path, amap, "/x", linked=False).note


def test_bit_fields(tmp_path):
    def fill(file):
        for name, kind in [("b8", h5py.h5t.STD_B8LE), ("b32", h5py.h5t.STD_B32BE)]:
            h5py.h5d.create(file.id, name.encode(), kind, h5py.h5s.create_simple((4,)))
            memory = np.array([1, 2, 255, 7], "u1" if name == "b8" else ">u4")
            file[name].id.write(h5py.h5s.ALL, h5py.h5s.ALL, memory, kind)

    path, amap = indexed(tmp_path, fill)
    for name in ("/b8", "/b32"):
        assert check(path, amap, name).read((slice(0, 4),)).tolist() == [1, 2, 255, 7]


@pytest.mark.parametrize("size", [3, 5, 6, 7])
@pytest.mark.parametrize("order", [h5t.ORDER_LE, h5t.ORDER_BE])
@pytest.mark.parametrize("signed", [True, False])
def test_integers_of_sizes_that_numpy_has_not(tmp_path, size, order, signed):
    """They are read as the next wider ones."""
    low, high = (-(1 << 8 * size - 1), (1 << 8 * size - 1) - 1) if signed else (0, (1 << 8 * size) - 1)
    values = np.linspace(low, high, 20).astype("i8")
    values[[0, -1]] = low, high
    wide = np.dtype(f"{'iu'[not signed]}{4 if size == 3 else 8}")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        tid = (h5t.STD_I64LE if signed else h5t.STD_U64LE).copy()
        tid.set_size(size)
        tid.set_order(order)
        plist = h5p.create(h5p.DATASET_CREATE)
        plist.set_chunk((6,))
        plist.set_shuffle()
        plist.set_deflate(3)
        plist.set_fill_value(np.array(7))
        for name, count in (("x", 20), ("longer", 30)):
            made = h5d.create(file.id, name.encode(), tid, h5s.create_simple((count,)), plist)
            made.write(h5s.create_simple((20,)), _first(made, 20), values)
        pairs = h5d.create(file.id, b"pairs", h5t.array_create(tid, (2,)), h5s.create_simple((10,)))
        pairs.write(h5s.ALL, h5s.ALL, values, h5t.array_create(h5t.NATIVE_INT64, (2,)))
        h5a.create(file.id, b"a", tid, h5s.create_simple((2,))).write(np.array([low, high]), h5t.NATIVE_INT64)
    amap = open_source(tmp_path / "x.h5")
    assert not amap.dropped
    assert amap.attrs["a"] == [low, high]
    wanted = {
        "x": values,
        "longer": np.append(values, [7] * 10),
        "pairs": values.reshape(10, 2),
    }
    for name, data in wanted.items():
        entry = amap.arrays[f"/{name}"]
        assert same(entry.read(everything(entry)), data.astype(wide))
        assert entry.links is None
        assert f"integers of {size} bytes" in entry.note
    entry = amap.arrays["/pairs"]
    assert same(entry.read((slice(3, 7), slice(1, 2))), values.reshape(10, 2)[3:7, 1:].astype(wide))


def _first(dsid, count):
    space = dsid.get_space()
    space.select_hyperslab((0,), (count,))
    return space


def test_integers_of_more_than_64_bits_are_left_out_by_name(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        tid = h5t.STD_I64LE.copy()
        tid.set_size(16)
        tid.set_precision(128)
        h5d.create(file.id, b"x", tid, h5s.create_simple((2,)))
        h5a.create(file.id, b"a", tid, h5s.create_simple((2,)))
        h5d.create(file.id, b"t", h5t.UNIX_D32LE, h5s.create_simple((2,)))
    said = {note.path: note.message for note in open_source(tmp_path / "x.h5").dropped}
    assert "integers of 128 bits" in said["/x"]
    assert "integers of 128 bits" in said["/"]
    assert "type of time" in said["/t"]
