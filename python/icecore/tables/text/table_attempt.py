"""State of a text table while it is packed, over all attempts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.sources.mapping.table_file import TableSpec
from icecore.tables.text import verify
from icecore.tables.text.column_state import Held
from icecore.tables.text.extend_table import Extending
from icecore.tables.text.new_arrays import escapes_array
from icecore.tables.text.row_writer import Growing
from icecore.tables.text.table_job import Done, TableJob, TableOptions
from icecore.tables.text.widening import Stored

if TYPE_CHECKING:
    from icecore.writing.array_writer import ArrayWriter
    from icecore.writing.writer import Writer


class Again(Exception):
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
        self.columns = Held(job.path, self.stored)
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
            Again: unless ``spec`` is None.
        """
        if spec is None:
            return
        self.files[number] = replace(self.files[number], spec=spec)
        if self.stored is None:
            self.columns = Held(self.job.path, None)
        raise Again

    def keep(self, escapes: bytes) -> None:
        """Add the escapes of a block of rows."""
        if not self.options.keep:
            return
        if self.escapes is None:
            self.escapes = escapes_array(self.writer, self.job.path)
        self.escapes.append(np.frombuffer(escapes, "u1"))
        self.proofs[-1].add_escapes(escapes)
        self.at += len(escapes)
