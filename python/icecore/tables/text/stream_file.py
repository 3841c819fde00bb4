"""Stream one file into the columns of a table, block by block."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from icecore import errors
from icecore.sources.mapping.table_file import Field, TableFile, TableSpec
from icecore.tables.text import column_codecs, column_types, file_state, line_survey, print_format, verify
from icecore.tables.text.binary_records import check_length
from icecore.tables.text.extend_table import Growing, column_array
from icecore.tables.text.file_state import FileState, more
from icecore.tables.text.table_attempt import Attempt, Restart
from icecore.tables.text.text_stream import BLOCK, TextStream, beginning

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
        raise Restart
    if attempt.growing is not None:
        attempt.proofs[-1].columns = attempt.growing.sums()
    source.update({"bytes": size, "sha256": sha256} if attempt.options.keep else {})
    if attempt.options.keep and (modified := state.file.modified) is not None:
        source["modified"] = modified
    source.update({what: n for what, n in (("cells", state.escaped), ("lines", state.lines)) if n})
    if notes := [*file_state.kept(state, attempt.options.keep), *file_state.doubtful(state)]:
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


# Choose the print format of a file from its first block.


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
    found = differing(path, attempt.described, file, spec.fields)
    found += zones(path, held, fmt["columns"], file)
    attempt.done.notes += [(file.name, what) for what in found]
    attempt.described = joined(attempt.described, spec.fields)
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
        raise Restart
    both = zip(attempt.columns.held, fmt["columns"], strict=True)
    fmt["columns"] = [column_types.fitted(old, new) for old, new in both]
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
            f"{file.place} has the columns {file_state.few(names)}, {attempt.job.path} has "
            f"{file_state.few([c['name'] for c in attempt.columns.held])}",
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


# Check of what a file states of its columns (label, header, zones) against those of the table.


#: attributes that change values, and attributes that describe them
_SCALES, _MISSING = ("scale_factor", "add_offset"), "missing_value"
_TOLD = ("units", _MISSING)
#: UTC offset at the end of a time pattern
_ZONE = re.compile(r"(?: ?(?:Z|UTC|GMT)|[-+]\d\d:?(?:\d\d)?)$")


def differing(
    path: str, known: Mapping[str, Mapping[str, Any]], file: TableFile, fields: Iterable[Field]
) -> list[str]:
    """Return messages about attributes that differ between a file's columns and the table.

    Args:
        path: path of the table.
        known: column → attributes of the table's column.
        file: file that is added to the table.
        fields: columns of the file.

    Raises:
        Error: ``mismatch`` if a number would get another value.
    """
    found = []
    for field in fields:
        old = known.get(field.name, {})
        for key in (*_SCALES, *_TOLD):
            ours, theirs = old.get(key), field.attrs.get(key)
            if ours == theirs or (key in _TOLD and theirs is None):
                continue
            if key == _MISSING and len(constants(old, field)) == len(_listed(ours)):
                continue
            here = f"column {field.name} of {file.place} has {_shown(key, theirs)}"
            about = f"{here}, in {path} it has {_shown(key, ours)}"
            if key in _SCALES and (theirs is not None or (file.spec is not None and file.spec.label)):
                raise errors.make("mismatch", about, "pack it into a group of its own")
            found.append(f"{about}, {'to which that is added' if key == _MISSING else 'which stays'}")
    return found


def zones(
    path: str, held: Sequence[Mapping[str, Any]], columns: Sequence[Mapping[str, Any]], file: TableFile
) -> list[str]:
    """Return messages about columns of times with a UTC offset in the table or in a file, but not in both."""
    found = []
    for old, new in zip(held, columns, strict=False):
        if "time" not in old["style"] or "time" not in new["style"] or "blank" in old or "blank" in new:
            continue
        ours, theirs = _zone(old), _zone(new)
        if bool(ours) != bool(theirs):
            here = f"column {new['name']} of {file.place} has times {_offset(theirs)}"
            found.append(f"{here}, in {path} they are {_offset(ours)}; those without are read as UTC")
    return found


def _zone(column: Mapping[str, Any]) -> str:
    match = _ZONE.search(column["style"]["time"]["pattern"])
    return match[0] if match is not None else ""


def _offset(zone: str) -> str:
    return f"with an offset ({zone.strip()})" if zone else "without an offset"


def joined(known: Mapping[str, Mapping[str, Any]], fields: Iterable[Field]) -> dict[str, dict[str, Any]]:
    """Return the table's attributes by column, including the missing constants of a file's columns."""
    result = {name: dict(attrs) for name, attrs in known.items()}
    for field in fields:
        if _listed(field.attrs.get(_MISSING)):
            old = result.setdefault(field.name, {})
            old[_MISSING] = constants(old, field)
    return result


def constants(old: Mapping[str, Any], field: Field) -> list[Any]:
    """Return the missing constants of a column, followed by the additional ones of a file's column."""
    return list(dict.fromkeys([*_listed(old.get(_MISSING)), *_listed(field.attrs.get(_MISSING))]))


def _listed(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def _shown(key: str, value: Any) -> str:
    return f"no {key}" if value is None else f"{key} {value}"


# Parse a block of text into the columns of a table.


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
        raise Restart
    if attempt.columns.fill(state.spec, parsed, f"a row from {attempt.rows} on of {state.file.place}"):
        raise Restart
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
