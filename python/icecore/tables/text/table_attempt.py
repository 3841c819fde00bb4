"""State of a text table while it is packed, over all attempts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.sources.mapping.table_file import TableFile, TableSpec
from icecore.tables.text import column_types, print_format, verify
from icecore.tables.text.column_types import missing
from icecore.tables.text.extend_table import Extending, Growing, escapes_array
from icecore.tables.text.table_job import Done, TableJob, TableOptions
from icecore.tables.text.widening import Stored

if TYPE_CHECKING:
    from icecore.writing.array_writer import ArrayWriter
    from icecore.writing.writer import Writer


class Restart(Exception):
    """A column needs another data type than at first, or a file another layout: the table must restart."""


class Attempt:
    """A table while it is packed; ``files`` and ``columns`` keep the findings of earlier attempts."""

    def __init__(
        self,
        writer: Writer,
        job: TableJob,
        options: TableOptions,
        progress: Callable[[str, int], None] | None,
    ) -> None:
        self.writer, self.job, self.options = writer, job, options
        self.report = progress or (lambda path, nbytes: None)
        #: whether the text of the extended table must be parsed again
        self.reparsed = False
        #: attributes of the group, and icecore's own attributes of it
        self.attrs: dict[str, Any] = {}
        self.ours: dict[str, Any] = {}
        self.stored = self._stored_table() if job.append else None
        #: types of the arrays, widened from attempt to attempt
        self.columns = PackedColumns(job.path, self.stored)
        #: files with layouts that hold all of their lines
        self.files = list(job.files)
        self.reset()

    def reset(self) -> None:
        """Reset the state that does not outlive an attempt."""
        self.done = Done(self.job.path)
        self.arrays: list[ArrayWriter] = []
        self.growing: Growing | None = None
        self.escapes: ArrayWriter | None = None
        self.rows = self.at = 0
        self.formats: list[dict[str, Any]] = []
        self.sources: list[dict[str, Any]] = []
        self.blank: set[int] = set()
        self.described: Mapping[str, Mapping[str, Any]] | None = None
        if self.stored is not None:
            self.described = self.stored.attributes
        self.proofs: list[verify.Proof] = []
        self.extending: Extending | None = None

    def _stored_table(self) -> Stored:
        """Return the table that is extended."""
        base, path = self.writer.base(), self.job.path
        self.attrs, self.ours = base._nodes[path].attrs, base._nodes[path].ours
        kept = self.ours.get("table", {})
        if "text" not in kept and self.options.keep:
            raise errors.make(
                "mismatch",
                f"{path} was packed without its print format",
                "append with --no-restore, or pack into another group",
            )
        return Stored(base, path, kept)

    def take_back(self) -> None:
        """Undo what an attempt wrote."""
        if self.extending is not None:
            self.extending.take_back(self.rows)
        elif self.writer._native.exists(self.job.path):
            self.writer.delete(self.job.path)

    def relayout(self, number: int, spec: TableSpec | None) -> None:
        """Restart with another layout of a file, if its lines contradict the present one.

        Raises:
            Restart: unless ``spec`` is None.
        """
        if spec is None:
            return
        self.files[number] = replace(self.files[number], spec=spec)
        if self.stored is None:
            self.columns = PackedColumns(self.job.path, None)
        raise Restart

    def keep(self, escapes: bytes) -> None:
        """Add the escapes of a block of rows."""
        if not self.options.keep:
            return
        if self.escapes is None:
            self.escapes = escapes_array(self.writer, self.job.path)
        self.escapes.append(np.frombuffer(escapes, "u1"))
        self.proofs[-1].add_escapes(escapes)
        self.at += len(escapes)


# Column state of a table while it is packed: array types, widened as files require.


#: number of cells that determine the type of a column that began without values
_CELLS = 1000


class PackedColumns:
    """Columns of a table that is packed, kept over all attempts.

    Attributes:
        held: description of each column's array.
        extra: column → cells that made a wider type necessary.
        why: column → the cell or file that made it necessary.
        words: columns that only text can hold.
        unproven: whether a column became unsigned, although earlier negative numbers would make it text.
    """

    def __init__(self, path: str, stored: Stored | None) -> None:
        """Start with the columns of ``stored``, the table that is extended, or without columns."""
        self._path, self._stored = path, stored
        self.held: list[dict[str, Any]] = [dict(column) for column in stored.columns] if stored else []
        self.extra: dict[int, list[bytes]] = {}
        self.why: dict[int, str] = {}
        self.unproven = False
        self.words = {
            i for i, column in enumerate(self.held) if "words" in column["style"] and "blank" not in column
        }

    @property
    def fractions(self) -> set[int]:
        """Indexes of the columns that hold numbers with fractions."""
        return {i for i, column in enumerate(self.held) if column_types.is_fraction(column)}

    def agree(self, columns: list[dict[str, Any]], file: TableFile, begun: bool) -> bool:
        """Widen the arrays' types to include a file's columns; return False if the table must restart.

        ``begun`` states whether the arrays exist already.
        """
        if not self.held:
            self.held = [column_types.stored(column) for column in columns]
        agrees = True
        for i, (old, new) in enumerate(zip(self.held, columns, strict=True)):
            merged = column_types.merge(old, new)
            if merged is not None and column_types.same_array(old, merged):
                if "blank" not in new:
                    self.held[i].pop("blank", None)
                continue
            agrees = agrees and not begun and merged is not None
            self.unproven |= merged is not None and "unsigned" in merged["style"]
            self.become(i, merged, file.place, new)
        return agrees

    def become(
        self, column: int, wider: dict[str, Any] | None, why: str, new: dict[str, Any] | None = None
    ) -> None:
        """Change the type of a column's array from the next attempt on; None means text.

        Args:
            column: index of the column.
            wider: new description of the array.
            why: file or cell that needs it.
            new: description of the column there, for messages.

        Raises:
            Error: ``mismatch`` if no type holds both, or the stored values can't be converted.
        """
        old = self.held[column]
        if wider is None:
            wider = {"name": old["name"], "style": {"words": {"quote": "needed"}}, "scale": 0, "size": 1}
            self.words.add(column)
        stored = self._stored.columns[column] if self._stored is not None else None
        is_binary = column_types.is_binary(old) and not column_types.is_binary(wider)
        if is_binary or (
            new is not None and column_types.is_binary(new) and not column_types.is_binary(wider)
        ):
            hint = "pack it into another group"
        elif stored is not None and not self._known(stored, wider):
            hint = "its text was not kept: pack all files in one go, or this one into another group"
        else:
            self.held[column] = wider
            self.why[column] = why
            return
        message = f"column {old['name']} of {why} needs {column_types.about(new or wider)}"
        raise errors.make(
            "mismatch", f"{message}, in {self._path} it is {column_types.about(stored or old)}", hint
        )

    def _known(self, stored: dict[str, Any], wider: dict[str, Any]) -> bool:
        """Return whether stored values can be converted to another array type."""
        has_text = self._stored is not None and self._stored.has_text
        return has_text or "blank" in stored or column_types.by_value(stored, wider)

    def widen(self, spec: TableSpec, column: int, cell: bytes, where: str) -> bool:
        """Widen a column's type to include a cell, and return whether it changed. If no type can include the
        cell, it is stored as text.
        """
        if cell in self.extra.get(column, []):
            return False
        self.extra.setdefault(column, []).append(cell)
        words, fractions = column in self.words, column in self.fractions
        sample = print_format.styled(spec, column, self.extra[column], words, fractions)
        wider = column_types.wider(self.held[column], sample)
        if wider is self.held[column]:
            return False
        self.become(column, wider, where, sample)
        return True

    def fill(self, spec: TableSpec, parsed: dict[str, Any], where: str) -> bool:
        """Set the types of columns that began without values from the first values that appear.

        Return whether the type of a column changed.
        """
        from icecore import _icecore

        junk, wider = {column for column, *_ in parsed["junk"]}, False
        for i, column in enumerate(self.held):
            if "blank" not in column or not parsed["rows"]:
                continue
            values = column_types.values(parsed["columns"][i], column)
            there = values[~missing(values)]
            is_text = there.dtype.kind in "SO"
            texts = dict.fromkeys(there.astype("O").tolist()) if is_text else {}
            cells = _icecore.valued([cell if isinstance(cell, bytes) else cell.encode() for cell in texts])
            if i in junk or (cells if is_text else len(there)):
                del column["blank"]
            if cells:
                self.extra.setdefault(i, []).extend(cells[:_CELLS])
                sample = print_format.styled(spec, i, self.extra[i])
                if "words" not in sample["style"]:
                    self.become(i, column_types.stored(sample), where, sample)
                    wider = True
        return wider
