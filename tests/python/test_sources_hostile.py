"""Damaged files, cut or flipped anywhere: an icecore error or an answer; never another exception."""

from __future__ import annotations

import random
from contextlib import suppress

import h5py
import netCDF4
import numpy as np
import pytest
from icecore import errors
from icecore.sources import open_source
from sources_kit import everything


def hdf5(path, libver):
    with h5py.File(path, "w", libver=libver) as file:
        data = np.arange(60, dtype="i4").reshape(6, 10)
        dataset = file.create_dataset(
            "x", data=data, chunks=(2, 5), compression="gzip", shuffle=True, fletcher32=True
        )
        dataset.attrs["units"] = "m"
        dataset.attrs["values"] = np.arange(3.0)
        file.create_dataset("c", data=np.arange(20.0)).make_scale("c")
        file["y"] = np.arange(20)
        file["y"].dims[0].attach_scale(file["c"])
        file["text"] = np.array(["a", "bc"], object)
        file["g/empty"] = h5py.Empty("f4")
        file.create_dataset("records", data=np.zeros(3, [("a", "i4"), ("b", "S3")]))
        file["soft"] = h5py.SoftLink("/g")
        file.create_dataset("enum", data=[0, 1], dtype=h5py.enum_dtype({"A": 0, "B": 1}))


def netcdf3(path, form):
    with netCDF4.Dataset(path, "w", format=form) as file:
        file.title = "x"
        file.createDimension("t", None)
        file.createDimension("y", 5)
        file.createVariable("a", "f4", ("t", "y"), fill_value=1)[:] = np.ones((4, 5))
        file.createVariable("b", "i2", ("t",))[:] = np.arange(4)
        file.createVariable("c", "S1", ("y",))[:] = np.array(list("abcde"), "S1")


KINDS = {
    "hdf5-earliest": (hdf5, "earliest"),
    "hdf5-latest": (hdf5, "latest"),
    "cdf1": (netcdf3, "NETCDF3_CLASSIC"),
    "cdf2": (netcdf3, "NETCDF3_64BIT_OFFSET"),
    "cdf5": (netcdf3, "NETCDF3_64BIT_DATA"),
}


def use(path):
    """Index the file and read whatever it offers, as long as it is small."""
    amap = open_source(path)
    for entry in amap.arrays.values():
        entry.zarr_json()
        if entry.nbytes < 1 << 22:
            entry.read(everything(entry))
        for chunk in list(entry.native.values())[:10]:
            chunk()


@pytest.fixture(params=KINDS, ids=str)
def sound(request, tmp_path):
    make, option = KINDS[request.param]
    path = tmp_path / "sound"
    make(path, option)
    return path.read_bytes()


def test_cut_anywhere(sound, tmp_path):
    for size in {*range(0, 600, 5), *range(0, len(sound), max(len(sound) // 150, 1))}:
        path = tmp_path / "cut"
        path.write_bytes(sound[:size])
        # A file that lost only padding at its end may be whole.
        with suppress(errors.Error):
            use(path)
            assert size > len(sound) - 600


def test_flipped_anywhere(sound, tmp_path):
    chance = random.Random(4)
    path = tmp_path / "flipped"
    places = {*range(0, min(len(sound), 300)), *(chance.randrange(len(sound)) for _ in range(300))}
    for at in places:
        damaged = bytearray(sound)
        damaged[at] = chance.choice([0, 255, damaged[at] ^ (1 << chance.randrange(8))])
        path.write_bytes(damaged)
        with suppress(errors.Error):
            use(path)


def test_chunk_beyond_the_end_names_both_sizes(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(100_000.0), chunks=(1000,))
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(errors.Error) as caught:
        open_source(path)
    assert caught.value.kind == "corrupt"
    assert "x.h5" in caught.value.message
