"""Parse the language of PDS3 labels (ODL); pvl parses unusual statements, guarded against endless loops."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

from icecore import errors
from icecore.sources.tables.encoding import decoded
from icecore.sources.tables.odl_repair import without_malformed
from icecore.sources.tables.odl_statements import Based, statements

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


class _Endless(Exception):
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
            raise _Endless(f"no statement can be made of what stands near {str(token)!r} in line {line}")
        return token

    def send(self, token: Any) -> Any:
        """Push a token back."""
        return self._tokens.send(token)

    def throw(self, *error: Any) -> Any:
        """Let the lexer raise an error with its position."""
        return self._tokens.throw(*error)
