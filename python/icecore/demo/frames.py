"""Demonstration of frame files: link one channel of 100 files, read it by time, draw its trend."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from icecore import errors
from icecore.demo.outcome import Outcome, check, counts
from icecore.ingest.link import link
from icecore.repository.open import open
from icecore.samples import gwf
from icecore.timeseries import trend

GROUP, FOLDER, PICTURE = "/frames", "frames", "strain-trend.png"
_CHANNEL, _SECONDS, _RATE = "H1:DEMO-STRAIN", 100, 1024


def show(folder: Path, into: str, outcome: Outcome) -> None:
    """Write the files, link the channel, compare all samples, and draw the trend."""
    files = gwf.strain(folder / FOLDER, _SECONDS, _RATE)
    report = link([folder / FOLDER], into, GROUP, variables="DEMO-STRAIN")
    array = open(into).arrays[f"{GROUP}/H1/DEMO-STRAIN"]
    began = time.perf_counter()
    ours = array[...]
    seconds_read = time.perf_counter() - began
    began = time.perf_counter()
    theirs = np.concatenate([gwf.samples(file.read_bytes(), _CHANNEL, _RATE) for file in files])
    outcome.rows.append(
        {
            "file": f"{len(files)} frames",
            "arrays": counts(report),
            "bytes_file": sum(file.stat().st_size for file in files),
            "bytes_raw": report.bytes_raw,
            "bytes_stored": report.bytes_stored,
            "seconds_write": report.seconds,
            "seconds_read": seconds_read,
            "seconds_reference": time.perf_counter() - began,
        }
    )
    outcome.checks.append(check(array.path, ours, theirs))
    try:
        trend.write(array.trend(points=500), str(folder / PICTURE))
        outcome.notes.append(f"trend of {_CHANNEL} over {_SECONDS} s: {folder / PICTURE}")
    except errors.Error as error:
        if error.kind != "unsupported":
            raise
        outcome.notes.append(f"no picture of {_CHANNEL}: {error.message}: {error.hint}")
