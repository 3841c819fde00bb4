"""Generate small realistic files: photon granule, gridded time series, netCDF-3, NumPy, text table."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path

import h5py
import numpy as np

from icecore.samples import rdr

#: days and stations of the stations file
DAYS, STATIONS = 365, 1500
_PHOTONS = 400_000
#: Diviner samples of 189 rows each
_SAMPLES = 60
_SEED = 20240611


def make(folder: Path) -> list[Path]:
    """Write the sample files into ``folder``; the data is identical in every run."""
    names = ["photons.h5", "grid.nc", "stations.nc", "terrain.npy", "diviner.tab"]
    files = [folder / name for name in names]
    photons(files[0])
    grid(files[1])
    stations(files[2])
    np.save(files[3], terrain(512, 512))
    rdr.write(files[4], _SAMPLES)
    return files


def photons(path: Path) -> None:
    """Write a lidar granule: six ground tracks of 1-D photon data.

    Chunks have 10,000 elements and gzip level 6; integers are shuffled.
    """
    rng = np.random.default_rng(_SEED)
    with h5py.File(path, "w") as file:
        file.attrs["title"] = "icecore sample granule: photons along six ground tracks"
        for track in ("gt1l", "gt1r", "gt2l", "gt2r", "gt3l", "gt3r"):
            group = file.create_group(track)
            group.attrs["beam"] = "strong" if track.endswith("l") else "weak"
            count = _PHOTONS // (1 if track.endswith("l") else 4)
            for name, (values, units) in _track(rng, count).items():
                shuffle = values.dtype.kind in "iu"
                dataset = group.create_dataset(
                    name,
                    data=values,
                    chunks=(10_000,),
                    compression="gzip",
                    compression_opts=6,
                    shuffle=shuffle,
                )
                dataset.attrs["units"] = units


def _track(rng: np.random.Generator, count: int) -> dict[str, tuple[np.ndarray, str]]:
    time = np.sort(rng.integers(0, 100_000, count)) * 1e-4
    along = time * 7000.0
    ground = 300 * np.sin(along / 9000) + 40 * np.sin(along / 700)
    height = ground + np.where(
        rng.random(count) < 0.6, rng.normal(0, 0.3, count), rng.uniform(-50, 200, count)
    )
    lat = 70 + along / 111_000
    return {
        "delta_time": (time, "seconds since 2018-01-01"),
        "lat": (lat, "degrees_north"),
        "lon": (-45 + 0.02 * (lat - 70), "degrees_east"),
        "height": (height.astype("f4"), "m"),
        "confidence": (rng.integers(-1, 5, count).astype("i1"), "1"),
        "pulse": ((time * 10_000).astype("i4"), "1"),
    }


def grid(path: Path) -> None:
    """Write a netCDF-4 file: hourly maps of temperature (16 bits with scale and offset) and wind."""
    times, ny, nx = 240, 90, 144
    rng = np.random.default_rng(_SEED + 1)
    lat, lon = np.linspace(-89, 89, ny), np.arange(nx) * 2.5
    hours = np.arange(times, dtype="f8")
    warm = 288 - 45 * np.sin(np.radians(lat[:, None])) ** 2 + 4 * np.cos(np.radians(2 * lon))
    day = 6 * np.cos(2 * np.pi * (hours[:, None, None] / 24 + lon / 360))
    noise = _smooth(rng.normal(0, 3, (times, ny, nx)))
    t2m = np.round((warm + day + noise - 273.15) / 0.01).astype("i2")
    t2m[::48, 10:12, 20:25] = -32768
    jets = 8 * np.cos(np.radians(3 * lat))[:, None]
    wind = np.round(jets + _smooth(rng.normal(0, 5, (times, ny, nx))), 2).astype("f4")
    with h5py.File(path, "w", track_order=True) as file:
        file.attrs["Conventions"] = "CF-1.8"
        file.attrs["title"] = "icecore sample: ten days of hourly fields"
        scale = {"scale_factor": np.float32(0.01), "add_offset": np.float32(273.15), "units": "K"}
        axes = {
            "time": (hours, {"units": "hours since 2024-06-01 00:00:00", "calendar": "standard"}),
            "lat": (lat, {"units": "degrees_north", "standard_name": "latitude"}),
            "lon": (lon, {"units": "degrees_east", "standard_name": "longitude"}),
        }
        for i, (name, (values, attrs)) in enumerate(axes.items()):
            dataset = file.create_dataset(name, data=values, maxshape=(None,) if name == "time" else None)
            dataset.attrs.update(attrs)
            dataset.make_scale(name)
            dataset.attrs["_Netcdf4Dimid"] = np.int32(i)
        _field(file, "t2m", t2m, {"long_name": "2 m temperature", **scale}, np.int16(-32768))
        _field(
            file, "u10", wind, {"long_name": "10 m eastward wind", "units": "m s-1"}, np.float32(9.96921e36)
        )


def _field(
    file: h5py.File, name: str, values: np.ndarray, attrs: dict[str, object], fill: np.generic
) -> None:
    dataset = file.create_dataset(
        name,
        data=values,
        chunks=(24, *values.shape[1:]),
        maxshape=(None, *values.shape[1:]),
        compression="gzip",
        compression_opts=4,
        shuffle=True,
        fillvalue=fill,
        track_order=True,
    )
    dataset.attrs.update(attrs)
    dataset.attrs["_FillValue"] = np.array([fill], values.dtype)
    for axis, dim in enumerate(("time", "lat", "lon")):
        dataset.dims[axis].attach_scale(file[dim])


def stations(path: Path) -> None:
    """Write a netCDF-3 file (big-endian by definition): daily rain at many stations, one record per day."""
    rng = np.random.default_rng(_SEED + 2)
    size = (DAYS, STATIONS)
    rain = np.where(rng.random(size) < 0.3, rng.gamma(2, 4, size).round(1), 0).astype("f4")
    write_netcdf3(
        path,
        unlimited="time",
        dims={"time": DAYS, "station": STATIONS},
        attrs={"title": "icecore sample: rain at 1,500 stations"},
        variables={
            "time": (("time",), np.arange(DAYS, dtype="f8"), {"units": "days since 2023-01-01"}),
            "station": (("station",), np.arange(STATIONS, dtype="i4") + 100, {"long_name": "station number"}),
            "rain": (("time", "station"), rain, {"units": "mm", "long_name": "daily rain"}),
        },
    )


def terrain(ny: int, nx: int) -> np.ndarray:
    """Return fractal heights in metres."""
    rng = np.random.default_rng(_SEED + 3)
    ky, kx = np.fft.fftfreq(ny)[:, None], np.fft.rfftfreq(nx)[None]
    power = (ky**2 + kx**2 + 1e-6) ** -0.9
    phase = np.exp(2j * np.pi * rng.random(power.shape))
    heights = np.fft.irfft2(power * phase, (ny, nx))
    return (heights / heights.std() * 400).astype("f4")


def _smooth(noise: np.ndarray) -> np.ndarray:
    """Smooth ``noise`` over a few grid lengths and hours, keeping its deviation.

    The result compresses like real weather fields.
    """
    spread = noise.std()
    for axis in range(noise.ndim):
        for _ in range(16):
            noise = (np.roll(noise, 1, axis) + 2 * noise + np.roll(noise, -1, axis)) / 4
    return np.round(noise * (spread / noise.std()), 2)


# Write netCDF-3 files (classic format, version 1): a header, then big-endian variables.
#
# Source: "The NetCDF Classic Format Specification", Unidata.

_DIMENSION, _VARIABLE, _ATTRIBUTE = 10, 11, 12
_TYPES = {"S1": 2, "i1": 1, "i2": 3, "i4": 4, "f4": 5, "f8": 6}

Variable = tuple[tuple[str, ...], np.ndarray, dict[str, str]]


def write_netcdf3(
    path: Path,
    unlimited: str,
    dims: Mapping[str, int],
    attrs: Mapping[str, str],
    variables: Mapping[str, Variable],
) -> None:
    """Write a file; variables with the unlimited dimension are stored record by record.

    Args:
        path: the path of the file.
        unlimited: name of the unlimited dimension; it must be the first dimension of its variables.
        dims: name → length.
        attrs: global text attributes.
        variables: name → (dimensions, values, text attributes).
    """
    records = {name: spec for name, spec in variables.items() if spec[0][:1] == (unlimited,)}
    fixed = {name: spec for name, spec in variables.items() if name not in records}
    begins = dict.fromkeys(variables, 0)
    offset = len(_header(unlimited, dims, attrs, variables, begins))
    for name, (_, values, _attrs) in {**fixed, **records}.items():
        begins[name] = offset
        offset += _padded(_bytes_each(values, name in records))
    with open(path, "wb") as file:
        file.write(_header(unlimited, dims, attrs, variables, begins))
        for _, values, _attrs in fixed.values():
            file.write(_pad(_big(values)))
        for record in range(dims[unlimited]):
            for _, values, _attrs in records.values():
                file.write(_pad(_big(values[record])))


def _header(
    unlimited: str,
    dims: Mapping[str, int],
    attrs: Mapping[str, str],
    variables: Mapping[str, Variable],
    begins: Mapping[str, int],
) -> bytes:
    head = b"CDF\x01" + struct.pack(">i", dims[unlimited])
    head += struct.pack(">ii", _DIMENSION, len(dims))
    for name, length in dims.items():
        head += _name(name) + struct.pack(">i", 0 if name == unlimited else length)
    head += _attributes(attrs) + struct.pack(">ii", _VARIABLE, len(variables))
    order = list(dims)
    for name, (names, values, own) in variables.items():
        head += _name(name) + struct.pack(">i", len(names))
        head += b"".join(struct.pack(">i", order.index(dim)) for dim in names)
        size = _padded(_bytes_each(values, names[:1] == (unlimited,)))
        head += _attributes(own) + struct.pack(">iii", _TYPES[values.dtype.str[1:]], size, begins[name])
    return head


def _attributes(attrs: Mapping[str, str]) -> bytes:
    if not attrs:
        return struct.pack(">ii", 0, 0)
    body = b"".join(
        _name(key) + struct.pack(">ii", _TYPES["S1"], len(value)) + _pad(value.encode("ascii"))
        for key, value in attrs.items()
    )
    return struct.pack(">ii", _ATTRIBUTE, len(attrs)) + body


def _name(name: str) -> bytes:
    return struct.pack(">i", len(name)) + _pad(name.encode("ascii"))


def _bytes_each(values: np.ndarray, record: bool) -> int:
    return prod(values.shape[1:] if record else values.shape) * values.dtype.itemsize


def _padded(length: int) -> int:
    return -(-length // 4) * 4


def _pad(data: bytes) -> bytes:
    return data + b"\0" * (_padded(len(data)) - len(data))


def _big(values: np.ndarray) -> bytes:
    return np.ascontiguousarray(values, np.asarray(values).dtype.newbyteorder(">")).tobytes()
