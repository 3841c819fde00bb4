"""Parse the statements of nearly all PDS3 labels; for the others, pvl takes fifty times as long."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

#: blank space and comments between statements
_SPACE = re.compile(r"(?:\s|/\*(?:[^*]|\*(?!/))*\*/)*")
_KEY = re.compile(r"(\^?[A-Za-z][\w:]*)[ \t]*(?:=|(?=\s))\s*")
_QUOTED = re.compile(r'"([^"]*)"|\'([^\'\n]*)\'')
_BARE = re.compile(r"[^\s,(){}<>\"'=]+")
#: the rest of a statement's line
_END = re.compile(r"[ \t]*(?:/\*(?:[^*\n]|\*(?!/))*\*/[ \t]*)?(?:\r?\n|\Z)")
_UNITS = re.compile(r"\s*<([^<>\n]*)>")
_INTEGER = re.compile(r"[-+]?\d+")
_REAL = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?")
_BASED = re.compile(r"(\d{1,2})#([-+]?[0-9A-Fa-f]+)#")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:[/.:\-][A-Za-z0-9_]+)*")
_MOMENT = re.compile(r"\d{4}-\d{2,3}(?:-\d\d)?(?:T[\d:.]+Z?)?|\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?")
#: the end of a line inside a word
_HYPHEN = re.compile(r"-[ \t\r]*\n\s*")
#: words that mean other values
_VALUES = {"TRUE": True, "FALSE": False, "NULL": None}
_BLOCKS = {
    "OBJECT": "END_OBJECT",
    "GROUP": "END_GROUP",
    "BEGIN_OBJECT": "END_OBJECT",
    "BEGIN_GROUP": "END_GROUP",
}
_CLOSING = {"(": ")", "{": "}"}


class Based(int):
    """A number with its base in the label, ``16#7F#``; it may be a bit pattern."""


class Quantity(NamedTuple):
    """A number with units."""

    value: Any
    units: str


class Moment:
    """A date or a time of day, which no table depends on."""


class Block(Mapping[str, Any]):
    """The statements of a label, an object or a group, in order; of equal keys, the first one counts."""

    def __init__(self) -> None:
        self._pairs: list[tuple[str, Any]] = []
        self._first: dict[str, Any] = {}

    def add(self, key: str, value: Any) -> None:
        """Add a statement."""
        self._pairs.append((key, value))
        self._first.setdefault(key, value)

    def __setitem__(self, key: str, value: Any) -> None:
        self.add(key, value)

    def __getitem__(self, key: str) -> Any:
        return self._first[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._first)

    def __len__(self) -> int:
        return len(self._first)

    def items(self) -> Any:
        """Return all statements, also those with equal keys."""
        return self._pairs

    def getall(self, key: str) -> list[Any]:
        """Return the values of all statements with a key."""
        return [value for name, value in self._pairs if name == key]


class _Other(Exception):
    """A text that needs pvl."""


def statements(text: str) -> Block | None:
    """Return the statements of a label; None if some have another form than usual."""
    try:
        return _parse(text)
    except _Other:
        return None


def _parse(text: str) -> Block:
    at, stack = 0, [("", "", Block())]
    while True:
        at = _behind(_SPACE, text, at)
        if at == len(text):
            break
        key = _KEY.match(text, at)
        word = key[1].upper() if key is not None else text[at:].rstrip().upper()
        stated = key is not None and "=" in key[0]
        if word == "END" and not stated:
            break
        if word in ("END_OBJECT", "END_GROUP"):
            end, name, block = stack.pop()
            at = (
                _closed(text, key.end() if key is not None else len(text), name)
                if stated
                else _line(text, at + len(word))
            )
            if end != word or not stack:
                raise _Other
            stack[-1][2].add(name, block)
            continue
        if key is None or not stated:
            raise _Other
        value, at = _value(text, key.end())
        at = _line(text, at)
        if word in _BLOCKS:
            if not isinstance(value, str):
                raise _Other
            stack.append((_BLOCKS[word], value, Block()))
        else:
            stack[-1][2].add(key[1], value)
    if len(stack) > 1:
        raise _Other
    return stack[0][2]


def _behind(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    if found is None:
        raise _Other
    return found.end()


def _line(text: str, at: int) -> int:
    """Return the place after a statement, with which its line must end."""
    return _behind(_END, text, at)


def _closed(text: str, at: int, name: str) -> int:
    """Return the place after the end of a block, which may repeat its name."""
    found = _BARE.match(text, at)
    if found is None or found[0].upper() != name.upper():
        raise _Other
    return _line(text, found.end())


def _value(text: str, at: int) -> tuple[Any, int]:
    if text[at : at + 1] in _CLOSING:
        return _sequence(text, at)
    if (quoted := _QUOTED.match(text, at)) is not None:
        inner = quoted[1] if quoted[1] is not None else quoted[2]
        return " ".join(_HYPHEN.sub("", inner).split()), quoted.end()
    bare = _BARE.match(text, at)
    if bare is None:
        raise _Other
    value, at = _plain(bare[0]), bare.end()
    if (units := _UNITS.match(text, at)) is not None:
        return Quantity(value, units[1].strip()), units.end()
    return value, at


def _plain(word: str) -> Any:
    if _INTEGER.fullmatch(word):
        return int(word)
    if _REAL.fullmatch(word):
        return float(word)
    if (based := _BASED.fullmatch(word)) is not None and 2 <= int(based[1]) <= 16:
        try:
            return Based(int(based[2], int(based[1])))
        except ValueError:
            raise _Other from None
    if _WORD.fullmatch(word):
        return _VALUES.get(word.upper(), word)
    if _MOMENT.fullmatch(word):
        return Moment()
    raise _Other


def _sequence(text: str, at: int) -> tuple[list[Any], int]:
    """Return the values between brackets."""
    closing, found = _CLOSING[text[at]], []
    at = _behind(_SPACE, text, at + 1)
    while not text.startswith(closing, at):
        value, at = _value(text, at)
        found.append(value)
        at = _behind(_SPACE, text, at)
        if text.startswith(",", at):
            at = _behind(_SPACE, text, at + 1)
        elif not text.startswith(closing, at):
            raise _Other
    return found, at + 1
