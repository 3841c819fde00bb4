"""HDF5 files for tests: write one and open it; compare a dataset with what h5py reads."""

from __future__ import annotations

import h5py
from icecore.sources import open_source
from sources_kit import everything, same, through_zarr


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
