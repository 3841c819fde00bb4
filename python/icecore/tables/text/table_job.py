"""A table to pack: its files, how it is packed, what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from icecore.sources.mapping.table_file import TableFile

if TYPE_CHECKING:
    from icecore.tables.summaries.zones import Zones


@dataclass(frozen=True)
class TableOptions:
    """How tables are packed.

    Attributes:
        keep: whether what is needed to print the text again is kept, and checked.
        trust: ``data`` where the record lengths of the data count, not those of labels.
        portable: use only codecs that other Zarr readers have.
        smallest: the least bytes, whatever time they take.
    """

    keep: bool = True
    trust: str | None = None
    portable: bool = False
    smallest: bool = False


@dataclass(frozen=True)
class TableJob:
    """A table to make or to extend: its path and its files in order."""

    path: str
    files: list[TableFile]
    append: bool = False
    delete: bool = False


@dataclass
class Done:
    """Outcome of a table: rows and bytes of text that were added, its columns' paths, its rows now, what
    a reader should know, which of its columns were written anew to hold more, and by path the summaries of
    columns that were made on the way.
    """

    path: str
    rows: int = 0
    text: int = 0
    columns: list[str] = field(default_factory=list)
    total: int = 0
    notes: list[tuple[str, str]] = field(default_factory=list)
    rewritten: list[str] = field(default_factory=list)
    summaries: dict[str, Zones] = field(default_factory=dict)
