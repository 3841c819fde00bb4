"""Codec choice for the columns of a text table, measured on their first rows."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.repository.zarr_dtypes import data_type
from icecore.tables.text.column_types import dtype
from icecore.tables.text.table_job import TableOptions

if TYPE_CHECKING:
    from icecore import _icecore


Codec = dict[str, Any]
#: rows of a chunk (four zones of a summary, because chunks are decoded as a whole, see
#: docs/design/0004-tables.md), rows of a shard, and rows of the longest table that is stored in one chunk
CHUNK, SHARD, WHOLE = 1 << 14, 1 << 18, 1 << 16
#: size of a chunk of long texts, in bytes
WIDE = 1 << 22
#: number of rows to measure, and the longest period of repetition to look for
_ROWS, _LONGEST = 1 << 13, 1024
#: compression ratios above which no further codecs are measured: with zstd for columns that repeat each value
#: (in a tenth of pco's time), and with any codec
_REPEATS, _ENOUGH = 100, 200
#: relative size below which two results count as equal, and the compression ratio above which each chunk
#: searches for its own order of differences
_SAME, _FEW = 1.001, 24
#: relative size that slow codecs must reach if only a sample is measured; they take 50 times as long
_WORTH = 0.99
#: relative size, measured on a quarter of the rows, that a slow codec must reach to be tried on all rows.
#: Predictions of floating-point numbers look slightly worse on a part of the rows. Codecs that find repeats
#: may win later; with the goal of fewest bytes, more of them are tried.
_PROMISE, _PROMISE_FLOAT, _LATER, _LATER_STILL = 1.0, 1.05, 1.25, 2.0
#: rows of the shortest sample to screen in this way, and bytes that a slow codec must be able to save
_SCREENED, _SAVING = 2 << 10, 64
#: number of small columns of each type that are measured, and the largest small column in bytes; further
#: small columns use the most frequent result
_MEASURED, _TINY = 256, 1 << 12
_BYTES: Codec = {"name": "bytes", "configuration": {"endian": "little"}}
_LZMA: Codec = {
    "name": "numcodecs.lzma",
    "configuration": {"format": 1, "check": 0, "preset": 9, "filters": None},
}
#: pco levels for the fewest bytes, and for tables of many chunks (7 % more bytes, less than 3/4 of the time)
_SLOW, _FAST = 8, 5
_CRC: Codec = {"name": "crc32c"}


class Choices:
    """Codec choices for the columns of a table; of thousands of small columns only the first are measured."""

    def __init__(self, options: TableOptions) -> None:
        self._options = options
        self._measured: dict[Any, Counter[str]] = {}
        self._related = Related(options.portable)
        self._texts: dict[str, tuple[dict[str, Any], np.ndarray]] = {}
        self._parts: dict[str, tuple[str, Rule]] = {}

    def relate(self, columns: Sequence[dict[str, Any]], values: Sequence[np.ndarray]) -> None:
        """Find the text columns that contain the text of another one; ``values`` are their first values."""
        if self._options.portable:
            return
        for column, first in zip(columns, values, strict=True):
            if first.dtype.kind == "S" and first.nbytes > _TINY and constant(first) is None:
                self._texts[column["name"]] = (column, first)
        self._parts = find({name: first for name, (_, first) in self._texts.items()})

    def of(self, column: dict[str, Any], values: np.ndarray, whole: bool) -> list[Codec]:
        """Return the codecs of a column's chunks; see :func:`codecs`."""
        if whole and column["name"] in self._parts:
            return self._around(column, values)
        if values.nbytes > _TINY and constant(values) is None:
            return self._related.of(_integers(column), values, lambda: self._alone(column, values, whole))
        return self._alone(column, values, whole)

    def _around(self, column: dict[str, Any], values: np.ndarray) -> list[Codec]:
        """Return the codecs of a column that contains another one, if that takes fewer bytes."""
        name, rule = self._parts[column["name"]]
        alone = self._alone(column, values, True)
        inner, texts = self._texts[name]
        of_other = self.of(inner, texts, True)
        head = max(len(rule.head(text)) for text in values.tolist())
        rests = ([*rest[:-1], _zstd(19)] for rest in _arranged({"name": "bytes"}, head, 3))
        candidates = [[*text_codecs(rule, texts, of_other, rest), _CRC] for rest in rests]
        around, size = _smallest(candidates, values)
        is_less = around and size - _stored(of_other, texts) < _stored(alone, values)
        return around if is_less else alone

    def _alone(self, column: dict[str, Any], values: np.ndarray, whole: bool) -> list[Codec]:
        if values.nbytes > _TINY or constant(values) is not None:
            return codecs(column, values, whole, self._options)
        found = self._measured.setdefault((values.dtype.str, column["scale"], whole), Counter())
        if found.total() < _MEASURED:
            measured = codecs(column, values, whole, self._options)
            found[json.dumps(measured)] += 1
            return measured
        return list(json.loads(found.most_common(1)[0][0]))


def codecs(column: dict[str, Any], values: np.ndarray, whole: bool, options: TableOptions) -> list[Codec]:
    """Return the codecs of a column's chunks.

    Args:
        column: column of the print format.
        values: first values of the column.
        whole: whether ``values`` are all values and form one chunk.
        options: table options: portable codecs only, or the fewest bytes.
    """
    kind = dtype(column)
    if kind.kind == "O":
        return [{"name": "vlen-utf8"}, _zstd(19 if whole else 9), _CRC]
    if kind.kind in "Sc":  # pco does not support complex numbers
        first: Codec = {"name": "bytes"} if kind.kind == "S" else _BYTES
        candidates = _arranged(first, 1 if options.portable else kind.itemsize, 3)
        # The byte order that suits a fast level also suits a slow one.
        best, size = _smallest(candidates, values if whole else values[:_ROWS])
        if lengths(kind.itemsize)[0] < CHUNK and size * _REPEATS < values[:_ROWS].nbytes and not whole:
            return [*best, _CRC]  # nearly all bytes are padding of short texts
        slow = [*best[:-1], _zstd(19 if whole else 9)]
        if whole and not options.portable:
            slow, _ = _smallest([slow, [*best[:-1], _LZMA]], values)
        return [*slow, _CRC]
    if options.portable:
        return [_BYTES, _blosc(kind.itemsize), _CRC]
    sample = values if whole and options.smallest else values[:_ROWS]
    # Values that repeat in a few rows may vary in later rows, so a short sample is not trusted here.
    if len(sample) == _ROWS and not whole and not options.smallest:
        quick, size = _smallest(_arranged(_BYTES, kind.itemsize, 1), sample)
        if size * _REPEATS < sample.nbytes:
            return [*quick, _CRC]
    pco = _pco(_SLOW if whole or options.smallest else _FAST)
    if constant(values) is not None:
        return [*next(_numbers(column, 1, whole, pco)), _CRC]  # all candidates store a constant equally well
    step = lag(values, column["scale"]) if kind.kind in "iufMm" else 1
    worth = _WORTH if whole and len(sample) < len(values) else _SAME
    candidates = _promising(list(_numbers(column, step, whole, pco)), sample, options.smallest)
    best, size = _smallest(candidates, sample, worth=worth)
    if not whole and kind.kind in "iufMm" and size * _FEW > sample.nbytes:
        best, _ = _smallest(_settled(column, step, pco), sample, (best, size))
    return [*best, _CRC]


def lengths(itemsize: int) -> tuple[int, int]:
    """Return the rows of a chunk and of a shard for elements of ``itemsize`` bytes."""
    chunk = min(CHUNK, 1 << max((WIDE // itemsize).bit_length() - 1, 0))
    return chunk, chunk * (SHARD // CHUNK)


def width(values: np.ndarray) -> int:
    """Return the size of an element in bytes; for strings of any length, the mean size of these."""
    if values.dtype.kind != "O" or not len(values):
        return values.itemsize
    return max(sum(map(len, values)) // len(values), values.itemsize)


def constant(values: np.ndarray) -> Any:
    """Return the value of a column that has only one value, bit for bit; otherwise None.

    As the fill value it needs no chunks. In tables of many columns a reference is larger than its chunk.
    """
    if not len(values):
        return None
    if values.dtype.kind == "O":
        return values[0] if (values == values[0]).all() else None
    bits = np.ascontiguousarray(values).view("u1").reshape(len(values), -1)
    return values[0] if (bits == bits[0]).all() else None


def _numbers(column: dict[str, Any], step: int, whole: bool, pco: Codec) -> Iterator[list[Codec]]:
    """Yield candidates, the fastest first. Slow ones, and those that try many modes, need a single chunk."""
    kind, first = dtype(column), _integers(column)
    yield [*first, pco]
    if step > 1:
        yield [*first, _predict({"mode": "lag", "lag": step}, pco)]
    if whole or kind.kind not in "iufMm":
        shuffle = _shuffle(8 if column["scale"] else kind.itemsize)
        # The second list wins where numbers repeat without order: readings with few distinct values.
        yield [*first, _predict("fast", pco, [_BYTES, _zstd(19)])]
        yield [*first, _BYTES, _zstd(19)]
        yield [*first, _BYTES, shuffle, _zstd(19)]
        yield [*first, _BYTES, _LZMA]


def _promising(candidates: list[list[Codec]], sample: np.ndarray, smallest: bool) -> list[list[Codec]]:
    """Return the first candidate and those that may save bytes over it, screened on a small part of the
    sample.

    The slow candidates take 10 to 20 times as long, often for a few kilobytes.
    """
    if len(sample) < _SCREENED:
        return candidates
    rows, middle = len(sample) // 8, len(sample) // 2
    part = np.concatenate((sample[:rows], sample[middle : middle + rows]))
    sizes = [_size(candidate, part) for candidate in candidates]
    first = sizes[0] if sizes[0] is not None else part.nbytes
    later = _LATER_STILL if smallest else _LATER
    promise = _PROMISE_FLOAT if sample.dtype.kind == "f" else _PROMISE
    kept = candidates[:1]
    for candidate, size in zip(candidates[1:], sizes[1:], strict=True):
        searches = any(codec["name"] == "icecore.predict" for codec in candidate)
        most = first * (promise if searches else later)
        if size is not None and size <= most and 4 * first >= _SAVING:
            kept.append(candidate)
    return kept


def _size(candidate: list[Codec], sample: np.ndarray) -> int | None:
    """Return the encoded size of a sample in bytes; None if the candidate does not accept its values."""
    try:
        return _stored(candidate, sample)
    except errors.Error:
        return None


def _settled(column: dict[str, Any], step: int, pco: Codec) -> Iterator[list[Codec]]:
    """Yield the candidates with one fixed order of differences for all chunks.

    The search for the order in each chunk takes longer than the rest. It pays only for well-predicted
    numbers.
    """
    first = _integers(column)
    yield from ([*first, _differences(pco, order)] for order in (1, 0, 2))
    if step > 1:
        yield [*first, _predict({"mode": "lag", "lag": step}, _differences(pco, 0))]


def _integers(column: dict[str, Any]) -> list[Codec]:
    if not column["scale"] or "number" not in column["style"]:  # the scale of a time is its tick
        return []
    scaled = {"scale": column["scale"], "dtype": "int64", "escapes": ["NaN"]}
    return [{"name": "icecore.decimal", "configuration": scaled}]


def _arranged(first: Codec, width: int, level: int) -> list[list[Codec]]:
    """Return zstd candidates with and without a byte shuffle."""
    plain: list[Codec] = [first, _zstd(level)]
    return [plain, [first, _shuffle(width), _zstd(level)]] if width > 1 else [plain]


def _smallest(
    candidates: Iterable[list[Codec]],
    sample: np.ndarray,
    before: tuple[list[Codec], int] = ([], 0),
    worth: float = _SAME,
) -> tuple[list[Codec], int]:
    """Return the candidate with the smallest encoded sample, and that size in bytes.

    Candidates that do not accept the values are skipped. ``before`` is the best candidate so far with its
    size; ``worth`` is the relative size that the next one must reach.
    """
    best, size = before
    for candidate in candidates:
        stored = _size(candidate, sample)
        if stored is None:
            continue
        # Of two equally good candidates, the later one needs less search per chunk.
        if not best or stored <= size * worth:
            best, size = candidate, stored
        if size * _ENOUGH < sample.nbytes:
            break
    return best, size


def _stored(candidate: list[Codec], sample: np.ndarray) -> int:
    """Return the encoded size of a sample in bytes."""
    chain = _chain(json.dumps(candidate), json.dumps(data_type(sample.dtype)))
    return len(chain.encode(np.ascontiguousarray(sample).view("u1"), [len(sample)]))


@lru_cache(64)
def _chain(candidate: str, kind: str) -> _icecore.Chain:
    from icecore import _icecore

    return _icecore.Chain(candidate, kind)


def lag(values: np.ndarray, scale: int) -> int:
    """Return the period at which a column of numbers repeats, found in its first values."""
    from icecore import _icecore

    some = values[: 4 * _LONGEST]
    if some.dtype.kind == "f":
        some = np.nan_to_num(np.rint(some * 10.0**scale), nan=0, posinf=0, neginf=0)
        some = np.clip(some, -(2.0**62), 2.0**62)
    elif some.dtype.kind in "Mm":
        some = some.view("i8")
    return _icecore.find_lag(np.ascontiguousarray(some.astype("i8")), _LONGEST)


def _predict(mode: str | Codec, numbers: Codec, *others: list[Codec]) -> Codec:
    return {"name": "icecore.predict", "configuration": {"modes": [mode], "codecs": [[numbers], *others]}}


def _pco(level: int) -> Codec:
    return {"name": "numcodecs.pcodec", "configuration": {"level": level}}


def _differences(pco: Codec, order: int) -> Codec:
    """Return pco with a fixed order of differences."""
    of: Codec = (
        {"delta_spec": "try_consecutive", "delta_encoding_order": order} if order else {"delta_spec": "none"}
    )
    return {**pco, "configuration": {**pco["configuration"], **of}}


def _shuffle(size: int) -> Codec:
    return {"name": "numcodecs.shuffle", "configuration": {"elementsize": size}}


def _zstd(level: int) -> Codec:
    return {"name": "zstd", "configuration": {"level": level, "checksum": False}}


def _blosc(size: int) -> Codec:
    shuffle = "shuffle" if size > 1 else "noshuffle"
    configuration = {"cname": "zstd", "clevel": 5, "shuffle": shuffle, "typesize": size, "blocksize": 0}
    return {"name": "blosc", "configuration": configuration}


# Related columns: equal, or different by a constant; later ones reuse the first one's codecs and chunks.
#
# Equal chunks are stored once, so such a column costs only its metadata. It is read like any other: its chunk
# is the first one's, and ``icecore.offset`` adds the constant.


_OFFSET = "icecore.offset"


class Related:
    """Known columns, by data type and a digest of the differences from their first value."""

    def __init__(self, portable: bool) -> None:
        """Start empty; if ``portable``, only equal columns share bytes, because an offset needs icecore's
        codec.
        """
        self._portable = portable
        self._seen: dict[tuple[str, bytes], tuple[int, list[Codec]]] = {}

    def of(self, front: list[Codec], values: np.ndarray, choose: Callable[[], list[Codec]]) -> list[Codec]:
        """Return the codecs of a column.

        Args:
            front: codecs that convert its values to integers, or an empty list.
            values: first values of the column.
            choose: chooses codecs for the column alone.

        Returns:
            The result of ``choose()``, or the codecs of an earlier column with another offset.
        """
        integers = _decoded_integers(front, values)
        if integers is None:
            return choose()
        first, key = int(integers.view("i8")[0]), (integers.dtype.str, _digest(integers))
        known = self._seen.get(key)
        if known is None or (known[0] != first and self._portable):
            chosen = choose()
            if chosen[: len(front)] == front:
                self._seen.setdefault(key, (first, chosen[len(front) :]))
            return chosen
        apart = _wrapped(first - known[0])
        offset: list[Codec] = [{"name": _OFFSET, "configuration": {"offset": apart}}] if apart else []
        return [*front, *offset, *known[1]]


def _decoded_integers(front: list[Codec], values: np.ndarray) -> np.ndarray | None:
    """Return the input of the codecs after ``front`` as 64-bit integers or times; None for other values."""
    if values.dtype.kind in "Mm" and not front:
        return values
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        return values
    if values.dtype.kind != "f" or not front:
        return None
    own = front[0]["configuration"]
    scaled = values.astype("f8") * 10.0 ** own["scale"]
    if not np.isfinite(scaled).all() or np.abs(scaled).max(initial=0) > 2.0**53:
        return None
    return np.rint(scaled).astype(own["dtype"])


def _digest(integers: np.ndarray) -> bytes:
    """Return a digest of the differences from the first value, modulo 2⁶⁴."""
    words = np.ascontiguousarray(integers).view("u8")
    return hashlib.blake2b(np.subtract(words, words[0]).tobytes(), digest_size=16).digest()


def _wrapped(number: int) -> int:
    """Return a number modulo 2⁶⁴ as a signed 64-bit integer."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


# Text columns that contain another column's text, such as paths that contain file names.
#
# ``icecore.text_part`` stores the other column's chunk inside of its own, and the repository keeps those
# bytes once. Both columns are read like any other.


_NAME = "icecore.text_part"
#: largest number of bytes that a rule skips behind a separator
_SKIP = 3
#: rows on which rules are tried before they are tried on all rows
_PROBE = 8


@dataclass(frozen=True)
class Rule:
    """Where in a text the part begins and ends, as the codec's ``after``, ``skip`` and ``before``."""

    after: bytes
    skip: int
    before: bytes

    def head(self, text: bytes) -> bytes:
        """Return what precedes the part of a text; all of it if the separator is missing."""
        at = text.rfind(self.after) if self.after else 0
        return text if at < 0 else text[: at + len(self.after) + self.skip]

    def part(self, text: bytes) -> bytes:
        """Return the part of a text; empty if the separator is missing."""
        rest = text[len(self.head(text)) :]
        end = rest.find(self.before) if self.before else -1
        return rest if end < 0 else rest[:end]


def find(columns: Mapping[str, np.ndarray]) -> dict[str, tuple[str, Rule]]:
    """Find the columns whose texts contain those of another column in every row.

    Args:
        columns: the first values of each text column, 1-D arrays of dtype ``S`` and equal length.

    Returns:
        Column → the column it contains, the one with the longest elements if there are several, and the rule.
    """
    rows = len(next(iter(columns.values()), ()))
    probe = np.linspace(0, rows - 1, min(rows, _PROBE)).astype(int)
    heads = {name: tuple(values[probe].tolist()) for name, values in columns.items()}
    names: dict[tuple[bytes, ...], list[str]] = {}
    for name in sorted(columns, key=lambda name: -columns[name].itemsize):
        names.setdefault(heads[name], []).append(name)
    found = {}
    for name, values in columns.items():
        matches = [
            (other, rule)
            for rule in _rules(heads[name])
            for other in names.get(tuple(map(rule.part, heads[name])), ())
            if columns[other].itemsize < values.itemsize
        ]
        matches.sort(key=lambda match: -columns[match[0]].itemsize)
        texts = values.tolist()
        whole = (match for match in matches if list(map(match[1].part, texts)) == columns[match[0]].tolist())
        if match := next(whole, None):
            found[name] = match
    return found


def text_codecs(rule: Rule, other: np.ndarray, of_other: list[Codec], rest: list[Codec]) -> list[Codec]:
    """Return the codecs of a column that contains another one, whose codecs are ``of_other``."""
    own: Codec = {"length": other.itemsize, "codecs": of_other, "rest": rest}
    if rule.after:
        own["after"] = rule.after.decode()
    if rule.skip:
        own["skip"] = rule.skip
    if rule.before:
        own["before"] = rule.before.decode()
    return [{"name": _NAME, "configuration": own}]


def _rules(texts: tuple[bytes, ...]) -> Iterator[Rule]:
    """Yield rules with the separators of these texts, and with the suffix of the first one."""
    signs = sorted({bytes([b]) for text in texts for b in text if 32 <= b < 127 and not chr(b).isalnum()})
    suffix = texts[0][texts[0].rfind(b".") :] if b"." in texts[0] else b""
    ends = dict.fromkeys([b"", *signs, *([suffix] if suffix.isascii() else [])])
    for after, skip, before in itertools.product([b"", *signs], range(_SKIP + 1), ends):
        if after or skip or before:
            yield Rule(after, skip, before)
