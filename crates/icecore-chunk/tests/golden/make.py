"""Writes the golden chunks: what zarr-python, numcodecs and the HDF5 plugins make of data that a formula gives.

Run with an environment that has zarr, numcodecs[pcodec], h5py and hdf5plugin:  python make.py
The formulas are repeated in ../common/mod.rs.
"""

import json
import os
import pathlib
import tempfile
import warnings

import h5py
import hdf5plugin
import numpy as np
import zarr
from zarr.codecs import (
    BloscCodec,
    BytesCodec,
    Crc32cCodec,
    GzipCodec,
    ShardingCodec,
    TransposeCodec,
    ZstdCodec,
)
from zarr.codecs import numcodecs as nc

warnings.simplefilter("ignore")
HERE = pathlib.Path(__file__).parent
STRUCT = np.dtype([("a", "<i4"), ("b", "S3"), ("c", "<f8")])


def values(count):
    n = np.arange(count, dtype="i8")
    return (n * n // 7 + 13 * n) % 1000


def sample(dtype, count):
    """`count` elements of `dtype` by formula."""
    v = values(count)
    if dtype == "string":
        return np.array(["s" * (int(x) % 7) + f"{x}ü" for x in v], dtype=object)
    if dtype == "bytes":
        return [bytes([x % 256]) * (x % 5) for x in v.tolist()]
    dtype = np.dtype(dtype)
    real = v / 8.0 - 40.0
    match dtype.kind:
        case "b":
            return v % 3 == 0
        case "i" | "u":
            return (v % 120 if dtype.itemsize == 1 else v * 31).astype(dtype)
        case "f":
            return real.astype(dtype)
        case "c":
            return (real + 1j * (1 - real)).astype(dtype)
        case "M" | "m":
            return (v * 1_000_000_007).astype("i8").view(dtype)
        case "S":
            return np.array([f"{x:03d}".encode() for x in v], dtype=dtype)
        case "U":
            return np.array([f"é{x}" for x in v], dtype=dtype)
        case "V" if dtype.names is None:
            return np.array([int(x).to_bytes(dtype.itemsize, "little") for x in v], dtype=dtype)
    out = np.zeros(count, dtype)
    out["a"], out["b"], out["c"] = v, [f"{x % 100}".encode() for x in v], v / 8.0
    return out


def through_zarr(dtype, shape, filters=None, serializer="auto", compressors=None, shards=None, chunks=None):
    """One chunk (or shard) as zarr-python stores it, and its metadata."""
    store = zarr.storage.MemoryStore()
    data = sample(dtype, int(np.prod(shape)))
    if dtype == "bytes":
        data = np.array(data, dtype=object)
    array = zarr.create_array(
        store,
        name="a",
        shape=shape,
        chunks=chunks or shape,
        shards=shards,
        dtype=str if dtype == "string" else zarr.dtype.VariableLengthBytes() if dtype == "bytes" else dtype,
        filters=filters,
        serializer=serializer,
        compressors=compressors,
        config={"write_empty_chunks": True},
    )
    array[...] = data.reshape(shape)
    meta = json.loads(store._store_dict["a/zarr.json"].to_bytes())
    key = "a/c" + "".join("/0" for _ in shape)
    return store._store_dict[key].to_bytes(), meta


def through_hdf5(dtype, shape, codecs, **options):
    """One chunk as the HDF5 library stores it; `codecs` is how it is described to Zarr."""
    with tempfile.TemporaryDirectory() as folder, h5py.File(os.path.join(folder, "x.h5"), "w") as file:
        data = sample(dtype, int(np.prod(shape))).reshape(shape)
        dataset = file.create_dataset("a", data=data, chunks=shape, **options)
        dataset.id.flush()
        mask, stored = dataset.id.read_direct_chunk((0,) * len(shape))
        assert mask == 0, "a filter was skipped"
    meta = through_zarr(dtype, shape)[1]
    endian = {"name": "bytes"} if np.dtype(dtype).itemsize == 1 else codec("bytes", endian="little")
    return stored, meta | {"codecs": [endian, *codecs]}


def codec(name, **configuration):
    return {"name": name, "configuration": configuration}


def codec_cases():
    small, wide = (5, 9, 7), (6, 1000)
    big = {"serializer": BytesCodec(endian="big")}
    for dtype in ["i1", "<i2", "<u4", "<i8", "<f2", "<f4", "<f8", "<c8", "<c16", "M8[ns]", "m8[25s]"]:
        yield f"raw_{dtype.strip('<')}", lambda d=dtype: through_zarr(d, small, **(big if d != "i1" else {}))
    for dtype in ["?", "S5", "<U7", "V6", STRUCT]:
        name = dtype if isinstance(dtype, str) else "struct"
        yield f"raw_{name.strip('<?') or 'bool'}", lambda d=dtype: through_zarr(d, small)
    yield "big_struct", lambda: through_zarr(STRUCT, small, **big)
    yield "big_utf32", lambda: through_zarr("<U7", small, **big)
    yield "string", lambda: through_zarr("string", small, compressors=[ZstdCodec(level=3)])
    yield "string_plain", lambda: through_zarr("string", small)
    yield "bytes_vlen", lambda: through_zarr("bytes", small, compressors=[GzipCodec(level=1)])
    yield "gzip", lambda: through_zarr("<f4", small, compressors=[GzipCodec(level=5)])
    yield "zstd", lambda: through_zarr("<f4", small, compressors=[ZstdCodec(level=3)])
    yield "zstd_checksum", lambda: through_zarr("<f8", small, compressors=[ZstdCodec(level=1, checksum=True)])
    yield "zstd_wide", lambda: through_zarr("<i4", (512, 512), compressors=[ZstdCodec(level=19)])
    yield "crc32c", lambda: through_zarr("<i2", small, compressors=[ZstdCodec(level=1), Crc32cCodec()])
    yield "transpose", lambda: through_zarr("<i2", small, filters=[TransposeCodec(order=(2, 0, 1))])
    yield "transpose_swap", lambda: through_zarr("<f8", small, filters=[TransposeCodec(order=(2, 1, 0))], **big)
    for cname in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]:
        for shuffle in ["noshuffle", "shuffle", "bitshuffle"]:
            yield f"blosc_{cname}_{shuffle}", lambda c=cname, s=shuffle: through_zarr(
                "<f4", wide, compressors=[BloscCodec(cname=c, clevel=5, shuffle=s, typesize=4, blocksize=8192)]
            )
    for dtype in ["i1", "<i2", "<f8", "<c16"]:
        size = np.dtype(dtype).itemsize
        for shuffle in ["shuffle", "bitshuffle"]:
            yield f"blosc_{shuffle}_{size}", lambda d=dtype, s=shuffle, z=size: through_zarr(
                d, small, compressors=[BloscCodec(cname="zstd", clevel=3, shuffle=s, typesize=z)]
            )
    yield "blosc_memcpy", lambda: through_zarr(
        "<f4", small, compressors=[BloscCodec(cname="lz4", clevel=0, shuffle="shuffle", typesize=4)]
    )


def numcodecs_cases():
    small = (5, 9, 7)
    for name, codecs in {
        "zlib": [nc.Zlib(level=6)],
        "numcodecs_gzip": [nc.GZip(level=2)],
        "numcodecs_zstd": [nc.Zstd(level=2)],
        "lz4": [nc.LZ4()],
        "numcodecs_blosc": [nc.Blosc(cname="lz4", clevel=5, shuffle=1)],
        "bz2": [nc.BZ2(level=3)],
        "crc32": [nc.CRC32()],
        "adler32": [nc.Adler32()],
        "numcodecs_crc32c": [nc.CRC32C(location="start")],
        "fletcher32": [nc.Fletcher32()],
        "shuffle_zlib": [nc.Shuffle(elementsize=4), nc.Zlib(level=4)],
        "shuffle_zlib_fletcher": [nc.Shuffle(elementsize=4), nc.Zlib(level=4), nc.Fletcher32()],
        "fletcher_zlib": [nc.Fletcher32(), nc.Zlib(level=4)],
        "lz4_zlib": [nc.LZ4(), nc.Zlib(level=4)],
    }.items():
        yield name, lambda c=codecs: through_zarr("<f4", small, compressors=c)
    yield "shuffle_8", lambda: through_zarr("<f8", small, compressors=[nc.Shuffle(elementsize=8), nc.Zstd(level=1)])
    yield "shuffle_2", lambda: through_zarr("<i2", small, compressors=[nc.Shuffle(elementsize=2), nc.Zstd(level=1)])
    yield "shuffle_16", lambda: through_zarr("<c16", small, compressors=[nc.Shuffle(elementsize=16), nc.Zstd(level=1)])
    yield "fletcher_odd", lambda: through_zarr("i1", small, compressors=[nc.Fletcher32()])
    yield "delta", lambda: through_zarr("<i4", small, filters=[nc.Delta(dtype="<i4")], compressors=[nc.Zlib(level=1)])
    yield "delta_float", lambda: through_zarr("<f8", small, filters=[nc.Delta(dtype="<f8")])
    yield "bitround", lambda: through_zarr("<f4", small, filters=[nc.BitRound(keepbits=23)], compressors=[ZstdCodec()])
    yield "scaleoffset", lambda: through_zarr(
        "<f8", small, filters=[nc.FixedScaleOffset(offset=-40, scale=8, dtype="<f8", astype="<i4")]
    )
    for dtype in ["<i2", "<u4", "<i8", "<f2", "<f4", "<f8"]:
        yield f"pcodec_{dtype[1:]}", lambda d=dtype: through_zarr(d, small, serializer=nc.PCodec(level=8))


def hdf5_cases():
    shape, odd = (45, 71), (45, 71)
    flip = hdf5plugin.Bitshuffle
    shuffle = codec("numcodecs.shuffle", elementsize=2)
    zlib = codec("numcodecs.zlib", level=4)
    fletcher = codec("numcodecs.fletcher32")
    yield "h5_gzip", lambda: through_hdf5("<i2", shape, [shuffle, zlib], compression="gzip", shuffle=True)
    yield "h5_fletcher", lambda: through_hdf5(
        "<i2", shape, [shuffle, zlib, fletcher], compression="gzip", shuffle=True, fletcher32=True
    )
    yield "h5_fletcher_odd", lambda: through_hdf5("i1", odd, [fletcher], fletcher32=True)
    lzf = [codec("numcodecs.shuffle", elementsize=4), codec("imagecodecs_lzf")]
    yield "h5_lzf", lambda: through_hdf5("<i4", shape, lzf, compression="lzf", shuffle=True)
    yield "h5_lzf_plain", lambda: through_hdf5("<i8", shape, [codec("icecore.h5lzf")], compression="lzf")
    yield "h5_lz4", lambda: through_hdf5("<i4", shape, [codec("imagecodecs_lz4h5")], **hdf5plugin.LZ4(nbytes=4096))
    yield "h5_lz4_one", lambda: through_hdf5("<i4", shape, [codec("icecore.h5lz4")], **hdf5plugin.LZ4())
    yield "h5_zstd", lambda: through_hdf5("<f4", shape, [codec("zstd", level=3)], **hdf5plugin.Zstd(clevel=3))
    yield "h5_blosc", lambda: through_hdf5(
        "<f4", shape, [codec("numcodecs.blosc", cname="lz4", clevel=5, shuffle=1)],
        **hdf5plugin.Blosc(cname="lz4", clevel=5, shuffle=1),
    )
    for dtype in ["i1", "<i2", "<f4", "<f8"]:
        size = np.dtype(dtype).itemsize
        for cname in ["none", "lz4", "zstd"]:
            described = codec("icecore.h5bitshuffle", itemsize=size, block_size=0, compression=cname)
            yield f"h5_bitshuffle_{size}_{cname}", lambda d=dtype, c=cname, x=described: through_hdf5(
                d, shape, [x], **flip(cname=c)
            )
    described = codec("icecore.h5bitshuffle", itemsize=4, block_size=128, compression="lz4")
    yield "h5_bitshuffle_128", lambda: through_hdf5("<f4", shape, [described], **flip(nelems=128, cname="lz4"))


def shard_cases():
    for location in ["start", "end"]:
        inner = ShardingCodec(
            chunk_shape=(3, 7), codecs=[BytesCodec(), ZstdCodec(level=1)], index_location=location
        )
        yield f"shard_{location}", lambda s=inner: through_zarr("<f4", (9, 14), serializer=s)
    nested = ShardingCodec(chunk_shape=(6, 7), codecs=[ShardingCodec(chunk_shape=(3, 7), codecs=[BytesCodec()])])
    yield "shard_nested", lambda: through_zarr("<f4", (12, 14), serializer=nested)
    yield "shard_behind", lambda: through_zarr(
        "<f4", (6, 12), filters=[TransposeCodec(order=(1, 0))],
        serializer=ShardingCodec(chunk_shape=(3, 6), codecs=[BytesCodec()]),
    )


def meta_cases():
    """Metadata documents with the dtype and fill value that NumPy has for them (hex, little-endian)."""
    fills = [
        ("?", True), ("i1", -3), ("u1", 255), ("<i2", -32768), ("<u2", 65535), ("<i4", -7), ("<u4", 4294967295),
        ("<i8", -9223372036854775808), ("<u8", 18446744073709551615), ("<f2", 1.5), ("<f2", np.nan), ("<f4", 1e20),
        ("<f4", 0.1), ("<f4", np.nan), ("<f4", -np.inf), ("<f8", 0.1), ("<f8", np.nan), ("<f8", np.inf), ("<f8", -0.0),
        ("<c8", complex(1, np.nan)), ("<c16", complex(-np.inf, 0.25)), ("<M8[ns]", np.datetime64("NaT")),
        ("<M8[25s]", 12), ("<m8[us]", -5), ("|S5", b"ab"), ("<U7", "aé"), ("|V6", np.void(b"abcdef")),
    ]
    for dtype, fill in fills:
        store = zarr.storage.MemoryStore()
        dt = np.dtype(dtype)
        if dt.kind in "Mm" and isinstance(fill, int):
            fill = np.array(fill, "i8").view(dt)[()]
        zarr.create_array(store, name="a", shape=(4, 6), chunks=(2, 6), dtype=dt, fill_value=fill)
        value = np.array(fill, dtype=dt) if dt.kind != "V" else np.frombuffer(fill.tobytes(), dt)
        yield store, dtype, value.tobytes().hex()
    store = zarr.storage.MemoryStore()
    zarr.create_array(store, name="a", shape=(4, 6), chunks=(2, 6), dtype=STRUCT)
    yield store, [list(field) for field in [("a", "<i4"), ("b", "|S3"), ("c", "<f8")]], "00" * STRUCT.itemsize
    store = zarr.storage.MemoryStore()
    zarr.create_array(store, name="a", shape=(4, 6), chunks=(2, 6), dtype=str, fill_value="xü")
    yield store, "|O", "xü".encode().hex()
    zarr.config.set({"array.rectilinear_chunks": True})
    store = zarr.storage.MemoryStore()
    zarr.create_array(store, name="a", shape=(10, 20), chunks=[[5, 5], [3, 4, 13]], dtype="<f4")
    yield store, "<f4", "00000000"


def main():
    cases = []
    for old in HERE.glob("*.bin"):
        old.unlink()
    for name, make in [*codec_cases(), *numcodecs_cases(), *hdf5_cases(), *shard_cases()]:
        name = name.replace("[", "_").replace("]", "")
        stored, meta = make()
        (HERE / f"{name}.bin").write_bytes(stored)
        keys = ["shape", "data_type", "fill_value", "codecs", "chunk_grid"]
        cases.append({"name": name, "meta": {key: meta[key] for key in keys}})
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    (HERE / "cases.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    metas = []
    for store, dtype, fill in meta_cases():
        meta = json.loads(store._store_dict["a/zarr.json"].to_bytes())
        metas.append({"numpy": dtype, "fill": fill, "meta": meta})
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in metas)
    (HERE / "metas.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
