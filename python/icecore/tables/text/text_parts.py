"""Text columns that contain another column's text, such as paths that contain file names.

``icecore.text_part`` stores the other column's chunk inside of its own, and the repository keeps those bytes
once. Both columns are read like any other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Codec = dict[str, Any]
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


def codecs(rule: Rule, other: np.ndarray, of_other: list[Codec], rest: list[Codec]) -> list[Codec]:
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
