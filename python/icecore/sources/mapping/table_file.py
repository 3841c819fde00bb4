"""Plain values that describe a table: the columns of its label, and its file."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any, Literal

Kind = Literal["any", "number", "hex", "words", "text", "comma"]


#: largest cell width (bytes) that is accepted from a label
LONGEST = 1 << 16


@dataclass(frozen=True)
class Field:
    """A column as described by its label.

    Attributes:
        name: name of the column.
        start, length: byte range of its cells in a row, for rows of fixed length.
        kind: kind of its cells; ``any`` if unknown.
        attrs: ``units``, ``long_name``, ``description``, ``missing_value`` and similar attributes.
        longest: largest number of bytes of a cell, if rows have no fixed length.
        binary: storage type of a binary value, see :mod:`icecore.sources.tables.binary`.
        lead: number of bytes at the beginning of a cell that are spaces in all rows.
    """

    name: str
    start: int = 0
    length: int = 0
    kind: Kind = "any"
    attrs: dict[str, Any] = field(default_factory=dict)
    longest: int | None = None
    binary: str = ""
    lead: int = 0

    @property
    def stated(self) -> int | None:
        """``longest`` if it is plausible: string columns get that width."""
        return self.longest if self.longest is not None and 0 < self.longest <= LONGEST else None


@dataclass(frozen=True)
class TableSpec:
    """A table as described by its label.

    Attributes:
        label: name of the label.
        file: name of the data file in the label.
        layout: ``fixed`` or ``delimited`` text, or ``binary``.
        fields: the columns, in the order of their bytes.
        offset: number of bytes before the first row.
        row_bytes: length of a row of fixed length in bytes, line end included.
        rows: number of rows, if the label states it.
        separator: separator of the cells of delimited text.
        attrs: attributes of the table.
        comma: whether numbers have a decimal comma.
        notes: sentences about properties that were inferred from the data and may be wrong.
        doubt: why the columns can't be inferred without an option; empty if they can.
        name: name of the table in a label that describes several.
        until: number of bytes before the next table of the same file; None if there is none.
        cut: how the fields of a table without a label were found: from columns of spaces, or from lines above
            the rows; empty if a label or separators define them.
        width: bytes of a row without its line end, if the fields were inferred from the first lines.
        between: the columns of spaces between those fields.
        last_open: whether the last field is as long as its longest cell.
        surveyed: whether all lines of the file were examined.
        trimmed: whether rows of fixed fields may lack trailing spaces.
        crlf: whether the rows of a trimmed table end in CR LF.
        closing: the line that ends the rows of a table, as in RST.
        in_characters: whether the fields count characters; a survey of all lines then finds how many bytes
            those take.
        characters: stretches of a row that count characters, each with its number of characters, and the
            bytes that it takes in a row with room for all of them; the fields count bytes of such a row.
    """

    label: str
    file: str
    layout: Literal["fixed", "delimited", "binary"]
    fields: tuple[Field, ...]
    offset: int = 0
    row_bytes: int = 0
    rows: int | None = None
    separator: str = ","
    attrs: dict[str, Any] = field(default_factory=dict)
    comma: bool = False
    notes: tuple[str, ...] = ()
    doubt: str = ""
    name: str = ""
    until: int | None = None
    cut: Literal["", "spaces", "stated"] = ""
    width: int = 0
    between: tuple[int, ...] = ()
    last_open: bool = False
    surveyed: bool = False
    trimmed: bool = False
    crlf: bool = False
    closing: bytes = b""
    in_characters: bool = False
    characters: tuple[tuple[int, int], ...] = ()

    @property
    def blank_row(self) -> bytes:
        """Return a row of fixed fields that contains only spaces."""
        end = b"\r\n" if self.crlf else b"\n"
        return b" " * (self.row_bytes - len(end)) + end


@dataclass
class SharedText:
    """The text of a file with several tables: each stores the stretch from its first row to the next table.

    Attributes:
        tables: path of each table and its name of the file, in the order of their stretches.
        starts: first byte of each stretch; the first one begins at 0.
        size, sha256: those of the whole file, once it was read.
    """

    tables: list[tuple[str, str]]
    starts: list[int]
    size: int = 0
    sha256: str = ""


@dataclass(frozen=True)
class TableFile:
    """One table of one file, which ``pack`` streams.

    Attributes:
        name: name of the data file, as stored with the table.
        place: location of the data, for messages and to compare sources.
        open: opens the decompressed bytes from the start.
        spec: description from a label, or None.
        shared: text of the file if it holds several tables that are packed together.
        part: number of the table's stretch of that text.
    """

    name: str
    place: str
    open: Callable[[], IO[bytes]]
    spec: TableSpec | None = None
    shared: SharedText | None = None
    part: int = 0

    @property
    def modified(self) -> int | None:
        """Modification time in nanoseconds; None of members of archives and of files on servers."""
        try:
            return os.stat(self.place).st_mtime_ns
        except (OSError, ValueError):
            return None

    @property
    def stretch(self) -> tuple[int, int | None]:
        """First byte of the text that the table stores, and the byte after it; None for the end."""
        if self.shared is None:
            return 0, None
        return self.shared.starts[self.part], next(iter(self.shared.starts[self.part + 1 :]), None)
