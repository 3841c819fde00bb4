"""Reference decoder of icecore.h5bitshuffle."""

import numpy as np
from numcodecs import LZ4, Zstd


def decode(data, configuration, nested):
    """Return the bytes: in each block, the bits of all elements at one place lie together."""
    size, packed = configuration["itemsize"], configuration.get("compression", "none")
    block = configuration.get("block_size", 0) or max(8192 // size // 8 * 8, 128)
    total, at = len(data), 0
    if packed != "none":
        total, block, at = int.from_bytes(data[:8], "big"), int.from_bytes(data[8:12], "big") // size, 12
    elements, out = total // size, []
    while elements >= 8:
        n = min(block, elements // 8 * 8)
        elements -= n
        if packed == "none":
            stored, at = data[at : at + n * size], at + n * size
        else:
            length = int.from_bytes(data[at : at + 4], "big")
            stored, at = data[at + 4 : at + 4 + length], at + 4 + length
            head = (n * size).to_bytes(4, "little")
            stored = LZ4().decode(head + stored) if packed == "lz4" else Zstd().decode(stored)
        rows = np.frombuffer(bytes(stored), "u1").reshape(8 * size, n // 8)
        bits = np.unpackbits(rows, axis=1, bitorder="little")  # one row for each bit of an element
        out.append(np.packbits(bits.T, axis=1, bitorder="little").tobytes())
    return b"".join(out) + data[at:]
