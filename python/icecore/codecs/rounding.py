"""Bounded loss by name: round floats before a lossless codec, ``round(rel=1e-3)``.

Rounded values end in zero bits, which compress well, and any Zarr reader reads them. The rule of an array
is kept in its attributes, so later appends are rounded too.

- ``bits=N`` keeps N bits of the mantissa, rounded to nearest, ties to even.
- ``rel=R`` keeps as many bits as the relative error R needs: m bits have an error of at most 2^-(m+1).
- ``abs=A`` rounds to multiples of the largest power of two that is at most 2 A.

Fill values, missing values, NaN, infinities and subnormal numbers stay, and so does any value that would be
off by more than the bound or become a fill value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import ceil, floor, frexp, inf, isfinite, log2
from typing import Any

import numpy as np

from icecore import errors
from icecore.codecs.spec import Spec

#: bytes of a float → bits of its mantissa that IEEE 754 stores
_MANTISSA = {2: 10, 4: 23, 8: 52}
_SPEC = re.compile(r"\s*round\((?P<rules>[^()]*)\)\s*(?:\+(?P<rest>.+))?", re.DOTALL)
_RULE = re.compile(
    r"(?:(?P<name>[^:,=]+):)?\s*(?:(?P<kind>rel|abs|bits)\s*=\s*(?P<value>[^,\s]+)|(?P<exact>exact))\s*"
)
#: key of the rule among icecore's own attributes of an array
KEY = "round"
_HINT = "for example round(rel=1e-3), round(abs=0.01), round(bits=10), round(t2m:abs=0.1, rel=1e-3)+zstd"


@dataclass(frozen=True)
class Rounding:
    """One rule: ``kind`` is ``rel``, ``abs`` or ``bits``."""

    kind: str
    value: float

    @classmethod
    def of(cls, ours: Mapping[str, Any]) -> Rounding | None:
        """Return the rule in an array's own attributes; None if its values are exact."""
        record = ours.get(KEY)
        if not isinstance(record, dict) or len(record) != 1:
            return None
        [(kind, value)] = record.items()
        return cls(str(kind), value) if _is_valid(str(kind), value) else None

    @property
    def record(self) -> dict[str, float]:
        """The rule as it is stored in attributes."""
        return {self.kind: self.value}

    def __str__(self) -> str:
        if self.kind == "abs":
            return f"absolute error at most {self.value:g}"
        relative = self.value if self.kind == "rel" else 2.0 ** -(self.value + 1)
        bits = f", {self.value:g} bits of mantissa" if self.kind == "bits" else ""
        return f"relative error at most {relative:g}{bits}"

    def apply(self, values: np.ndarray, exact: Iterable[Any] = ()) -> np.ndarray:
        """Return rounded values; ``exact`` are the values that mark missing elements.

        Each result was compared with the bound. Arrays of other dtypes than floats are returned as they are.
        """
        if values.dtype.kind != "f" or values.dtype.itemsize not in _MANTISSA:
            return values
        values = np.ascontiguousarray(values)
        with np.errstate(all="ignore"):
            found, limit = self._nearest(values)
            is_good = np.abs(found - values) <= limit
            is_good &= np.isfinite(found) & ((np.abs(values) >= np.finfo(values.dtype).tiny) | (values == 0))
            for fill in exact:
                is_good &= (found != fill) & (values != fill)
        return np.where(is_good, found, values)

    def _nearest(self, values: np.ndarray) -> tuple[np.ndarray, Any]:
        """Return the rounded values, and the largest error of each."""
        dtype = values.dtype
        if self.kind == "abs":
            step = 2.0 ** (frexp(2 * self.value)[1] - 1)  # the largest power of two up to twice the value
            limit = dtype.type(self.value)
            limit = np.nextafter(limit, dtype.type(0)) if float(limit) > self.value else limit
            return np.rint(values / dtype.type(step)) * dtype.type(step), limit
        bits = self._bits
        found = _with_bits(values, bits)
        relative = self.value if self.kind == "rel" else 2.0 ** -(bits + 1)
        return found, np.abs(values.astype("f8") if dtype.itemsize < 8 else values) * relative

    @property
    def _bits(self) -> int:
        return int(self.value) if self.kind == "bits" else max(ceil(-log2(self.value)) - 1, 0)


def _with_bits(values: np.ndarray, bits: int) -> np.ndarray:
    """Round to ``bits`` bits of mantissa, to nearest, ties to even."""
    size = values.dtype.itemsize
    drop = _MANTISSA[size] - bits
    if drop <= 0:
        return values.copy()
    word = np.dtype(f"u{size}")
    raw = values.view(word)
    half, one = word.type((1 << (drop - 1)) - 1), word.type(1)
    raised = raw + half + ((raw >> word.type(drop)) & one)
    mask = word.type(((1 << 8 * size) - 1) ^ ((1 << drop) - 1))
    return (raised & mask).view(values.dtype)


@dataclass(frozen=True)
class Rules:
    """Rules for the variables of a source, by name; ``""`` is the rule of all others."""

    rules: Mapping[str, Rounding | None]

    @property
    def names(self) -> set[str]:
        """The variables with a rule of their own."""
        return {*self.rules} - {""}

    def named(self, path: str) -> Rounding | None:
        """Return the rule that names this array, by path or by the last part of it."""
        return self.rules.get(path, self.rules.get(path.rpartition("/")[2]))

    @property
    def rest(self) -> Rounding | None:
        """The rule of variables that none names."""
        return self.rules.get("")


def split(spec: Spec) -> tuple[Rules | None, Spec]:
    """Split ``round(…)+CODEC`` into rules and the lossless codec, by default ``auto``.

    Raises:
        Error: ``codec`` for rules that can't be parsed, or bounds that are not positive and finite.
    """
    if not isinstance(spec, str) or not spec.lstrip().startswith("round"):
        return None, spec
    match = _SPEC.fullmatch(spec)
    parts = match["rules"].split(",") if match is not None else []
    rules: dict[str, Rounding | None] = {}
    for part in parts:
        rule = _RULE.fullmatch(part)
        name = (rule["name"] or "").strip() if rule is not None else ""
        if rule is None or name in rules or (rule["exact"] and not name):
            raise errors.make("codec", f"{spec!r:.80}: {part.strip()!r} is not a rule of rounding", _HINT)
        rules[name] = None if rule["exact"] else _rule(spec, rule["kind"], rule["value"])
    if not rules or match is None:
        raise errors.make("codec", f"{spec!r:.80} is not a rule of rounding", _HINT)
    return Rules(rules), (match["rest"] or "auto").strip()


def _rule(spec: str, kind: str, text: str) -> Rounding:
    try:
        value: float = int(text) if kind == "bits" else float(text)
    except ValueError:
        value = -1
    if not _is_valid(kind, value):
        wanted = "bits of mantissa from 0 to 52" if kind == "bits" else "a positive number"
        wanted += ", less than 1" if kind == "rel" else ""
        raise errors.make("codec", f"{spec!r:.80}: {kind} must be {wanted} (got {text})", _HINT)
    return Rounding(kind, value)


def _is_valid(kind: str, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if kind == "bits":
        return value == floor(value) and 0 <= value <= 52
    largest = {"rel": 1.0, "abs": inf}.get(kind, 0.0)
    return isfinite(value) and 0 < value < largest


def reader(
    rule: Rounding, read: Callable[[Any], np.ndarray], exact: Iterable[Any]
) -> Callable[[Any], np.ndarray]:
    """Return ``read`` with rounded results."""
    marks = list(exact)
    return lambda region: rule.apply(np.asarray(read(region)), marks)
