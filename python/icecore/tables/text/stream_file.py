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
    state = FileState(file, source)
    feed = _Feed(attempt, state, number, file)
    blocks = iter(stream)
    block = next(blocks, None)
    while block is not None or len(feed.rest):
        following = next(blocks, None) if block is not None else None
        feed.add(block, following is None)
        attempt.report(attempt.job.path, 0 if block is None else len(block))
        block = following
    if state.spec is not None:
        check_length(state.spec, file.place, stream.size)
    _describe(attempt, state, stream, source)
    attempt.sources.append(source)


def _describe(attempt: Attempt, state: FileState, stream: TextStream, source: dict[str, Any]) -> None:
    """Complete the description of a file with the results at its end."""
    source["rows"][1], source["escapes"][1] = attempt.rows, attempt.at
    if words := state.of_words():
        for column in words:
            attempt.columns.become(column, None, state.file.place)
        raise Again
    if attempt.growing is not None:
        attempt.proofs[-1].columns = attempt.growing.sums()
    source.update({"bytes": stream.size, "sha256": stream.sha256} if attempt.options.keep else {})
    attempt.done.text += stream.size
    source.update({what: n for what, n in (("cells", state.escaped), ("lines", state.lines)) if n})
    if notes := [*file_notes.kept(state), *file_notes.doubtful(state)]:
        source["notes"] = notes
        attempt.done.notes += [(state.file.name, note) for note in notes]


class _Feed:
    """Text of a file between reading and parsing: header, rows of the table, and the text after it."""

    def __init__(self, attempt: Attempt, state: FileState, number: int, file: TableFile) -> None:
        assert file.spec is not None
        self.attempt, self.state, self.number = attempt, state, number
        self.rest, self.header = _NOTHING, file.spec.offset
        #: bytes of the table still to come, if its length is known
        self.left: int | None = None

    def add(self, block: np.ndarray | None, last: bool) -> None:
        """Parse all complete rows after adding a block; with the last block, parse everything."""
        self.rest = _joined(self.rest, block)
        if self.header:
            if len(self.rest) < self.header and not last:
                return
            self._keep_header()
        if self.state.format is None and len(self.rest):
            survey(self.attempt, self.number, self.rest)
            later = self.attempt.files[self.number + 1 :]
            begin_format(self.attempt, self.state, self.rest, last, later)
            self.left = self.state.limit
        elif block is not None:
            survey(self.attempt, self.number, block)
        self._parse(last)

    def _keep_header(self) -> None:
        header, self.rest = self.rest[: self.header], self.rest[self.header :]
        self.attempt.keep(_raw(header))
        self.state.numbers.skip(header)
        self.header = 0

    def _parse(self, last: bool) -> None:
        most, tries = self.state.most, 0
        while len(self.rest):
            whole = len(self.rest) if self.left is None else min(self.left, len(self.rest))
            part = self.rest[: min(whole, most)]
            ends = len(part) == whole and (last or self.left == whole)
            used = parse_block(self.attempt, self.state, part, ends)
            self._drop(used)
            if len(part) == whole and (not last or used == 0):
                return
            # The part was shorter than a row. Add few lines, because a failed parse of a longer part costs
            # more.
            most, tries = _further(self.rest, most, tries) if used == 0 else (self.state.most, 0)

    def _drop(self, used: int) -> None:
        """Drop parsed bytes; at the end of the table, keep the text that follows it."""
        self.rest = self.rest[used:]
        if self.left is None:
            return
        self.left -= used
        if not self.left and len(self.rest):
            self.state.follows(self.rest)
            self.attempt.keep(_raw(self.rest))
            self.rest = _NOTHING


def _joined(rest: np.ndarray, block: np.ndarray | None) -> np.ndarray:
    """Append a block to the unparsed text, without a copy if one of them is empty."""
    if block is None or not len(block):
        return rest
    return np.concatenate((rest, block)) if len(rest) else block


def _further(text: np.ndarray, most: int, tries: int) -> tuple[int, int]:
    """Return the end of a longer part, and the number of tries that ended at a line.

    It ends after one more line, then two, four, …, or at twice the length if there is no line end.
    """
    ends = np.flatnonzero(text[most : 2 * most] == ord("\n"))
    if not len(ends):
        return 2 * most, tries
    return most + int(ends[min(1 << tries, len(ends)) - 1]) + 1, tries + 1


def _raw(text: np.ndarray) -> bytes:
    from icecore import _icecore

    return _icecore.raw_escapes(text.tobytes())
