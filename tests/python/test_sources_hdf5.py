"""HDF5 of every layout, filter and type: linked bytes decode to what h5py reads, the rest is copied right."""

from __future__ import annotations

import subprocess
import sys

import h5py
import icecore
import numpy as np
import pytest
from h5py import h5a, h5d, h5p, h5s, h5t
from icecore import errors, link, pack
from icecore.export.save import save
from icecore.repository.typed_attributes import typed
from icecore.sources import keep_open, open_source
from icecore.sources.hdf5 import region_reader
from icecore.sources.hdf5.file import open_file
from sources_kit import everything, foreign, same, stored_chunks, through_zarr, zarr_store

rng = np.random.default_rng(5)


def indexed(tmp_path, fill, name="x.h5", **options):
    path = tmp_path / name
    with h5py.File(path, "w", **options) as file:
        fill(file)
    return path, open_source(path)


def check(path, amap, name, linked=True):
    """The dataset through links and zarr-python, and through ``read``, is what h5py reads."""
    entry = amap.arrays[name]
    assert entry.linked == linked, entry.note
    with h5py.File(path) as file:
        wanted = file[name][...]
    assert same(entry.read(everything(entry)), wanted)
    assert same(through_zarr(amap, name), wanted)
    return entry


FILTERS = {
    "none": {},
    "gzip": {"compression": "gzip"},
    "gzip9": {"compression": "gzip", "compression_opts": 9},
    "shuffle": {"shuffle": True},
    "shuffle+gzip": {"compression": "gzip", "shuffle": True},
    "fletcher32": {"fletcher32": True},
    "all": {"compression": "gzip", "shuffle": True, "fletcher32": True},
}


@pytest.mark.parametrize("filters", FILTERS, ids=str)
@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<i2", ">i4", "u1", "i1", "<u8", "f2", ">f2", "<c8", ">c16"])
def test_chunked_numbers_link(tmp_path, filters, dtype):
    data = (rng.normal(size=(23, 17)) * 50).astype(dtype)
    path, amap = indexed(
        tmp_path, lambda f: f.create_dataset("x", data=data, chunks=(7, 5), **FILTERS[filters])
    )
    entry = check(path, amap, "/x")
    assert entry.chunks == (7, 5)
    assert len(entry.links) + len(entry.native) == 16
    assert entry.dtype.isnative
    assert entry.dtype == np.dtype(dtype).newbyteorder("=")


@pytest.mark.parametrize("count", [1, 3, 5, 999, 1001])
def test_fletcher32_of_odd_lengths(tmp_path, count):
    data = rng.integers(0, 255, count).astype("u1")
    path, amap = indexed(
        tmp_path, lambda f: f.create_dataset("x", data=data, chunks=(count,), fletcher32=True)
    )
    assert len(check(path, amap, "/x").links) == 1


def direct(path, name):
    """Flat index → stored bytes, by h5py itself."""
    with h5py.File(path) as file:
        dataset = file[name]
        grid = [-(-n // c) for n, c in zip(dataset.shape, dataset.chunks, strict=True)]
        found = {}
        for i in range(dataset.id.get_num_chunks()):
            start = dataset.id.get_chunk_info(i).chunk_offset
            index = [s // c for s, c in zip(start, dataset.chunks, strict=True)]
            found[int(np.ravel_multi_index(index, grid))] = dataset.id.read_direct_chunk(start)[1]
        return found


def plugin_filters():
    plugin = pytest.importorskip("hdf5plugin")
    # netCDF4, once imported, makes h5py find its plugins, which read but don't write with this library.
    plugin.register(force=True)
    return {
        "lzf": ({"compression": "lzf"}, {"name": "icecore.h5lzf", "configuration": {}}),
        "lz4": (plugin.LZ4(), {"name": "icecore.h5lz4", "configuration": {}}),
        "bitshuffle-none": (
            plugin.Bitshuffle(cname="none"),
            {
                "name": "icecore.h5bitshuffle",
                "configuration": {"itemsize": 4, "block_size": 0, "compression": "none"},
            },
        ),
        "bitshuffle-lz4": (
            plugin.Bitshuffle(cname="lz4", nelems=512),
            {
                "name": "icecore.h5bitshuffle",
                "configuration": {"itemsize": 4, "block_size": 512, "compression": "lz4"},
            },
        ),
        "bitshuffle-zstd": (
            plugin.Bitshuffle(cname="zstd"),
            {
                "name": "icecore.h5bitshuffle",
                "configuration": {"itemsize": 4, "block_size": 0, "compression": "zstd"},
            },
        ),
        "bzip2": (plugin.BZip2(5), {"name": "numcodecs.bz2", "configuration": {"level": 5}}),
        "zstd": (plugin.Zstd(7), {"name": "numcodecs.zstd", "configuration": {"level": 7}}),
        "zstd-fast": (plugin.Zstd(-3), {"name": "numcodecs.zstd", "configuration": {"level": -3}}),
        "blosc": (
            plugin.Blosc(cname="zstd", clevel=4, shuffle=plugin.Blosc.BITSHUFFLE),
            {
                "name": "numcodecs.blosc",
                "configuration": {"cname": "zstd", "clevel": 4, "shuffle": 2, "blocksize": 0},
            },
        ),
    }


@pytest.mark.parametrize(
    "name",
    [
        "lzf",
        "lz4",
        "bitshuffle-none",
        "bitshuffle-lz4",
        "bitshuffle-zstd",
        "bzip2",
        "zstd",
        "zstd-fast",
        "blosc",
    ],
)
def test_plugin_filters_link(tmp_path, name):
    options, codec = plugin_filters()[name]
    data = np.cumsum(rng.integers(0, 3, (40, 70)), axis=1).astype("i4")
    path, amap = indexed(
        tmp_path, lambda f: f.create_dataset("x", data=data, chunks=(16, 32), **dict(options))
    )
    entry = amap.arrays["/x"]
    assert entry.linked
    assert entry.codecs == [{"name": "bytes", "configuration": {"endian": "little"}}, codec]
    wanted = direct(path, "x")
    assert stored_chunks(entry) == {flat: wanted[flat] for flat in wanted if flat not in entry.native}
    # Edge chunks of just the raw size might be unfiltered ones, so they are copied.
    assert len(entry.native) == (5 if name == "bitshuffle-none" else 0)
    assert same(entry.read(everything(entry)), data)
    if foreign(entry):
        assert same(through_zarr(amap, "/x"), data)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"scaleoffset": 3}, "scale-offset"),
        ({"compression": 32013}, "32013"),
        ({"compression": 32026}, "32026"),
        ({"compression": "szip"}, "szip"),
    ],
)
def test_filters_without_a_codec_are_copied_and_named(tmp_path, options, word):
    pytest.importorskip("hdf5plugin")
    data = rng.normal(size=(20, 30)).astype("f4")
    if word == "szip" and not h5py.h5z.filter_avail(h5py.h5z.FILTER_SZIP):
        pytest.skip("this HDF5 library has no szip")
    path, amap = indexed(tmp_path, lambda f: f.create_dataset("x", data=data, chunks=(10, 10), **options))
    entry = check(path, amap, "/x", linked=False)
    assert word in entry.note
    assert entry.chunks == (10, 10)


def test_what_needs_a_filter_that_is_not_here_is_left_out_by_name(tmp_path):
    """The other arrays are taken over all the same."""

    def fill(file):
        file["ok"] = np.arange(5)
        for name in ("x", "never_written"):
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            plist.set_chunk((4,))
            plist.set_filter(400, h5py.h5z.FLAG_OPTIONAL, ())  # nobody's
            space = h5py.h5s.create_simple((4,))
            made = h5py.h5d.create(file.id, name.encode(), h5py.h5t.STD_I32LE, space, plist)
            if name == "x":
                made.write_direct_chunk((0,), b"encoded")

    path, amap = indexed(tmp_path, fill)
    assert sorted(amap.arrays) == ["/never_written", "/ok"]
    (note,) = amap.dropped
    assert (note.path, note.kind) == ("/x", "unsupported")
    assert "(400)" in note.message
    assert "pip install" in note.message
    report = link(path, into=tmp_path / "r.icecore")
    assert len(report.rows) == 2


def test_filter_masks_are_honoured(tmp_path):
    """A chunk that was stored without its filters is copied; its neighbours stay linked."""
    data = np.arange(40, dtype="<i4").reshape(4, 10)

    def fill(file):
        dataset = file.create_dataset("x", data=data, chunks=(2, 5), compression="gzip", shuffle=True)
        dataset.id.write_direct_chunk((2, 5), np.ascontiguousarray(data[2:4, 5:10]).tobytes(), 0b11)

    path, amap = indexed(tmp_path, fill)
    entry = check(path, amap, "/x")
    assert list(entry.native) == [3]
    assert entry.links.chunks.tolist() == [0, 1, 2]
    assert same(entry.native[3](), data[2:4, 5:10])


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
    # a pack, which has no reasons why something isn't linked, tells of it too
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


def test_external_and_virtual_data_are_copied(tmp_path):
    (tmp_path / "raw.bin").write_bytes(np.arange(20, dtype="<i4").tobytes())
    with h5py.File(tmp_path / "part.h5", "w") as part:
        part["x"] = np.arange(5.0)

    def fill(file):
        file.create_dataset("ext", (20,), "<i4", external=[(str(tmp_path / "raw.bin"), 0, 80)])
        layout = h5py.VirtualLayout((2, 5), "f8")
        layout[0] = h5py.VirtualSource(str(tmp_path / "part.h5"), "x", (5,))
        file.create_virtual_dataset("vds", layout, fillvalue=-1)

    path, amap = indexed(tmp_path, fill)
    assert "external" in check(path, amap, "/ext", linked=False).note
    assert "virtual" in check(path, amap, "/vds", linked=False).note


def test_data_in_missing_files_are_left_out_by_name(tmp_path):
    raw, part = tmp_path / "raw.bin", tmp_path / "part.h5"
    with h5py.File(part, "w") as file:
        file["kept"] = np.arange(5.0)

    def fill(file):
        file.create_dataset("ext", (20,), "<i4", external=[(str(raw), 0, 80)])[...] = np.arange(20)
        for name, source in (("vds", "part.h5"), ("own", ".")):
            layout = h5py.VirtualLayout((5,), "f8")
            layout[:] = h5py.VirtualSource(source, "kept", (5,))
            file.create_virtual_dataset(name, layout, fillvalue=-1)
        file["kept"] = np.arange(5.0)

    assert not [note for note in indexed(tmp_path, fill)[1].dropped if note.kind == "unsupported"]
    raw.unlink()
    part.unlink()
    amap = open_source(tmp_path / "x.h5")
    assert set(amap.arrays) == {"/kept", "/own"}
    lost = {note.path: note.message for note in amap.dropped}
    assert str(raw) in lost["/ext"]
    assert "part.h5" in lost["/vds"]


def virtual(file, name, source, inside):
    layout = h5py.VirtualLayout((5,), "f8")
    layout[:] = h5py.VirtualSource(source, inside, (5,))
    file.create_virtual_dataset(name, layout, fillvalue=-1)


def test_sources_that_lead_to_missing_files_are_missing(tmp_path):
    """As beamlines write them: a virtual dataset of external links in its own file."""
    raw = tmp_path / "raw_000001.h5"
    with h5py.File(raw, "w") as file:
        file["kept"] = np.arange(5.0)
        virtual(file, "again", ".", "kept")
    with h5py.File(tmp_path / "part.h5", "w") as file:
        file["link"] = h5py.ExternalLink("raw_000001.h5", "/again")

    def fill(file):
        file["link"] = h5py.ExternalLink("raw_000001.h5", "/kept")
        virtual(file, "own", ".", "link")
        virtual(file, "far", "part.h5", "link")

    path, amap = indexed(tmp_path, fill)
    for name in ("/own", "/far"):
        assert check(path, amap, name, linked=False).read((slice(0, 5),)).tolist() == [0, 1, 2, 3, 4]
    raw.unlink()
    amap = open_source(path)
    assert not amap.arrays
    lost = {note.path: note.message for note in amap.dropped}
    assert all("raw_000001.h5" in lost[name] for name in ("/own", "/far"))


def test_a_virtual_dataset_of_itself_is_left_out(tmp_path):
    """The HDF5 library crashes on it."""
    with h5py.File(tmp_path / "part.h5", "w") as file:
        virtual(file, "x", "x.h5", "ring")

    def fill(file):
        virtual(file, "self", ".", "self")
        virtual(file, "ring", "part.h5", "x")
        file["kept"] = np.arange(5.0)

    _path, amap = indexed(tmp_path, fill)
    assert set(amap.arrays) == {"/kept"}
    assert {note.path: note.message for note in amap.dropped} == dict.fromkeys(
        ("/self", "/ring"), "a virtual dataset that is a source of itself"
    )


def test_a_source_that_its_file_has_not_is_missing(tmp_path):
    with h5py.File(tmp_path / "part.h5", "w") as file:
        file["x"] = np.arange(5.0)
    _path, amap = indexed(tmp_path, lambda file: virtual(file, "v", "part.h5", "g/y"))
    assert not amap.arrays
    (note,) = amap.dropped
    assert note.kind == "unsupported"
    assert "part.h5:g/y, which is missing" in note.message


def test_every_group_once_and_every_dataset_under_each_name(tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["far"] = np.arange(6)
        other["back"] = h5py.ExternalLink("x.h5", "/")

    def fill(file):
        file["a/b/data"] = np.arange(4)
        file["a/b/loop"] = file["a"]
        file["a/soft"] = h5py.SoftLink("/a/b")
        file["0first"] = h5py.SoftLink("/a/b/data")
        file["dangling"] = h5py.SoftLink("/nowhere")
        file["self"] = h5py.SoftLink("/self")
        file["root"] = h5py.SoftLink("/")
        file["ext"] = h5py.ExternalLink("other.h5", "/")
        file["gone"] = h5py.ExternalLink("missing.h5", "/")
        file["hard"] = file["a/b/data"]

    _path, amap = indexed(tmp_path, fill)
    assert set(amap.arrays) == {"/hard", "/a/b/data", "/0first", "/ext/far"}
    for path in ("/hard", "/a/b/data", "/0first"):
        assert same(amap.arrays[path].read((slice(0, 4),)), np.arange(4))
    assert set(amap.groups) == {"/", "/a", "/a/b", "/ext"}
    kinds = {note.path: note.kind for note in amap.dropped}
    assert kinds == {
        "/a/b/loop": "alias",
        "/a/soft": "alias",
        "/root": "alias",
        "/dangling": "unsupported",
        "/self": "unsupported",
        "/gone": "unsupported",
        "/ext/back": "alias",
    }
    far = amap.arrays["/ext/far"]
    assert far.links.urls[0].endswith("/other.h5")
    assert same(through_zarr(amap, "/ext/far"), np.arange(6))
    assert same(far.read((slice(0, 6),)), np.arange(6))


def test_attributes_of_every_type(tmp_path):
    compound = np.array([(1, 2.5), (3, 4.5)], [("i", "i4"), ("f", "f8")])

    def fill(file):
        dataset = file.create_dataset("x", data=np.arange(3))
        for attrs in (file.attrs, dataset.attrs, file.create_group("g").attrs):
            attrs["int"] = np.int32(-3)
            attrs["big"] = np.array([2**63 + 1], "u8")
            attrs["single"] = np.float32(0.1)
            attrs["list"] = np.arange(3, dtype=">i2")
            attrs["matrix"] = np.arange(4.0).reshape(2, 2)
            attrs["text"] = "grüße"
            attrs["fixed"] = np.bytes_(b"abc")
            attrs["latin"] = np.bytes_("é".encode("latin-1"))
            attrs["texts"] = np.array(["a", "bc"], object)
            attrs["fixeds"] = np.array([b"a", b"bc"])
            attrs["empty"] = ""
            attrs["null"] = h5py.Empty("S1")
            attrs["nonumber"] = h5py.Empty("f4")
            attrs["none"] = np.empty(0, "i4")
            attrs["bool"] = True
            attrs["complex"] = 1 + 2j
            attrs["compound"] = compound
            attrs["ref"] = file.ref
            attrs["nan"] = np.array([np.nan, np.inf])
            attrs.create("enum", 1, dtype=h5py.enum_dtype({"A": 0, "B": 1}))

    _path, amap = indexed(tmp_path, fill)
    wanted = {
        "int": -3,
        "big": 2**63 + 1,
        "single": float(np.float32(0.1)),
        "list": [0, 1, 2],
        "matrix": [[0.0, 1.0], [2.0, 3.0]],
        "text": "grüße",
        "fixed": "abc",
        "latin": "é",
        "texts": ["a", "bc"],
        "fixeds": ["a", "bc"],
        "empty": "",
        "null": "",
        "nonumber": [],
        "none": [],
        "bool": True,
        "complex": [1.0, 2.0],
        "compound": [{"i": 1, "f": 2.5}, {"i": 3, "f": 4.5}],
        "ref": "/",
        "nan": ["NaN", "Infinity"],
        "enum": 1,
    }
    types = {"icecore": {"attr_types": {"complex": "<c16", "nan": "<f8"}}}
    for found in (amap.groups["/"], amap.groups["/g"], {**amap.arrays["/x"].attrs, **types}):
        assert found == {**wanted, **types}
    assert amap.arrays["/x"].attr_types["single"] == "<f4"
    assert amap.arrays["/x"].attr_types["big"] == "<u8"
    assert amap.arrays["/x"].attr_types["complex"] == "<c16"


@pytest.mark.parametrize("verb", [icecore.link, icecore.pack])
def test_an_attribute_of_our_name_is_left_out_with_a_note(tmp_path, verb):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.attrs["icecore"] = "ours?"
        file.create_dataset("x", data=np.arange(3)).attrs["icecore"] = 1
    report = verb(tmp_path / "a.h5", tmp_path / "r", group="/")
    left = [str(note) for note in report.notes if "attribute icecore was left out" in str(note)]
    assert len(left) == 2
    assert "icecore" not in icecore.open(tmp_path / "r")["/x"].attrs


@pytest.mark.parametrize("verb", [icecore.link, icecore.pack])
def test_complex_attributes(tmp_path, verb):
    wanted = {
        "scalar": np.complex128(1 + 2j),
        "one": np.array([1 - 2j]),
        "single": np.array([1 - 2j, complex(np.nan, np.inf)], "c8"),
        "matrix": np.array([[1j, 2], [3, 4]]),
    }
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for attrs in (file.attrs, file.create_dataset("x", data=np.arange(3)).attrs):
            for name, value in wanted.items():
                attrs[name] = value
    verb(tmp_path / "a.h5", into=tmp_path / "r")
    icecore.pack(tmp_path / "r", into=tmp_path / "again")
    for folder in ("r", "again"):
        repo = icecore.open(tmp_path / folder)
        for node in (repo["a"]._node, repo["a/x"]._node):
            assert node.numbers["scalar"] == 1 + 2j
            assert node.numbers["one"] == 1 - 2j
            for name, value in typed(node).items():
                np.testing.assert_array_equal(value, wanted[name].squeeze(), strict=True)


def test_attributes_of_any_shape_are_written_again(tmp_path):
    def fill(file):
        ragged = np.empty(2, object)
        ragged[:] = [np.arange(3, dtype="i4"), np.arange(1, dtype="i4")]
        dataset = file.create_dataset("x", data=np.arange(4.0))
        for target in (file, dataset):
            target.attrs.create("ragged", ragged, dtype=h5py.vlen_dtype("i4"))
            target.attrs.create("record", np.array([(1, 2.5)] * 2, [("a", "i4"), ("b", "f8")]))
            target.attrs["nan"] = np.array([np.nan, 1])
            target.attrs["mixed"] = np.array([[1, 2], [3, 4]], ">i2")
            target.attrs["empty"] = h5py.Empty("f4")

    path, _ = indexed(tmp_path, fill)
    link(path, into=tmp_path / "r.icecore", group="/")
    array = icecore.open(tmp_path / "r.icecore")["/x"]
    for target in (tmp_path / "out.h5", tmp_path / "out.nc"):
        save(array, (), str(target))
        with h5py.File(target) as file:
            for attrs in (file.attrs, file["x"].attrs):
                assert attrs["ragged"] == "[[0, 1, 2], [0]]"
                assert np.isnan(attrs["nan"][0])
                assert attrs["nan"][1] == 1
                assert attrs["mixed"].tolist() == [[1, 2], [3, 4]]
                assert len(attrs["empty"]) == 0


def test_names_that_zarr_cannot_hold(tmp_path):
    def fill(file):
        file["zarr.json"] = 1
        file["__icecore__/x"] = 1
        file["fine thing %20#?"] = np.arange(3)

    path, amap = indexed(tmp_path, fill, name="odd name %41#?.h5")
    assert set(amap.arrays) == {"/fine thing %20#?"}
    assert {n.path for n in amap.dropped if n.kind == "name"} == {"/zarr.json", "/__icecore__"}
    check(path, amap, "/fine thing %20#?")


def test_a_file_that_changes_is_refused(tmp_path):
    path, amap = indexed(tmp_path, lambda f: f.create_dataset("x", data=np.arange(1000)))
    with h5py.File(path, "r+") as file:
        file["y"] = np.arange(10)
    entry = amap.arrays["/x"]
    with pytest.raises(errors.Error) as caught:
        entry.read((slice(0, 3),))
    assert caught.value.kind == "source-changed"


def test_identity_is_the_files(tmp_path):
    path, amap = indexed(tmp_path, lambda f: f.create_dataset("x", data=np.arange(1000)))
    links = amap.arrays["/x"].links
    status = path.stat()
    assert links.urls == [path.as_uri()]
    assert links.sizes.tolist() == [status.st_size]
    assert links.mtimes_ns.tolist() == [status.st_mtime_ns]
    assert [c.dtype.str for c in (links.url_ids, links.chunks, links.offsets, links.lengths)] == [
        "<u4",
        "<u8",
        "<u8",
        "<u8",
    ]


def test_readers_can_be_pickled(tmp_path):
    import pickle

    data = rng.normal(size=(30, 4))
    _path, amap = indexed(tmp_path, lambda f: f.create_dataset("x", data=data, chunks=(7, 4)))
    region_reader = pickle.loads(pickle.dumps(amap.arrays["/x"].read))
    assert same(region_reader((slice(3, 9), slice(1, 3))), data[3:9, 1:3])


def test_many_arrays_through_one_store(tmp_path):
    """A whole tree at once, as a foreign reader walks it."""
    import zarr

    def fill(file):
        for i in range(5):
            file.create_dataset(f"g{i}/x", data=np.arange(i + 1), chunks=(1,))
        file.attrs["title"] = "tree"

    _, amap = indexed(tmp_path, fill)
    group = zarr.open_group(zarr_store(amap), mode="r")
    assert group.attrs["title"] == "tree"
    assert [group[f"g{i}/x"][...].tolist() for i in range(5)] == [list(range(i + 1)) for i in range(5)]


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


def test_a_file_that_changes_while_it_is_indexed_is_refused(tmp_path, monkeypatch):
    import icecore.sources.hdf5 as source

    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(3)
    finish = source._assemble

    def meanwhile(*args):
        with path.open("ab") as file:
            file.write(b"more")
        return finish(*args)

    monkeypatch.setattr(source, "_assemble", meanwhile)
    with pytest.raises(errors.Error) as caught:
        open_source(path)
    assert caught.value.kind == "source-changed"
    assert "4 bytes" not in caught.value.hint


def test_files_stay_closed_between_reads(tmp_path):
    """An open HDF5 file is locked: its owner must be able to write to it while a map of it is around."""
    path, amap = indexed(tmp_path, lambda f: f.create_dataset("x", data=np.arange(30)))
    amap.arrays["/x"].read((slice(0, 3),))
    with h5py.File(path, "r+") as file:
        file["y"] = 1
    amap = open_source(path)
    with keep_open():
        for i in range(10):
            assert amap.arrays["/x"].read((slice(i, i + 1),)).tolist() == [i]
    with h5py.File(path, "r+") as file:
        file["z"] = 1


@pytest.mark.parametrize("verb", [link, pack])
def test_a_file_is_opened_once_for_all_that_is_copied(tmp_path, monkeypatch, verb):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        for i in range(20):
            file[f"scalar {i}"] = i
    opened = []
    monkeypatch.setattr(region_reader, "open_file", lambda name: opened.append(name) or open_file(name))
    verb(path, tmp_path / "r", group="/g")
    assert len(opened) == 1
    assert icecore.open(tmp_path / "r")["/g/scalar 7"][()] == 7
    h5py.File(path, "r+").close()  # and closed again


def test_a_file_that_is_being_written_is_named(tmp_path):
    path = tmp_path / "x.h5"
    code = (
        "import h5py, sys; f = h5py.File(sys.argv[1], 'w'); f['x'] = 1; f.flush(); "
        "print('open', flush=True); sys.stdin.readline()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout.readline() == b"open\n"
        with pytest.raises(errors.Error) as caught:
            open_source(path)
        writer.communicate(b"\n")
    assert caught.value.kind == "io"
    assert "open for writing" in caught.value.message
    assert "/x" in open_source(path).arrays


@pytest.mark.parametrize("crash", [False, True])
def test_a_file_that_others_may_read_while_it_is_written_is_named(tmp_path, crash):
    path = tmp_path / "x.h5"
    code = (
        "import h5py, os, sys; f = h5py.File(sys.argv[1], 'w', libver='latest'); f['x'] = 1; "
        "f.swmr_mode = True; print('open', flush=True); sys.stdin.readline(); "
        f"{'os._exit(0)' if crash else 'f.close()'}"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout.readline() == b"open\n"
        with pytest.raises(errors.Error, match="open for writing") as caught:
            open_source(path)
        writer.communicate(b"\n")
    assert caught.value.kind == "io"
    assert "h5clear" in caught.value.hint
    if crash:
        with pytest.raises(errors.Error, match="without closing"):
            open_source(path)
    else:
        assert "/x" in open_source(path).arrays


def test_file_urls(tmp_path):
    path, amap = indexed(tmp_path, lambda f: f.create_dataset("x", data=np.arange(3)), name="a b%.h5")
    assert open_source(path.as_uri()).arrays["/x"].links.urls == amap.arrays["/x"].links.urls


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


def test_open_datasets_take_little_memory(tmp_path):
    """A file of thousands of datasets has them all open while it is linked: each had a table of 64 KiB."""
    path = tmp_path / "many.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.zeros(10), chunks=(5,))
    with open_file(str(path)) as file:
        _, slots, _, _ = file.id.get_access_plist().get_cache()
        assert slots <= 521
