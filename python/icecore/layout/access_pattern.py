"""Access patterns: box shapes and how often each is read, in the syntax of ``--access``."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from icecore import errors

EXAMPLE = '"time=1,y=all,x=all:0.7; time=all,y=1,x=1:0.3"'
#: type of ``access=``: text, or pairs (lengths by dimension or position, probability); length None: whole
#: axis
Spec = str | Sequence[tuple[Mapping[str, int | None] | Sequence[int | None], float]]


#: length of a growing axis: longer than any axis can become
_ALL = 1 << 62


@dataclass(frozen=True)
class Pattern:
    """Boxes of one shape at any position in the array.

    Attributes:
        lengths: elements along each named dimension, or along each axis; None for the whole axis.
        probability: fraction of all reads.
    """

    lengths: Mapping[str, int | None] | tuple[int | None, ...]
    probability: float

    def about(self, shape: Sequence[int], dims: Sequence[str | None]) -> bool:
        """Return whether the pattern applies to an array: by its number of axes, or by a dimension name."""
        if isinstance(self.lengths, tuple):
            return len(self.lengths) == len(shape)
        return any(dim in self.lengths for dim in dims)

    def extent(self, shape: Sequence[int], dims: Sequence[str | None]) -> list[int]:
        """Return the box's shape in an array; dimensions without a length are read completely."""
        if isinstance(self.lengths, tuple):
            asked: Iterable[int | None] = self.lengths
        else:
            asked = [self.lengths.get(dim) if dim is not None else None for dim in dims]
        lengths = zip(asked, shape, strict=True)
        return [(n or _ALL) if length is None else min(length, n or length) for length, n in lengths]

    def __str__(self) -> str:
        by_name = isinstance(self.lengths, Mapping)
        pairs = self.lengths.items() if isinstance(self.lengths, Mapping) else enumerate(self.lengths)
        parts = [
            f"{k}={'all' if v is None else v}" if by_name else str("all" if v is None else v)
            for k, v in pairs
        ]
        return ",".join(parts)


@dataclass(frozen=True)
class Query:
    """A pattern applied to one array."""

    extent: tuple[int, ...]
    probability: float
    label: str

    def within(self, shape: Sequence[int]) -> Query:
        """Return the same box in an array of another shape, clipped to it."""
        return replace(self, extent=tuple(min(e, n) for e, n in zip(self.extent, shape, strict=True)))

    def place(self, shape: Sequence[int], random: np.random.Generator) -> tuple[slice, ...]:
        """Return the box at a random position in the array, uniformly distributed."""
        starts = [int(random.integers(max(n - e, 0) + 1)) for n, e in zip(shape, self.extent, strict=True)]
        return tuple(slice(s, s + e) for s, e in zip(starts, self.extent, strict=True))


def parse(spec: Spec | None) -> tuple[Pattern, ...]:
    """Parse a specification into patterns; an empty tuple for None.

    Raises:
        Error: ``invalid`` for a specification that can't be parsed.
    """
    if spec is None:
        return ()
    patterns = tuple(_text(spec) if isinstance(spec, str) else _items(spec))
    if not patterns:
        raise errors.make("invalid", "access names no reads", f"for example {EXAMPLE}")
    total = sum(pattern.probability for pattern in patterns)
    if not abs(total - 1) <= 0.005:
        sum_of = " + ".join(f"{pattern.probability:g}" for pattern in patterns)
        raise errors.make(
            "invalid", f"the probabilities {sum_of} make {total:g}, not 1", f"for example {EXAMPLE}"
        )
    return patterns


def check(
    patterns: Sequence[Pattern], arrays: Iterable[tuple[str, Sequence[int], Sequence[str | None]]]
) -> None:
    """Check that each pattern fits at least one of the arrays, given as (path, shape, dimensions).

    Raises:
        Error: ``invalid`` for an unknown dimension, a number of axes that no array has, or a box that is
            longer than every array.
    """
    arrays = list(arrays)
    lengths: dict[str, int] = {}
    for _, shape, dims in arrays:
        for dim, n in zip(dims, shape, strict=True):
            if dim is not None:
                lengths[dim] = max(lengths.get(dim, 0), n or _ALL)
    for pattern in patterns:
        if isinstance(pattern.lengths, tuple):
            _check_axes(pattern, arrays)
            continue
        for dim, length in pattern.lengths.items():
            if dim not in lengths:
                known = ", ".join(sorted(lengths)) or "none has a name: give lengths by position, 1,all,all"
                raise errors.make(
                    "invalid", f"no array has the dimension {dim!r} of {pattern}", f"known: {known}"
                )
            if length is not None and length > lengths[dim]:
                raise _too_long(pattern, f"{dim}={length}", f"{dim} has {lengths[dim]:,}", f"{dim}=all")


def queries(patterns: Sequence[Pattern], shape: Sequence[int], dims: Sequence[str | None]) -> list[Query]:
    """Return the queries that the patterns mean for an array; empty if no pattern applies to it."""
    if not any(pattern.about(shape, dims) for pattern in patterns):
        return []
    chosen = [p for p in patterns if p.about(shape, dims) or not isinstance(p.lengths, tuple)]
    return [Query(tuple(p.extent(shape, dims)), p.probability, str(p)) for p in chosen]


def _check_axes(pattern: Pattern, arrays: Sequence[tuple[str, Sequence[int], Sequence[str | None]]]) -> None:
    assert isinstance(pattern.lengths, tuple)
    shapes = [(path, shape) for path, shape, _ in arrays if len(shape) == len(pattern.lengths)]
    if not shapes:
        ranks = ", ".join(sorted({str(len(shape)) for _, shape, _ in arrays}))
        message = f"{pattern} has {len(pattern.lengths)} axes, the arrays have {ranks or 'none'}"
        raise errors.make("invalid", message, f"one length an axis, or by name: {EXAMPLE}")
    for axis, length in enumerate(pattern.lengths):
        longest = max(shape[axis] or _ALL for _, shape in shapes)
        if length is not None and length > longest:
            raise _too_long(pattern, f"{length} along axis {axis}", f"it has {longest:,}", "all")


def _too_long(pattern: Pattern, asked: str, there: str, better: str) -> errors.Error:
    return errors.make("invalid", f"{asked} in {pattern}, but {there}", f"write {better} for the whole of it")


def _text(spec: str) -> Iterable[Pattern]:
    parts = [part.strip() for part in spec.split(";") if part.strip()]
    for part in parts:
        box, colon, chance = part.partition(":")
        try:
            probability = float(chance) if colon else 1.0 / len(parts)
        except ValueError:
            raise _unclear(part, f"{chance!r} is not a probability") from None
        items = [item.strip() for item in box.split(",")]
        if all("=" in item for item in items):
            named = [(name.strip(), value) for name, _, value in (item.partition("=") for item in items)]
            twice = [name for index, (name, _) in enumerate(named) if name in dict(named[:index])]
            if twice:
                raise _unclear(part, f"{twice[0]} has two lengths")
            yield _pattern({name: _length(value, part) for name, value in named}, probability)
        elif any("=" in item for item in items):
            raise _unclear(part, "some lengths have a name, others not")
        else:
            yield _pattern([_length(item, part) for item in items], probability)


def _length(text: str, part: str) -> int | None:
    text = text.strip()
    if text in ("all", ":"):
        return None
    if not text.isdecimal() or not int(text):
        raise _unclear(part, f"{text!r} is not a length")
    return int(text)


def _items(spec: Sequence[Any]) -> Iterable[Pattern]:
    for item in spec:
        try:
            lengths, probability = item
            yield _pattern(lengths, float(probability))
        except (TypeError, ValueError) as error:
            if isinstance(error, errors.Error):
                raise
            raise _unclear(repr(item), 'expected a pair like ({"time": 1, "y": None}, 0.7)') from None


def _pattern(lengths: Mapping[str, int | None] | Sequence[int | None], probability: float) -> Pattern:
    kept: Any = dict(lengths) if isinstance(lengths, Mapping) else tuple(lengths)
    values = kept.values() if isinstance(kept, dict) else kept
    pattern = Pattern(kept, probability)
    if not 0 <= probability <= 1 or any(value is not None and operator.index(value) < 1 for value in values):
        raise _unclear(f"{pattern}:{probability:g}", "lengths are 1 or more, probabilities from 0 to 1")
    return pattern


def _unclear(part: str, why: str) -> errors.Error:
    return errors.make("invalid", f"access {part!r}: {why}", f"lengths and a probability, like {EXAMPLE}")
