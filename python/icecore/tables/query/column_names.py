"""Names of columns in lists, in double quotes where they hold what would end them, as in where-clauses."""

from __future__ import annotations

import re
from collections.abc import Callable

#: a quoted name as a whole, perhaps with the number of an item behind it
_NAME = re.compile(
    r'(?<![^:,\s])"((?:[^"]|"")*)"(?=(?:\[\d+\])?\s*(?:[:,]|$)|(?:\[\d+\])?\s+by\s)', re.IGNORECASE
)
_HIDDEN = re.compile("\0([0-9]+)\0")


def hidden(text: str) -> tuple[str, Callable[[str], str]]:
    """The text with its quoted names out of the way, and what puts those of a part of it back, unquoted."""
    names: list[str] = []

    def hide(found: re.Match[str]) -> str:
        names.append(found[1].replace('""', '"'))
        return f"\0{len(names) - 1}\0"

    return _NAME.sub(hide, text), lambda part: _HIDDEN.sub(lambda found: names[int(found[1])], part)


def split(text: str) -> list[str]:
    """The names of a list: ``a, "b, too", c[3]``."""
    plain, shown = hidden(text)
    return [shown(part.strip()) for part in plain.split(",") if part.strip()]
