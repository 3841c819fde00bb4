"""Reference files of kerchunk and VirtualiZarr: what they point at is linked, what is wrong refused."""

from __future__ import annotations

import base64
import bz2
import gzip
import json
import lzma
import os
import pickle
from pathlib import Path

import h5py
import icecore
import netCDF4
import numcodecs
import numpy as np
import pytest
import zarr
from icecore import errors
from icecore.sources import format_of, open_source
from icecore.sources.source_list import expand
from sources_kit import everything, same

rng = np.random.default_rng(11)
V2 = {"zarr_format": 2, "order": "C", "compressor": None, "filters": None, "fill_value": None}


def write(path, refs, **more):
    path.write_text(json.dumps({"version": 1, "refs": refs, **more}))
    return path


def described(dataset, name, address):
    """References to a chunked HDF5 dataset, as kerchunk writes them."""
    infos = []
    dataset.id.chunk_iter(infos.append)
    filters = [{"id": "shuffle", "elementsize": dataset.dtype.itemsize}, {"id": "zlib", "level": 4}]
    array = {
        **V2,
        "shape": dataset.shape,
        "chunks": dataset.chunks,
        "dtype": dataset.dtype.str,
        "filters": filters,
    }
    refs = {f"{name}/.zarray": json.dumps(array)}
    dims = [f"d{axis}" for axis in range(dataset.ndim)]
    refs[f"{name}/.zattrs"] = json.dumps({"_ARRAY_DIMENSIONS": dims, "units": "K"})
    for info in infos:
        index = [str(at // n) for at, n in zip(info.chunk_offset, dataset.chunks, strict=True)]
        refs[f"{name}/{'.'.join(index)}"] = [address, info.byte_offset, info.size]
    return refs


@pytest.fixture
def made(tmp_path):
    """An HDF5 file with one array, the array, and references to it."""
    values = rng.normal(size=(13, 21)).astype("f4")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        made = file.create_dataset("t", data=values, chunks=(4, 8), compression="gzip", shuffle=True)
        refs = {".zgroup": '{"zarr_format":2}', ".zattrs": {"title": "x"}}
        refs |= described(made, "sub/t", str(tmp_path / "a.h5"))
    return tmp_path, values, refs


def test_hdf5_as_kerchunk_describes_it(made):
    folder, values, refs = made
    amap = open_source(write(folder / "refs.json", refs))
    assert amap.attrs == {"title": "x"}
    assert not amap.dropped
    assert not amap.failed
    entry = amap.arrays["/sub/t"]
    assert entry.links.urls == [(folder / "a.h5").as_uri()]
    assert len(entry.links) == 12
    assert not entry.native
    assert entry.dims == ("d0", "d1")
    assert entry.attrs == {"units": "K"}
    assert same(entry.read(everything(entry)), values)
    for verb in (icecore.link, icecore.pack):
        report = verb(folder / "refs.json", folder / verb.__name__, group="/")
        assert [row.how for row in report.rows] == ["linked" if verb is icecore.link else "packed"]
        array = icecore.open(folder / verb.__name__)["/sub/t"]
        assert same(array[...], values)
        assert same(array[::-3, 5:], values[::-3, 5:])
        assert array.attrs == {"units": "K"}
    assert icecore.open(folder / "link")._native.link_prefixes == [folder.as_uri() + "/"]


def test_a_reader_that_is_sent_to_another_process(made):
    folder, values, refs = made
    entry = open_source(write(folder / "refs.json", refs)).arrays["/sub/t"]
    code = pickle.dumps(entry.read)
    from icecore.sources.kerchunk.store import opened

    opened.cache_clear()
    assert same(pickle.loads(code)(everything(entry)), values)


@pytest.mark.parametrize("version", ["0", "1", "template", "relative", "file", "localhost"])
def test_forms_of_addresses(made, version, monkeypatch):
    folder, values, refs = made
    place = str(folder / "a.h5")
    address = {
        "template": "{{ u }}/a.h5",
        "relative": "a.h5",
        "file": f"file://{place}",
        "localhost": (folder / "a.h5").as_uri(),
    }.get(version, place)
    refs = {key: [address, *value[1:]] if isinstance(value, list) else value for key, value in refs.items()}
    if version == "0":
        (folder / "refs.json").write_text(json.dumps(refs))
    else:
        write(folder / "refs.json", refs, templates={"u": str(folder)})
    entry = open_source(folder / "refs.json").arrays["/sub/t"]
    assert same(entry.read(everything(entry)), values)
    assert len(entry.links) == 12


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed(made, pack):
    folder, values, refs = made
    source = folder / "refs.json.small"
    source.write_bytes(pack(write(folder / "refs.json", refs).read_bytes()))
    entry = open_source(source).arrays["/sub/t"]
    assert same(entry.read(everything(entry)), values)
    source.write_bytes(source.read_bytes()[:-9])
    with pytest.raises(errors.Error, match="ends inside its data") as caught:
        open_source(source)
    assert caught.value.kind == "corrupt"


def test_a_relative_address_means_one_file(made, monkeypatch):
    folder, _values, refs = made
    (folder / "refs").mkdir()
    (folder / "elsewhere").mkdir()
    refs = {key: ["a.h5", *value[1:]] if isinstance(value, list) else value for key, value in refs.items()}
    source = write(folder / "refs" / "refs.json", refs)
    monkeypatch.chdir(folder / "elsewhere")
    with pytest.raises(errors.Error, match=r"no file at .*refs/a\.h5 or .*elsewhere/a\.h5") as caught:
        open_source(source)
    assert caught.value.kind == "source-missing"
    monkeypatch.chdir(folder)  # as fsspec has it
    assert open_source(source).arrays["/sub/t"].links.urls == [(folder / "a.h5").as_uri()]
    (folder / "refs" / "a.h5").write_bytes((folder / "a.h5").read_bytes())
    with pytest.raises(errors.Error, match="it may be") as caught:
        open_source(source)
    assert caught.value.kind == "invalid"


TYPES = ["?", "i1", "<i2", ">i4", "<f2", ">f8", "c8", ">c16", "<M8[ns]", "S5", "<U4", ">U4", "V3"]
FILTERS = [
    [],
    [numcodecs.Delta("i4")],
    [numcodecs.Delta("i4"), numcodecs.Shuffle(4)],
    [numcodecs.FixedScaleOffset(0, 2, "i4", "i2")],
    [numcodecs.FixedScaleOffset(0, 2, "i4", ">i2")],
    [numcodecs.AsType("i8", "i4")],
    [numcodecs.Shuffle(4), numcodecs.Zlib(4)],
    [numcodecs.Fletcher32()],
]
COMPRESSORS = [
    None,
    numcodecs.Zlib(1),
    numcodecs.GZip(1),
    numcodecs.BZ2(1),
    numcodecs.LZ4(),
    numcodecs.LZMA(preset=1),
    numcodecs.Zstd(1, checksum=True),
    numcodecs.Blosc("lz4", 5, numcodecs.Blosc.BITSHUFFLE),
]


def stores(folder, form):
    """A store of arrays of all kinds, and references to its files as wholes."""
    group = zarr.open_group(folder / "z", mode="w", zarr_format=form)
    plain = rng.integers(0, 100, (7, 11))
    for i, kind in enumerate(TYPES if form == 2 else [kind for kind in TYPES if kind[0] not in ">V"]):
        values = plain.astype("S5" if kind in ("V3", "S5") else "i8").astype(kind)
        made = group.create_array(f"t{i}", shape=(7, 11), chunks=(3, 4), dtype=kind, fill_value=None)
        made[...] = values
    if form == 2:
        for i, filters in enumerate(FILTERS):
            for order in "CF":
                how = {"filters": filters or None, "order": order, "compressors": COMPRESSORS[i]}
                name = {"name": "v2", "separator": "./"[i % 2]}
                made = group.create_array(
                    f"f{i}{order}", shape=(7, 11), chunks=(3, 4), dtype="i4", chunk_key_encoding=name, **how
                )
                made[...] = plain
    else:
        group.create_array("shards", data=plain, chunks=(2, 2), shards=(4, 6))
        group.create_array("big", data=plain, serializer=zarr.codecs.BytesCodec(endian="big"))
    made = group.create_array("text", shape=(5,), chunks=(2,), dtype=str)
    made[:] = np.array(["a", "bé", "", "long text", "x"], object)
    group.create_array("none", shape=(0, 3), chunks=(1, 3), dtype="i2")
    group.create_array("one", shape=(), dtype="f8")[...] = 2.5
    made = group.create_array("sparse", shape=(90, 90), chunks=(9, 9), dtype="i2", fill_value=-7)
    made[20:30, 40] = 3
    refs = {}
    for at, _, files in os.walk(folder / "z"):
        for name in files:
            path = os.path.join(at, name)
            meta = name.startswith(".z") or name == "zarr.json"
            key = os.path.relpath(path, folder / "z")
            refs[key] = Path(path).read_text() if meta else [path]
    return group, refs


@pytest.mark.parametrize("form", [2, 3])
def test_stores_of_both_versions(tmp_path, form):
    group, refs = stores(tmp_path, form)
    source = write(tmp_path / "refs.json", refs)
    report = icecore.link(source, tmp_path / "r", group="/")
    repo = icecore.open(tmp_path / "r")
    assert len(report.rows) == len(list(group.array_keys()))
    assert not report.notes
    for name, array in group.arrays():
        found, wanted = repo[f"/{name}"][...], np.asarray(array[...])
        if name == "text":
            assert found.tolist() == wanted.tolist()
        else:
            assert same(found, wanted.astype(wanted.dtype.newbyteorder("="))), name
        amap = open_source(source)
        entry = amap.arrays[f"/{name}"]
        assert np.array_equal(entry.read(everything(entry)).astype(found.dtype), found)
    copied = {row.path for row in report.rows if row.how != "linked"}
    # differences behind another order, and numbers of another byte order behind a filter
    assert copied <= {"/f1F", "/f2F", "/f4C", "/f4F"}


def test_chunks_in_the_reference_file(made):
    folder, values, refs = made
    keys = [key for key, value in refs.items() if isinstance(value, list)]
    for key in keys[:5]:
        _, offset, length = refs[key]
        raw = (folder / "a.h5").read_bytes()[offset : offset + length]
        refs[key] = "base64:" + base64.b64encode(raw).decode()
    refs["s/.zarray"] = json.dumps({**V2, "shape": [3], "chunks": [3], "dtype": "|S1"})
    refs["s/0"] = "abc"
    icecore.link(write(folder / "refs.json", refs), folder / "r", group="/")
    repo = icecore.open(folder / "r")
    assert same(repo["/sub/t"][...], values)
    assert repo["/s"][...].tolist() == [b"a", b"b", b"c"]
    assert repo["/sub/t"].linked


def in_parquet(folder, refs, record, address=None):
    """Write a folder of Parquet references to local files, or to ``address``; return its path."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    root = folder / "refs.parq"
    (root / "sub" / "t").mkdir(parents=True)
    metadata = {key: json.loads(refs[key]) for key in ("sub/t/.zarray", "sub/t/.zattrs", ".zgroup")}
    metadata["none/.zarray"] = {**V2, "shape": [9000], "chunks": [1], "dtype": "|i1", "fill_value": 4}
    if address is None:
        metadata["none/.zarray"]["shape"] = [1 << 31]
    (root / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": record}))
    rows = [refs[f"sub/t/{i}.{j}"] for i in range(4) for j in range(3)]
    raw = (folder / "a.h5").read_bytes()[rows[3][1] : rows[3][1] + rows[3][2]]
    (folder / "whole").write_bytes((folder / "a.h5").read_bytes()[rows[4][1] : rows[4][1] + rows[4][2]])
    if address is not None:
        rows = [[f"{address}/a.h5", *row[1:]] for row in rows]
    rows[3], rows[4] = [None, 0, 0], [f"{address or folder}/whole", 0, 0]
    rows[7] = [None, 0, 0]
    for part in range(-(-12 // record)):
        some = rows[part * record : (part + 1) * record]
        names = pa.array([row[0] for row in some], pa.string()).dictionary_encode()
        columns = {"path": names, "offset": [row[1] for row in some], "size": [row[2] for row in some]}
        columns["raw"] = pa.array(
            [raw if part * record + i == 3 else None for i in range(len(some))], "binary"
        )
        parquet.write_table(pa.table(columns), root / "sub" / "t" / f"refs.{part}.parq")
    return root


def without_chunk_7(values):
    """The values that the references of :func:`in_parquet` describe: nothing is said of the eighth chunk."""
    wanted = values.copy()
    wanted[8:12, 8:16] = 0
    return wanted


@pytest.mark.parametrize("record", [5, 12, 100])
def test_references_in_parquet(made, record):
    folder, values, refs = made
    root = in_parquet(folder, refs, record)
    assert expand(folder / "*.parq") == [str(root)]
    icecore.link(root, folder / "r", group="/")
    repo = icecore.open(folder / "r")
    assert same(repo["/sub/t"][...], without_chunk_7(values))
    assert repo["/none"].shape == (1 << 31,)


@pytest.mark.parametrize("end", ["", "/"])
def test_references_in_parquet_on_a_server(made, site, end):
    folder, values, refs = made
    in_parquet(folder, refs, 5, address=site.url)
    icecore.link(f"{site.url}/refs.parq{end}", folder / "r", group="/")
    repo = icecore.open(folder / "r")
    assert same(repo["/sub/t"][...], without_chunk_7(values))
    assert repo["/sub/t"].linked
    assert repo["/none"][0] == 4


def test_references_in_parquet_that_a_server_cannot_list(made, site):
    """A web server has no list of files, and 400 million names can't be tried."""
    folder, _, refs = made
    in_parquet(folder, refs, 5)
    with pytest.raises(errors.Error, match="429,496,730 files") as caught:
        open_source(f"{site.url}/refs.parq")
    assert caught.value.kind == "unsupported"


def test_netcdf_records_joined(tmp_path):
    """A reference file for each, joined as files are."""
    for i in range(2):
        with netCDF4.Dataset(tmp_path / f"{i}.nc", "w") as file:
            file.createDimension("time", 4)
            made = file.createVariable("v", "i2", ("time",), zlib=True, shuffle=True, chunksizes=(2,))
            made[:] = np.arange(4) + 10 * i
        with h5py.File(tmp_path / f"{i}.nc") as file:
            refs = described(file["v"], "v", f"{i}.nc")
            refs["v/.zattrs"] = json.dumps({"_ARRAY_DIMENSIONS": ["time"]})
        write(tmp_path / f"{i}.json", refs)
    report = icecore.link([tmp_path / "0.json", tmp_path / "1.json"], tmp_path / "r", "/", concat="time")
    assert [row.how for row in report.rows] == ["linked"]
    assert icecore.open(tmp_path / "r")["/v"][...].tolist() == [0, 1, 2, 3, 10, 11, 12, 13]


def changed(refs, how):
    return {key: how(value) if isinstance(value, list) else value for key, value in refs.items()}


@pytest.mark.parametrize(
    ("how", "kind", "said"),
    [
        (lambda r: [r[0], r[1] + (1 << 30), r[2]], "corrupt", "/sub/t: chunk 0 is said to be .* which has"),
        (lambda r: [r[0], r[1], 0], "corrupt", "0 bytes"),
        (lambda r: [r[0], -1, r[2]], "corrupt", "chunk 0.0 is"),
        (lambda r: [r[0], r[1]], "corrupt", "chunk 0.0 is"),
        (lambda r: [None, 0, 1], "corrupt", "chunk 0.0 is"),
        (lambda r: [r[0] + "x", *r[1:]], "source-missing", "/sub/t: chunks of it lie in .* no file"),
        (lambda r: ["hdfs://bucket/a.h5", *r[1:]], "unsupported", "from hdfs://"),
        (lambda r: ["{{f(c=1)}}", *r[1:]], "unsupported", "formula"),
    ],
)
def test_wrong_references_are_refused_by_name(made, how, kind, said):
    folder, _, refs = made
    refs = changed(refs, how)
    refs["y/.zarray"] = json.dumps({**V2, "shape": [2], "chunks": [2], "dtype": "|i1"})
    refs["y/0"] = "ab"
    source = write(folder / "refs.json", refs)
    with pytest.raises(errors.Error, match=said) as caught:
        icecore.link(source, folder / "r")
    assert caught.value.kind == kind
    assert caught.value.hint
    report = icecore.link(source, folder / "r", group="/", keep_going=True)
    assert [row.path for row in report.rows] == ["/y"]
    assert [each.kind for each in report.failures] == [kind]


def test_a_raw_chunk_of_another_length(tmp_path):
    (tmp_path / "raw").write_bytes(bytes(100))
    array = {**V2, "shape": [20], "chunks": [10], "dtype": "<i4"}
    refs = {"y/.zarray": json.dumps(array), "y/0": ["raw", 0, 40], "y/1": ["raw", 40, 39]}
    with pytest.raises(errors.Error, match=r"/y: chunk 1 is said to be 39 bytes, it takes 40 \(1 such\)"):
        open_source(write(tmp_path / "refs.json", refs))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"version":1,"refs":{".zgroup":', "corrupt"),
        ('{"version":1,"refs":[1]}', "corrupt"),
        ('{"version":2,"refs":{}}', "unsupported"),
        ('{"version":1,"refs":{},"gen":[{"key":"x"}]}', "unsupported"),
        ('{"version":1,"refs":{".zgroup":"base64:!"}}', "corrupt"),
        ('{"version":1,"refs":{".zgroup":"{"}}', "corrupt"),
        ('{"version":1,"refs":{"x/.zarray":"{}"}}', "corrupt"),
    ],
)
def test_files_that_make_no_sense(tmp_path, text, kind):
    (tmp_path / "refs.json").write_text(text)
    with pytest.raises(errors.Error, match=r"refs\.json") as caught:
        open_source(tmp_path / "refs.json")
    assert caught.value.kind == kind
    assert caught.value.hint


def test_a_codec_that_nobody_knows_is_left_out_by_name(made):
    folder, _, refs = made
    array = {**V2, "shape": [2], "chunks": [2], "dtype": "|i1", "filters": [{"id": "grib"}]}
    refs |= {"y/.zarray": json.dumps(array), "y/0": ["a.h5", 0, 2]}
    amap = open_source(write(folder / "refs.json", refs))
    assert list(amap.arrays) == ["/sub/t"]
    assert [(note.path, note.kind) for note in amap.dropped] == [("/y", "unsupported")]
    assert "grib" in amap.dropped[0].message


def test_a_file_that_changed_since(made):
    folder, _, refs = made
    source = write(folder / "refs.json", refs)
    icecore.link(source, folder / "r", group="/")
    entry = open_source(source).arrays["/sub/t"]
    with open(folder / "a.h5", "ab") as file:
        file.write(b"more")
    for read in (lambda: icecore.open(folder / "r")["/sub/t"][...], lambda: entry.read(everything(entry))):
        with pytest.raises(errors.Error) as caught:
            read()
        assert caught.value.kind == "source-changed"


def test_on_a_server(made, site):
    folder, values, refs = made
    write(folder / "refs.json", changed(refs, lambda r: ["a.h5", *r[1:]]))
    entry = open_source(f"{site.url}/refs.json").arrays["/sub/t"]
    assert entry.links.urls == [f"{site.url}/a.h5"]
    assert entry.links.etags == ['"one"']
    assert same(entry.read(everything(entry)), values)
    icecore.link(f"{site.url}/refs.json", folder / "r", group="/")
    assert same(icecore.open(folder / "r")["/sub/t"][...], values)
    write(folder / "refs.json", refs)  # paths of this machine
    with pytest.raises(errors.Error, match="named by a server") as caught:
        open_source(f"{site.url}/refs.json")
    assert caught.value.kind == "permission"


def test_json_of_another_kind_is_no_reference_file(tmp_path):
    (tmp_path / "x.json").write_text('{"type": "FeatureCollection", "features": []}')
    row = format_of(str(tmp_path / "x.json"))
    assert row is None or "kerchunk" not in row.name
