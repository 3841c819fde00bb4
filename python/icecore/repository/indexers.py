"""`Array.vindex` and `Array.oindex`: indexing by coordinates, and by one index per axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.repository import selection

if TYPE_CHECKING:
    from icecore.repository.array import Array


class Vectorized:
    """``array.vindex``: elements at coordinates; the index arrays are broadcast together."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def __getitem__(self, sel: Any) -> Any:
        array = self._array
        given = sel if isinstance(sel, tuple) else (sel,)
        if any(isinstance(item, slice) or item is Ellipsis or item is None for item in given):
            raise errors.make(
                "selection",
                f"{array.path}.vindex takes integer arrays or one boolean mask, not slices",
                "a[...] mixes arrays and slices; a.oindex[...] takes one index per axis",
            )
        index = selection.normalize(sel, array.dims)
        result = array._read(index)
        return result[()] if selection.scalar(index, array.ndim) else result


class Orthogonal:
    """``array.oindex``: the outer product of one index per axis."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def __getitem__(self, sel: Any) -> Any:
        array = self._array
        index = selection.normalize(sel, array.dims)
        result = array._read(index, outer=True)
        return result[()] if selection.scalar(index, array.ndim) else result
