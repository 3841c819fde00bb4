"""Trend plot of a year at 16 kHz from synthetic stored trends: seconds and bytes.

python bench/trend_year.py DIR   makes DIR/year.icecore (574 MB) if it isn't there, then measures
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import icecore
import numpy as np
from icecore.ingest.write import write_trends
from icecore.timeseries import trend
from icecore.timeseries.window_sums import Sums

RATE, DAYS, T0 = 16384, 366, 1_400_000_400
DAY, PATH, ROUNDS = 86400, "/H1/STRAIN", 9


def days(*_: Any) -> Iterator[Sums]:
    """Sums of random seconds; every tenth day is a gap."""
    rng = np.random.default_rng(1)
    for day in range(DAYS):
        mean = rng.normal(size=DAY)
        if day % 10 != 3:
            number, count = T0 + day * DAY + np.arange(DAY), np.full(DAY, RATE)
            yield Sums(number, count, mean * RATE, (mean * mean + 1) * RATE, mean - 3, mean + 3)


def make(place: Path) -> None:
    """A channel without samples, and its trends."""
    span = [T0 * 10**9, (T0 + DAY * DAYS) * 10**9]
    axis = {"epoch": "GPS", "t0_ns": span[0], "step": [1, RATE], "segments": [span]}
    unit = (RATE * 64,)
    with icecore.create(place).writer() as w, patch.object(write_trends.sample_blocks, "sums", days):
        attrs = {"icecore_time": axis, "units": "strain"}
        w.array(PATH, "f4", (RATE * DAY * DAYS,), ("time",), unit, unit, "default", attrs=attrs)
        write_trends.write(w, [PATH])


def main(folder: Path) -> None:
    """Print the medians of opening with the trend, of the picture, and the bytes read."""
    place = folder / "year.icecore"
    if not place.exists():
        make(place)
    seconds = []
    fetched = 0
    for _ in range(ROUNDS):
        began, cpu = time.perf_counter(), time.process_time()
        found = icecore.open(place)[PATH].trend(points=2000)
        reduced = time.perf_counter()
        trend.draw(found, str(folder / "year.png"))
        seconds.append((reduced - began, time.perf_counter() - began, time.process_time() - cpu))
        fetched = max(fetched, found.bytes_read)
    opened, drawn, cpu = np.median(seconds, axis=0)
    print(f"{found}\n{fetched:,} bytes")
    print(f"open and trend {opened:.3f} s, with the picture {drawn:.3f} s, CPU {cpu:.3f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
