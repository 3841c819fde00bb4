"""Output of a trend as a figure (envelope of minimum and maximum, mean) or as CSV."""

from __future__ import annotations

import numpy as np

from icecore import errors
from icecore.filesystem.atomic_output import landing
from icecore.repository.time_axis import GPS, seconds_text
from icecore.timeseries.trend import Trend


def write(found: Trend, path: str) -> None:
    """Write a trend to a .png or .csv file.

    Raises:
        Error: ``unsupported`` for another suffix or if matplotlib is not installed; ``io``.
    """
    suffix = path.lower().rsplit(".", 1)[-1]
    if suffix == "png":
        draw(found, path)
    elif suffix == "csv":
        table = np.column_stack([found.times, found.min, found.max, found.mean, found.rms, found.count])
        with landing(path) as place:
            np.savetxt(
                place,
                table,
                "%.17g",
                ",",
                header=f"{found.epoch.lower()},min,max,mean,rms,count",
                comments="",
            )
    else:
        raise errors.make("unsupported", f"can't write a trend to {path}", "name it something.png or .csv")


def draw(found: Trend, path: str) -> None:
    """Draw the envelope and the mean; windows without samples are gaps."""
    from icecore.display.figures import canvas

    figure, axes = canvas(found.channel)
    since = np.arange(len(found)) * found.step
    if found.window != 1:
        axes.fill_between(since, found.min, found.max, alpha=0.35, linewidth=0, label="min to max")
    axes.plot(since, found.mean, linewidth=0.8, label="mean" if found.window != 1 else "samples")
    axes.set_xlabel(f"seconds since {_start(found)}")
    axes.set_ylabel(found.unit or "value")
    axes.legend(loc="upper right")
    with landing(path) as place:
        figure.savefig(place, format="png")


def _start(found: Trend) -> str:
    if found.epoch == GPS:
        return f"GPS {seconds_text(found.t0)}"
    return f"{np.datetime64(found.t0, 'ns')} UTC"
