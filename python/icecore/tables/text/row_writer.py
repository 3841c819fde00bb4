"""Row writer: appends rows to the arrays of a table and encodes chunks as soon as they are full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from icecore import _icecore
    from icecore.writing.array_writer import ArrayWriter
    from icecore.writing.writer import Writer

#: bytes of stored rows that are read at once when the last shard of an array is rewritten
_STORED = 1 << 20


class Growing:
    """Appends rows to a table's arrays, which all have the same length.

    Partly filled shards are rewritten to new objects; earlier versions keep the old ones.
    """

    def __init__(self, writer: Writer, arrays: Sequence[ArrayWriter]) -> None:
        from icecore import _icecore

        self._arrays = arrays
        for array in arrays:
            array._check()  # may replace its codecs
            array.grow_by_chunks()
        starts = [array.first_again for array in arrays]
        chunks = [array.unit[0] if array.is_listed else None for array in arrays]
        self._native = _icecore.TableRows(writer._native, [array.path for array in arrays], starts, chunks)
        for i, (array, start) in enumerate(zip(arrays, starts, strict=True)):
            self._again(writer, i, array, start)
        self._native.sums()

    def _again(self, writer: Writer, i: int, array: ArrayWriter, start: int) -> None:
        """Read the stored rows of an array after its last shard boundary, and add them again."""
        step = max(_STORED // max(array.dtype.itemsize, 1), 1)
        for first in range(start, array.shape[0], step):
            rows = slice(first, min(first + step, array.shape[0]))
            self.elements(i, writer._pending().array(array.path).read((rows,)))

    def append(self, columns: _icecore.Columns | list[np.ndarray]) -> list[int]:
        """Add a block of rows: parsed columns, or the arrays of binary records.

        Returns:
            Indexes of the integer columns that mark missing values with a number.

        Raises:
            Error: errors of encoding and storing the earlier blocks.
        """
        if isinstance(columns, list):
            for i, values in enumerate(columns):
                self.elements(i, values)
            return []
        blank = self._native.append(columns)
        return [i for i in blank if self._arrays[i].dtype.kind in "iu"]

    def elements(self, i: int, values: Any) -> None:
        """Add elements of one array."""
        self._native.append_elements(i, self._arrays[i].path, values)

    def sums(self) -> list[int]:
        """Return the CRC-32C of each column's elements that were added since the last call."""
        return self._native.sums()

    def finish(self, rows: int) -> None:
        """Write the remaining rows; the arrays now have ``rows`` rows."""
        for array in self._arrays:
            array.reach((rows,), is_prepared=True)
        self._native.finish()
