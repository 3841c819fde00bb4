"""Table to pack: its files, options and results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from icecore.sources.mapping.table_file import TableFile

if TYPE_CHECKING:
    from icecore.tables.summaries.zones import Zones


@dataclass(frozen=True)
class TableOptions:
    """Options for packing tables.

    Attributes:
        keep: store everything needed to reproduce the text, and verify it.
        trust: ``data`` if the record lengths of the data override those of labels.
        portable: use only codecs that other Zarr readers support.
        smallest: use the fewest bytes, whatever time that takes.
    """

    keep: bool = True
    trust: str | None = None
    portable: bool = False
    smallest: bool = False


@dataclass(frozen=True)
class TableJob:
    """A table to create or to extend: its path and its files in order."""

    path: str
    files: list[TableFile]
    append: bool = False
    delete: bool = False


@dataclass
class Done:
    """Result of packing a table.

    Attributes:
        path: path of the table.
        rows: number of rows that were added.
        text: bytes of text that were added.
        columns: paths of the column arrays.
        total: number of rows of the table now.
        notes: pairs (file name, note for the user).
        rewritten: notes about columns that were rewritten with a wider type.
        summaries: column path → summary that was computed while packing.
    """

    path: str
    rows: int = 0
    text: int = 0
    columns: list[str] = field(default_factory=list)
    total: int = 0
    notes: list[tuple[str, str]] = field(default_factory=list)
    rewritten: list[str] = field(default_factory=list)
    summaries: dict[str, Zones] = field(default_factory=dict)
