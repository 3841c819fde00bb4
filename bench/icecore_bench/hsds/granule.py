"""A granule like ICESat-2's ATL03: six beams of twelve datasets, chunks of 10,000 rows, DEFLATE."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

BEAMS = ("gt1l", "gt1r", "gt2l", "gt2r", "gt3l", "gt3r")
#: name → dtype; 58 bytes a photon
COLUMNS = {
    "delta_time": "f8",
    "lat_ph": "f8",
    "lon_ph": "f8",
    "h_ph": "f4",
    "dist_ph_across": "f4",
    "dist_ph_along": "f4",
    "ph_id_pulse": "u1",
    "ph_id_count": "u1",
    "quality_ph": "i4",
    "pce_mframe_cnt": "u4",
    "segment_id": "i8",
    "signal_conf": "i4",
}
CHUNK = 10_000


def write(path: Path, size: int) -> int:
    """Write a granule whose values have about ``size`` bytes; returns the number of datasets."""
    rows = size // len(BEAMS) // sum(np.dtype(kind).itemsize for kind in COLUMNS.values())
    with h5py.File(path, "w") as file:
        for number, beam in enumerate(BEAMS):
            for name, values in _columns(np.random.default_rng(number), rows).items():
                file.create_dataset(
                    f"{beam}/heights/{name}",
                    data=values,
                    chunks=(min(CHUNK, rows),),
                    compression="gzip",
                    compression_opts=6,
                    shuffle=True,
                    maxshape=(None,),
                )
    return len(BEAMS) * len(COLUMNS)


def _columns(rng: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    time = np.cumsum(rng.exponential(1e-5, rows))
    along = time * 7000
    values = {
        "delta_time": time + 1e8,
        "lat_ph": 10 + along / 111e3,
        "lon_ph": 20 + along / 1e6,
        "h_ph": 300 + 50 * np.sin(along / 500) + rng.normal(0, 8, rows),
        "dist_ph_across": rng.normal(0, 5, rows),
        "dist_ph_along": along % 20,
        "ph_id_pulse": np.arange(rows) % 200,
        "ph_id_count": rng.integers(1, 6, rows),
        "quality_ph": rng.integers(0, 3, rows),
        "pce_mframe_cnt": np.arange(rows) // 200,
        "segment_id": (along // 20).astype("i8"),
        "signal_conf": rng.integers(-1, 5, rows),
    }
    return {name: values[name].astype(kind) for name, kind in COLUMNS.items()}
