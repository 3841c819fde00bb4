"""Fields whose values are whole multiples of a step: data that were integers, or were computed as such."""

from __future__ import annotations

import numpy as np

#: a field lies on a lattice where no value is so many steps from zero: float32 has a bit that is never used
STEPS = 1 << 23
#: numbers of this magnitude say that something is missing
_MISSING = 1e15
#: label → steps in one
_KINDS = {f"2^{-e}": 2.0**e for e in range(24)} | {f"10^{-d}": 10.0**d for d in range(8)}


def lattice(values: np.ndarray) -> str | None:
    """The step, where all values lie on a lattice of powers of two or ten; else None."""
    valid = np.unique(values[np.isfinite(values) & (np.abs(values) < _MISSING)])
    exact, longest = valid.astype("f8"), np.abs(valid).max(initial=0)
    for label, steps in _KINDS.items() if len(valid) > 2 else ():
        whole = np.round(exact * steps)
        if longest * steps < STEPS and np.array_equal((whole / steps).astype(valid.dtype), valid):
            return label
    return None


def unpacked(values: np.ndarray) -> np.ndarray:
    """The field as archives of 16-bit integers give it back: their `scale_factor` spans its range. What is
    missing stays as it is.
    """
    there = np.isfinite(values) & (np.abs(values) < _MISSING)
    valid = values[there].astype("f8")
    scale, offset = (valid.max() - valid.min()) / 65534, (valid.max() + valid.min()) / 2
    result = values.astype("f4")
    result[there] = np.round((valid - offset) / scale) * scale + offset
    return result
