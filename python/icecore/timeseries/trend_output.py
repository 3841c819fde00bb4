"""Output of a trend as a figure (envelope of minimum and maximum, mean) or as CSV."""

from __future__ import annotations

import numpy as np

from icecore import errors
from icecore.filesystem.atomic_output import landing
from icecore.timeseries.trend import Trend


def write(found: Trend, path: str) -> None:
    """Write a trend to a .png or .csv file.

    Raises:
        Error: ``unsupported`` for another suffix or if Pillow is not installed; ``io``.
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
    from icecore.timeseries import trend_picture

    with landing(path) as place:
        trend_picture.draw(found, place)
