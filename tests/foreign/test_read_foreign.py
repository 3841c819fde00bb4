"""What zarr-python writes into an Icechunk repository, we read: every dtype, every codec, every layout."""

from __future__ import annotations

import tempfile
from typing import Any

import icecore
import numpy as np
import pytest
import zoo
from hypothesis import given, note
from hypothesis import strategies as st
from peer import Peer, zarr
from strategies import examples, layouts, numpy_selections
from zarr import codecs as zc
from zarr.codecs import numcodecs as zn

SHAPE = (23, 17)
CHUNKS = (7, 5)


def compare(path: str, name: str = "a") -> None:
    """Ours against zarr-python's own reading of the same array."""
    theirs = Peer(path).group()[name]
    ours = icecore.open(path)[f"/{name}"]
    assert ours.shape == theirs.shape
    expected = theirs[...]
    assert zoo.same(ours.read(), expected), zoo.difference(ours.read(), expected)
    if theirs.ndim == 2 and 0 not in theirs.shape:
        sel = (slice(None, None, -3), [0, -1, 2])
        assert zoo.same(ours[sel], expected[sel])


def zarr_dtype(name: str) -> Any:
    return "string" if name == zoo.TEXT else np.dtype(name)


@pytest.mark.parametrize("layout", ["chunks", "shards", "part", "untouched"])
@pytest.mark.parametrize("dtype", [*zoo.ALL, "V5", "struct", "variable_length_bytes"])
def test_every_dtype(repo_path: str, dtype: str, layout: str) -> None:
    peer = Peer(repo_path, create=True)
    kind: Any = zarr_dtype(dtype) if dtype in zoo.ALL else dtype
    data: Any
    if dtype == "V5":
        kind = np.dtype("V5")
        data = np.random.default_rng(1).integers(0, 256, 5 * 23 * 17, "u1").view("V5").reshape(SHAPE)
    elif dtype == "struct":
        kind = np.dtype([("n", "<i4"), ("x", "<f8"), ("flag", "?")])
        data = np.zeros(SHAPE, kind)
        data["n"], data["x"] = np.arange(23 * 17).reshape(SHAPE), zoo.values("f8", SHAPE)
    elif dtype == "variable_length_bytes":
        data = np.array([b"", b"\0\xff", b"abc", b"z" * 50] * 98, object)[: 23 * 17].reshape(SHAPE)
    else:
        data = zoo.values(dtype, SHAPE)
    with peer.writing() as root:
        options = {"chunks": CHUNKS} if layout != "shards" else {"chunks": CHUNKS, "shards": (14, 20)}
        array = root.create_array("a", shape=SHAPE, dtype=kind, **options)
        if layout == "part":
            array[3:9, 2:] = data[3:9, 2:]
        elif layout != "untouched":
            array[...] = data
    compare(repo_path)


@pytest.mark.parametrize("shape", [(), (0,), (0, 4), (5, 0), (1,), (3, 1, 2, 1, 2)], ids=str)
@pytest.mark.parametrize("dtype", ["f4", "str", "S3", "M8[s]"])
def test_every_rank(repo_path: str, shape: tuple[int, ...], dtype: str) -> None:
    with Peer(repo_path, create=True).writing() as root:
        chunks = tuple(max(n - 1, 1) for n in shape)
        array = root.create_array("a", shape=shape, dtype=zarr_dtype(dtype), chunks=chunks)
        if 0 not in shape:
            data = zoo.values(dtype, shape)
            array[...] = data if shape else data[()]
    compare(repo_path)


def _blosc() -> list[Any]:
    names = ["lz4", "lz4hc", "zlib", "zstd", "blosclz"]
    shuffles = ["noshuffle", "shuffle", "bitshuffle"]
    return [
        pytest.param({"compressors": [zc.BloscCodec(cname=c, shuffle=s, clevel=v)]}, id=f"blosc-{c}-{s}-{v}")
        for c in names
        for s in shuffles
        for v in (0, 1, 9)
    ]


def _codecs(**named: dict[str, Any]) -> list[Any]:
    return [pytest.param(options, id=name) for name, options in named.items()]


EVERY = (
    _codecs(
        little={"serializer": zc.BytesCodec(endian="little"), "compressors": None},
        big={"serializer": zc.BytesCodec(endian="big"), "compressors": None},
        big_gzip={"serializer": zc.BytesCodec(endian="big"), "compressors": [zc.GzipCodec(level=6)]},
        gzip={"compressors": [zc.GzipCodec(level=1)]},
        zstd={"compressors": [zc.ZstdCodec(level=3)]},
        zstd_checksum={"compressors": [zc.ZstdCodec(level=-5, checksum=True)]},
        crc32c={"compressors": [zc.Crc32cCodec()]},
        zstd_crc32c={"compressors": [zc.ZstdCodec(), zc.Crc32cCodec()]},
        crc32c_zstd={"compressors": [zc.Crc32cCodec(), zc.ZstdCodec()]},
        two_compressors={"compressors": [zc.GzipCodec(), zc.ZstdCodec(), zc.BloscCodec()]},
        transpose={"filters": [zc.TransposeCodec(order=(1, 0))]},
        transpose_twice={"filters": [zc.TransposeCodec(order=(1, 0))] * 2},
        transpose_big={
            "filters": [zc.TransposeCodec(order=(1, 0))],
            "serializer": zc.BytesCodec(endian="big"),
        },
        zlib={"compressors": [zn.Zlib(level=4)]},
        zlib_defaults={"compressors": [zn.Zlib()]},
        shuffle_zlib={"compressors": [zn.Shuffle(elementsize=4), zn.Zlib(level=1)]},
        shuffle_seven={"compressors": [zn.Shuffle(elementsize=7), zn.Zlib(level=1)]},
        shuffle_fletcher32={"compressors": [zn.Shuffle(elementsize=4), zn.Zlib(level=1), zn.Fletcher32()]},
        fletcher32={"compressors": [zn.Fletcher32()]},
        lz4={"compressors": [zn.LZ4()]},
        numcodecs_zstd={"compressors": [zn.Zstd(level=2)]},
        numcodecs_gzip={"compressors": [zn.GZip(level=2)]},
        numcodecs_blosc={"compressors": [zn.Blosc(cname="lz4", shuffle=1)]},
        bz2={"compressors": [zn.BZ2(level=1)]},
        delta={"filters": [zn.Delta(dtype="<i4")], "dtype": "i4"},
        scaled={
            "filters": [zn.FixedScaleOffset(offset=3, scale=10, dtype="<f8", astype="<i4")],
            "dtype": "f8",
        },
        scaled_by_fractions={
            "filters": [zn.FixedScaleOffset(offset=273.15, scale=10.1, dtype="<f8", astype="<i2")],
            "dtype": "f8",
        },
        scaled_bytes={
            "filters": [zn.FixedScaleOffset(offset=0.1, scale=3, dtype="<f4", astype="|u1")],
            "dtype": "f4",
        },
        scaled_half={
            "filters": [zn.FixedScaleOffset(offset=0.3, scale=3, dtype="<f2", astype="<i4")],
            "dtype": "f2",
        },
        scaled_whole={"filters": [zn.FixedScaleOffset(offset=-5, scale=0.1, dtype="<i4")], "dtype": "i4"},
        scaled_without_fill={
            "filters": [zn.FixedScaleOffset(offset=0, scale=10, dtype="<f8", astype="<i2")],
            "dtype": "f8",
            "fill_value": np.nan,
        },
        scaled_kept_big={
            "filters": [zn.FixedScaleOffset(offset=3, scale=10, dtype="<f8", astype=">i4")],
            "dtype": "f8",
        },
        astype_kept_big={"filters": [zn.AsType(encode_dtype=">f4", decode_dtype="<f8")], "dtype": "f8"},
        astype_without_fill={
            "filters": [zn.AsType(encode_dtype="<i4", decode_dtype="<f8")],
            "dtype": "f8",
            "fill_value": np.nan,
        },
        quantize={"filters": [zn.Quantize(digits=3, dtype="<f8")], "dtype": "f8"},
        astype={"filters": [zn.AsType(encode_dtype="<i2", decode_dtype="<i4")], "dtype": "i4"},
        packbits={"filters": [zn.PackBits()], "dtype": "?"},
        scale_offset={"filters": [zc.ScaleOffset(offset=1, scale=4)], "dtype": "f8"},
        scale_offset_narrow={"filters": [zc.ScaleOffset(offset=0.1, scale=0.3)], "dtype": "f4"},
        scale_offset_half={"filters": [zc.ScaleOffset(offset=0.1, scale=0.3)], "dtype": "f2"},
        scale_offset_whole={"filters": [zc.ScaleOffset(offset=-7, scale=3)], "dtype": "i2"},
        index_at_start={
            "chunks": (14, 15),
            "serializer": zc.ShardingCodec(chunk_shape=CHUNKS, index_location="start"),
            "compressors": None,
        },
        sharded={"shards": (14, 15)},
        sharded_whole={"shards": (28, 20)},
        index_without_checksum={
            "chunks": (14, 15),
            "serializer": zc.ShardingCodec(chunk_shape=CHUNKS, index_codecs=[zc.BytesCodec()]),
            "compressors": None,
        },
        index_big_endian={
            "chunks": (14, 15),
            "serializer": zc.ShardingCodec(
                chunk_shape=CHUNKS, index_codecs=[zc.BytesCodec(endian="big"), zc.Crc32cCodec()]
            ),
            "compressors": None,
        },
        nested={
            "chunks": (28, 20),
            "serializer": zc.ShardingCodec(
                chunk_shape=(14, 10),
                codecs=[zc.ShardingCodec(chunk_shape=CHUNKS, codecs=[zc.BytesCodec(), zc.ZstdCodec()])],
            ),
            "compressors": None,
        },
        shard_compressed={
            "chunks": (14, 15),
            "serializer": zc.ShardingCodec(chunk_shape=CHUNKS),
            "compressors": [zc.ZstdCodec()],
        },
        shard_transposed={
            "chunks": (14, 14),
            "filters": [zc.TransposeCodec(order=(1, 0))],
            "serializer": zc.ShardingCodec(chunk_shape=(7, 7)),
            "compressors": None,
        },
        inner_transposed={
            "chunks": (14, 15),
            "serializer": zc.ShardingCodec(
                chunk_shape=CHUNKS, codecs=[zc.TransposeCodec(order=(1, 0)), zc.BytesCodec(), zc.GzipCodec()]
            ),
            "compressors": None,
        },
    )
    + _blosc()
)

#: right or refused by name: codecs that a reader may do without, but must not misread
OPTIONAL = _codecs(
    lzma={"compressors": [zn.LZMA()]},
    adler32={"compressors": [zn.Adler32()]},
    crc32={"compressors": [zn.CRC32()]},
    numcodecs_crc32c={"compressors": [zn.CRC32C()]},
    jenkins={"compressors": [zn.JenkinsLookup3()]},
    bitround={"filters": [zn.BitRound(keepbits=9)]},
)


def write(path: str, options: dict[str, Any]) -> None:
    options = {"dtype": "f4", "chunks": CHUNKS, **options}
    data = (np.arange(23 * 17) % 251 / 4).reshape(SHAPE).astype(options["dtype"])
    with Peer(path, create=True).writing() as root:
        root.create_array("a", shape=SHAPE, **options)[...] = data


@pytest.mark.parametrize("options", EVERY)
def test_every_codec(repo_path: str, options: dict[str, Any]) -> None:
    write(repo_path, options)
    compare(repo_path)


@pytest.mark.parametrize("options", OPTIONAL)
def test_rare_codecs_are_right_or_refused(repo_path: str, options: dict[str, Any]) -> None:
    write(repo_path, options)
    try:
        compare(repo_path)
    except icecore.Error as error:
        kind, message = error.kind, str(error)
        assert kind == "unsupported", message
        assert "/a" in message


@pytest.mark.parametrize(
    "chunks",
    [[[4, 6, 13], [3, 14]], [[23], [1, 1, 15]], [[1] * 23, [5, 5, 5, 2]]],
    ids=["uneven", "thin", "rows"],
)
@pytest.mark.parametrize("dtype", ["f4", "str"])
def test_rectilinear_grids(repo_path: str, chunks: list[list[int]], dtype: str) -> None:
    data = zoo.values(dtype, SHAPE)
    with zarr.config.set({"array.rectilinear_chunks": True}):
        with Peer(repo_path, create=True).writing() as root:
            root.create_array("a", shape=SHAPE, chunks=chunks, dtype=zarr_dtype(dtype))[...] = data
        compare(repo_path)
    ours = icecore.open(repo_path)["/a"]
    assert zoo.same(ours[5:12, ::-2], data[5:12, ::-2])
    assert zoo.same(ours.oindex[[0, 22], [1, 16]], data[[0, 22]][:, [1, 16]])


FILLS = [
    *[("f4", v) for v in (np.nan, np.inf, -np.inf, -0.0, 1e-45)],
    *[("f2", v) for v in (np.nan, -np.inf, 65504.0)],
    ("f8", 9.969209968386869e36),
    ("c8", complex(np.nan, -np.inf)),
    ("c16", 1 - 2j),
    ("i8", -(2**63)),
    ("u8", 2**64 - 1),
    ("?", True),
    ("S4", b"a\xff"),
    ("U3", "æ日"),
    ("str", "nothing"),
    ("M8[ns]", np.datetime64("2000-01-01", "ns")),
    ("M8[D]", np.datetime64("NaT")),
    ("m8[s]", np.timedelta64(-5, "s")),
]


@pytest.mark.parametrize(("dtype", "fill"), FILLS, ids=str)
def test_fill_values(repo_path: str, dtype: str, fill: Any) -> None:
    with Peer(repo_path, create=True).writing() as root:
        array = root.create_array("a", shape=(6,), chunks=(2,), dtype=zarr_dtype(dtype), fill_value=fill)
        array[2:4] = zoo.values(dtype, (2,))
    compare(repo_path)
    ours = icecore.open(repo_path)["/a"].fill_value
    expected = fill if dtype == "str" else np.dtype(dtype).type(fill)
    assert ours == expected or (ours != ours and expected != expected)


def test_attributes_names_and_versions(repo_path: str) -> None:
    peer = Peer(repo_path, create=True)
    with peer.writing("one") as root:
        group = root.create_group("deep/er", attributes={"title": "日本", "list": [1, 2.5, None]})
        group.create_array(
            "a", data=np.arange(6.0), chunks=(3,), dimension_names=["time"], attributes={"units": "K"}
        )
    first = peer.repo.lookup_branch("main")
    peer.repo.create_tag("v1", first)
    with peer.writing("two") as root:
        root["deep/er/a"].resize((8,))
        root["deep/er/a"][:] = -1.0
    now, then = icecore.open(repo_path), icecore.open(f"{repo_path}@v1")
    assert now["/deep/er"].attrs == {"title": "日本", "list": [1, 2.5, None]}
    assert now["/deep/er/a"].dims == ("time",)
    assert now["/deep/er/a"].attrs == {"units": "K"}
    assert now["/deep/er/a"][:].tolist() == [-1.0] * 8
    assert then["/deep/er/a"][:].tolist() == [0, 1, 2, 3, 4, 5]
    assert icecore.open(f"{repo_path}@{first}").snapshot_id == first
    assert [entry.message for entry in now.log()][:2] == ["two", "one"]


@pytest.mark.parametrize("shards", [None, (6, 4)])
@pytest.mark.parametrize("fill", [7.0, np.nan])
def test_what_zarr_python_cut_off_does_not_come_back(
    repo_path: str, shards: tuple[int, ...] | None, fill: float
) -> None:
    """It leaves the chunks that a shortened array ends in as they were, and those behind them in places."""
    values = np.arange(100.0).reshape(10, 10)
    with icecore.create(repo_path).writer() as w:
        a = w.array("/a", "f8", (10, 10), chunks=(3, 2), shards=shards, codec="zstd", fill_value=fill)
        a[...] = values
    with Peer(repo_path).writing() as root:
        root["a"].resize((5, 3))
    with icecore.open(repo_path).writer() as w:
        w["/a"].resize((9, 12))
    expected = np.full((9, 12), fill)
    expected[:5, :3] = values[:5, :3]
    np.testing.assert_array_equal(icecore.open(repo_path)["/a"][...], expected)
    compare(repo_path)


def test_a_longer_array_leaves_its_last_chunks_as_they_are(repo_path: str) -> None:
    with icecore.create(repo_path).writer() as w:
        w.array("/a", "f4", (5, 3), chunks=(3, 2), codec="zstd", fill_value=np.nan)[...] = 1
    repo = icecore.open(repo_path)
    with repo.writer() as w:
        w["/a"].resize((50, 9))
    now = repo.at("main")
    assert now.diff(repo.snapshot_id).chunks == {}
    assert np.isnan(now["/a"][5:]).all()
    assert (now["/a"][:5, :3] == 1).all()


@examples(60)
@given(st.data())
def test_any_selection_of_what_zarr_python_wrote(data: st.DataObject) -> None:
    layout = data.draw(layouts(dtypes=["i2", "f8", "U5", zoo.TEXT], max_dims=3))
    expected = layout.data()
    with tempfile.TemporaryDirectory() as folder:
        with Peer(f"{folder}/r", create=True).writing() as root:
            grid = {"chunks": layout.chunk, "shards": layout.shard}
            array = root.create_array("a", shape=layout.shape, dtype=zarr_dtype(layout.dtype), **grid)
            if 0 not in layout.shape:
                array[...] = expected if layout.shape else expected[()]
        ours = icecore.open(f"{folder}/r")["/a"]
        for _ in range(4):
            sel = data.draw(numpy_selections(layout.shape))
            note(f"{sel!r}")
            assert zoo.same(ours[sel], expected[sel]), zoo.difference(ours[sel], expected[sel])
