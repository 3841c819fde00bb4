"""Reference decoder of icecore.h5lz4."""

from numcodecs import LZ4


def decode(data, configuration, nested):
    """Return the bytes of all blocks; one that is as long as its bytes is stored as it is."""
    total, block, at, out = int.from_bytes(data[:8], "big"), int.from_bytes(data[8:12], "big"), 12, b""
    while len(out) < total:
        size = min(block, total - len(out))
        length = int.from_bytes(data[at : at + 4], "big")
        stored = data[at + 4 : at + 4 + length]
        out += stored if length == size else bytes(LZ4().decode(size.to_bytes(4, "little") + stored))
        at += 4 + length
    return out
