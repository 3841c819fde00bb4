"""Reference decoder of icecore.offset."""

import numpy as np


def decode(stored, configuration, dtype):
    """Return the elements: stored ones plus the offset, modulo 2 to the power of their bits."""
    unsigned = np.dtype(f"u{dtype.itemsize}")
    offset = unsigned.type(configuration["offset"] % (1 << (8 * dtype.itemsize)))
    with np.errstate(over="ignore"):
        return (stored.view(unsigned) + offset).view(dtype)
