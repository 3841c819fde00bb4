"""The language of PDS3 labels (ODL), parsed by pvl, which is kept from going round in circles."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

from icecore import errors
from icecore.sources.tables.encoding import decoded
from icecore.sources.tables.odl_repair import without_malformed

#: a line that may precede a label: a name from the archive's wrapping, not a statement
_SFDU = re.compile(rb"\A\s*(?:CCSD|NJPL)\w+[ \t]*(?=\r?\n)")
_END = re.compile(rb"^[ \t]*END[ \t]*\r?$", re.MULTILINE)
#: texts and comments, in which END ends nothing; one that is not closed reaches as far as there are bytes
_INSIDE = re.compile(rb'"[^"]*(?:"|\Z)|/\*.*?(?:\*/|\Z)|' + _END.pattern, re.MULTILINE | re.DOTALL)
#: tokens that pvl may look at for each character of a label; it looks at one several times, but not so often
_LOOKS = 20
#: a keyword that no label has
_NEXT = "ICECORE_NEXT_STATEMENT"


def parse(name: str, text: bytes) -> Any:
    """The statements of a label, up to its ``END``.

    Raises:
        Error: ``format``; ``unsupported`` without pvl.
    """
    label = _statements(text)
    try:
        return _loaded(name, label)
    except _Invalid as error:
        raise _refused(name, error) from error


def parse_rest(name: str, text: bytes, is_structure: bool = False) -> tuple[Any, list[str]]:
    """The statements of a label, or of a structure file that is part of a table, but for malformed ones that
    no table depends on, and a sentence on each of those.

    Raises:
        Error: ``format``; ``unsupported`` without pvl.
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
    """Whether a text is one statement: a following one is not part of it."""
    try:
        return list(_loaded(name, f"{text}\n{_NEXT} = 1").keys())[1:] == [_NEXT]
    except _Invalid:
        return False


def _statements(text: bytes) -> str:
    """The text of a label up to its ``END``."""
    outside = (found for found in _INSIDE.finditer(text) if not found.group().startswith((b'"', b"/*")))
    end = next(outside, None) or _END.search(text)
    return decoded(_SFDU.sub(b"", (text[: end.end()] if end else text).removeprefix(BOM_UTF8), count=1))


def _loaded(name: str, label: str) -> Any:
    try:
        import pvl
    except ModuleNotFoundError:
        raise errors.make(
            "unsupported",
            f"{name} is a PDS3 label, which needs the package pvl",
            "pip install 'icecore[pds]'",
        ) from None
    try:
        return pvl.loads(label, lexer_fn=_Tokens, decoder=_decoder())
    except Exception as error:  # pvl lets all kinds of them through
        first = str(error).strip().splitlines() or [type(error).__name__]
        raise _Invalid(first[0]) from error


class Based(int):
    """A number that the label has with its base, ``16#7F#``: a pattern of bits, perhaps."""


@cache
def _decoder() -> Any:
    from pvl.decoder import OmniDecoder
    from pvl.grammar import OmniGrammar

    class Decoder(OmniDecoder):  # type: ignore[misc]
        def decode_non_decimal(self, value: str) -> Based:
            return Based(super().decode_non_decimal(value))

    return Decoder(grammar=OmniGrammar())  # by itself a stricter one


class _Endless(Exception):
    pass


class _Tokens:
    """pvl's lexer, up to a number of tokens: ``A = 5 = "B"`` in a block has its parser try for ever."""

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
        """Put a token back."""
        return self._tokens.send(token)

    def throw(self, *error: Any) -> Any:
        """Have the lexer raise an error with its place."""
        return self._tokens.throw(*error)
