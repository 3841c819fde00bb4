"""Refuse numbers that CF encoding would change into other numbers: wrapped, infinite or missing ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from icecore import errors

#: key of an encoding: floats must be whole numbers where they become integers without a scale
WHOLE = "icecore_whole"
_HINT = "choose another scale_factor, add_offset or dtype: variable.encoding"


def checked(variable: xr.Variable, encoding: Mapping[Any, Any], path: str) -> xr.Variable:
    """Return the variable; its numbers are checked if ``encoding`` changes their dtype or packs them.

    xarray casts ``(value - add_offset) / scale_factor`` to the dtype of the encoding. A cast to integers
    wraps, and makes NaN a number if there is no ``_FillValue``; a cast to smaller floats makes infinities.
    Data in memory are checked now, dask's blocks when they are computed.

    Raises:
        Error: ``mismatch`` for a number that the stored dtype can't hold.
    """
    packing = _Packing.of(variable.dtype, encoding, path)
    if packing is None:
        return variable
    if variable.chunks is None:
        packing.check(variable.to_numpy())
        return variable
    return variable.copy(data=variable.data.map_blocks(packing.check, dtype=variable.dtype))


@dataclass(frozen=True)
class _Packing:
    """How numbers are packed: ``packed`` is the dtype that ``_Unsigned`` makes of the stored integers."""

    path: str
    packed: np.dtype[Any]
    scale: float
    offset: float
    marks: tuple[Any, ...]
    is_scaled: bool
    whole: bool

    @classmethod
    def of(cls, dtype: np.dtype[Any], encoding: Mapping[Any, Any], path: str) -> _Packing | None:
        """Return the packing; None if it can't change a number."""
        stored = np.dtype(encoding.get("dtype") or dtype)
        names = [name for name in ("scale_factor", "add_offset") if encoding.get(name) is not None]
        if dtype.kind not in "iuf" or stored.kind not in "iuf" or (stored == dtype and not names):
            return None
        packed = _unsigned(stored, encoding)
        given = (encoding.get(name) for name in ("_FillValue", "missing_value"))
        marks = tuple(
            _mark(mark, packed) for mark in given if mark is not None and np.ndim(mark) == 0 and mark == mark
        )
        scale, offset = float(encoding.get("scale_factor", 1)), float(encoding.get("add_offset", 0))
        return cls(path, packed, scale, offset, marks, bool(names), bool(encoding.get(WHOLE)))

    def check(self, block: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the block unchanged."""
        if self.packed.kind == "f":
            self._check_floats(block)
        elif block.dtype.kind != "f" and not self.is_scaled:
            limits = np.iinfo(self.packed)
            self._refuse(block, (block < limits.min) | (block > limits.max))
        else:
            self._check_integers(block)
        return block

    def _check_floats(self, block: np.ndarray[Any, Any]) -> None:
        if self.is_scaled:
            return
        with np.errstate(all="ignore"):
            stored = block.astype(self.packed)
            if block.dtype.kind == "f":
                self._refuse(block, np.isfinite(block) & ~np.isfinite(stored))
            else:
                limit = float(np.iinfo(block.dtype).max)
                self._refuse(block, (stored >= limit) | (stored.astype(block.dtype) != block))

    def _check_integers(self, block: np.ndarray[Any, Any]) -> None:
        with np.errstate(all="ignore"):
            numbers = np.rint((block.astype("f8") - self.offset) / self.scale)
        limits = np.iinfo(self.packed)
        # float64 can't represent 2**63 - 1; the next larger float is the first that doesn't fit.
        self._refuse(block, (numbers < float(limits.min)) | (numbers >= float(limits.max) + 1))
        if self.whole and not self.is_scaled:
            self._refuse(block, np.isfinite(block) & (numbers != block))
        lost = np.isnan(numbers)
        if not self.marks and lost.any():
            message = (
                f"{self.path}: {self.packed} has no value for {np.count_nonzero(lost):,} missing numbers"
            )
            raise errors.make("mismatch", message, "give the encoding a _FillValue, or fill them")
        if self.is_scaled and np.isin(numbers, np.array(self.marks, "f8")).any():
            found = block[np.isin(numbers, np.array(self.marks, "f8"))]
            message = f"{self.path}: {found.flat[0]:g} would be stored as its _FillValue, which is missing"
            raise errors.make("mismatch", message, _HINT)

    def _refuse(self, block: np.ndarray[Any, Any], outside: np.ndarray[Any, Any]) -> None:
        if not np.any(outside):
            return
        held = ""
        if self.packed.kind != "f":
            limits = np.iinfo(self.packed)
            low, high = sorted((limits.min * self.scale + self.offset, limits.max * self.scale + self.offset))
            packing = f"scale_factor {self.scale:g} and add_offset {self.offset:g}"
            held = f" with {packing}, which hold {low:g} to {high:g}"
        message = (
            f"{self.path}: {np.count_nonzero(outside):,} of {block.size:,} numbers don't fit in {self.packed}"
            f"{held}; the first is {block[outside].flat[0]:g}"
        )
        raise errors.make("mismatch", message, _HINT)


def _mark(mark: Any, packed: np.dtype[Any]) -> Any:
    """Return a marker of missing numbers as it is stored."""
    with np.errstate(all="ignore"):
        return np.asarray(mark).astype(packed)[()]


def _unsigned(packed: np.dtype[Any], encoding: Mapping[Any, Any]) -> np.dtype[Any]:
    """Return the dtype that ``_Unsigned`` makes of the stored integers."""
    meant = {"true": "u", "false": "i"}.get(str(encoding.get("_Unsigned", "")).lower())
    return np.dtype(f"{meant}{packed.itemsize}") if meant and packed.kind in "iu" else packed
