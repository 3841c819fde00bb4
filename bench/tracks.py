"""The archive of the linked workloads: one HDF5 file shaped like an altimeter's granule of photons.

Six ground tracks with twelve 1-D variables each: 72 datasets in chunks of 10,000 elements, gzip 6, shuffle on
the integers. 13,752 chunks, 699 MB raw, about 317 MB stored; an eighth of that in a quick run.
"""

from __future__ import annotations

import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from data import built, folder, size_mb

VERSION = "1"
CHUNK = 10_000
TRACKS = {
    "gt1l": 299,
    "gt1r": 83,
    "gt2l": 305,
    "gt2r": 79,
    "gt3l": 301,
    "gt3r": 79,
}  # chunks of each variable
QUICK_TRACKS = dict.fromkeys(TRACKS, 28)
SUBSET = ("delta_time", "lat_ph", "lon_ph", "h_ph", "signal_conf_ph")
# Elements of a subset, and where the two disjoint ones begin: unaligned, so that each touches 11 chunks.
PICK = 100_000
STARTS = (55_000, 165_000)


def names() -> list[str]:
    """All datasets, in the order of the checksums."""
    return [f"{track}/{variable}" for track in TRACKS for variable in VARIABLES]


def subset_names() -> list[str]:
    """The datasets of the subset: 6 tracks x 5 variables."""
    return [f"{track}/{variable}" for track in TRACKS for variable in SUBSET]


def cut(values: np.ndarray, bits: int) -> np.ndarray:
    """Rounds floats to `bits` bits of mantissa: what a calibrated instrument really knows."""
    word = np.dtype(f"u{values.itemsize}")
    drop = word.type({4: 23, 8: 52}[values.itemsize] - bits)
    if drop == 0:
        return values
    half = word.type(1) << (drop - word.type(1))
    return ((values.view(word) + half) >> drop << drop).view(values.dtype)


class Track:
    """One chunk's worth of photons along a ground track; deterministic in (track, chunk)."""

    def __init__(self, track: int, chunk: int) -> None:
        self.random = np.random.default_rng((track, chunk))
        steps = self.random.random(CHUNK) < 0.35
        self.shot = chunk * 3500.0 + np.cumsum(steps)

    def noise(self, sigma: float) -> np.ndarray:
        return self.random.normal(0, sigma, CHUNK)


def height(t: Track) -> np.ndarray:
    surface = 120 + 20 * np.sin(t.shot / 900)
    return surface + np.where(t.random.random(CHUNK) < 0.6, t.noise(0.2), t.random.uniform(-30, 30, CHUNK))


def confidence(t: Track) -> np.ndarray:
    return np.repeat(t.random.choice([0, 2, 3, 4], CHUNK // 5, p=[0.2, 0.05, 0.1, 0.65]), 5)


# name: (dtype, mantissa bits or 0, values)
VARIABLES: dict[str, tuple[str, int, Any]] = {
    "delta_time": ("f8", 52, lambda t: 1e7 + t.shot * 1e-4 + t.random.random(CHUNK) * 1e-2),
    "lat_ph": ("f8", 52, lambda t: -30 + t.shot * 6.3e-6 + t.noise(2e-7)),
    "lon_ph": ("f8", 52, lambda t: 117 - t.shot * 0.6e-6 + t.noise(2e-7)),
    "h_ph": ("f4", 16, height),
    "signal_conf_ph": ("i1", 0, confidence),
    "dist_ph_along": ("f4", 16, lambda t: t.shot % 29 * 0.7 + t.noise(0.05)),
    "dist_ph_across": ("f4", 14, lambda t: 3300 + t.noise(0.4)),
    "h_sigma": ("f4", 12, lambda t: 0.1 + np.abs(t.noise(0.05))),
    "x_atc": ("f8", 36, lambda t: 1e6 + t.shot * 0.7 + t.noise(0.01)),
    "quality_ph": ("i4", 0, lambda t: t.random.integers(0, 200, CHUNK)),
    "pce_mframe_cnt": ("i4", 0, lambda t: 7 + t.shot // 9),
    "pulse_energy": ("i4", 0, lambda t: t.random.integers(0, 12_000, CHUNK)),
}


def values(track: int, variable: str, chunk: int) -> np.ndarray:
    """The 10,000 elements of one chunk."""
    dtype, bits, make = VARIABLES[variable]
    made = make(Track(track, chunk)).astype(dtype)
    return cut(made, bits) if bits else made


def stored(raw: np.ndarray) -> bytes:
    """A chunk as HDF5's filters write it: shuffle on integers, then zlib 6."""
    data = raw.view("u1").reshape(len(raw), -1).T.tobytes() if raw.dtype.kind == "i" else raw.tobytes()
    return zlib.compress(data, 6)


def write(path: Path, tracks: dict[str, int]) -> dict[str, Any]:
    """Makes the file; returns its checksums: of everything, and of the two subsets."""
    import h5py

    crc = {"all": 0, "first": 0, "second": 0}
    with h5py.File(path, "w") as file, ThreadPoolExecutor() as pool:
        for t, (track, chunks) in enumerate(tracks.items()):
            for variable, (dtype, _, _) in VARIABLES.items():
                length = chunks * CHUNK - 1234 * (t + 1)  # the last chunk of a dataset is partial
                ints = dtype.startswith("i")
                options = {"chunks": (CHUNK,), "compression": "gzip", "compression_opts": 6, "shuffle": ints}
                dataset = file.create_dataset(f"{track}/{variable}", (length,), dtype, **options)

                def one(chunk: int, t: int = t, variable: str = variable) -> tuple[np.ndarray, bytes]:
                    raw = values(t, variable, chunk)
                    return raw, stored(raw)

                parts = []
                for chunk, (raw, packed) in enumerate(pool.map(one, range(chunks))):
                    dataset.id.write_direct_chunk((chunk * CHUNK,), packed)
                    parts.append(raw)
                whole = np.concatenate(parts)[:length]
                crc["all"] = zlib.crc32(whole, crc["all"])
                if variable in SUBSET:
                    for key, start in zip(("first", "second"), STARTS, strict=True):
                        crc[key] = zlib.crc32(whole[start : start + PICK], crc[key])
    return {"crc": crc, "raw_mb": sum(raw_bytes(tracks)) / 1e6, "stored_mb": size_mb(path)}


def raw_bytes(tracks: dict[str, int]) -> list[int]:
    sizes = [np.dtype(dtype).itemsize for dtype, _, _ in VARIABLES.values()]
    return [(n * CHUNK - 1234 * (t + 1)) * sum(sizes) for t, n in enumerate(tracks.values())]


def prepare(quick: bool) -> dict[str, Any]:
    """The file's path and facts."""
    path = folder(quick) / "tracks.h5"
    facts = built(path, VERSION, lambda p: write(p, QUICK_TRACKS if quick else TRACKS))
    return {"file": str(path), **facts}


def chunk_records(path: str, wanted: dict[str, tuple[int, int]]) -> np.ndarray:
    """Seven numbers a chunk for the limit (see examples/limit): which bytes become which of the output.

    `wanted` maps a dataset to (first, last + 1) of its elements; the output is all of them back to back.
    """
    import h5py

    records: list[tuple[int, ...]] = []
    target = 0
    with h5py.File(path) as file:
        for name, (lo, hi) in wanted.items():
            dataset = file[name]
            hi = min(hi, dataset.shape[0])
            records += dataset_records(dataset, lo, hi, target)
            target += (hi - lo) * dataset.dtype.itemsize
    return np.array(records, "u8")


def dataset_records(dataset: Any, lo: int, hi: int, target: int) -> list[tuple[int, ...]]:
    """The records of one dataset's chunks with elements lo to hi, whose first byte goes to `target`."""
    size = dataset.dtype.itemsize
    found: list[Any] = []
    dataset.id.chunk_iter(found.append)
    records = []
    for chunk in found:
        first = chunk.chunk_offset[0]
        begin, end = max(first, lo), min(first + CHUNK, hi)
        if begin < end:
            place = (begin - first) * size, (end - begin) * size, target + (begin - lo) * size
            shuffle = size if dataset.shuffle else 0
            records.append((chunk.byte_offset, chunk.size, CHUNK * size, *place, shuffle))
    return records
