"""Reference decoder of icecore.text_part."""

import numpy as np


def decode(data, configuration, dtype, shape, nested):
    """Return the texts: head, part and tail of each, one behind the other."""
    count, at, columns = int(np.prod(shape)), 0, []
    for codecs in (configuration["rest"], configuration["codecs"], configuration["rest"]):
        width, length = (int(n) for n in np.frombuffer(data, "<u4", 2, at))
        stored = data[at + 8 : at + 8 + length]
        at += 8 + length
        columns.append(nested(codecs, stored, f"S{width}", (count,)).tolist() if width else [b""] * count)
    return np.array([b"".join(parts) for parts in zip(*columns, strict=True)], dtype).reshape(shape)
