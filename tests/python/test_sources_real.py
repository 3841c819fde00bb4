"""Every HDF5 and netCDF file at hand: links decode to what h5py and netCDF4 read; xarray sees the same."""

from __future__ import annotations

import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
from icecore.sources import format_of, open_source
from icecore.sources.source_list import expand
from sources_kit import DATA, everything, needs_data, same, zarr_store

pytestmark = needs_data

FILES = [Path(path) for path in expand(DATA)] if DATA.is_dir() else []
HDF5 = [path for path in FILES if "HDF5" in format_of(str(path)).name]
NETCDF3 = [path for path in FILES if format_of(str(path)).name == "netCDF-3"]
NETCDF4 = [path for path in HDF5 if path.suffix in (".nc", ".nc4")]


def name(path):
    return path.name


def test_files_are_there():
    assert len(HDF5) > 20
    assert len(NETCDF3) == 5


#: attributes that icecore adds to arrays of strain files
GWOSC = {"flag_masks", "flag_meanings", "icecore_time"}


@pytest.mark.parametrize("path", HDF5, ids=name)
def test_hdf5_links_decode_to_what_h5py_reads(path):
    import zarr

    amap = open_source(path)
    store = zarr_store(amap)
    group = zarr.open_group(store, mode="r")
    seen = 0
    with h5py.File(path) as file:
        for where, entry in amap.arrays.items():
            wanted = file[where][...]
            assert same(entry.read(everything(entry)), wanted), where
            assert same(group[where][...], wanted), where
            seen += entry.linked
    assert seen


@pytest.mark.parametrize("path", HDF5, ids=name)
def test_no_dataset_or_group_is_lost(path):
    amap = open_source(path)
    known = set(amap.arrays) | set(amap.groups) | {note.path for note in amap.dropped}
    missing = []
    with h5py.File(path) as file:
        file.visititems(
            lambda where, node: (
                missing.append(where)
                if f"/{where}" not in known and not isinstance(node, h5py.Datatype)
                else None
            )
        )
    assert missing == []


@pytest.mark.parametrize("path", HDF5, ids=name)
def test_hdf5_attributes_are_all_there(path):
    from icecore.repository.json_attributes import to_json
    from icecore.sources.hdf5.attributes import HIDDEN

    amap = open_source(path)
    with h5py.File(path) as file:
        for where in [*amap.groups, *amap.arrays]:
            found = amap.arrays[where].attrs if where in amap.arrays else amap.groups[where]
            wanted = set(file[where].attrs) - HIDDEN
            # what strain files of GWOSC say of time and flags in their own words, in CF's words
            found = {key: found[key] for key in found.keys() - (GWOSC - wanted)}
            if file[where].attrs.get("CLASS") == b"DIMENSION_SCALE":
                wanted -= {"CLASS", "NAME"}
            if found.keys() != wanted:
                lost = wanted - found.keys()
                assert lost <= {"_FillValue"}
                assert any(note.path == where and note.kind == "attribute" for note in amap.dropped)
            for key in wanted & found.keys() - {"_FillValue"}:
                value = file[where].attrs[key]
                if isinstance(value, (str, int, float, np.integer, np.floating)):
                    assert to_json(value) == found[key], (where, key)


@pytest.mark.parametrize("path", NETCDF3, ids=name)
def test_netcdf3_links_decode_to_what_netcdf4_reads(path):
    import netCDF4
    import zarr

    amap = open_source(path)
    group = zarr.open_group(zarr_store(amap), mode="r")
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        file.set_auto_chartostring(False)
        assert set(amap.arrays) == {f"/{each}" for each in file.variables}
        for each, variable in file.variables.items():
            entry = amap.arrays[f"/{each}"]
            assert entry.dims == variable.dimensions
            assert same(entry.read(everything(entry)), variable[...])
            assert same(group[each][...], variable[...])


@pytest.mark.parametrize("path", [*NETCDF3, *NETCDF4], ids=name)
@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf"])
def test_xarray_sees_the_same(path, engine):
    import xarray as xr

    if engine == "h5netcdf" and path in NETCDF3:
        pytest.skip("h5netcdf reads no netCDF-3")
    amap = open_source(path)
    store = zarr_store(amap)
    options = {"phony_dims": "sort"} if engine == "h5netcdf" else {}
    # Year 0 is beyond xarray's calendars.
    options["decode_times"] = path.name != "ocean_atlas_subset.nc"
    for group in _groups_with_data(path, amap):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = xr.load_dataset(path, engine=engine, group=group, **options)
            found = xr.load_dataset(
                store,
                engine="zarr",
                group=group.strip("/"),
                consolidated=False,
                zarr_format=3,
                decode_times=options["decode_times"],
            )
        for attrs in (wanted.attrs, *(v.attrs for v in wanted.variables.values())):
            _zarr_spelling(attrs)
        xr.testing.assert_identical(wanted, found)


def _groups_with_data(path, amap):
    if path in NETCDF3:
        return ["/"]
    with h5py.File(path) as file:
        return [
            group
            for group in amap.groups
            if any(isinstance(node, h5py.Dataset) for node in file[group].values())
        ]


def _zarr_spelling(attrs):
    """JSON has no NaN: Zarr spells it as text."""
    for key, value in attrs.items():
        if isinstance(value, (float, np.floating)) and np.isnan(value):
            attrs[key] = "NaN"
