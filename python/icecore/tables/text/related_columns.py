"""Related columns: equal, or different by a constant; later ones reuse the first one's codecs and chunks.

Equal chunks are stored once, so such a column costs only its metadata. It is read like any other: its chunk
is the first one's, and ``icecore.offset`` adds the constant.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

Codec = dict[str, Any]
_OFFSET = "icecore.offset"


class Related:
    """Known columns, by data type and a digest of the differences from their first value."""

    def __init__(self, portable: bool) -> None:
        """Start empty; if ``portable``, only equal columns share bytes, because an offset needs icecore's
        codec.
        """
        self._portable = portable
        self._seen: dict[tuple[str, bytes], tuple[int, list[Codec]]] = {}

    def of(self, front: list[Codec], values: np.ndarray, choose: Callable[[], list[Codec]]) -> list[Codec]:
        """Return the codecs of a column.

        Args:
            front: codecs that convert its values to integers, or an empty list.
            values: first values of the column.
            choose: chooses codecs for the column alone.

        Returns:
            The result of ``choose()``, or the codecs of an earlier column with another offset.
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
    """Return the input of the codecs after ``front`` as 64-bit integers or times; None for other values."""
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
    """Return a digest of the differences from the first value, modulo 2⁶⁴."""
    words = np.ascontiguousarray(integers).view("u8")
    return hashlib.blake2b(np.subtract(words, words[0]).tobytes(), digest_size=16).digest()


def _wrapped(number: int) -> int:
    """Return a number modulo 2⁶⁴ as a signed 64-bit integer."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)
