"""Reference decoder of icecore.byteplanes, for reads of all planes."""

import numpy as np


def decode(data, configuration, dtype, shape, nested):
    """Return the elements: their bytes lie in planes, the most significant first."""
    planes = configuration["planes"]
    size = sum(plane["bytes"] for plane in planes)
    many = dtype.itemsize // size
    shape = tuple(shape) + ((many,) if many > 1 else ())
    entry = np.dtype([("length", "<u8"), ("crc", "<u4"), ("flag", "u1"), ("zeros", "V3")])
    table = np.frombuffer(data, entry, len(planes) + 1)
    at = 16 * (len(planes) + 1) + 4 + int(table["length"][0])  # behind table, its checksum and the escapes
    words = np.zeros(shape, f"u{size}")
    left = 8 * size
    for plane, row in zip(planes, table[1:], strict=True):
        kind, stored = np.dtype(f"<u{plane['bytes']}"), data[at : at + int(row["length"])]
        if row["flag"]:
            part = np.frombuffer(stored, kind).reshape(shape)
        else:
            part = nested(plane["codecs"], stored, kind, shape)
        left -= 8 * plane["bytes"]
        words |= part.astype(words.dtype) << words.dtype.type(left)
        at += int(row["length"])
    return words.reshape(-1).view(dtype).reshape(shape[:-1] if many > 1 else shape)
