"""Values of icecore.predict: the elements of integers."""

import numpy as np


def sortable(word):
    """Return the bits of floats as integers in their order."""
    top = word.dtype.type(1 << (8 * word.dtype.itemsize - 1))
    return np.where(word & top, ~word, word ^ top)


def bits(word):
    """Return the bits of floats of integers in their order."""
    top = word.dtype.type(1 << (8 * word.dtype.itemsize - 1))
    return np.where(word & top, word ^ top, ~word)


def values(words, kind, power, ranks, dtype):
    """Return the elements of integers: bits, sortable bits, numbers on a lattice, or ranks."""
    if kind == 4:
        words, kind = ranks[words.astype("i8")].astype(words.dtype), 1 if dtype.kind == "f" else 0
    if kind in (2, 3):
        k, base = words.view(f"i{words.dtype.itemsize}").astype("f8"), {2: 2.0, 3: 10.0}[kind]
        return (k / base**power if power >= 0 else k * base**-power).astype(dtype)
    return (bits(words) if kind == 1 else words).view(dtype)
