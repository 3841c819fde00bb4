"""Codec settings that are absent, zero or of another type: read as their writer means them, or refused."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import icecore
import netCDF4
import numcodecs
import numpy as np
import pytest
import zarr

VALUES = np.arange(24).astype("<f8").reshape(4, 6) * 1.5
ABSENT = object()
#: codec, setting, a sound configuration
SETTINGS = [
    ("shuffle", "elementsize", {"elementsize": 8}),
    ("delta", "dtype", {"dtype": "<f8"}),
    ("delta", "astype", {"dtype": "<f8", "astype": "<f8"}),
    ("fixedscaleoffset", "offset", {"offset": 2, "scale": 4, "dtype": "<f8", "astype": "<i4"}),
    ("fixedscaleoffset", "scale", {"offset": 2, "scale": 4, "dtype": "<f8", "astype": "<i4"}),
    ("fixedscaleoffset", "dtype", {"offset": 2, "scale": 4, "dtype": "<f8", "astype": "<i4"}),
    ("fixedscaleoffset", "astype", {"offset": 2, "scale": 4, "dtype": "<f8", "astype": "<f8"}),
    ("quantize", "digits", {"digits": 2, "dtype": "<f8"}),
    ("quantize", "astype", {"digits": 2, "dtype": "<f8", "astype": "<f8"}),
    ("astype", "encode_dtype", {"encode_dtype": "<f4", "decode_dtype": "<f8"}),
    ("astype", "decode_dtype", {"encode_dtype": "<f4", "decode_dtype": "<f8"}),
    ("bitround", "keepbits", {"keepbits": 20}),
    ("zlib", "level", {"level": 4}),
    ("gzip", "level", {"level": 4}),
    ("bz2", "level", {"level": 4}),
    ("zstd", "level", {"level": 4}),
    ("zstd", "checksum", {"level": 4, "checksum": True}),
    ("lz4", "acceleration", {"acceleration": 1}),
    ("lzma", "format", {"format": 1, "preset": 3}),
    ("lzma", "check", {"format": 1, "check": 4, "preset": 3}),
    ("lzma", "preset", {"format": 1, "preset": 3}),
    ("lzma", "filters", {"format": 1, "preset": 3}),
    *(
        ("blosc", key, {"cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0})
        for key in ("cname", "clevel", "shuffle", "blocksize", "typesize")
    ),
    *((name, "location", {"location": "end"}) for name in ("crc32", "adler32", "crc32c")),
    ("fletcher32", "location", {}),
]
ODD = [ABSENT, 0, None, "8", "4", 8.0, 4.0, -1, True, [], "", "x", ">f8", 4]
ARRAY_CODECS = ("delta", "fixedscaleoffset", "quantize", "astype", "bitround")


def odd_settings(sound, key, value):
    """The configuration with one setting as a writer with other habits leaves it."""
    changed = {**sound, key: value}
    if value is ABSENT:
        changed.pop(key)
    return changed


def by_the_library(store: Path) -> np.ndarray | None:
    """What zarr-python and numcodecs decode; None where they can't."""
    try:
        return np.asarray(zarr.open(store, path="v", mode="r")[...])
    except Exception:
        return None


def stored(folder: Path, name: str, sound: dict, changed: dict) -> Path:
    """A store of version 2 whose chunk was encoded with the sound settings."""
    store = folder / "s.zarr"
    (store / "v").mkdir(parents=True)
    (store / ".zgroup").write_text('{"zarr_format": 2}')
    chunk = numcodecs.get_codec({"id": name, **sound}).encode(VALUES.reshape(-1))
    codec = {"id": name, **changed}
    metadata = {
        "zarr_format": 2, "shape": VALUES.shape, "chunks": VALUES.shape, "dtype": "<f8", "fill_value": None,
        "order": "C", "compressor": None, "filters": [codec],
    }  # fmt: skip
    (store / "v" / ".zarray").write_text(json.dumps(metadata))
    (store / "v" / "0.0").write_bytes(bytes(memoryview(np.ascontiguousarray(chunk)).cast("B")))
    return store


def packed(source: Path, into: Path, verb) -> np.ndarray | None:
    """What icecore gives; None where it refuses, or names the array in its notes."""
    try:
        report = verb(source, into, group="/g")
    except icecore.Error:
        return None
    repo = icecore.open(into)
    if "/g/v" not in repo:
        assert any("/v" in note for note in report.notes), report.notes
        return None
    try:
        return repo["/g/v"][...]
    except icecore.Error:
        return None


def agree(ours: np.ndarray | None, theirs: np.ndarray | None) -> bool:
    """Equal to the library's values, or refused; where the library refuses, the values that were written."""
    if ours is None:
        return True
    return np.array_equal(ours, VALUES if theirs is None else theirs, equal_nan=True)


@pytest.mark.parametrize(("name", "key", "sound"), SETTINGS, ids=[f"{s[0]}-{s[1]}" for s in SETTINGS])
def test_each_codec_with_odd_settings(tmp_path, name, key, sound):
    read = 0
    for i, value in enumerate([sound.get(key, ABSENT), *ODD]):
        folder = tmp_path / str(i)
        source = stored(folder, name, sound, odd_settings(sound, key, value))
        references = {
            ".zgroup": '{"zarr_format": 2}',
            "v/.zarray": (source / "v" / ".zarray").read_text(),
            "v/0.0": [str(source / "v" / "0.0")],
        }
        (folder / "refs.json").write_text(json.dumps({"version": 1, "refs": references}))
        theirs = by_the_library(source)
        if theirs is None and name == "shuffle" and value in ("4", 4.0):  # netCDF-C wrote numbers as text
            theirs = by_the_library(stored(folder / "plain", name, sound, {key: 4}))
        for form, verb in product((source, folder / "refs.json"), (icecore.pack, icecore.link)):
            if form == source and verb is icecore.link:
                continue
            ours = packed(form, folder / f"{form.name}{verb.__name__}.icecore", verb)
            ambiguous = name == "shuffle" and value == 0 and type(value) is int
            assert ours is None if ambiguous else agree(ours, theirs), (form.name, verb.__name__, value)
            read += ours is not None
    assert read, "some form of each is read"


@pytest.mark.parametrize("size", [0, "8", "0", 8, 8.0])
@pytest.mark.parametrize("mark", ["_NCProperties", "_nczarr_array", "_NCZARR_ARRAY"])
def test_element_sizes_of_netcdf_c(tmp_path, size, mark):
    """netCDF-C takes the size of an element whatever stands there: libnczarr/zfilter.c."""
    source = stored(tmp_path, "shuffle", {"elementsize": 8}, {"elementsize": size})
    (source / "v" / ".zattrs").write_text(json.dumps({mark: {}}))
    with netCDF4.Dataset(f"file://{source}#mode=zarr,file") as file:
        assert np.array_equal(file["v"][:], VALUES)
    icecore.pack(source, tmp_path / "r.icecore", group="/g")
    assert np.array_equal(icecore.open(tmp_path / "r.icecore")["/g/v"][...], VALUES)


@pytest.mark.parametrize("mode", ["nczarr,file", "zarr,file"])
@pytest.mark.parametrize("dtype", ["i1", "i2", "f4", "f8", "i8"])
def test_stores_that_netcdf_c_writes(tmp_path, mode, dtype):
    path = tmp_path / "a.zarr"
    values = np.arange(12).astype(dtype)
    with netCDF4.Dataset(f"file://{path}#mode={mode}", "w") as file:
        file.createDimension("y", 12)
        file.createVariable("t", dtype, ("y",), zlib=True, fletcher32=True)[:] = values
    icecore.pack(path, tmp_path / "r.icecore", group="/g")
    assert np.array_equal(icecore.open(tmp_path / "r.icecore")["/g/t"][...], values)


def test_version_3_without_an_element_size(tmp_path):
    """zarr-python takes the size of an element; so does the engine, of what others wrote into Icechunk."""
    from icecore import _icecore

    shuffled = VALUES.view("u1").reshape(-1, 8).T.tobytes()
    codecs = [
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "numcodecs.shuffle", "configuration": {}},
    ]
    source = tmp_path / "a.zarr"
    zarr.create_array(source, name="v", shape=VALUES.shape, dtype="f8", chunks=VALUES.shape, compressors=None)
    document = json.loads((source / "v" / "zarr.json").read_text())
    (source / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    (source / "v" / "zarr.json").write_text(json.dumps({**document, "codecs": codecs}))
    (source / "v" / "c" / "0").mkdir(parents=True)
    (source / "v" / "c" / "0" / "0").write_bytes(shuffled)
    icecore.pack(source, tmp_path / "r.icecore", group="/g")
    assert np.array_equal(icecore.open(tmp_path / "r.icecore")["/g/v"][...], VALUES)
    chain = _icecore.Chain(json.dumps(codecs), '"float64"')
    assert bytes(chain.encode(VALUES.view("u1").reshape(-1), VALUES.shape)) == shuffled
    codecs[1]["configuration"] = {"elementsize": 0}
    (source / "v" / "zarr.json").write_text(json.dumps({**document, "codecs": codecs}))
    with pytest.raises(icecore.Error, match="elementsize is 0"):
        icecore.pack(source, tmp_path / "q.icecore", group="/g")
