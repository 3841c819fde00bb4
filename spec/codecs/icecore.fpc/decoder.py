"""Reference decoder of icecore.fpc."""

import numpy as np


def decode(data, configuration, dtype, shape, nested):
    """Return the elements: each was XORed with the one before it along the axis."""
    size, count = dtype.itemsize, int(np.prod(shape))
    bits = {8: 3, 4: 2}[size]  # of a code
    words = np.zeros((count, size), "u1")  # little-endian
    at = 0
    for first in range(0, count, 8):
        codes = int.from_bytes(data[at : at + bits], "little")
        at += bits
        for i in range(first, min(first + 8, count)):
            kept = size - (codes >> bits * (i - first) & ((1 << bits) - 1))
            words[i, :kept] = np.frombuffer(data[at : at + kept], "u1")
            at += kept
    xored = words.reshape(-1).view(f"<u{size}").reshape(shape)
    return np.bitwise_xor.accumulate(xored, configuration.get("axis", -1)).view(dtype)
