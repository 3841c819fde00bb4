"""Names of the bits of data-quality masks as CF attributes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

#: bit name in the unit of a frame file: ``0:DATA 1:CBC_CAT1``
_BIT = re.compile(r"(\d+):(\S+)")


def flags(names: Sequence[tuple[int, str]], dtype: np.dtype) -> dict[str, Any]:
    """Return ``flag_masks`` and ``flag_meanings`` (CF 3.5) of named bits; empty if a bit does not fit.

    Example:
        >>> flags([(0, "DATA"), (2, "CBC CAT2")], np.dtype("i4"))
        {'flag_masks': [1, 4], 'flag_meanings': 'DATA CBC_CAT2'}
    """
    bits = 8 * dtype.itemsize - (dtype.kind == "i")
    if dtype.kind not in "iu" or not names or any(bit >= bits for bit, _ in names):
        return {}
    meanings = [re.sub(r"\s+", "_", name.strip()) or f"bit_{bit}" for bit, name in names]
    return {"flag_masks": [1 << bit for bit, _ in names], "flag_meanings": " ".join(meanings)}


def named_bits(unit: str) -> list[tuple[int, str]]:
    """Return the bits that a unit such as ``0:DATA 1:CBC_CAT1`` names; empty for any other unit."""
    words = unit.split()
    found = [_BIT.fullmatch(word) for word in words]
    return [(int(item[1]), item[2]) for item in found if item] if words and all(found) else []
