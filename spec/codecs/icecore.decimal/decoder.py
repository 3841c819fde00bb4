"""Reference decoder of icecore.decimal."""

import numpy as np


def decode(stored, configuration, dtype):
    """Return the floats nearest to k · 10^-scale; the least integers are the escapes."""
    scale, escapes = configuration["scale"], configuration.get("escapes", [])
    k = stored.astype("f8")
    values = (k / 10.0**scale if scale >= 0 else k * 10.0**-scale).astype(dtype)
    first = int(np.iinfo(stored.dtype).min)
    for place, escape in enumerate(escapes):
        values[stored == first + place] = _fill(escape, dtype)
    return values


def _fill(value, dtype):
    """Return a fill value of Zarr v3 as an element; ``0x…`` are its bits."""
    if isinstance(value, str) and value.startswith("0x"):
        return np.array(int(value, 16), f"u{dtype.itemsize}").view(dtype)[()]
    return dtype.type(value)
