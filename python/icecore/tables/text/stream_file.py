"""Stream one file into the columns of a table, block by block."""

from __future__ import annotations

from typing import Any

import numpy as np

from icecore.sources.mapping.table_file import TableFile
from icecore.tables.text import file_notes, verify
from icecore.tables.text.begin_format import begin_format
from icecore.tables.text.binary_records import check_length
from icecore.tables.text.file_state import FileState
from icecore.tables.text.parse_block import parse_block
from icecore.tables.text.relayout import survey
from icecore.tables.text.table_attempt import Again, Attempt
from icecore.tables.text.text_stream import TextStream

_NOTHING = np.empty(0, "u1")


def stream_file(attempt: Attempt, number: int, file: TableFile) -> None:
    """Stream one file into the columns."""
    stream = TextStream(file.place, file.open, attempt.options.keep)
    source: dict[str, Any] = {
        "name": file.name,
        "rows": [attempt.rows, attempt.rows],
        "escapes": [attempt.at, attempt.at],
    }
    attempt.proofs.append(verify.Proof())
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
            attempt.keep(_raw(rest[:head]))
            state.numbers.skip(rest[:head])
            rest, head = rest[head:], 0
        if state.format is None and len(rest):
            survey(attempt, number, rest)
            begin_format(attempt, state, rest, last, attempt.files[number + 1 :])
            limit = state.limit
        elif block is not None:
            survey(attempt, number, block)
        most, tries = state.most, 0
        while len(rest):
            whole = len(rest) if limit is None else min(limit, len(rest))
            part = rest[: min(whole, most)]
            ends = len(part) == whole and (last or limit == whole)
            used = parse_block(attempt, state, part, ends)
            rest = rest[used:]
            if limit is not None:
                limit -= used
                if not limit and len(rest):
                    state.follows(rest)
                    attempt.keep(_raw(rest))  # what follows the table
                    rest = _NOTHING
            if len(part) == whole and (not last or used == 0):
                break
            # Not even one row: some more lines, and no more, since each row is as long as a part was for.
            most, tries = _further(rest, most, tries) if used == 0 else (state.most, 0)
        attempt.report(attempt.job.path, 0 if block is None else len(block))
        block = following
    if state.spec is not None:
        check_length(state.spec, file.place, stream.size)
    source["rows"][1], source["escapes"][1] = attempt.rows, attempt.at
    if words := state.of_words():
        for column in words:
            attempt.columns.become(column, None, file.place)
        raise Again
    if attempt.growing is not None:
        attempt.proofs[-1].columns = attempt.growing.sums()
    source.update({"bytes": stream.size, "sha256": stream.sha256} if attempt.options.keep else {})
    attempt.done.text += stream.size
    source.update({what: n for what, n in (("cells", state.escaped), ("lines", state.lines)) if n})
    if notes := [*file_notes.kept(state), *file_notes.doubtful(state)]:
        source["notes"] = notes
        attempt.done.notes += [(file.name, note) for note in notes]
    attempt.sources.append(source)


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
