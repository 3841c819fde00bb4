"""Packing of text tables into columns from which the text is reproduced byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from icecore import errors
from icecore.tables.text.extend_table import Extending
from icecore.tables.text.finish_table import finish_table
from icecore.tables.text.stream_file import stream_file
from icecore.tables.text.table_attempt import Again, Attempt
from icecore.tables.text.table_job import Done, TableJob, TableOptions
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
        except Again:
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
        raise Again from None
    except Lost as lost:
        for column, _, row, cell in lost.cells:
            attempt.columns.widen(lost.spec, column, cell, f"row {row} of {lost.place}")
        raise Again from None
    attempt.blank = going.blank
    attempt.at = attempt.escapes.shape[0] if attempt.escapes is not None else 0
