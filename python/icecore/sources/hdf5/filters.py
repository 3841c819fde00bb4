"""Convert HDF5 filter pipelines to Zarr v3 codec lists."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

import h5py

_BLOSC_CODECS = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"]
_BITSHUFFLE_CODECS = {0: "none", 2: "lz4", 3: "zstd"}
_NAMES = {4: "szip", 5: "n-bit", 6: "scale-offset"}


def codecs_of(filters: list[tuple[int, tuple[int, ...], str]]) -> tuple[list[dict[str, Any]], str]:
    """Return the codecs for ``(id, client values, name)`` filters in pipeline order, or why there are
    none.
    """
    codecs: list[dict[str, Any]] = []
    for code, values, name in filters:
        if code == h5py.h5z.FILTER_SHUFFLE:
            size = values[0] if values else 0
            if size > 1:  # the filter does not change single bytes
                codecs.append({"name": "numcodecs.shuffle", "configuration": {"elementsize": size}})
            continue
        make = _CODECS.get(code)
        codec = make(values) if make else None
        if codec is None:
            label = _NAMES.get(code) or name or "unknown"
            return [], f"filter {label} ({code}) has no Zarr codec"
        codecs.append(codec)
    return codecs, ""


def unknown_filter(filters: list[tuple[int, tuple[int, ...], str]]) -> str:
    """Return the first filter that this HDF5 library can't decode, as text; "" if there is none."""
    for code, _, name in filters:
        if not h5py.h5z.filter_avail(code):
            load_plugins()
            if not h5py.h5z.filter_avail(code):
                return f"{_NAMES.get(code) or name or 'unnamed'} ({code})"
    return ""


@cache
def load_plugins() -> None:
    """Register the filters of the package hdf5plugin, if it is installed."""
    with suppress(ImportError):
        import hdf5plugin  # noqa: F401


def filters_of(plist: Any) -> list[tuple[int, tuple[int, ...], str]]:
    """The ``(id, client values, name)`` of each filter of a dataset creation property list, in pipeline
    order.
    """
    found = []
    for i in range(plist.get_nfilters()):
        code, _flags, values, name = plist.get_filter(i)
        found.append((int(code), tuple(int(v) for v in values), name.decode("latin-1")))
    return found


def _zlib(values: tuple[int, ...]) -> dict[str, Any]:
    return {"name": "numcodecs.zlib", "configuration": {"level": values[0] if values else 6}}


def _bz2(values: tuple[int, ...]) -> dict[str, Any]:
    return {"name": "numcodecs.bz2", "configuration": {"level": values[0] if values else 9}}


def _zstd(values: tuple[int, ...]) -> dict[str, Any]:
    level = values[0] if values else 3
    return {
        "name": "numcodecs.zstd",
        "configuration": {"level": level if level < 1 << 31 else level - (1 << 32)},
    }


def _fletcher32(_values: tuple[int, ...]) -> dict[str, Any]:
    return {"name": "numcodecs.fletcher32", "configuration": {}}


def _lzf(_values: tuple[int, ...]) -> dict[str, Any]:
    return {"name": "icecore.h5lzf", "configuration": {}}


def _lz4(_values: tuple[int, ...]) -> dict[str, Any]:
    return {"name": "icecore.h5lz4", "configuration": {}}


def _blosc(values: tuple[int, ...]) -> dict[str, Any] | None:
    # Client values: filter version, Blosc version, element size, chunk bytes, level, shuffle, compressor.
    level = values[4] if len(values) > 4 else 5
    shuffle = values[5] if len(values) > 5 else 1
    codec = values[6] if len(values) > 6 else 0
    if codec >= len(_BLOSC_CODECS) or shuffle > 2 or level > 9:
        return None
    configuration = {"cname": _BLOSC_CODECS[codec], "clevel": level, "shuffle": shuffle, "blocksize": 0}
    return {"name": "numcodecs.blosc", "configuration": configuration}


def _bitshuffle(values: tuple[int, ...]) -> dict[str, Any] | None:
    # Client values: version (2), element size, block size in elements (0: chosen by the library), compressor.
    if len(values) < 3:
        return None
    compression = _BITSHUFFLE_CODECS.get(values[4] if len(values) > 4 else 0)
    if compression is None:
        return None
    block = values[3] if len(values) > 3 else 0
    configuration = {"itemsize": values[2], "block_size": block, "compression": compression}
    return {"name": "icecore.h5bitshuffle", "configuration": configuration}


_CODECS = {
    h5py.h5z.FILTER_DEFLATE: _zlib,
    h5py.h5z.FILTER_FLETCHER32: _fletcher32,
    h5py.h5z.FILTER_LZF: _lzf,
    307: _bz2,
    32001: _blosc,
    32004: _lz4,
    32008: _bitshuffle,
    32015: _zstd,
}
