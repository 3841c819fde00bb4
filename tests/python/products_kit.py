"""Granules like ATL03 with planted surfaces, and the published algorithm of ATL06-SR in NumPy."""

from __future__ import annotations

import os
from pathlib import Path

import h5py
import numpy as np

REAL = Path(__file__).parents[2].parent / "shared" / "data" / "hdf5"
CHUNK = 10_000
EQUATOR = 6_378_137.0


def granule(
    path: str | os.PathLike[str],
    beams=("gt1l",),
    segments=200,
    signal=60,
    noise=6,
    height=lambda x: 100 + 0.02 * (x - 8e6),
    sigma=0.1,
    start=8e6,
    lon=-45.0,
    orient=1,
    seed=1,
    rate=None,
):
    """Write a granule: per segment ``signal`` photons around ``height(x)`` and ``noise`` within ±30 m."""
    random = np.random.default_rng(seed)
    with h5py.File(path, "w") as file:
        file["orbit_info/sc_orient"] = np.array([orient], "i1")
        file["orbit_info/rgt"] = np.array([1160], "i2")
        file["orbit_info/cycle_number"] = np.array([2], "i1")
        for number, beam in enumerate(beams):
            _beam(
                file.create_group(beam),
                random,
                number,
                segments,
                signal,
                noise,
                height,
                sigma,
                start,
                lon,
                rate,
            )
    return path


def _beam(group, random, number, segments, signal, noise, height, sigma, start, lon, rate):
    distance = start + 20.0 * np.arange(segments) + 0.01
    counts = random.poisson(signal + noise, segments).astype("i4")
    counts[3::50] = 0  # segments without photons occur
    total = int(counts.sum())
    segment = np.repeat(np.arange(segments), counts)
    along = random.uniform(0, 20, total).astype("f4")
    x = distance[segment] + along
    is_signal = random.uniform(0, signal + noise, total) < signal
    off = np.where(is_signal, random.normal(0, sigma, total), random.uniform(-30, 30, total))
    first = np.cumsum(counts) - counts
    time = 2.0e7 + (x - start) / 7000.0 + number * 1e-4
    heights = {
        "dist_ph_along": along,
        "dist_ph_across": (3000.0 + 90 * number + random.normal(0, 0.1, total)).astype("f4"),
        "h_ph": (height(x) + off).astype("f4"),
        "signal_conf_ph": np.repeat(np.where(is_signal, 4, 0).astype("i1")[:, None], 5, axis=1),
        "quality_ph": np.where(random.uniform(size=total) < 0.02, 1, 0).astype("i1"),
        "lat_ph": np.degrees(x / EQUATOR),
        "lon_ph": (lon + (x - start) * 1e-6 + 0.03 * number + 180) % 360 - 180,
        "delta_time": time,
        "weight_ph": random.integers(0, 255, total).astype("u1"),
    }
    middle = distance + 10.0
    geolocation = {
        "segment_id": (400_000 + np.arange(segments)).astype("i4"),
        "segment_dist_x": distance,
        "segment_length": np.full(segments, 20.0),
        "segment_ph_cnt": counts,
        "ph_index_beg": np.where(counts > 0, first + 1, 0).astype("i8"),
        "delta_time": 2.0e7 + (distance - start) / 7000.0,
        "velocity_sc": np.tile(np.array([100.0, 7000.0, 50.0], "f4"), (segments, 1)),
        "reference_photon_lat": np.degrees(middle / EQUATOR),
        "reference_photon_lon": (lon + (middle - start) * 1e-6 + 0.03 * number + 180) % 360 - 180,
        "solar_elevation": np.linspace(-5, 5, segments).astype("f4"),
        "podppd_flag": (np.arange(segments) % 3).astype("i1"),
    }
    beats = np.arange(geolocation["delta_time"][0] - 0.1, geolocation["delta_time"][-1] + 0.1, 0.005)
    # 60 m of noise photons: their rate per second of light travel time.
    density = noise * 2 / 60.0
    rate = density * 299_792_458.0 / 2 / (40.0 * 10_000 / 7000.9) if rate is None else rate
    sets = {
        "heights": heights,
        "geolocation": geolocation,
        "geophys_corr": {
            "geoid": np.linspace(30, 31, segments).astype("f4"),
            "dem_flag": (np.arange(segments) % 2).astype("i1"),
        },
        "bckgrd_atlas": {"delta_time": beats, "bckgrd_rate": np.full(len(beats), rate, "f4")},
    }
    for below, columns in sets.items():
        for name, values in columns.items():
            chunks = (CHUNK, *values.shape[1:]) if len(values) else None
            options = {
                "chunks": chunks,
                "maxshape": (None, *values.shape[1:]),
                "compression": "gzip",
                "shuffle": True,
            }
            group.create_dataset(f"{below}/{name}", data=values, **options)


def reference(
    path,
    beam,
    surface=-1,
    cnf=(2, 3, 4),
    quality=(0,),
    length=40.0,
    step=20.0,
    ats=20.0,
    cnt=10,
    maxi=5,
    window=3.0,
    sigma=5.0,
):
    """Elevations of a beam by the algorithm of ATL06-SR, extent by extent: a list of dictionaries.

    Sources: ATBD of ATL06, sections 5.5, 5.7, 5.9; SlideRule's description of ATL06-SR. The extents start at
    multiples of ``step``; photons at their end belong to the next one.
    """
    with h5py.File(path) as file:
        at = {name: values[...] for name, values in file[f"{beam}/heights"].items()}
        geo = {name: values[...] for name, values in file[f"{beam}/geolocation"].items()}
        rate = file[f"{beam}/bckgrd_atlas/bckgrd_rate"][...]
        beats = file[f"{beam}/bckgrd_atlas/delta_time"][...]
    segment = np.repeat(np.arange(len(geo["segment_ph_cnt"])), geo["segment_ph_cnt"])
    x = geo["segment_dist_x"][segment] + at["dist_ph_along"].astype("f8")
    confidence = at["signal_conf_ph"].max(axis=1) if surface < 0 else at["signal_conf_ph"][:, surface]
    used = np.isin(confidence, cnf) & np.isin(at["quality_ph"], quality)
    speed = np.linalg.norm(geo["velocity_sc"].astype("f8"), axis=1)
    background = np.interp(geo["delta_time"], beats, rate)
    found = []
    for k in range(int(np.floor((x.min() - length) / step)), int(x.max() / step) + 1):
        inside = np.flatnonzero(used & (x >= k * step) & (x < k * step + length))
        if len(inside) < cnt or np.ptp(x[inside]) < ats:
            continue
        first = segment[inside[0]]
        density = length * 10_000 / speed[first] * background[first] / (299_792_458.0 / 2)
        center = k * step + length / 2
        line, left, h_win, flags, residuals = _fit(
            x[inside] - center, at["h_ph"][inside].astype("f8"), density, ats, cnt, maxi, window, sigma
        )
        ids = inside[left]
        weights = np.linalg.pinv(np.column_stack([np.ones(len(ids)), x[ids] - center]))[0]
        rms = np.sqrt(np.mean(residuals**2))
        found.append(
            {
                "x_atc": center,
                "h_mean": line[0],
                "dh_fit_dx": line[1],
                "window_height": h_win,
                "rms_misfit": rms,
                "h_sigma": rms * np.sqrt((weights**2).sum()),
                "photon_start": inside[0],
                "photon_count": len(ids),
                "pflags": flags,
                "latitude": weights @ at["lat_ph"][ids],
                "longitude": weights @ at["lon_ph"][ids],
                "y_atc": weights @ at["dist_ph_across"][ids].astype("f8"),
                "seconds": weights @ at["delta_time"][ids],
            }
        )
    return found


def _fit(x, h, density, ats, cnt, maxi, window, most):
    left, h_win, flags = np.arange(len(x)), 0.0, 0
    for iteration in range(1, maxi + 1):
        matrix = np.column_stack([np.ones(len(left)), x[left]])
        line = np.linalg.lstsq(matrix, h[left], rcond=None)[0]
        residuals = h[left] - matrix @ line
        ordered = np.sort(residuals)
        low, high = (ordered[0], ordered[-1]) if iteration == 1 else (-h_win / 2, h_win / 2)
        spread = _dispersion(ordered, low, high, density)
        flags |= 8 if spread is None else 0
        expected = np.hypot(299_792_458.0 / 2 * 0.68e-9, 4.25 * line[1])
        h_win = max(window, 6 * expected, 6 * min(spread or 0.0, most), 0.75 * h_win)
        kept = np.abs(residuals) < h_win / 2
        if kept.sum() < cnt:
            return line, left, h_win, flags | 2, residuals
        if np.ptp(x[left][kept]) < ats:
            return line, left, h_win, flags | 1, residuals
        if kept.all():
            return line, left, h_win, flags, residuals
        if iteration < maxi:
            left = left[kept]
    return line, left, h_win, flags | 4, residuals


def _dispersion(ordered, low, high, density):
    n = len(ordered)
    signal = n - density * (high - low)
    if signal <= 1:
        return (high - low) / n
    i0 = 0
    while i0 < n and i0 + 1.5 < 0.25 * signal + (ordered[i0] - low) * density:
        i0 += 1
    i1 = n - 1
    while i1 >= 0 and i1 - 0.5 > 0.75 * signal + (ordered[i1] - low) * density:
        i1 -= 1
    if i1 < i0:
        i0, i1 = int(n / 2 - signal / 4 + 0.5) - 1, int(n / 2 + signal / 4 + 0.5)
    return (ordered[i1] - ordered[i0]) / 1.3490 if i0 >= 0 and i1 < n else None
