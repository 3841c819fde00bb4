"""Restart of a table with another layout, if lines of a file contradict the present one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from icecore.sources.mapping.table_file import TableSpec
from icecore.tables.text import line_survey
from icecore.tables.text.column_state import Held
from icecore.tables.text.file_state import FileState
from icecore.tables.text.table_attempt import Again, Attempt


def survey(attempt: Attempt, number: int, text: np.ndarray) -> None:
    """Restart if lines of a file have bytes outside its layout."""
    spec = line_survey.widened(attempt.files[number], text)
    if spec is not None:
        _anew(attempt, number, spec)


def respace(attempt: Attempt, state: FileState, text: np.ndarray) -> None:
    """Restart if lines have blank cells, because runs of spaces can't delimit them."""
    spec = line_survey.respaced(state.file, text)
    if spec is not None:
        _anew(attempt, attempt.files.index(state.file), spec)


def _anew(attempt: Attempt, number: int, spec: TableSpec) -> None:
    """Restart with another layout of a file."""
    attempt.files[number] = replace(attempt.files[number], spec=spec)
    if attempt.stored is None:
        attempt.columns = Held(attempt.job.path, None)
    raise Again
