"""Groups that hold jagged arrays, and the attribute that names their arrays (docs/format.md)."""

from __future__ import annotations

from typing import Any

import numpy as np

#: the attribute of a group that holds a jagged array
JAGGED = "jagged"
#: the attribute of a tree's group with its number of entries
ENTRIES = "entries"


def attribute(
    lengths: str,
    of: str,
    content: str,
    bounds: tuple[np.ndarray, np.ndarray] | None = None,
    optional: bool = False,
) -> dict[str, Any]:
    """Return the attributes of a group of lists.

    Args:
        lengths: ``offsets``, ``counts`` or ``ends``: the kind of the array ``of``.
        of: path of the array of lengths, relative to the group.
        content: path of the elements, relative to the group.
        bounds: entries and elements at which parts (baskets, clusters) begin, and their ends.
        optional: whether each list is a value that may be missing.
    """
    stated: dict[str, Any] = {lengths: of, "content": content}
    if optional:
        stated["optional"] = True
    if bounds is not None:
        stated["bounds"] = [bounds[0].tolist(), bounds[1].tolist()]
    return {JAGGED: stated}


def edges(lengths: np.ndarray) -> np.ndarray:
    """Return 0 and the running sums of ``lengths``."""
    return np.concatenate([np.zeros(1, "i8"), np.cumsum(np.asarray(lengths, "i8"))])
