"""Choose the print format of a file from its first block."""

from __future__ import annotations

from typing import Any

import numpy as np

from icecore import errors
from icecore.sources.mapping.table_file import TableFile, TableSpec
from icecore.tables.text import array_kinds, file_notes, label_check, print_format
from icecore.tables.text.file_state import FileState
from icecore.tables.text.table_attempt import Again, Attempt
from icecore.tables.text.text_stream import BLOCK, beginning

#: fraction of escaped cells above which a file gets its own print format
_MANY = 0.02


def begin_format(
    attempt: Attempt, state: FileState, text: np.ndarray, last: bool, later: list[TableFile]
) -> None:
    """Choose the print format of a file: the last one if it fits, otherwise infer one."""
    file = state.file
    assert file.spec is not None
    known = attempt.formats[-1] if attempt.formats else None
    fmt, spec = _infer(attempt, file, text)
    if attempt.described is None:
        attempt.described = {field.name: field.attrs for field in spec.fields}
    path, held = attempt.job.path, attempt.columns.held
    differing = label_check.differing(path, attempt.described, file, spec.fields)
    differing += label_check.zones(path, held, fmt["columns"], file)
    attempt.done.notes += [(file.name, what) for what in differing]
    attempt.described = label_check.joined(attempt.described, spec.fields)
    attempt.columns.unproven = False
    if not attempt.columns.agree(fmt["columns"], file, bool(attempt.arrays)):
        # A restart is expensive: check the other files first, so that one restart covers all of them.
        for other in later:
            if attempt.columns.unproven:
                break
            if len(start := beginning(other)):
                attempt.columns.agree(
                    _infer(attempt, other, start)[0]["columns"], other, bool(attempt.arrays)
                )
        raise Again
    both = zip(attempt.columns.held, fmt["columns"], strict=True)
    fmt["columns"] = [array_kinds.fitted(old, new) for old, new in both]
    if known is not None and _alike(known, fmt) and _prints(known, text):
        fmt = known
    if fmt not in attempt.formats:
        attempt.formats.append(fmt)
    state.source["format"] = attempt.formats.index(fmt)
    state.begin(fmt, spec, text[: BLOCK >> 4].tobytes())
    attempt.proofs[-1].format = fmt
    # A label with a row count also shows that several blocks make up a single chunk.
    state.rows = spec.rows if not last and spec.rows is not None else None
    state.small = (last or state.rows is not None) and len(attempt.job.files) == 1 and attempt.stored is None
    state.small = state.small and (state.rows is not None or len(text) <= state.most)


def _infer(attempt: Attempt, file: TableFile, text: np.ndarray) -> tuple[dict[str, Any], TableSpec]:
    """Infer the print format of a file that begins with ``text``.

    Raises:
        Error: ``mismatch`` if its columns differ from the table's.
    """
    known = attempt.columns
    fmt, spec = print_format.infer(
        file, text.tobytes(), attempt.options.trust, known.extra, known.words, known.fractions
    )
    names = [column["name"] for column in fmt["columns"]]
    if attempt.columns.held and names != [column["name"] for column in attempt.columns.held]:
        raise errors.make(
            "mismatch",
            f"{file.place} has the columns {file_notes.few(names)}, {attempt.job.path} has "
            f"{file_notes.few([c['name'] for c in attempt.columns.held])}",
            "pack it into a group of its own",
        )
    return fmt, spec


def _alike(known: dict[str, Any], fmt: dict[str, Any]) -> bool:
    """Return whether one of two formats may serve both. Binary formats can't: they print any records."""
    return "binary" not in fmt["layout"] and {**known, "columns": None} == {**fmt, "columns": None}


def _prints(fmt: dict[str, Any], text: np.ndarray) -> bool:
    """Return whether an existing print format fits the first rows of another file."""
    part = text[: min(len(text), BLOCK >> 4)]
    parsed = print_format.native(fmt).parse(part, False)
    cells = max(parsed["rows"], 1) * len(fmt["columns"])
    return not parsed["lost"] and parsed["escaped"] <= cells * _MANY and parsed["rows"] > parsed["lines"]
