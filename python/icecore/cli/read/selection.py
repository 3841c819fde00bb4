"""Selections of the command line: places, coordinates, and stretches of time with their gaps and flags."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from icecore import errors

if TYPE_CHECKING:
    import numpy as np

    from icecore.repository.array import Array


def selected(
    array: Array,
    sel: str | None,
    gaps: str | None = None,
    valid: str | None = None,
    known: dict[Any, Any] | None = None,
    together: str | None = None,
) -> tuple[tuple[Any, ...], Callable[..., np.ndarray]]:
    """Parse a selection.

    Args:
        array: the array.
        sel: ``time=START..STOP`` of a channel (GPS seconds or UTC; without STOP itself); coordinates as
            ``lat=45.0, time=2020-01..2020-02`` (with both ends); or an index as ``0:10, :`` or ``lat=3``.
        gaps: ``raise``, ``pad`` or ``ignore``, as in :meth:`icecore.Array.between`; ``raise`` if omitted.
        valid: flags that have to be set, separated by commas.
        known, together: of an array of a group, as for
            :func:`icecore.timeseries.coordinate_selection.by_coordinate`.

    Returns:
        The index, and a function that reads it; its keywords are ``rtol`` and ``leading_bytes``.

    Raises:
        Error: ``invalid`` for ``gaps`` or ``valid`` without a time; errors of :meth:`icecore.Array.between`.
    """
    found = re.fullmatch(r"time\s*=\s*(\S+)", (sel or "").strip())
    start, dots, stop = found[1].partition("..") if found is not None else ("", "", "")
    if start and dots and stop and (gaps or valid or "time" not in array.dims or _is_channel(array)):
        from icecore.timeseries.stretch import locate

        flags = valid.split(",") if valid else None
        stretch = locate(array, start, stop, gaps or "raise", flags)
        return (stretch.index(array),), partial(stretch.read, array)
    if gaps is not None or valid is not None:
        message = f"--gaps and --valid need a stretch of time (got {sel or 'no selection'})"
        raise errors.make("invalid", message, "time=START..STOP, in GPS seconds or UTC")
    from icecore.repository.selection import parse

    index = None
    if "=" in (sel or ""):
        from icecore.timeseries.coordinate_selection import by_coordinate

        index = by_coordinate(array, sel, known, together)
    index = index or parse(sel, array.dims)
    return index, partial(array.read, index)


def _is_channel(array: Array) -> bool:
    """Whether an array has the time axis of a channel, whose stretches end before STOP."""
    from icecore.repository.time_axis import TimeAxis

    return TimeAxis.of(array.attrs) is not None
