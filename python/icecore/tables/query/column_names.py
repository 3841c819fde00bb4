"""Parse lists of column names; names with special characters are in double quotes, as in where-clauses."""

from __future__ import annotations

import re
from collections.abc import Callable

#: a quoted name, optionally followed by the index of an item
_NAME = re.compile(
    r'(?<![^:,\s])"((?:[^"]|"")*)"(?=(?:\[\d+\])?\s*(?:[:,]|$)|(?:\[\d+\])?\s+by\s)', re.IGNORECASE
)
_HIDDEN = re.compile("\0([0-9]+)\0")


def hidden(text: str) -> tuple[str, Callable[[str], str]]:
    """Replace quoted names by placeholders; also return a function that restores them without quotes."""
    names: list[str] = []

    def hide(found: re.Match[str]) -> str:
        names.append(found[1].replace('""', '"'))
        return f"\0{len(names) - 1}\0"

    return _NAME.sub(hide, text), lambda part: _HIDDEN.sub(lambda found: names[int(found[1])], part)


def split(text: str) -> list[str]:
    """Split a list of names such as ``a, "b, too", c[3]``."""
    plain, shown = hidden(text)
    return [shown(part.strip()) for part in plain.split(",") if part.strip()]


def parts(text: str, separator: str = ",") -> list[str]:
    """Split a text at a separator outside of parentheses and quotes; empty parts are left out."""
    found, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        else:
            depth += {"(": 1, ")": -1}.get(character, 0)
        if character == separator and depth <= 0 and not quote:
            found.append("")
        else:
            found[-1] += character
    return [part.strip() for part in found if part.strip()]


def quoted(name: str) -> str:
    """Return a name in double quotes, as where-clauses take it."""
    return '"' + name.replace('"', '""') + '"'
