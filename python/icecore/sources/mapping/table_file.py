"""What a label says about a table, and a table as a source: plain values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any, Literal

Kind = Literal["any", "number", "hex", "words", "text", "comma"]


#: bytes of a cell that a label is believed
LONGEST = 1 << 16


@dataclass(frozen=True)
class Field:
    """A column as its label describes it.

    Attributes:
        name: of the column.
        start, length: bytes of the row that it takes, for rows of fixed length.
        kind: what its cells are; ``any`` if unknown.
        attrs: ``units``, ``long_name``, ``description``, ``missing_value`` and the like.
        longest: the most bytes that a cell may have, where rows have no fixed length.
        binary: how a binary value is stored, see :mod:`icecore.sources.tables.binary`.
        lead: bytes at the beginning of a cell that are spaces in all rows.
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
        """``longest`` where it is one that cells have: columns of text get that width."""
        return self.longest if self.longest is not None and 0 < self.longest <= LONGEST else None


@dataclass(frozen=True)
class TableSpec:
    """A table as its label describes it.

    Attributes:
        label: the label's name.
        file: the data file's name, as the label has it.
        layout: ``fixed`` or ``delimited`` text, or ``binary``.
        fields: in the order of their bytes.
        offset: bytes before the first row.
        row_bytes: of a row of fixed length, line end included.
        rows: how many there are, where the label says so.
        separator: between the cells of delimited text.
        attrs: of the table.
        comma: whether numbers have a decimal comma.
        notes: properties that were inferred from the data and may be wrong, in sentences.
        doubt: why the columns can't be inferred without an option; empty if they can.
        name: what the label calls the table, where it describes several.
        followed: whether another table lies behind it in its file.
        cut: how the fields of a table without a label were found: at columns of spaces, or from lines above
            the rows that state them; empty where a label or separators say so.
        width: bytes of a row without its line end, where the fields were found from its first lines.
        between: the columns of spaces between those fields.
        last_open: whether the last field is as long as its longest cell.
        surveyed: whether all lines of the file were taken into account.
        trimmed: whether rows of fixed fields may lack spaces at their ends.
        crlf: whether the rows of a trimmed table end in CR LF.
        closing: the line that ends the rows of a table, as that of RST.
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
    followed: bool = False
    cut: Literal["", "spaces", "stated"] = ""
    width: int = 0
    between: tuple[int, ...] = ()
    last_open: bool = False
    surveyed: bool = False
    trimmed: bool = False
    crlf: bool = False
    closing: bytes = b""

    @property
    def blank_row(self) -> bytes:
        """A row of fixed fields that has only spaces."""
        end = b"\r\n" if self.crlf else b"\n"
        return b" " * (self.row_bytes - len(end)) + end


@dataclass(frozen=True)
class TableFile:
    """One table of one file: what ``pack`` streams from.

    Attributes:
        name: of the data file, as it is kept with the table.
        place: what it is read from, for messages and to tell whether two sources are one.
        open: its bytes from the start, decompressed.
        spec: what a label says, or None.
    """

    name: str
    place: str
    open: Callable[[], IO[bytes]]
    spec: TableSpec | None = None
