"""Stream one file into the columns of a table, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from icecore.sources.mapping.table_file import TableFile
from icecore.tables.text import file_notes, line_survey, verify
from icecore.tables.text.begin_format import begin_format
from icecore.tables.text.binary_records import check_length
from icecore.tables.text.file_state import FileState
from icecore.tables.text.parse_block import parse_block
from icecore.tables.text.table_attempt import Again, Attempt
from icecore.tables.text.text_stream import TextStream

_NOTHING = np.empty(0, "u1")


def stream_file(attempt: Attempt, number: int, file: TableFile) -> None:
    """Stream one file into the columns.

    Of a file with several tables, the first one reads and hashes all of it; each keeps only its own stretch.
    """
    keep, (start, stop), shared = attempt.options.keep, file.stretch, file.shared
    hashed = keep and (shared is None or not shared.sha256)
    whole = hashed and shared is not None
    reach = (0, None) if whole else (start, stop)
    stream = TextStream(file.place, file.open, hashed, start=reach[0], stop=reach[1])
    source: dict[str, Any] = {
        "name": file.name,
        "rows": [attempt.rows, attempt.rows],
        "escapes": [attempt.at, attempt.at],
    }
    attempt.proofs.append(verify.Proof())
    state = FileState(file, source)
    feed = _Feed(attempt, state, number, file)
    blocks = _stretch(stream, start, stop) if whole else iter(stream)
    block, fed = next(blocks, None), 0
    while block is not None or len(feed.rest):
        following = next(blocks, None) if block is not None else None
        feed.add(block, following is None)
        fed += 0 if block is None else len(block)
        if shared is not None and block is not None:
            attempt.proofs[-1].text.update(block)
        attempt.report(attempt.job.path, 0 if block is None else len(block))
        block = following
    size, sha256 = stream.size, stream.sha256
    if whole and shared is not None:
        shared.size, shared.sha256 = size, sha256
    elif shared is not None:
        size, sha256 = shared.size, shared.sha256
    if state.spec is not None and shared is None:
        check_length(state.spec, file.place, size)
    state.check(feed.kept, fed)
    attempt.done.text += fed
    _describe(attempt, state, size, sha256, source)
    if shared is not None and keep:
        source["parts"] = [[_beside(path, attempt.job.path), name] for path, name in shared.tables]
    attempt.sources.append(source)


def _beside(path: str, table: str) -> str:
    """Return the name of a table in the group of another one; the path of one elsewhere."""
    group, _, name = path.rpartition("/")
    return name if group == table.rpartition("/")[0] else path


def _stretch(stream: TextStream, start: int, stop: int | None) -> Iterator[np.ndarray]:
    """Yield the parts of a whole file's blocks that belong to a stretch of it."""
    at = 0
    for block in stream:
        part = block[max(start - at, 0) : None if stop is None else max(stop - at, 0)]
        at += len(block)
        if len(part):
            yield part


def _describe(attempt: Attempt, state: FileState, size: int, sha256: str, source: dict[str, Any]) -> None:
    """Complete the description of a file with the results at its end."""
    source["rows"][1], source["escapes"][1] = attempt.rows, attempt.at
    if words := state.of_words():
        for column in words:
            attempt.columns.become(column, None, state.file.place)
        raise Again
    if attempt.growing is not None:
        attempt.proofs[-1].columns = attempt.growing.sums()
    source.update({"bytes": size, "sha256": sha256} if attempt.options.keep else {})
    source.update({what: n for what, n in (("cells", state.escaped), ("lines", state.lines)) if n})
    if notes := [*file_notes.kept(state, attempt.options.keep), *file_notes.doubtful(state)]:
        source["notes"] = notes
        attempt.done.notes += [(state.file.name, note) for note in notes]


class _Feed:
    """Text of a file between reading and parsing: header, rows of the table, and the text after it."""

    def __init__(self, attempt: Attempt, state: FileState, number: int, file: TableFile) -> None:
        assert file.spec is not None
        self.attempt, self.state, self.number = attempt, state, number
        self.rest, self.header = _NOTHING, file.spec.offset - file.stretch[0]
        #: bytes outside the rows that are kept as text
        self.kept = 0
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
            self._survey(self.rest)
            later = self.attempt.files[self.number + 1 :]
            begin_format(self.attempt, self.state, self.rest, last, later)
            self.left = self.state.limit
        elif block is not None:
            self._survey(block)
        self._parse(last)

    def _survey(self, text: np.ndarray) -> None:
        """Restart if lines have bytes outside the layout."""
        self.attempt.relayout(self.number, line_survey.widened(self.attempt.files[self.number], text))

    def _keep_header(self) -> None:
        header, self.rest = self.rest[: self.header], self.rest[self.header :]
        self.attempt.keep(_raw(header))
        self.kept += len(header)
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
            self.kept += len(self.rest)
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
