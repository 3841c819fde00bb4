"""Grouped reductions: arrays with one element per key, without Python objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore.tables.query.arrow_numbers import arrow_array, stored_numbers, valid_bytes
from icecore.tables.query.scan import arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from icecore import _icecore
    from icecore.tables.query.reduction import Wish


#: name → array with one element per key; strings as Arrow arrays
Parts = dict[str, Any]


class Grouped:
    """Accumulators of all keys. NaN as a key counts as null.

    Args:
        keys: names of the key columns.
        wishes: the functions to compute.
    """

    def __init__(self, keys: Sequence[str], wishes: Sequence[Wish]) -> None:
        from icecore import _icecore

        self._keys = {name: Key() for name in keys}
        self._pairs = [_icecore.Words() for _ in keys[1:]]
        self._wishes = list(wishes)
        asked = dict.fromkeys(wish.column for wish in wishes)
        self._columns = {name: _Column([w for w in wishes if w.column == name]) for name in asked}
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Add a batch of rows."""
        codes, *others = (key.add(batch[name]) for name, key in self._keys.items())
        for pairs, more in zip(self._pairs, others, strict=True):
            codes = pairs.pairs(codes, more)
        self._rows += len(codes)
        for name, column in self._columns.items():
            column.add(codes, len(self), None if name is None else batch[name])

    def __len__(self) -> int:
        """Number of keys so far."""
        return len(self._pairs[-1]) if self._pairs else len(next(iter(self._keys.values())))

    def result(self) -> tuple[dict[str, Any], int]:
        """Return keys (Arrow) and functions (NumPy or lists) by name, sorted by key, and the number of rows.

        The accumulators are consumed, so that the results of many keys are not in memory twice.
        """
        if not self._rows:
            return {name: [] for name in [*self._keys, *(wish.label for wish in self._wishes)]}, 0
        count = len(self)
        numbers = self._numbers()
        values = [key.finish() for key in self._keys.values()]
        place = order(values, numbers)
        columns: dict[str, Any] = {}
        for key, of in zip(self._keys, values, strict=True):
            columns[key] = of.take(arrow_array(numbers.pop(0)[place]))
        for name, column in self._columns.items():
            parts = column.finish(count)
            columns |= {w.label: _value(w, parts, place) for w in self._wishes if w.column == name}
        return columns, self._rows

    def _numbers(self) -> list[np.ndarray]:
        """Return, for each key column, the index of its value for each key."""
        whole = np.arange(len(self), dtype="u4")
        numbers: list[np.ndarray] = []
        for pairs in reversed(self._pairs):
            words = pairs.finish()[0]
            words = words if not numbers else words[whole]  # the last numbering is that of the keys
            numbers.append(words.astype("u4"))
            words >>= np.uint64(32)
            whole = words.astype("u4")
        return [whole, *reversed(numbers)]


class _Column:
    """Accumulators of one column, or of the rows."""

    def __init__(self, wishes: Sequence[Wish]) -> None:
        self._asked = {wish.function for wish in wishes}
        self._histograms = {
            wish: np.zeros((0, wish.bins), "i8") for wish in wishes if wish.function == "histogram"
        }
        self._folds: list[Any] = []
        self._ends: _icecore.Ends | None = None
        self._dtype = np.dtype("u4")

    def add(self, codes: np.ndarray, count: int, data: pa.Array | None) -> None:
        """Add rows: ``codes`` are their key numbers, below ``count``; ``data`` is None for counting rows."""
        from icecore import _icecore

        values, valid = (codes, None) if data is None else stored(data)
        asked = self._asked
        if data is not None and is_text(data):
            if asked & {"min", "max"}:
                self._ends = self._ends or _icecore.Ends()
                self._ends.add(codes, count, *texts(data))
            asked = asked - {"min", "max"}
        if not self._folds:
            self._dtype = values.dtype
            folds = _folds(asked, values.dtype)
            self._folds = [_icecore.Fold(fold, values.dtype.name) for fold in folds]
        for fold in self._folds:
            fold.add(codes, count, values.view("u1"), valid)
        for wish, counts in self._histograms.items():
            if len(counts) < count:
                more = np.zeros((max(count, 2 * len(counts)) - len(counts), wish.bins), "i8")
                self._histograms[wish] = counts = np.concatenate([counts, more])
            _histogram(wish, counts, codes, values, valid)

    def finish(self, count: int) -> Parts:
        """Return the results for ``count`` keys and release the accumulators."""
        parts: Parts = {wish.label: counts[:count] for wish, counts in self._histograms.items()}
        for fold in self._folds:
            parts |= fold.finish()
        for extreme in {"min", "max"} & parts.keys():
            parts[extreme] = parts[extreme].astype(self._dtype)
        if self._ends is not None:
            least, greatest, valid = self._ends.finish()
            parts |= {"min": of_texts(*least, valid), "max": of_texts(*greatest, valid)}
        return parts


def _folds(asked: set[str], dtype: np.dtype[Any]) -> list[str]:
    """Return the accumulators that the functions need."""
    found = ["moments"] if asked & {"std", "rms"} else []
    found += ["extremes"] if asked & {"min", "max"} else []
    found += ["sum"] if "sum" in asked else []
    tells_mean = "sum" in found and dtype.kind == "f"
    found += ["mean"] if "mean" in asked and not tells_mean else []  # more exact than the mean of the moments
    return found or ["count"]


def _histogram(
    wish: Wish, counts: np.ndarray, codes: np.ndarray, values: np.ndarray, valid: np.ndarray | None
) -> None:
    """Add values to the histograms of their keys."""
    edges = np.histogram_bin_edges(np.empty(0), wish.bins, wish.span)
    wide = values.astype("f8")
    inside = (wide >= edges[0]) & (wide <= edges[-1])
    if valid is not None:
        inside &= valid.view("?")
    bins = np.minimum(np.searchsorted(edges, wide[inside], "right") - 1, wish.bins - 1)
    np.add.at(counts.reshape(-1), codes[inside].astype("i8") * wish.bins + bins, 1)


def _value(wish: Wish, parts: Parts, place: np.ndarray) -> Any:
    """Return one function for the keys at ``place``; None for keys without values."""
    if wish.function == "count":
        return parts["count"][place]
    if wish.function == "histogram":
        low, high = wish.span or (0.0, 1.0)
        counts = parts[wish.label][place]
        return [{"low": low, "high": high, "counts": of.tolist()} for of in counts]
    if wish.function in parts and not isinstance(parts[wish.function], np.ndarray):
        return parts[wish.function].take(arrow_array(place))  # texts
    none = parts["count"] == 0
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        values = _FUNCTIONS[wish.function](parts)
    if none.any():
        values = values.astype("O")
        values[none] = None
    return values[place]


def _sum(parts: Parts) -> np.ndarray:
    if "sum" in parts:
        return parts["sum"]
    high, low = parts["high"], parts["low"]
    if np.abs(high).max(initial=0) < 1 << 31:
        return high * (1 << 32) + low
    return high.astype("O") * (1 << 32) + low.astype("O")


def _rms(parts: Parts) -> np.ndarray:
    square = parts["m2"] / parts["count"] + parts["mean"] ** 2
    return np.where(np.isfinite(parts["mean"]), np.sqrt(square), np.inf)  # as Moments.value


_FUNCTIONS: dict[str, Callable[[Parts], np.ndarray]] = {
    "sum": _sum,
    "mean": lambda parts: parts["mean"],
    "min": lambda parts: parts["min"],
    "max": lambda parts: parts["max"],
    "std": lambda parts: np.sqrt(parts["m2"] / parts["count"]),
    "rms": _rms,
}


# Number the values of a key column in order of appearance.


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
