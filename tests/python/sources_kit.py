"""What the tests of the sources share: an ArrayMap as a Zarr store in memory, for foreign readers to open."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from icecore.sources import ArrayEntry, ArrayMap

DATA = Path(__file__).parents[2].parent / "shared" / "data"

#: zarr-python 3.1, the last one for Python 3.11: without struct types and rectilinear grids
OLD_ZARR = tuple(int(n) for n in version("zarr").split(".")[:2]) < (3, 2)

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is not there")


def everything(entry: ArrayEntry) -> tuple[slice, ...]:
    """The region that is the whole array."""
    return tuple(slice(0, n) for n in entry.shape)


def local_path(url: str) -> str:
    """The path of a file:// URL."""
    return unquote(urlsplit(url).path)


def stored_chunks(entry: ArrayEntry) -> dict[int, bytes]:
    """Flat chunk index → the bytes that the links point at."""
    links = entry.links
    assert links is not None
    files = [Path(local_path(url)).read_bytes() for url in links.urls]
    found = {}
    for flat, url, offset, length in zip(
        links.chunks.tolist(),
        links.url_ids.tolist(),
        links.offsets.tolist(),
        links.lengths.tolist(),
        strict=True,
    ):
        assert offset + length <= len(files[url])
        assert flat not in found
        assert flat not in entry.native
        found[flat] = files[url][offset : offset + length]
    return found


def foreign(entry: ArrayEntry) -> bool:
    """Whether plain zarr-python with numcodecs knows every codec of the array."""
    return not any(codec["name"].startswith("icecore.") for codec in entry.codecs)


def zarr_store(amap: ArrayMap) -> Any:
    """The map as a Zarr v3 store in memory: linked bytes verbatim, everything else written by zarr-python.

    A test is skipped where zarr-python is too old for what is in it.
    """
    old = (isinstance(entry.chunks, tuple) and entry.dtype.names is None for entry in amap.arrays.values())
    if OLD_ZARR and not all(old):
        pytest.skip("zarr-python knows neither struct types nor rectilinear grids")
    import zarr
    from zarr.core.buffer import cpu
    from zarr.storage import MemoryStore

    zarr.config.set({"array.rectilinear_chunks": True})
    held: dict[str, bytes] = {}
    for path, attrs in amap.groups.items():
        document = {"zarr_format": 3, "node_type": "group", "attributes": attrs}
        held[f"{path.strip('/')}/zarr.json".lstrip("/")] = json.dumps(document, allow_nan=False).encode()
    usable = {path: entry for path, entry in amap.arrays.items() if foreign(entry)}
    for path, entry in usable.items():
        held[f"{path.strip('/')}/zarr.json"] = entry.zarr_json().encode()
        if entry.links is not None:
            for flat, data in stored_chunks(entry).items():
                index = np.unravel_index(flat, entry.grid) if entry.grid else ()
                held["/".join([path.strip("/"), "c", *(str(int(i)) for i in index)])] = data
    store = MemoryStore({key: cpu.Buffer.from_bytes(data) for key, data in held.items()})
    for path, entry in usable.items():
        array = zarr.open_array(store, path=path, mode="r+", zarr_format=3)
        if entry.links is None:
            if 0 not in entry.shape:
                array[...] = entry.read(everything(entry))
            continue
        for flat, chunk in entry.native.items():
            array[entry.chunk_region(flat)] = chunk()
    return store


def through_zarr(amap: ArrayMap, path: str, store: Any = None) -> np.ndarray:
    """An array of the map, read back by zarr-python."""
    import zarr

    return np.asarray(zarr.open_array(store or zarr_store(amap), path=path, mode="r", zarr_format=3)[...])


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def same(one: np.ndarray, two: np.ndarray) -> bool:
    """Equal element for element, NaN equal to NaN, text equal whatever its NumPy type."""
    one, two = np.asarray(one), np.asarray(two)
    if one.shape != two.shape:
        return False
    if one.dtype.names is not None:
        return all(same(one[name], two[name]) for name in one.dtype.names)
    if one.dtype.kind in "OTU" or two.dtype.kind in "OTU":
        return [_text(x) for x in one.reshape(-1)] == [_text(x) for x in two.reshape(-1)]
    return np.array_equal(one, two, equal_nan=one.dtype.kind in "fcmM")
