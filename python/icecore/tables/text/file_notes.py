"""What a reader should know of a file that was packed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from icecore.display.text import plural
from icecore.sources.tables.encoding import decoded
from icecore.tables.text.file_state import FileState

_SHOWN = 40


def told(state: FileState) -> Iterator[tuple[str, str]]:
    """What a reader should know of a file that was packed: its name, and a sentence each."""
    source, name = state.source, state.file.name
    if state.odd:
        yield name, f"{plural(state.odd, 'line')} kept as text, no rows: {state.shown}"
    if state.foreign:
        yield name, f"text is not UTF-8 but Latin-1, as it seems: {state.foreign[:60]!r}"
    if state.outside is not None:
        count, row, cell = state.outside
        shown = decoded(cell).strip()[:_SHOWN]
        yield name, f"bytes in no column vary in {plural(count, 'row')}, from row {row} on: {shown!r}"
    for column, (count, cell) in [*state.junk.items(), *state.lost.items()]:
        title, shown = state.columns[column]["name"], decoded(cell).strip()[:_SHOWN]
        yield name, f"{plural(count, 'cell')} of column {title} kept as text, no values: {shown!r}"
    spec = state.spec
    for note in spec.notes if spec is not None else ():
        yield name, note
    cut = _cut(state)
    if cut:
        many = f"{plural(len(cut), 'field')} of {len(state.columns)} end in the middle of the next one"
        yield name, f"{many}, and are taken without what they share with it: {few(cut)}"
    found = source["rows"][1] - source["rows"][0]
    if spec is not None and spec.label and spec.rows is not None and spec.rows != found:
        yield name, f"{spec.label} says {spec.rows:,} rows, the file has {found:,}"
    if spec is not None and (line := state.beyond):
        said = f"{spec.label} says {spec.rows:,} rows"
        yield name, f"{said}; what follows looks like more of them, and is none: {decoded(line)[:60]!r}"


def _cut(state: FileState) -> list[str]:
    """The fields that lost bytes to the next one."""
    assert state.file.spec is not None
    taken = {f.name: f.length for f in state.spec.fields} if state.spec is not None else {}
    return [f.name for f in state.file.spec.fields if taken.get(f.name, f.length) != f.length]


def few(names: Sequence[str]) -> str:
    """The first of many names."""
    shown = ", ".join(names[:6])
    return f"{shown}, … ({len(names)} in all)" if len(names) > 6 else shown
