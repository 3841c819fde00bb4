"""Parse a block of text into the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from icecore.tables.text import column_codecs, column_types, line_survey
from icecore.tables.text.file_state import FileState, more
from icecore.tables.text.new_arrays import column_array
from icecore.tables.text.row_writer import Growing
from icecore.tables.text.table_attempt import Again, Attempt


def parse_block(attempt: Attempt, state: FileState, text: np.ndarray, last: bool) -> int:
    """Parse a block into the columns, and return the number of bytes that were used."""
    assert state.native is not None
    parsed = state.native.parse(text, last, attempt.options.keep)
    # Collect all lost cells first, so that one restart covers all of them.
    again = False
    assert state.spec is not None
    for column, count, row, cell in parsed["lost"]:
        if attempt.columns.widen(state.spec, column, cell, f"row {attempt.rows + row} of {state.file.place}"):
            again = True
        else:
            more(state.lost, column, count, cell)
    if again:
        raise Again
    if attempt.columns.fill(state.spec, parsed, f"a row from {attempt.rows} on of {state.file.place}"):
        raise Again
    if parsed["lines"]:
        # Runs of spaces can't delimit blank cells.
        spec = line_survey.respaced(state.file, text[: parsed["used"]])
        attempt.relayout(attempt.files.index(state.file), spec)
    if parsed["used"]:
        if attempt.growing is None:
            attempt.growing = _create_arrays(attempt, state, parsed["columns"])
        attempt.keep(parsed["escapes"])
        empty = attempt.growing.append(parsed["columns"])
        if parsed["escaped"]:
            attempt.blank.update(empty)
        attempt.blank.update(parsed.get("blank", ()))  # binary records
        state.count(parsed, attempt.rows, text[: parsed["used"]])
        attempt.rows += parsed["rows"]
        attempt.done.rows += parsed["rows"]
    return int(parsed["used"])


def _create_arrays(attempt: Attempt, state: FileState, parsed: Sequence[np.ndarray]) -> Growing:
    """Create the group, and an array for each column."""
    path, writer = attempt.job.path, attempt.writer
    assert state.spec is not None
    attempt.attrs = state.spec.attrs
    writer.group(path)
    choices = column_codecs.Choices(attempt.options)
    firsts = [
        column_types.values(raw, column) for raw, column in zip(parsed, attempt.columns.held, strict=True)
    ]
    if state.small:
        choices.relate(attempt.columns.held, firsts)
    for item, column, values in zip(state.spec.fields, attempt.columns.held, firsts, strict=True):
        whole = max(len(values), state.rows or 0) if state.small else None
        array = column_array(writer, path, column, values, item.attrs, choices, whole)
        attempt.arrays.append(array)
    return Growing(writer, attempt.arrays)
