"""Lines of UTF-8 with one byte for each character, so that positions in them count characters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from icecore.sources.mapping.table_file import TableSpec

#: bytes that replace letters; none of them begins a character of UTF-8
_PLACES = (*range(0x80, 0xC0), *range(0xF8, 0x100))


class Letters:
    """Letters beyond ASCII of some lines, and the bytes that replace them; rare ones share the last."""

    def __init__(self, lines: list[bytes]) -> None:
        text = "".join(map(_text, lines))
        others = dict.fromkeys(letter for letter in text if not letter.isascii())
        self._bytes = {ord(letter): chr(_PLACES[min(i, len(_PLACES) - 1)]) for i, letter in enumerate(others)}
        self._letters = {ord(place): chr(letter) for letter, place in reversed(self._bytes.items())}

    @classmethod
    def of(cls, lines: list[bytes]) -> Letters | None:
        """Return the letters of lines; None if no character takes several bytes."""
        some = [line for line in lines if not line.isascii()]
        return cls(some) if any(len(_text(line)) < len(line) for line in some) else None

    def flat(self, line: bytes) -> bytes:
        """Return a line with one byte for each character."""
        return line if line.isascii() else _text(line).translate(self._bytes).encode("latin-1")

    def _restored(self, value: Any) -> Any:
        return value.translate(self._letters) if isinstance(value, str) else value

    def restored(self, spec: TableSpec, flat: list[bytes], lines: list[bytes]) -> TableSpec:
        """Return the layout of ``flat`` lines for the original ``lines``: its fields count characters."""
        above, offset = 0, 0
        for line, other in zip(lines, flat, strict=True):
            if above >= spec.offset:
                break
            above += len(other) + 1
            offset += len(line) + 1
        fields = tuple(
            replace(
                field,
                name=self._restored(field.name),
                attrs={key: self._restored(value) for key, value in field.attrs.items()},
            )
            for field in spec.fields
        )
        notes = tuple(map(self._restored, spec.notes))
        return replace(spec, fields=fields, notes=notes, offset=offset, in_characters=True)


def flat(line: bytes) -> bytes:
    """Return a line with one byte for each character; all letters beyond ASCII become the same byte."""
    return line if line.isascii() else _text(line).encode("ascii", "replace")


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")
