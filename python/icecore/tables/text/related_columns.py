"""Columns that are equal or a constant apart: later ones get the codecs that give the first one's bytes.

Equal chunks are stored once, so such a column costs its metadata. It is read like any other: its chunk is the
first one's, and ``icecore.offset`` adds the constant.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

Codec = dict[str, Any]
_OFFSET = "icecore.offset"


class Related:
    """Columns that were seen, by data type and a digest of the differences from their first value."""

    def __init__(self, portable: bool) -> None:
        """``portable``: only equal columns share their bytes, because others need a codec of icecore's."""
        self._portable = portable
        self._seen: dict[tuple[str, bytes], tuple[int, list[Codec]]] = {}

    def of(self, front: list[Codec], values: np.ndarray, choose: Callable[[], list[Codec]]) -> list[Codec]:
        """The codecs of a column.

        Args:
            front: the codecs that make integers of its values, or none.
            values: its first values.
            choose: chooses codecs for it alone.

        Returns:
            ``choose()``, or the codecs of a column before it with another offset.
        """
        integers = _integers(front, values)
        if integers is None:
            return choose()
        first, key = int(integers.view("i8")[0]), (integers.dtype.str, _digest(integers))
        known = self._seen.get(key)
        if known is None or (known[0] != first and self._portable):
            chosen = choose()
            if chosen[: len(front)] == front:
                self._seen.setdefault(key, (first, chosen[len(front) :]))
            return chosen
        apart = _wrapped(first - known[0])
        offset: list[Codec] = [{"name": _OFFSET, "configuration": {"offset": apart}}] if apart else []
        return [*front, *offset, *known[1]]


def _integers(front: list[Codec], values: np.ndarray) -> np.ndarray | None:
    """What the codecs behind ``front`` see, as int64 (times keep their type); None for anything else."""
    if values.dtype.kind in "Mm" and not front:
        return values
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        return values
    if values.dtype.kind != "f" or not front:
        return None
    own = front[0]["configuration"]
    scaled = values.astype("f8") * 10.0 ** own["scale"]
    if not np.isfinite(scaled).all() or np.abs(scaled).max(initial=0) > 2.0**53:
        return None
    return np.rint(scaled).astype(own["dtype"])


def _digest(integers: np.ndarray) -> bytes:
    """Of the differences from the first value, which wrap."""
    words = np.ascontiguousarray(integers).view("u8")
    return hashlib.blake2b(np.subtract(words, words[0]).tobytes(), digest_size=16).digest()


def _wrapped(number: int) -> int:
    """As a signed integer of 64 bits."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)
