"""Number the values of a key column in order of appearance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from icecore.tables.query.arrow_numbers import arrow_array, stored_numbers, valid_bytes
from icecore.tables.query.scan import arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from icecore import _icecore


class Key:
    """The distinct values so far. NaN counts as null, -0.0 as 0.0."""

    def __init__(self) -> None:
        self._type: Any = None
        self._native: _icecore.Words | _icecore.Texts
        self._dtype = np.dtype("i8")

    def __len__(self) -> int:
        return len(self._native)

    def add(self, column: pa.Array) -> np.ndarray:
        """Return the number of each row's value (uint32); a value keeps its number in later batches."""
        from icecore import _icecore

        if self._type is None:
            self._type = arrow().large_string() if is_text(column) else column.type
            self._native = _icecore.Texts() if is_text(column) else _icecore.Words()
        if is_text(column):
            return self._native.add(*texts(column))  # type: ignore[arg-type, call-arg]
        values, valid = stored(column)
        self._dtype = values.dtype
        return self._native.add(values.dtype.name, values.view("u1"), valid)  # type: ignore[arg-type]

    def finish(self) -> pa.Array:
        """Return the values in order of their numbers and release them.

        float16 becomes float32, because Arrow can't sort float16.
        """
        pa, count = arrow(), len(self)
        found: list[Any]
        *found, null = self._native.finish()
        there = np.arange(count) != null
        if len(found) == 2:
            return of_texts(found[0], found[1], None if null is None else there)
        [words] = found
        missing = None if null is None else ~there
        if self._dtype.kind == "f":
            dtype = np.result_type(self._dtype, "f4")
            return arrow_array(words.view("f8").astype(dtype), missing=missing)
        if pa.types.is_temporal(self._type):
            return arrow_array(words.view("i8"), missing=missing).view(self._type)
        return arrow_array(words.astype(self._dtype), missing=missing)


def is_text(column: pa.Array) -> bool:
    """Whether a column holds strings."""
    return is_text_type(column.type)


def is_text_type(kind: pa.DataType) -> bool:
    """Whether an Arrow type is that of strings."""
    pa = arrow()
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def texts(column: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return offsets (int64), bytes and validity (uint8; None if all are valid) of a string column."""
    column = column.cast(arrow().large_string())
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, "i8", len(column) + 1, column.offset * 8)
    text = np.frombuffer(data, "u1") if data is not None and data.size else np.empty(0, "u1")
    return ends, text, valid_bytes(column)


def of_texts(offsets: np.ndarray, data: np.ndarray, valid: np.ndarray | None) -> pa.Array:
    """Build a string column from offsets, bytes and validity (None if all are valid)."""
    pa = arrow()
    validity = None if valid is None else np.packbits(valid, bitorder="little")
    parts = [None if part is None else pa.py_buffer(part) for part in (validity, offsets, data)]
    return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, parts)


def stored(column: pa.Array) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the stored numbers of a column and its validity (uint8; None if all are valid).

    Times become integers. Strings become zeros, because they are only counted.
    """
    pa = arrow()
    if is_text(column):
        return np.zeros(len(column), "u1"), valid_bytes(column)
    if pa.types.is_boolean(column.type):
        return stored_numbers(column.cast(pa.uint8()).fill_null(0)).view("?"), valid_bytes(column)
    dtype = np.dtype("i8" if pa.types.is_temporal(column.type) else column.type.to_pandas_dtype())
    numbers = np.frombuffer(column.buffers()[1], dtype, len(column), column.offset * dtype.itemsize)
    return numbers, valid_bytes(column)


def order(columns: list[pa.Array], numbers: list[np.ndarray]) -> np.ndarray:
    """Return the sort order of the keys, null last; ``numbers`` are their value numbers per column."""
    if len(columns) == 1:
        return _sorted(columns[0])
    ranks, many = np.zeros(len(numbers[0]), "u8"), 1
    for values, number in zip(columns, numbers, strict=True):
        rank = np.empty(len(values), "u8")
        rank[_sorted(values)] = np.arange(len(values), dtype="u8")
        if many * len(values) >= 1 << 64:  # number only the combinations that occur
            ranks = np.unique(ranks, return_inverse=True)[1].astype("u8")
        ranks *= np.uint64(len(values))
        ranks += rank[number]
        many = (int(ranks.max()) + 1) if len(ranks) else 1
    return _argsort(ranks)


def _argsort(values: np.ndarray) -> np.ndarray:
    """Argsort of distinct numbers.

    Integers of at most 32 bits are sorted with their index in one uint64: half the time and memory.
    """
    if values.dtype.kind not in "iu" or not len(values):
        return np.argsort(values)
    least = values.min()
    if int(values.max()) - int(least) >= 1 << 32 or len(values) > 1 << 32:
        return np.argsort(values)
    both = values.astype("u8" if values.dtype.kind == "u" else "i8")
    both -= both.dtype.type(least)
    both = both.view("u8")
    both <<= np.uint64(32)
    both += np.arange(len(values), dtype="u4")
    both.sort()
    return both.astype("u4")  # the lower half is the index


def _sorted(values: pa.Array) -> np.ndarray:
    """Argsort of distinct values, null last."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_large_string(values.type) or pa.types.is_boolean(values.type):
        return stored_numbers(pc.array_sort_indices(values))
    numbers, valid = stored(values)
    if valid is None:
        return _argsort(numbers)  # several times as fast as Arrow's
    there = np.flatnonzero(valid)
    return np.concatenate([there[_argsort(numbers[there])], np.flatnonzero(valid == 0)])
