"""Numbers about the rows of each key, for any number of keys: arrays with one place a key, no objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore.tables.scan import arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from icecore.tables.wishes import Wish

#: keys that are joined with those before only when as many have come again
_WAITING = 1 << 18
_LOW = 0xFFFF_FFFF
Parts = dict[str, np.ndarray]


class Grouped:
    """What is known so far about the rows of each key. NaN as a key is null, and one key.

    Args:
        keys: key columns.
        wishes: what is asked of the rows of each.
    """

    def __init__(self, keys: Sequence[str], wishes: Sequence[Wish]) -> None:
        self._keys, self._wishes = list(keys), list(wishes)
        self._waiting: list[tuple[pa.Table, dict[str, Parts]]] = []
        self._rows, self._joined = 0, 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in some rows."""
        pa = arrow()
        keys = pa.table([_key(batch[name]) for name in self._keys], self._keys)
        codes, keys = _codes(keys)
        parts: dict[str, Parts] = {"": {"rows": np.bincount(codes, minlength=len(keys))}}
        for name in dict.fromkeys(wish.column for wish in self._wishes if wish.column):
            parts[name] = self._of_values(name, batch[name], codes, len(keys))
        self._waiting.append((keys, parts))
        self._rows += len(keys)
        if self._rows - self._joined > max(self._joined, _WAITING):
            self._join()

    def result(self) -> tuple[dict[str, Any], int]:
        """Keys (as Arrow) and functions (as NumPy or lists) by name, in order of the keys; and all rows."""
        if not self._waiting:
            return {name: [] for name in [*self._keys, *(wish.label for wish in self._wishes)]}, 0
        self._join()
        [(keys, parts)] = self._waiting
        import pyarrow.compute as pc

        place = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in self._keys])
        columns: dict[str, Any] = {name: keys[name].take(place).combine_chunks() for name in self._keys}
        at = place.to_numpy()
        for wish in self._wishes:
            columns[wish.label] = _value(wish, {n: v[at] for n, v in parts[wish.column or ""].items()})
        return columns, int(parts[""]["rows"].sum())

    def _of_values(self, name: str, column: pa.Array, codes: np.ndarray, count: int) -> Parts:
        asked = {wish.function for wish in self._wishes if wish.column == name}
        data = column.drop_null().to_numpy(zero_copy_only=False)
        codes = codes[column.is_valid().to_numpy(zero_copy_only=False)] if column.null_count else codes
        if data.dtype.kind == "f" and (gone := np.isnan(data)).any():
            data, codes = data[~gone], codes[~gone]
        parts: Parts = {"count": np.bincount(codes, minlength=count)}
        if asked & {"mean", "std", "rms"}:
            with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
                parts |= _moments(data.astype("f8", copy=False), codes, parts["count"], not asked <= _PLAIN)
        if "sum" in asked:
            parts |= _sums(data, codes, count)
        for function, pick in _PICK.items():
            if function in asked:
                parts[function] = np.zeros(count, data.dtype)
                parts[function][codes] = data  # any of them to begin with
                pick.at(parts[function], codes, data)
        for wish in self._wishes:
            if wish.column == name and wish.function == "histogram":
                parts[wish.label] = _histogram(wish, data, codes, count)
        return parts

    def _join(self) -> None:
        """What waits becomes one table of different keys."""
        pa = arrow()
        codes, keys = _codes(pa.concat_tables([keys for keys, _ in self._waiting]))
        parts: dict[str, Parts] = {}
        for column, names in self._waiting[0][1].items():
            every = [part[column] for _, part in self._waiting]
            with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
                whole = {name: np.concatenate([part[name] for part in every]) for name in names}
                parts[column] = _together(whole, codes, len(keys))
        self._waiting = [(keys, parts)]
        self._rows = self._joined = len(keys)


_PLAIN = {"count", "mean", "sum", "min", "max", "histogram"}
_PICK: dict[str, Any] = {"min": np.minimum, "max": np.maximum}


def _key(column: pa.Array) -> pa.Array:
    """A key column as Arrow can tell its values apart: NaN is null, -0.0 is 0.0, of 16 bits are 32."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(column.type):
        return column
    column = column.cast(pa.float32()) if pa.types.is_float16(column.type) else column
    zero = pa.scalar(0, column.type)
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), pc.add(column, zero))


def _codes(keys: pa.Table) -> tuple[np.ndarray, pa.Table]:
    """The number of each row's key, and the different keys."""
    codes, many = np.zeros(0, "i8"), 1
    for column in keys.columns:
        coded = column.combine_chunks().dictionary_encode(null_encoding="encode")
        indices = coded.indices.to_numpy().astype("i8")
        if keys.num_columns == 1:
            return indices, arrow().table([coded.dictionary], keys.column_names)
        codes = codes * len(coded.dictionary) + indices if len(codes) else indices
        many *= len(coded.dictionary)
        if many > max(len(keys), 1 << 16):  # of the combinations only those that there are
            found, codes = np.unique(codes, return_inverse=True)
            many = len(found)
    first = np.full(many, -1, "i8")
    first[codes] = np.arange(len(codes))  # of several rows any one
    there = first >= 0
    return (codes if there.all() else (np.cumsum(there) - 1)[codes]), keys.take(first[there])


def _moments(data: np.ndarray, codes: np.ndarray, count: np.ndarray, deviations: bool) -> Parts:
    """Mean and sum of squared deviations for each key."""
    many = len(count)
    mean = np.bincount(codes, data, many) / count
    mean = _exact(mean, data, codes, 1.0 / count)
    parts = {"mean": mean}
    if deviations:
        parts["m2"] = np.bincount(codes, (data - mean[codes]) ** 2, many)
    return parts


def _exact(mean: np.ndarray, data: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """A mean less what rounding made of it: the mean of the deviations is added, where it is a number."""
    rest = np.bincount(codes, data - mean[codes], len(mean)) * weight
    return np.where(np.isfinite(rest), mean + rest, mean)


def _sums(data: np.ndarray, codes: np.ndarray, count: int) -> Parts:
    """Of floats as they are; of whole numbers exactly, as multiples of 2³² and the rest."""
    if data.dtype.kind == "f":
        return {"sum": np.bincount(codes, data.astype("f8", copy=False), count)}
    wide = data if data.dtype.itemsize == 8 else data.astype("i8")
    high, low = np.zeros(count, "i8"), np.zeros(count, "i8")
    np.add.at(high, codes, (wide >> 32).astype("i8"))
    np.add.at(low, codes, (wide & wide.dtype.type(_LOW)).astype("i8"))
    return {"high": high + (low >> 32), "low": low & _LOW}


def _histogram(wish: Wish, data: np.ndarray, codes: np.ndarray, count: int) -> np.ndarray:
    edges = np.histogram_bin_edges(np.empty(0), wish.bins, wish.span)
    wide = data.astype("f8")
    inside = (wide >= edges[0]) & (wide <= edges[-1])
    bins = np.minimum(np.searchsorted(edges, wide[inside], "right") - 1, wish.bins - 1)
    return np.bincount(codes[inside] * wish.bins + bins, minlength=count * wish.bins).reshape(count, -1)


def _together(parts: Parts, codes: np.ndarray, count: int) -> Parts:
    """The parts of several batches as those of all rows; see :class:`icecore.tables.moments.Moments`."""
    some = parts.get("count", parts.get("rows", codes)) > 0  # without a value the others mean nothing
    joined: Parts = {}
    for name, values in parts.items():
        if name in _PICK:
            joined[name] = np.zeros(count, values.dtype)
            joined[name][codes[some]] = values[some]
            _PICK[name].at(joined[name], codes[some], values[some])
        elif name not in ("mean", "m2"):
            joined[name] = np.zeros((count, *values.shape[1:]), values.dtype)
            np.add.at(joined[name], codes, values)
    if "low" in joined:
        joined |= {"high": joined["high"] + (joined["low"] >> 32), "low": joined["low"] & _LOW}
    if "mean" in parts:
        codes, n, means = codes[some], parts["count"][some], parts["mean"][some]
        share = n / joined["count"][codes]
        joined["mean"] = np.bincount(codes, share * means, count)
        rest = np.bincount(codes, share * (means - joined["mean"][codes]), count)
        joined["mean"] += np.where(np.isfinite(rest), rest, 0)
        if "m2" in parts:
            gaps = means - joined["mean"][codes]
            joined["m2"] = np.bincount(codes, parts["m2"][some] + n * gaps * gaps, count)
    return joined


def _value(wish: Wish, parts: Parts) -> Any:
    """One of the functions for each key; None where there is no value."""
    if wish.column is None:
        return parts["rows"]
    if wish.function == "count":
        return parts["count"]
    if wish.function == "histogram":
        low, high = wish.span or (0.0, 1.0)
        return [{"low": low, "high": high, "counts": counts.tolist()} for counts in parts[wish.label]]
    none = parts["count"] == 0
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        values = _FUNCTIONS[wish.function](parts)
    if not none.any():
        return values
    kept = values.astype("O")
    kept[none] = None
    return kept


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
