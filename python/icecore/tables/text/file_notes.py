"""Notes for the user about a packed file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from icecore.display.text import plural
from icecore.sources.tables.encoding import decoded
from icecore.tables.text.file_state import FileState

_SHOWN = 40
#: bytes other than separators, quotes and padding
_INK = re.compile(r"[^\s,;|\"'\0]+")


def kept(state: FileState, stored: bool = True) -> Iterator[str]:
    """Yield notes about text that is in no value: amount and place.

    Text behind the last row counts only if it is not ``stored`` for the file to be restored.
    """
    if state.odd:
        yield f"{plural(state.odd, 'line')} kept as text, no rows: {state.shown}"
    lines, first = state.trailer
    if lines and not stored and not state.beyond:
        yield f"{plural(lines, 'line')} behind the last row left out: {first[:60]!r}"
    if state.outside is not None:
        count, row, cell = state.outside
        shown = decoded(cell).strip()[:_SHOWN]
        rows = f"{plural(count, 'row')}, from row {row} on"
        yield f"bytes in no column vary in {rows}: {shown!r}{state.outside_at}"
    if constant := _constant(state):
        yield f"bytes in no column are the same in all rows: {', '.join(constant)}"
    for column, (count, cell) in [*state.junk.items(), *state.lost.items()]:
        title, shown = state.columns[column]["name"], decoded(cell).strip()[:_SHOWN]
        at = state.cells_at.get(column, "")
        yield f"{plural(count, 'cell')} of column {title} kept as text, no values: {shown!r}{at}"


def _constant(state: FileState) -> list[str]:
    """Return the constant bytes of all rows that belong to no column."""
    layout = state.format["layout"].get("fixed") if state.format is not None else None
    if layout is None:
        return []
    between = list(layout["template"])
    for start, length in layout["cells"]:
        between[start : start + length] = " " * length
    found = _INK.finditer("".join(between))
    texts = ((decoded(match[0].encode("latin-1")), match.start() + 1) for match in found)
    return [f"{text[:_SHOWN]!r} at byte {at}" for text, at in texts]


def doubtful(state: FileState) -> Iterator[str]:
    """Yield notes about everything in a file that may have been misinterpreted."""
    source, spec = state.source, state.spec
    if state.foreign:
        yield f"text is not UTF-8 but Latin-1, as it seems: {state.foreign[:60]!r}"
    yield from spec.notes if spec is not None else ()
    cut = _cut(state)
    if cut:
        many = f"{plural(len(cut), 'field')} of {len(state.columns)} end in the middle of the next one"
        yield f"{many}, and are taken without what they share with it: {few(cut)}"
    found = source["rows"][1] - source["rows"][0]
    if spec is not None and spec.label and spec.rows is not None and spec.rows != found:
        yield f"{spec.label} says {spec.rows:,} rows, the file has {found:,}"
    if spec is not None and (line := state.beyond):
        said = f"{spec.label} says {spec.rows:,} rows"
        yield f"{said}; what follows looks like more of them, and is none: {decoded(line)[:60]!r}"


def _cut(state: FileState) -> list[str]:
    """Return the names of fields that were shortened because the next field overlaps them."""
    assert state.file.spec is not None
    taken = {f.name: f.length for f in state.spec.fields} if state.spec is not None else {}
    return [f.name for f in state.file.spec.fields if taken.get(f.name, f.length) != f.length]


def few(names: Sequence[str]) -> str:
    """Return a short list of names."""
    shown = ", ".join(names[:6])
    return f"{shown}, … ({len(names)} in all)" if len(names) > 6 else shown
