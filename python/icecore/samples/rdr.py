"""Generate Diviner RDR level-1 text; the repository does not contain real tables.

Layout, widths, order and constants follow the archive's format file: 33 columns, 342 bytes per row, CR LF.
Each sample of 0.128 s has rows for 9 channels x 21 detectors, with equal columns 1 to 17. Radiances are
multiples of 0.0025; brightness temperatures are derived from them. The orbit is circular and polar. The
geometry of the field of view is computed by spherical trigonometry, with noise of a few units of the last
digit. Some samples look into space and have no geometry (-9999).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import numpy as np

NAMES = [
    "date",
    "utc",
    "jdate",
    "orbit",
    "sundist",
    "sunlat",
    "sunlon",
    "sclk",
    "sclat",
    "sclon",
    "scrad",
    "scalt",
    "el_cmd",
    "az_cmd",
    "af",
    "vert_lat",
    "vert_lon",
    "c",
    "det",
    "vlookx",
    "vlooky",
    "vlookz",
    "radiance",
    "tb",
    "clat",
    "clon",
    "cemis",
    "csunzen",
    "csunazi",
    "cloctime",
    "qca",
    "qge",
    "qmi",
]
_WIDTHS = (
    13,
    15,
    18,
    6,
    8,
    9,
    10,
    17,
    10,
    10,
    12,
    12,
    8,
    8,
    5,
    10,
    10,
    2,
    4,
    10,
    10,
    10,
    11,
    9,
    10,
    10,
    10,
    10,
    10,
    9,
    4,
    4,
    4,
)
CHANNELS, DETECTORS, STEP = 9, 21, 0.128
ROWS = CHANNELS * DETECTORS
#: number of samples between two space views, and of samples in a space view
_BETWEEN, _SPACE = 1500, 40
#: relative difference of the radiances of neighbouring samples
_ROUGH = 0.02
_RADIUS, _ALTITUDE, _PERIOD = 1737.4, 50.0, 6780.0
_SAMPLE = (
    '"%s", "%s", %17.9f, %5d, %7.5f, %8.5f, %9.5f, %010d.%05d, %9.5f, %9.5f, %11.5f, %11.5f, '
    "%7.3f, %7.3f, %4d, %9.5f, %9.5f, "
)
_DETECTOR = "%d, %3d, %9.6f, %9.6f, %9.6f, %10.4f, %8.3f, "
_GROUND = "%9.5f, %9.5f, %9.5f, %9.5f, %9.5f, %8.5f, 000, 012, 000\r\n"
_NOWHERE = "  -9999.0, " * 5 + " -9999.0, 002, 012, 032\r\n"


def header(team: bool = False) -> str:
    """Return the four header lines; files of the team have only the last one."""
    names = ",".join(f"{name:>{width}}" for name, width in zip(NAMES, _WIDTHS, strict=True))
    line = "#" + names[1:] + "\r\n"
    return line if team else "# Header 1 of 3\r\n# Header 2 of 3\r\n# Header 3 of 3\r\n" + line


def lines(samples: int, noise: int, start: datetime.datetime, seed: int = 1) -> Iterator[str]:
    """Yield the text of one sample after another; ``noise`` is in units of the last digit of the geometry."""
    yield header()
    rng = np.random.default_rng(seed)
    scene = rng.normal(0, 1, (CHANNELS, 64))
    channel, detector = np.divmod(np.arange(ROWS), DETECTORS)
    along = (channel - 4) * 0.0065  # radians from the boresight, along and across the track
    across = (detector - 10) * 0.0034
    first = (start - datetime.datetime(2000, 1, 1, 12)).total_seconds()
    for i in range(samples):
        when = start + datetime.timedelta(seconds=i * STEP)
        space = (i + 700) % _BETWEEN < _SPACE
        yield _sample(when, first + i * STEP, noise, rng, scene, channel, detector, along, across, space)


def _sample(  # type: ignore[no-untyped-def]
    when, seconds, noise, rng, scene, channel, detector, along, across, space
) -> str:
    phase = 2 * np.pi * seconds / _PERIOD
    sclat = np.degrees(np.arcsin(np.sin(phase) * 0.99995))
    drift = -seconds * 360 / (27.32 * 86400)
    sclon = (drift + (180 if np.cos(phase) > 0 else 0) + np.degrees(0.01 * np.sin(phase))) % 360
    sunlat, sunlon = 1.54 * np.sin(seconds / 5e6), (200 - seconds * 360 / (29.53 * 86400)) % 360
    altitude = _ALTITUDE + 8 * np.sin(phase + 1)
    clock = seconds + 2.7e8
    head = _SAMPLE % (
        when.strftime("%d-%b-%Y"),
        when.strftime("%H:%M:%S.") + f"{when.microsecond // 1000:03d}",
        seconds / 86400 + 2451545,
        1000 + int(seconds / _PERIOD) % 90000,
        1.01 + 0.01 * np.sin(seconds / 5e6),
        sunlat,
        sunlon,
        int(clock),
        int(clock % 1 * 65536),
        sclat,
        sclon,
        _RADIUS + altitude,
        altitude,
        80 if space else 180,
        240,
        110,
        np.degrees(np.arcsin(np.cos(phase) * 0.02)),
        (sclon + 90) % 360,
    )
    geometry = _geometry(sclat, sclon, altitude, along, across, sunlat, sunlon)
    # last printed digit: 1e-6 for vlook, 1e-5 for the others
    units = np.where(np.arange(len(geometry)) < 3, 1e-6, 1e-5)[:, None]
    geometry = geometry + rng.integers(-noise, noise + 1, geometry.shape) * units
    # keep angles in their printed ranges
    geometry[4] %= 360
    geometry[7] %= 360
    geometry[8] %= 24
    geometry[5:7] = np.clip(geometry[5:7], 0, 180)
    radiance, tb = _scene(scene, channel, geometry[3], geometry[6], rng, space)
    ground = [] if space else [g.tolist() for g in geometry[3:]]
    rows = zip(
        (channel + 1).tolist(),
        (detector + 1).tolist(),
        *(g.tolist() for g in geometry[:3]),
        radiance.tolist(),
        tb.tolist(),
        *ground,
        strict=True,
    )
    row = head + _DETECTOR + (_NOWHERE if space else _GROUND)
    return "".join([row % cells for cells in rows])


def _geometry(sclat, sclon, altitude, along, across, sunlat, sunlon) -> np.ndarray:  # type: ignore[no-untyped-def]
    """Return vlookx, vlooky, vlookz, clat, clon, cemis, csunzen, csunazi, cloctime of every detector."""
    lat, lon = np.radians(sclat), np.radians(sclon)
    down = -np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    north = np.array([-np.sin(lat) * np.cos(lon), -np.sin(lat) * np.sin(lon), np.cos(lat)])
    east = np.array([-np.sin(lon), np.cos(lon), 0.0])
    look = down[:, None] + north[:, None] * np.tan(along) + east[:, None] * np.tan(across)
    look /= np.linalg.norm(look, axis=0)
    place = -down * (_RADIUS + altitude)
    nearest = place @ look
    distance = -nearest - np.sqrt(nearest**2 - (place @ place - _RADIUS**2))
    ground = (place[:, None] + look * distance) / _RADIUS
    clat, clon = np.arcsin(ground[2]), np.arctan2(ground[1], ground[0])
    cemis = np.degrees(np.arccos(np.clip(-(ground * look).sum(0), -1, 1)))
    sun_lat, sun_lon = np.radians(sunlat), np.radians(sunlon)
    sun = np.array([np.cos(sun_lat) * np.cos(sun_lon), np.cos(sun_lat) * np.sin(sun_lon), np.sin(sun_lat)])
    zenith = np.degrees(np.arccos(np.clip(sun @ ground, -1, 1)))
    hour = sun_lon - clon
    azimuth = np.arctan2(np.sin(hour), np.cos(clat) * np.tan(sun_lat) - np.sin(clat) * np.cos(hour))
    local = (np.degrees(clon) - sunlon) / 15 + 12
    return np.stack([*look, np.degrees(clat), np.degrees(clon), cemis, zenith, np.degrees(azimuth), local])


def _scene(scene, channel, clat, zenith, rng, space) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[no-untyped-def]
    """Return the radiance in steps of 0.0025, with the instrument's noise, and the derived temperature."""
    terrain = np.array([np.interp(clat, np.linspace(-90, 90, 64), row) for row in scene])[
        channel, np.arange(ROWS)
    ]
    warm = 90 + 290 * np.clip(np.cos(np.radians(zenith)), 0, 1) ** 0.25 + 3 * terrain
    strength = 0.02 * (channel + 1)
    exact = 0 * warm if space else strength * (warm / 100) ** 4 * (1 + rng.normal(0, _ROUGH, ROWS))
    steps = np.maximum(np.rint(exact / 0.0025 + rng.normal(0, 0.6, ROWS)), 1) + 0.5
    radiance = np.floor(steps) * 0.0025 + 0.0012
    return radiance, 100 * (radiance / strength) ** 0.25


def write(
    path: str | Path, samples: int = 4688, noise: int = 3, start: str = "2009-08-01T00:00:00", seed: int = 1
) -> int:
    """Write a table and return its size in bytes; ten minutes are 4688 samples."""
    with open(path, "w", newline="", encoding="ascii") as file:
        return sum(
            file.write(text) for text in lines(samples, noise, datetime.datetime.fromisoformat(start), seed)
        )
