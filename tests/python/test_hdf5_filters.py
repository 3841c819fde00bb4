"""HDF5 filters: what has a codec links, the rest is copied or named."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from hdf5_kit import check, indexed
from icecore import link
from sources_kit import everything, foreign, same, stored_chunks, through_zarr

rng = np.random.default_rng(5)


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
