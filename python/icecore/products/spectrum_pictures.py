"""Pictures of spectra: lines on logarithmic axes; maps of times and frequencies with a colour bar."""

from __future__ import annotations

from typing import Any

import numpy as np

from icecore import errors
from icecore.display.figures import canvas
from icecore.filesystem.atomic_output import landing
from icecore.products.rows import Rows

#: colours that the field uses for detectors (gwpy.plot.colors)
_DETECTORS = {
    "G": "#222222",
    "H": "#ee0000",
    "I": "#b0dd8b",
    "K": "#ffb200",
    "L": "#4ba6ff",
    "V": "#9b59b6",
}
_LABELS = {"psd": "power / Hz", "asd": "amplitude / √Hz", "coherence": "coherence"}


def spectrum(rows: Rows, path: str) -> int:
    """Draw spectra; return the number of rows."""
    table = rows.read_all()
    name = next(each for each in table.column_names if each in _LABELS)
    figure, axes = canvas(name)
    sources = table["source"].to_pylist() if "source" in table.column_names else [""] * len(table)
    frequency, value = (table[each].to_numpy() for each in ("frequency", name))
    for source in dict.fromkeys(sources):
        chosen = np.array([each == source for each in sources]) & (frequency > 0)
        axes.plot(frequency[chosen], value[chosen], linewidth=0.9, label=source, color=_colour(source))
    axes.set_xscale("log")
    if name != "coherence" and np.any(value > 0):
        axes.set_yscale("log")
    axes.set_xlabel("frequency (Hz)")
    axes.set_ylabel(_LABELS[name])
    if len(set(sources)) > 1:
        axes.legend()
    with landing(path) as place:
        figure.savefig(place, format="png")
    return len(table)


def spectrogram(rows: Rows, path: str) -> int:
    """Draw densities over time and frequency; return the number of rows."""
    return _map(rows, path, "psd", "power / Hz", logarithmic=True)


def q_transform(rows: Rows, path: str) -> int:
    """Draw energies over time and frequency; return the number of rows."""
    return _map(rows, path, "energy", "normalised energy", logarithmic=False)


def _colour(source: str) -> str | None:
    stem = source.rstrip("/").rsplit("/", 1)[-1]
    return _DETECTORS.get(stem[:1]) if stem[1:2] in "123-" else None


def _map(rows: Rows, path: str, name: str, label: str, logarithmic: bool) -> int:
    from matplotlib.colors import LogNorm

    table = rows.read_all()
    if "source" in table.column_names:
        raise errors.make("unsupported", "a picture shows one source", "name one source")
    gps, frequency, value = (table[each].to_numpy() for each in ("gps", "frequency", name))
    times, bins = np.unique(gps), np.unique(frequency)
    grid = value.reshape(len(times), len(bins)).T
    figure, axes = canvas(name)
    axes.grid(False)
    positive = grid[np.isfinite(grid) & (grid > 0)]
    norm: Any = LogNorm(positive.min(), positive.max()) if logarithmic and positive.size else None
    start = float(times[0])
    mesh = axes.pcolormesh(times - start, bins, grid, norm=norm, shading="nearest", rasterized=True)
    if bins[-1] > 0 and len(bins) > 1:
        axes.set_yscale("log")
        axes.set_ylim(max(bins[0], bins[1] if bins[0] == 0 else bins[0]), bins[-1])
    axes.set_xlabel(
        f"seconds since GPS {start:.9g}" if start != int(start) else f"seconds since GPS {int(start)}"
    )
    axes.set_ylabel("frequency (Hz)")
    figure.colorbar(mesh, label=label)
    with landing(path) as place:
        figure.savefig(place, format="png")
    return len(table)
