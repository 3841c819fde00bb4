"""Parse the language of PDS3 labels (ODL); pvl parses unusual statements, guarded against endless loops."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

from icecore import errors
from icecore.sources.tables.encoding import decoded

#: a line that may precede a label: an SFDU marker of the archive, not a statement
_SFDU = re.compile(rb"\A\s*(?:CCSD|NJPL)\w+[ \t]*(?=\r?\n)")
_END = re.compile(rb"^[ \t]*END[ \t]*\r?$", re.MULTILINE)
#: strings and comments, in which END is ignored; an unclosed one extends to the end of the text
_INSIDE = re.compile(rb'"[^"]*"?|/\*(?:[^*]|\*(?!/))*(?:\*/)?|' + _END.pattern, re.MULTILINE | re.DOTALL)
#: largest number of tokens per character of a label that pvl may read, more than a valid label needs
_LOOKS = 20
#: a keyword that does not occur in labels
_NEXT = "ICECORE_NEXT_STATEMENT"


def parse(name: str, text: bytes) -> Any:
    """Return the statements of a label, up to its ``END``.

    Raises:
        Error: ``format``; ``unsupported`` if pvl is not installed.
    """
    label = _statements(text)
    try:
        return _loaded(name, label)
    except _Invalid as error:
        raise _refused(name, error) from error


def parse_rest(name: str, text: bytes, is_structure: bool = False) -> tuple[Any, list[str]]:
    """Return the statements of a label or structure file, and a sentence on each malformed one left out.

    A malformed statement is only left out if no table depends on it.

    Raises:
        Error: ``format``; ``unsupported`` if pvl is not installed.
    """
    label = _statements(text)
    try:
        return _loaded(name, label), []
    except _Invalid as error:
        rest, notes = without_malformed(label, partial(_is_statement, name), is_structure)
        if not notes:
            raise _refused(name, error) from error
        try:
            return _loaded(name, rest), [f"{name}: {note}" for note in notes]
        except _Invalid:
            raise _refused(name, error) from error


class _Invalid(Exception):
    """A text that pvl can't parse."""


def _refused(name: str, error: _Invalid) -> errors.Error:
    return errors.make("format", f"{name} is not a valid PDS3 label: {error}", "repair the label")


def _is_statement(name: str, text: str) -> bool:
    """Whether a text is one statement and does not absorb a following one."""
    try:
        return list(_loaded(name, f"{text}\n{_NEXT} = 1").keys())[1:] == [_NEXT]
    except _Invalid:
        return False


def _statements(text: bytes) -> str:
    """Return the text of a label up to its ``END``."""
    outside = (found for found in _INSIDE.finditer(text) if not found.group().startswith((b'"', b"/*")))
    end = next(outside, None) or _END.search(text)
    return decoded(_SFDU.sub(b"", (text[: end.end()] if end else text).removeprefix(BOM_UTF8), count=1))


def _loaded(name: str, label: str) -> Any:
    found = statements(label)
    return _by_pvl(name, label) if found is None else found


def _by_pvl(name: str, label: str) -> Any:
    try:
        import pvl
    except ModuleNotFoundError:
        raise errors.needs("pds", f"{name} is a PDS3 label, which needs the package pvl") from None
    try:
        return pvl.loads(label, lexer_fn=_Tokens, decoder=_decoder())
    except Exception as error:  # pvl raises many classes
        first = str(error).strip().splitlines() or [type(error).__name__]
        raise _Invalid(first[0]) from error


@cache
def _decoder() -> Any:
    from pvl.decoder import OmniDecoder
    from pvl.grammar import OmniGrammar

    class Decoder(OmniDecoder):  # type: ignore[misc]
        def decode_non_decimal(self, value: str) -> Based:
            return Based(super().decode_non_decimal(value))

    return Decoder(grammar=OmniGrammar())  # the default decoder is stricter


class _TooManyTokens(Exception):
    pass


class _Tokens:
    """pvl's lexer with a limit of tokens: for ``A = 5 = "B"`` in a block its parser would loop forever."""

    def __init__(self, text: str, **settings: Any) -> None:
        from pvl.lexer import lexer

        self._tokens = lexer(text, **settings)
        self._text, self._left = text, _LOOKS * len(text) + 1000

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        token = next(self._tokens)
        self._left -= 1
        if self._left < 0:
            line = self._text.count("\n", 0, token.pos) + 1
            raise _TooManyTokens(f"the text near {str(token)!r} in line {line} is not a statement")
        return token

    def send(self, token: Any) -> Any:
        """Push a token back."""
        return self._tokens.send(token)

    def throw(self, *error: Any) -> Any:
        """Let the lexer raise an error with its position."""
        return self._tokens.throw(*error)


# Remove malformed statements from a PDS3 label if no table depends on them.

#: the first line of a statement, and its keyword
_HEAD = re.compile(r"\s*(\^?[A-Za-z_][\w:]*)\s*=|\s*(END(?:_OBJECT|_GROUP)?)\s*$")
#: the beginning or the end of a block, and its name
_BLOCK = re.compile(r"\s*(?:(END_)|BEGIN_)?(?:OBJECT|GROUP)(?:\s*=\s*(\w+))?\s*", re.ASCII)
#: blocks in which any statement may describe the location of values
_TABLES = re.compile(r"(.*_)?(TABLE|SERIES|SPECTRUM|SPREADSHEET|COLUMN|FIELD|CONTAINER)")
#: statements in those blocks that contain only prose
_PROSE = ("DESCRIPTION", "NOTE", "COMMENT")
#: statements in other blocks that describe the location of tables
_NEEDED = re.compile(r"\^.*|RECORD_\w+|INTERCHANGE_FORMAT|(END_|BEGIN_)?(OBJECT|GROUP)|PDS_VERSION_ID|ODL_.*")
#: words of statements in a structure file that describe the location of values
_LAYOUT = re.compile(
    r"\W*(ROWS?|ROW_\w+|COLUMNS?|FIELDS?|FIELD_\w+|CONTAINERS?|OBJECT|GROUP)\b", re.IGNORECASE
)
#: most lines that look like statements inside a quoted string
_LONGEST = 50
_SHOWN = 60
#: a statement inserted above the first one of a structure file
_FIRST = "ICECORE_FIRST = 1"


def without_malformed(
    label: str, is_statement: Callable[[str], bool], is_structure: bool = False
) -> tuple[str, list[str]]:
    """Return a label without its malformed statements (blank lines instead), and a sentence on each.

    There are no sentences if a table may depend on one of them. ``is_structure``: the whole text is part of a
    table.
    """
    # A structure file may begin with a malformed statement; a label begins with its version.
    lines = [_FIRST] * is_structure + label.splitlines()
    heads = [i for i, line in enumerate(lines) if _HEAD.match(line)]
    kept, notes, blocks = list(lines), [], list[str]()
    at = 0
    while at < len(heads):
        first = heads[at]
        last, at = _statement(lines, heads, at, is_statement)
        bad = range(last, heads[at] if at < len(heads) else len(lines))
        if last > first and (block := _BLOCK.fullmatch(lines[first])) is not None:
            if block[1] and blocks:
                blocks.pop()
            elif not block[1]:
                blocks.append(block[2] or "")
        wrong = [i for i in bad if lines[i].strip()]
        if not wrong:
            continue
        if _is_needed(lines[wrong[0]], blocks) or (is_structure and _LAYOUT.match(lines[wrong[0]])):
            return label, []
        for i in wrong:
            kept[i] = ""
        shown = " ".join(lines[wrong[0]].split())[:_SHOWN]
        notes.append(f"malformed statement in line {wrong[0] + 1 - is_structure} left out: {shown!r}")
    return "\n".join(kept[is_structure:]), notes


def _statement(
    lines: list[str], heads: list[int], at: int, is_statement: Callable[[str], bool]
) -> tuple[int, int]:
    """Return the line after the statement that begins at a head, and the index of the next head.

    For a malformed statement, the line is that of the head itself.
    """
    first = heads[at]
    ends = [*heads[at + 1 : at + 1 + _LONGEST], len(lines)]
    if _BLOCK.fullmatch(lines[first]) or lines[first].strip() == "END":
        return first + 1, at + 1
    if is_statement("\n".join(lines[first : ends[0]])):
        return ends[0], at + 1
    for last in range(ends[0] - 1, first, -1):
        if is_statement("\n".join(lines[first:last])):
            return last, at + 1
    if lines[first].count('"') % 2:
        for further, last in enumerate(ends[1:], 2):
            if is_statement("\n".join(lines[first:last])):
                return last, at + further
    return first, at + 1


def _is_needed(line: str, blocks: list[str]) -> bool:
    """Whether a table may depend on the statement that begins with ``line`` inside these blocks."""
    head = _HEAD.match(line)
    key = (head[1] or head[2]).upper() if head is not None else ""
    if any(_TABLES.fullmatch(block.upper()) for block in blocks):
        return not key.endswith(_PROSE)
    return _NEEDED.fullmatch(key) is not None


# Parse the statements of nearly all PDS3 labels; for the others, pvl takes fifty times as long.

#: blank space and comments between statements
_SPACE = re.compile(r"(?:\s|/\*(?:[^*]|\*(?!/))*\*/)*")
_KEY = re.compile(r"(\^?[A-Za-z][\w:]*)[ \t]*(?:=|(?=\s))\s*")
_QUOTED = re.compile(r'"([^"]*)"|\'([^\'\n]*)\'')
_BARE = re.compile(r"[^\s,(){}<>\"'=]+")
#: the rest of a statement's line
_REST_OF_LINE = re.compile(r"[ \t]*(?:/\*(?:[^*\n]|\*(?!/))*\*/[ \t]*)?(?:\r?\n|\Z)")
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
    return _behind(_REST_OF_LINE, text, at)


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
