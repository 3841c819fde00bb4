"""Demonstration of ROOT files: link a tree, select events, draw a histogram."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from icecore import errors
from icecore.demo.outcome import Check, Outcome, check, counts
from icecore.filesystem.atomic_output import landing
from icecore.ingest.link import link
from icecore.repository.open import open
from icecore.samples import root

GROUP, FILE, PICTURE = "/events", "events.root", "mass.png"
_CUT, _BINS, _LOW, _HIGH = "nMuon >= 2 and MET_pt < 40", 60, 60, 120


def show(folder: Path, into: str, outcome: Outcome) -> None:
    """Write a tree, link it, compare all values, and draw the mass of the selected events."""
    path = folder / FILE
    try:
        written = root.events(path)
    except ModuleNotFoundError:
        outcome.notes.append(f"no ROOT file: writing one needs uproot: {errors.installing('root')}")
        return
    report = link([f"{path}:Events"], into, GROUP)
    repo = open(into)
    began = time.perf_counter()
    ours = repo.read({f"{GROUP}/{name}": None for name in written})
    seconds_read = time.perf_counter() - began
    began = time.perf_counter()
    theirs = _uproot(path)
    outcome.rows.append(
        {
            "file": FILE,
            "arrays": counts(report),
            "bytes_file": path.stat().st_size,
            "bytes_raw": report.bytes_raw,
            "bytes_stored": report.bytes_stored,
            "seconds_write": report.seconds,
            "seconds_read": seconds_read,
            "seconds_reference": time.perf_counter() - began,
        }
    )
    for inside, values in ours.items():
        outcome.checks.append(check(inside, values, theirs.get(inside.rsplit("/", 1)[1])))
    mass = repo.table(GROUP).to_numpy(["mass"], where=_CUT)["mass"]
    found = np.histogram(mass, _BINS, (_LOW, _HIGH))[0]
    is_cut = (theirs["nMuon"] >= 2) & (theirs["MET_pt"] < 40)
    expected = np.histogram(theirs["mass"][is_cut], _BINS, (_LOW, _HIGH))[0]
    same = np.array_equal(found, expected)
    outcome.checks.append(Check(f"{GROUP} where {_CUT}", same, "" if same else "the histogram differs"))
    outcome.notes.append(_draw(found, len(mass), folder / PICTURE))


def _uproot(path: Path) -> dict[str, np.ndarray]:
    import uproot

    with uproot.open(path) as file:
        found: dict[str, np.ndarray] = file["Events"].arrays(library="np")
    return found


def _draw(counts: np.ndarray, selected: int, picture: Path) -> str:
    from icecore.display.figures import canvas

    try:
        figure, axes = canvas(f"{selected:,} events with {_CUT}")
    except errors.Error as error:
        return f"no histogram: {error.message}: {error.hint}"
    axes.stairs(counts, np.linspace(_LOW, _HIGH, _BINS + 1), fill=True, alpha=0.6)
    axes.set_xlabel("mass (GeV)")
    axes.set_ylabel("events per GeV")
    with landing(str(picture)) as place:
        figure.savefig(place, format="png")
    return f"mass of {selected:,} selected events: {picture}"
