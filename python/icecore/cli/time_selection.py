"""A selection of the command line by time: ``time=START..STOP``, with its gaps and flags."""

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
    array: Array, sel: str | None, gaps: str | None = None, valid: str | None = None
) -> tuple[tuple[Any, ...], Callable[..., np.ndarray]]:
    """Parse a selection.

    Args:
        array: the array.
        sel: ``time=START..STOP`` (GPS seconds or UTC), or an index as ``0:10, :`` or ``lat=3``.
        gaps: ``raise``, ``pad`` or ``ignore``, as in :meth:`icecore.Array.between`; ``raise`` if omitted.
        valid: flags that have to be set, separated by commas.

    Returns:
        The index, and a function that reads it; its keywords are ``rtol`` and ``leading_bytes``.

    Raises:
        Error: ``invalid`` for ``gaps`` or ``valid`` without a time; errors of :meth:`icecore.Array.between`.
    """
    found = re.fullmatch(r"time\s*=\s*(\S+)", (sel or "").strip())
    start, dots, stop = found[1].partition("..") if found is not None else ("", "", "")
    if start and dots and stop:
        from icecore.timeseries.stretch import locate

        flags = valid.split(",") if valid else None
        stretch = locate(array, start, stop, gaps or "raise", flags)
        return (stretch.index(array),), partial(stretch.read, array)
    if gaps is not None or valid is not None:
        message = f"--gaps and --valid need a stretch of time (got {sel or 'no selection'})"
        raise errors.make("invalid", message, "time=START..STOP, in GPS seconds or UTC")
    from icecore.repository.selection import parse

    index = parse(sel, array.dims)
    return index, partial(array.read, index)
