"""Check that files joined along a dimension are also in the order of its coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from icecore import errors
from icecore.sources.files.open_files import keep_open
from icecore.sources.mapping.array_map import ArrayEntry
from icecore.sources.mapping.stitched_array import SMALL


class Ends(NamedTuple):
    """A part's name, and the first and last value of its coordinate."""

    name: str
    first: float
    last: float


def ends(whole: ArrayEntry, parts: Sequence[tuple[str, int]]) -> list[Ends]:
    """Return the ends of each non-empty part of a joined coordinate; ``parts`` are names and lengths.

    Returns an empty list if the coordinate is not numeric or can't be read (a full read reports the error).
    why).
    """
    found: list[Ends] = []
    if whole.dtype.kind not in "iuf" or len(whole.shape) != 1 or not whole.shape[0] or whole.read is None:
        return found
    start = 0
    try:
        with keep_open():
            if whole.links is None and whole.nbytes <= SMALL:  # it is copied: read it once for both uses
                whole.read = whole.read((slice(0, whole.shape[0]),)).__getitem__
            for name, count in parts:
                places = (start, start + count - 1) if count else ()
                values = [whole.read((slice(at, at + 1),))[0].item() for at in dict.fromkeys(places)]
                if values:
                    found.append(Ends(name, values[0], values[-1]))
                start += count
    except errors.Error:
        return []
    return found


def disorder(parts: Sequence[Ends], units: object = None) -> str:
    """Return a message if a part does not begin after the end of the previous one; otherwise "".

    The direction is that of most parts, or else of most steps between parts. NaN is never out of order.
    ``units`` are the units of the values, for the message.
    """
    within = sum((part.last > part.first) - (part.last < part.first) for part in parts)
    between = sum((b.first > a.last) - (b.first < a.last) for a, b in pairwise(parts))
    sign = 1 if (within or between) >= 0 else -1
    back = [(before, after) for before, after in pairwise(parts) if sign * (after.first - before.last) <= 0]
    if not back:
        return ""
    before, after = back[0]
    unit = f" ({units})" if isinstance(units, str) and units else ""
    more = f", and {len(back) - 1} more such" if len(back) > 1 else ""
    return (
        f"{after.name} begins at {after.first}, {before.name} before it ends at {before.last}{unit}{more}: "
        "values repeat or go back, while slices by label need an order; give the files in order, each once"
    )
