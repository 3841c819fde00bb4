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

    The sign bit is a negative mask, as CF's masks have the type of the array. Floating-point numbers hold as
    many bits as their mantissa.

    Example:
        >>> flags([(0, "DATA"), (31, "CBC CAT2")], np.dtype("i4"))
        {'flag_masks': [1, -2147483648], 'flag_meanings': 'DATA CBC_CAT2'}
    """
    bits = 8 * dtype.itemsize if dtype.kind in "iu" else np.finfo(dtype).nmant + 1 if dtype.kind == "f" else 0
    if not names or any(bit >= bits for bit, _ in names):
        return {}
    meanings = [re.sub(r"\s+", "_", name.strip()) or f"bit_{bit}" for bit, name in names]
    masks = [1 << bit for bit, _ in names]
    if dtype.kind == "i":
        masks = [mask - (1 << bits) if mask >> (bits - 1) else mask for mask in masks]
    return {"flag_masks": masks, "flag_meanings": " ".join(meanings)}


def named_bits(unit: str) -> list[tuple[int, str]]:
    """Return the bits that a unit such as ``0:DATA 1:CBC_CAT1`` names; empty for any other unit."""
    words = unit.split()
    found = [_BIT.fullmatch(word) for word in words]
    return [(int(item[1]), item[2]) for item in found if item] if words and all(found) else []
