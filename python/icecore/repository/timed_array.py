"""Methods of arrays with a time axis: reads by time, gaps and trends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from icecore.repository.array_metadata import ArrayMetadata
from icecore.repository.upper_rooms import provider

if TYPE_CHECKING:
    import numpy as np


class TimedArray(ArrayMetadata):
    """Methods of :class:`icecore.Array` that read by time; the array needs a time axis."""

    @property
    def segments(self) -> list[tuple[int, int]]:
        """Spans [start, stop) with samples, in nanoseconds: GPS, or UTC since 1970 for CF coordinates.

        Raises:
            Error: ``unsupported`` for an array without a time axis.
        """
        return provider("segments")(self)

    def between(
        self, start: Any, stop: Any, gaps: str = "raise", valid: str | Sequence[str] | None = None
    ) -> np.ndarray:
        """Read a span of time: GPS seconds, or UTC as a datetime or ISO string; ``stop`` is not included.

        The array has the time axis of a frame channel, or a CF time coordinate for its first dimension.

        Args:
            start: start of the span.
            stop: end of the span.
            gaps: action for missing samples, also at both ends: ``raise``, ``pad`` (with the fill value; NaN
                for floats) or ``ignore`` (return only the existing samples).
            valid: flags that must be set (``"DATA"``, ``["DATA", "CBC_CAT1"]``, ``"/H1/DQMASK:DATA"``);
                other samples are treated as missing. See :mod:`icecore.timeseries.flags`.

        Returns:
            Samples, shape ``(n,)``.

        Raises:
            Error: ``selection`` for missing samples with ``gaps="raise"``; ``unsupported`` for an array
                without a time axis; ``not-found`` for a flag; ``invalid``.

        Example:
            >>> import icecore
            >>> axis = {"epoch": "GPS", "t0_ns": 0, "step": [1, 4], "segments": [[0, 2_000_000_000]]}
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:  # 2 s at 4 Hz, as linked frames have them
            ...     w.array("/H1/X", "f4", (8,), ("time",), attrs={"icecore_time": axis})[...] = range(8)
            >>> repo.at("main")["/H1/X"].between(0.5, 1.0).tolist()
            [2.0, 3.0]
        """
        return provider("between")(self, start, stop, gaps, valid)

    def trend(self, start: Any = None, stop: Any = None, points: int = 2000) -> Any:
        """Reduce a span of time to at most ``points`` windows of minimum, maximum, mean, rms and count.

        Stored trends (``icecore link --summaries``) are used if they are fine enough, otherwise the samples.

        Args:
            start: GPS seconds or UTC; the array's start if omitted.
            stop: not included; the array's end if omitted.
            points: largest number of windows; a window has at least one sample.

        Returns:
            An :class:`icecore.timeseries.trend.Trend`.

        Raises:
            Error: ``unsupported`` for an array without a time axis; ``dtype`` for complex numbers;
                ``invalid``.

        Example:
            >>> import icecore
            >>> axis = {"epoch": "GPS", "t0_ns": 0, "step": [1, 4], "segments": [[0, 2_000_000_000]]}
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:  # 2 s at 4 Hz, as linked frames have them
            ...     w.array("/H1/X", "f4", (8,), ("time",), attrs={"icecore_time": axis})[...] = range(8)
            >>> repo.at("main")["/H1/X"].trend(points=2).max.tolist()
            [3.0, 7.0]
        """
        return provider("trend")(self, start, stop, points)
