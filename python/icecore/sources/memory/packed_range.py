"""Refuse numbers that CF packing into integers would wrap around."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from icecore import errors


def checked(variable: xr.Variable, encoding: Mapping[Any, Any], path: str) -> xr.Variable:
    """Return the variable; its numbers are checked if ``encoding`` packs floats as integers.

    xarray casts ``(value - add_offset) / scale_factor`` to the dtype of the encoding, and a cast wraps.
    Data in memory are checked now, dask's blocks when they are computed.

    Raises:
        Error: ``mismatch`` for a number that the integers can't hold.
    """
    packed = np.dtype(encoding.get("dtype") or variable.dtype)
    if variable.dtype.kind != "f" or packed.kind not in "iu":
        return variable
    scale, offset = float(encoding.get("scale_factor", 1)), float(encoding.get("add_offset", 0))
    packed = _unsigned(packed, encoding)

    def check(block: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        _refuse_overflow(block, packed, scale, offset, path)
        return block

    if variable.chunks is None:
        check(variable.to_numpy())
        return variable
    return variable.copy(data=variable.data.map_blocks(check, dtype=variable.dtype))


def _unsigned(packed: np.dtype[Any], encoding: Mapping[Any, Any]) -> np.dtype[Any]:
    """Return the dtype that ``_Unsigned`` makes of the stored integers."""
    meant = {"true": "u", "false": "i"}.get(str(encoding.get("_Unsigned", "")).lower())
    return np.dtype(f"{meant}{packed.itemsize}") if meant else packed


def _refuse_overflow(
    block: np.ndarray[Any, Any], packed: np.dtype[Any], scale: float, offset: float, path: str
) -> None:
    with np.errstate(all="ignore"):
        numbers = np.rint((block.astype("f8") - offset) / scale)
    limits = np.iinfo(packed)
    # 2**63 - 1 is no float64; the float above it is the first that doesn't fit.
    outside = (numbers < float(limits.min)) | (numbers >= float(limits.max) + 1)
    if not outside.any():
        return
    low, high = sorted((limits.min * scale + offset, limits.max * scale + offset))
    message = (
        f"{path}: {np.count_nonzero(outside):,} of {block.size:,} numbers don't fit in {packed} "
        f"with scale_factor {scale:g} and add_offset {offset:g}, which hold {low:g} to {high:g}; "
        f"the first is {block[outside].flat[0]:g}"
    )
    raise errors.make(
        "mismatch", message, "choose another scale_factor, add_offset or dtype: variable.encoding"
    )
