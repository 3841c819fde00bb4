"""Text tables → columns, so that the text can be printed again byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.repository.nodes import OURS
from icecore.sources.mapping.table_file import TableFile, TableSpec
from icecore.sources.tables.preamble import COMMENTED
from icecore.tables.text import (
    array_kinds,
    column_codecs,
    column_types,
    file_notes,
    label_check,
    line_survey,
    print_format,
    stored_format,
    verify,
)
from icecore.tables.text.binary_records import check_length
from icecore.tables.text.column_state import Held
from icecore.tables.text.extend_table import Extending, rewritten
from icecore.tables.text.file_state import FileState, more
from icecore.tables.text.format_reuse import alike, prints
from icecore.tables.text.new_arrays import column_array, escapes_array
from icecore.tables.text.row_writer import Growing
from icecore.tables.text.table_job import Done, TableJob, TableOptions
from icecore.tables.text.text_stream import BLOCK, TextStream, beginning, has_comments
from icecore.tables.text.type_conversion import blank
from icecore.tables.text.widening import Beyond, Lost, Stored

if TYPE_CHECKING:
    from icecore.writing.array_writer import ArrayWriter
    from icecore.writing.writer import Writer

#: times that a table is begun anew because a column turned out to need more room
_ATTEMPTS = 100
_NOTHING = np.empty(0, "u1")


class _Again(Exception):
    """A column needs another data type than the one that was begun with."""


def pack_table(
    writer: Writer, job: TableJob, options: TableOptions, progress: Callable[[str, int], None] | None = None
) -> Done:
    """Write one table; nothing is committed.

    Raises:
        Error: ``mismatch`` where a label contradicts its file, or a file doesn't fit the table that it is
            appended to; ``corrupt`` for damaged archives; ``internal`` where the text can't be printed again;
            ``unsupported`` for the root.
    """
    if job.path == "/" and options.keep:
        message = "the root of a repository can't be a table that is printed again"
        raise errors.make("unsupported", message, "name a group for it: --group /t")
    if job.delete:
        writer.delete(job.path)
    packing = _TablePack(writer, job, options, progress)
    for _ in range(_ATTEMPTS):
        try:
            return packing.run()
        except _Again:
            packing.take_back()
    raise errors.make(
        "unsupported",
        f"the columns of {job.path} change their nature again and again",
        "pack the files one by one",
    )


class _TablePack:
    def __init__(
        self,
        writer: Writer,
        job: TableJob,
        options: TableOptions,
        progress: Callable[[str, int], None] | None,
    ) -> None:
        self._writer, self._job, self._options = writer, job, options
        self._report = progress or (lambda path, nbytes: None)
        #: whether the text of the table that is extended must be parsed again
        self._reparsed = False
        #: of the group, and what icecore keeps with them
        self._attrs: dict[str, Any] = {}
        self._ours: dict[str, Any] = {}
        self._stored = self._stored_table() if job.append else None
        #: what the arrays hold, widened from attempt to attempt
        self._columns = Held(job.path, self._stored)
        #: with the layouts that hold all of their lines
        self._files = list(job.files)

    def _stored_table(self) -> Stored:
        """The table that is extended."""
        base, path = self._writer.base(), self._job.path
        self._attrs, self._ours = base._nodes[path].attrs, base._nodes[path].ours
        kept = self._ours.get("table", {})
        if "text" not in kept and self._options.keep:
            raise errors.make(
                "mismatch",
                f"{path} was packed without its print format",
                "append with --no-restore, or pack into another group",
            )
        return Stored(base, path, kept)

    def take_back(self) -> None:
        """Undo what an attempt wrote."""
        if self._extending is not None:
            self._extending.take_back(self._rows)
        elif self._writer._native.exists(self._job.path):
            self._writer.delete(self._job.path)

    def run(self) -> Done:
        self._done = Done(self._job.path)
        self._arrays: list[ArrayWriter] = []
        self._growing: Growing | None = None
        self._escapes: ArrayWriter | None = None
        self._rows = self._at = 0
        self._formats: list[dict[str, Any]] = []
        self._sources: list[dict[str, Any]] = []
        self._blank: set[int] = set()
        self._described: Mapping[str, Mapping[str, Any]] | None = None
        if self._stored is not None:
            self._described = self._stored.attributes
        self._proofs: list[verify.Proof] = []
        self._extending: Extending | None = None
        if self._stored is not None:
            self._continue(self._stored)
        for number, file in enumerate(self._files):
            self._file(number, file)
        self._finish()
        return self._done

    def _continue(self, stored: Stored) -> None:
        """Go on behind the rows that are stored, once all columns have room for what comes."""
        self._rows = stored.rows
        self._extending = going = Extending(
            self._writer, stored, self._columns.held, self._options, self._reparsed
        )
        self._columns.held, self._formats, self._sources = going.columns, going.formats, going.sources
        self._reparsed = going.by_text  # from now on
        try:
            self._arrays, self._growing, self._escapes = going.run()
        except Beyond as beyond:
            if beyond.wider is self._columns.held[beyond.column]:
                self._reparsed = True
            else:
                self._columns.become(beyond.column, beyond.wider, f"what is stored of {self._job.path}")
            raise _Again from None
        except Lost as lost:
            for column, _, row, cell in lost.cells:
                self._columns.widen(lost.spec, column, cell, f"row {row} of {lost.place}")
            raise _Again from None
        self._blank = going.blank
        self._at = self._escapes.shape[0] if self._escapes is not None else 0

    def _file(self, number: int, file: TableFile) -> None:
        """Stream one file into the columns."""
        stream = TextStream(file.place, file.open, self._options.keep)
        source: dict[str, Any] = {
            "name": file.name,
            "rows": [self._rows, self._rows],
            "escapes": [self._at, self._at],
        }
        self._proofs.append(verify.Proof())
        assert file.spec is not None
        rest, head, limit = _NOTHING, file.spec.offset, None
        state = FileState(file, source)
        blocks = iter(stream)
        block = next(blocks, None)
        while block is not None or len(rest):
            following = next(blocks, None) if block is not None else None
            rest = _joined(rest, block)
            last = following is None
            if head:
                if len(rest) < head and not last:
                    block = following
                    continue
                self._keep(_raw(rest[:head]))
                state.numbers.skip(rest[:head])
                rest, head = rest[head:], 0
            if state.format is None and len(rest):
                self._survey(number, rest)
                self._begin(state, rest, last, self._files[number + 1 :])
                limit = state.limit
            elif block is not None:
                self._survey(number, block)
            most, tries = state.most, 0
            while len(rest):
                whole = len(rest) if limit is None else min(limit, len(rest))
                part = rest[: min(whole, most)]
                ends = len(part) == whole and (last or limit == whole)
                used = self._block(state, part, ends)
                rest = rest[used:]
                if limit is not None:
                    limit -= used
                    if not limit and len(rest):
                        state.follows(rest)
                        self._keep(_raw(rest))  # what follows the table
                        rest = _NOTHING
                if len(part) == whole and (not last or used == 0):
                    break
                # Not even one row: some more lines, and no more, since each row is as long as a part was for.
                most, tries = _further(rest, most, tries) if used == 0 else (state.most, 0)
            self._report(self._job.path, 0 if block is None else len(block))
            block = following
        if state.spec is not None:
            check_length(state.spec, file.place, stream.size)
        source["rows"][1], source["escapes"][1] = self._rows, self._at
        if words := state.of_words():
            for column in words:
                self._columns.become(column, None, file.place)
            raise _Again
        if self._growing is not None:
            self._proofs[-1].columns = self._growing.sums()
        source.update({"bytes": stream.size, "sha256": stream.sha256} if self._options.keep else {})
        self._done.text += stream.size
        source.update({what: n for what, n in (("cells", state.escaped), ("lines", state.lines)) if n})
        if kept := list(file_notes.kept(state)):
            source["notes"] = kept
        self._done.notes += [(file.name, note) for note in [*kept, *file_notes.doubtful(state)]]
        self._sources.append(source)

    def _survey(self, number: int, text: np.ndarray) -> None:
        """Begin anew where lines of a file have bytes that its layout has no place for."""
        spec = line_survey.widened(self._files[number], text)
        if spec is not None:
            self._anew(number, spec)

    def _anew(self, number: int, spec: TableSpec) -> None:
        """Begin anew with another layout of a file."""
        self._files[number] = replace(self._files[number], spec=spec)
        if self._stored is None:
            self._columns = Held(self._job.path, None)
        raise _Again

    def _begin(self, state: FileState, text: np.ndarray, last: bool, later: list[TableFile]) -> None:
        """Choose the print format of a file: the last one where it fits, else one of its own."""
        file = state.file
        assert file.spec is not None
        known = self._formats[-1] if self._formats else None
        fmt, spec = self._infer(file, text)
        if self._described is None:
            self._described = {field.name: field.attrs for field in spec.fields}
        stated_here = spec.fields if spec.label else ()
        differing = label_check.differing(self._job.path, self._described, file, stated_here)
        self._done.notes += [(file.name, what) for what in differing]
        self._described = label_check.joined(self._described, stated_here)
        self._columns.unproven = False
        if not self._columns.agree(fmt["columns"], file, bool(self._arrays)):
            # What is begun anew had better be so once, as far as what comes to it does not hang on values.
            for other in later:
                if self._columns.unproven:
                    break
                if len(start := beginning(other)):
                    self._columns.agree(self._infer(other, start)[0]["columns"], other, bool(self._arrays))
            raise _Again
        both = zip(self._columns.held, fmt["columns"], strict=True)
        fmt["columns"] = [array_kinds.fitted(old, new) for old, new in both]
        if known is not None and alike(known, fmt) and prints(known, text):
            fmt = known
        if fmt not in self._formats:
            self._formats.append(fmt)
        state.source["format"] = self._formats.index(fmt)
        state.begin(fmt, spec, text[: BLOCK >> 4].tobytes())
        self._proofs[-1].format = fmt
        # A label may say that more blocks are but one chunk.
        state.rows = spec.rows if not last and spec.rows is not None else None
        state.small = (last or state.rows is not None) and len(self._job.files) == 1 and self._stored is None
        state.small = state.small and (state.rows is not None or len(text) <= state.most)

    def _infer(self, file: TableFile, text: np.ndarray) -> tuple[dict[str, Any], TableSpec]:
        """The print format of a file that begins with ``text``.

        Raises:
            Error: ``mismatch`` where its columns are others than the table's.
        """
        known = self._columns
        fmt, spec = print_format.infer(
            file, text.tobytes(), self._options.trust, known.extra, known.words, known.fractions
        )
        names = [column["name"] for column in fmt["columns"]]
        if self._columns.held and names != [column["name"] for column in self._columns.held]:
            raise errors.make(
                "mismatch",
                f"{file.place} has the columns {file_notes.few(names)}, {self._job.path} has "
                f"{file_notes.few([c['name'] for c in self._columns.held])}",
                "pack it into a group of its own",
            )
        return fmt, spec

    def _block(self, state: FileState, text: np.ndarray, last: bool) -> int:
        """Parse a block into the columns; the number of bytes that were taken."""
        assert state.native is not None
        parsed = state.native.parse(text, last, self._options.keep)
        # All of them, before the table is begun anew.
        again = False
        assert state.spec is not None
        for column, count, row, cell in parsed["lost"]:
            if self._columns.widen(state.spec, column, cell, f"row {self._rows + row} of {state.file.place}"):
                again = True
            else:
                more(state.lost, column, count, cell)
        if again:
            raise _Again
        if self._columns.fill(state.spec, parsed, f"a row from {self._rows} on of {state.file.place}"):
            raise _Again
        if parsed["lines"]:
            number = next(i for i, file in enumerate(self._files) if file is state.file)
            spec = line_survey.respaced(state.file, text[: parsed["used"]])
            if spec is not None:
                self._anew(number, spec)
        if parsed["used"]:
            if self._growing is None:
                self._growing = self._create(state, parsed["columns"])
            self._keep(parsed["escapes"])
            empty = self._growing.append(parsed["columns"])
            if parsed["escaped"]:
                self._blank.update(empty)
            self._blank.update(parsed.get("blank", ()))  # of records
            state.count(parsed, self._rows, text[: parsed["used"]])
            self._rows += parsed["rows"]
            self._done.rows += parsed["rows"]
        return int(parsed["used"])

    def _create(self, state: FileState, parsed: Sequence[np.ndarray]) -> Growing:
        """Make the group, and an array for each column."""
        path, writer = self._job.path, self._writer
        assert state.spec is not None
        self._attrs = state.spec.attrs
        writer.group(path)
        choices = column_codecs.Choices(self._options)
        for item, column, raw in zip(state.spec.fields, self._columns.held, parsed, strict=True):
            values = column_types.values(raw, column)
            whole = max(len(values), state.rows or 0) if state.small else None
            array = column_array(writer, path, column, values, item.attrs, choices, whole)
            self._arrays.append(array)
        return Growing(writer, self._arrays)

    def _keep(self, escapes: bytes) -> None:
        """Add the escapes of a stretch of rows."""
        if not self._options.keep:
            return
        if self._escapes is None:
            self._escapes = escapes_array(self._writer, self._job.path)
        self._escapes.append(np.frombuffer(escapes, "u1"))
        self._proofs[-1].add_escapes(escapes)
        self._at += len(escapes)

    def _finish(self) -> None:
        """Write what is left, then the attributes, then prove that the text can be printed again."""
        if self._growing is None:
            file = self._job.files[0]
            spec, size = file.spec, self._done.text
            named = spec is not None and spec.layout == "delimited" and not spec.label
            hint = "if its first line is a row: --no-header" if named else "is it the right file?"
            if named and has_comments(file):
                hint = f"{COMMENTED}; {hint}"
            if spec is not None and spec.label and spec.offset >= size:
                message = f"{spec.label} says that rows begin at byte {spec.offset + 1:,} of {file.place}"
                raise errors.make("mismatch", f"{message}, which has {size:,} bytes", hint)
            raise errors.make("format", f"{file.place} holds no rows of a table", hint)
        self._growing.finish(self._rows)
        self._done.columns, self._done.total = [array.path for array in self._arrays], self._rows
        path, table = self._job.path, dict(self._stored.kept) if self._stored is not None else {}
        table["columns"] = [column["name"] for column in self._columns.held]
        table["arrays"] = stored_format.arrays(self._columns.held)
        table["sources"] = self._sources
        if self._escapes is not None:
            self._escapes.finish()
        if self._options.keep or "text" in table:
            table["text"] = {
                "version": 1,
                "formats": stored_format.shorter(self._formats, self._columns.held),
            }
        renulled = self._nulls()
        self._writer.attrs(path, {**self._attrs, OURS: {**self._ours, "table": table}})
        first = len(self._sources) - len(self._job.files)
        if self._extending is not None and self._extending.changed:
            assert self._stored is not None
            self._done.rewritten += rewritten(self._extending, self._stored, self._columns.why)
            verify.reprint(self._writer._view(), path, range(first), self._stored.repo)
        if self._options.keep:
            before = self._extending.before if self._extending is not None else []
            before = [None if i in renulled else array for i, array in enumerate(before)]
            self._done.summaries = verify.check(self._writer._view(), path, first, self._proofs, before)

    def _nulls(self) -> set[int]:
        """Where integers have blanks, their stand-in becomes ``_FillValue``; and ``missing_value`` what the
        labels of all files say.

        Returns:
            The numbers of the columns of which values that were some may be none now.
        """
        assert self._described is not None
        renulled = set()
        for i, array in enumerate(self._arrays):
            old = dict(array._document.get("attributes", {}))
            attrs = dict(old)
            if i in self._blank:
                attrs["_FillValue"] = int(blank(array.dtype))
            constants = self._described.get(self._columns.held[i]["name"], {}).get("missing_value")
            if constants is not None and constants != old.get("missing_value"):
                attrs["missing_value"] = constants
                renulled.add(i)
            if attrs != old:
                self._writer.attrs(array.path, attrs)
        return renulled


def _joined(rest: np.ndarray, block: np.ndarray | None) -> np.ndarray:
    """What is left of the blocks before, and a block behind it: most often there is only one of them."""
    if block is None or not len(block):
        return rest
    return np.concatenate((rest, block)) if len(rest) else block


def _further(text: np.ndarray, most: int, tries: int) -> tuple[int, int]:
    """Where a part may end that is longer than ``most``: behind a line, further off each time; and how often
    it was tried behind one.
    """
    ends = np.flatnonzero(text[most : 2 * most] == ord("\n"))
    if not len(ends):
        return 2 * most, tries
    return most + int(ends[min(1 << tries, len(ends)) - 1]) + 1, tries + 1


def _raw(text: np.ndarray) -> bytes:
    from icecore import _icecore

    return _icecore.raw_escapes(text.tobytes())
