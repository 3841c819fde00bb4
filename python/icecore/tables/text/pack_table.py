"""Packing of text tables into columns from which the text is reproduced byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from icecore import errors
from icecore.repository.nodes import OURS
from icecore.sources.tables.preamble import COMMENTED
from icecore.tables.text import stored_format, verify
from icecore.tables.text.column_types import blank
from icecore.tables.text.extend_table import Extending, rewritten
from icecore.tables.text.stream_file import stream_file
from icecore.tables.text.table_attempt import Attempt, Restart
from icecore.tables.text.table_job import Done, TableJob, TableOptions
from icecore.tables.text.text_stream import has_comments
from icecore.tables.text.widening import Beyond, Lost, Stored

if TYPE_CHECKING:
    from icecore.writing.writer import Writer


#: largest number of restarts of a table, each because a column needs a wider type
_ATTEMPTS = 100


def pack_table(
    writer: Writer, job: TableJob, options: TableOptions, progress: Callable[[str, int], None] | None = None
) -> Done:
    """Write one table, without a commit.

    Raises:
        Error: ``mismatch`` if a label contradicts its file, or a file doesn't fit the table that it is
            appended to; ``corrupt`` for damaged archives; ``internal`` if the text is not reproduced;
            ``unsupported`` for the root group.
    """
    if job.path == "/" and options.keep:
        message = "the root of a repository can't be a table that is printed again"
        raise errors.make("unsupported", message, "name a group for it: --group /t")
    if job.delete:
        writer.delete(job.path)
    attempt = Attempt(writer, job, options, progress)
    for _ in range(_ATTEMPTS):
        try:
            return _run(attempt)
        except Restart:
            attempt.take_back()
    raise errors.make(
        "unsupported",
        f"the columns of {job.path} change their nature again and again",
        "pack the files one by one",
    )


def _run(attempt: Attempt) -> Done:
    attempt.reset()
    if attempt.stored is not None:
        _continue(attempt, attempt.stored)
    for number, file in enumerate(attempt.files):
        stream_file(attempt, number, file)
    finish_table(attempt)
    return attempt.done


def _continue(attempt: Attempt, stored: Stored) -> None:
    """Prepare a stored table for more rows: widen its columns if necessary, and open its arrays for
    appending.
    """
    attempt.rows = stored.rows
    attempt.extending = going = Extending(
        attempt.writer, stored, attempt.columns.held, attempt.options, attempt.reparsed
    )
    attempt.columns.held, attempt.formats, attempt.sources = going.columns, going.formats, going.sources
    attempt.reparsed = going.by_text  # also in later attempts
    try:
        attempt.arrays, attempt.growing, attempt.escapes = going.run()
    except Beyond as beyond:
        if beyond.wider is attempt.columns.held[beyond.column]:
            attempt.reparsed = True
        else:
            attempt.columns.become(beyond.column, beyond.wider, f"what is stored of {attempt.job.path}")
        raise Restart from None
    except Lost as lost:
        for column, _, row, cell in lost.cells:
            attempt.columns.widen(lost.spec, column, cell, f"row {row} of {lost.place}")
        raise Restart from None
    attempt.blank = going.blank
    attempt.at = attempt.escapes.shape[0] if attempt.escapes is not None else 0


# End of packing a text table: attributes, and verification that the text is reproduced.


def finish_table(attempt: Attempt) -> None:
    """Write the remaining rows and the attributes, then verify that the text is reproduced."""
    if attempt.growing is None:
        file = attempt.job.files[0]
        spec, size = file.spec, attempt.done.text
        named = spec is not None and spec.layout == "delimited" and not spec.label
        hint = "if its first line is a row: --no-header" if named else "is it the right file?"
        if named and has_comments(file):
            hint = f"{COMMENTED}; {hint}"
        if spec is not None and spec.label and spec.offset >= size:
            message = f"{spec.label} says that rows begin at byte {spec.offset + 1:,} of {file.place}"
            raise errors.make("mismatch", f"{message}, which has {size:,} bytes", hint)
        raise errors.make("format", f"{file.place} holds no rows of a table", hint)
    attempt.growing.finish(attempt.rows)
    attempt.done.columns, attempt.done.total = [array.path for array in attempt.arrays], attempt.rows
    path, table = attempt.job.path, dict(attempt.stored.kept) if attempt.stored is not None else {}
    table["columns"] = [column["name"] for column in attempt.columns.held]
    table["arrays"] = stored_format.arrays(attempt.columns.held)
    table["sources"] = attempt.sources
    if attempt.escapes is not None:
        attempt.escapes.finish()
    if attempt.options.keep or "text" in table:
        table["text"] = {
            "version": 1,
            "formats": stored_format.shorter(attempt.formats, attempt.columns.held),
        }
    renulled = _mark_nulls(attempt)
    attempt.writer.attrs(path, {**attempt.attrs, OURS: {**attempt.ours, "table": table}})
    first = len(attempt.sources) - len(attempt.job.files)
    if attempt.extending is not None and attempt.extending.changed:
        assert attempt.stored is not None
        attempt.done.rewritten += rewritten(attempt.extending, attempt.stored, attempt.columns.why)
        verify.reprint(attempt.writer._view(), path, range(first), attempt.stored.repo)
    if attempt.options.keep:
        before = attempt.extending.before if attempt.extending is not None else []
        before = [None if i in renulled else array for i, array in enumerate(before)]
        attempt.done.summaries = verify.check(attempt.writer._view(), path, first, attempt.proofs, before)


def _mark_nulls(attempt: Attempt) -> set[int]:
    """Set ``_FillValue`` of integer arrays with missing values, and ``missing_value`` from the labels of all
    files.

    Returns:
        Indexes of columns whose values may have become missing values.
    """
    assert attempt.described is not None
    renulled = set()
    for i, array in enumerate(attempt.arrays):
        old = dict(array._document.get("attributes", {}))
        attrs = dict(old)
        if i in attempt.blank:
            attrs["_FillValue"] = int(blank(array.dtype))
        constants = attempt.described.get(attempt.columns.held[i]["name"], {}).get("missing_value")
        if constants is not None and constants != old.get("missing_value"):
            attrs["missing_value"] = constants
            renulled.add(i)
        if attrs != old:
            attempt.writer.attrs(array.path, attrs)
    return renulled
