"""Continue a stored text table with the rows of more files."""

from __future__ import annotations

from icecore.tables.text.extend_table import Extending
from icecore.tables.text.table_attempt import Again, Attempt
from icecore.tables.text.widening import Beyond, Lost, Stored


def continue_table(attempt: Attempt, stored: Stored) -> None:
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
