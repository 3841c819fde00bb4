"""Remove malformed statements from a PDS3 label if no table depends on them."""

from __future__ import annotations

import re
from collections.abc import Callable

#: the first line of a statement, and its keyword
_HEAD = re.compile(r"\s*(\^?[A-Za-z_][\w:]*)\s*=|\s*(END(?:_OBJECT|_GROUP)?)\s*$")
#: the beginning or the end of a block, and its name
_BLOCK = re.compile(r"\s*(?:(END_)|BEGIN_)?(?:OBJECT|GROUP)(?:\s*=\s*(\w+))?\s*", re.ASCII)
#: blocks in which any statement may describe the location of values
_TABLES = re.compile(r"(.*_)?(TABLE|SERIES|SPECTRUM|SPREADSHEET|COLUMN|FIELD|CONTAINER)")
#: statements in those blocks that contain only prose
_PROSE = ("DESCRIPTION", "NOTE", "COMMENT")
#: statements in other blocks that describe the location of tables
_NEEDED = re.compile(r"\^.*|RECORD_\w+|INTERCHANGE_FORMAT|(END_|BEGIN_)?(OBJECT|GROUP)|PDS_VERSION_ID|ODL_.*")
#: words of statements in a structure file that describe the location of values
_LAYOUT = re.compile(
    r"\W*(ROWS?|ROW_\w+|COLUMNS?|FIELDS?|FIELD_\w+|CONTAINERS?|OBJECT|GROUP)\b", re.IGNORECASE
)
#: most lines that look like statements inside a quoted string
_LONGEST = 50
_SHOWN = 60
#: a statement inserted above the first one of a structure file
_FIRST = "ICECORE_FIRST = 1"


def without_malformed(
    label: str, is_statement: Callable[[str], bool], is_structure: bool = False
) -> tuple[str, list[str]]:
    """Return a label without its malformed statements (blank lines instead), and a sentence on each.

    There are no sentences if a table may depend on one of them. ``is_structure``: the whole text is part of a
    table.
    """
    # A structure file may begin with a malformed statement; a label begins with its version.
    lines = [_FIRST] * is_structure + label.splitlines()
    heads = [i for i, line in enumerate(lines) if _HEAD.match(line)]
    kept, notes, blocks = list(lines), [], list[str]()
    at = 0
    while at < len(heads):
        first = heads[at]
        last, at = _statement(lines, heads, at, is_statement)
        bad = range(last, heads[at] if at < len(heads) else len(lines))
        if last > first and (block := _BLOCK.fullmatch(lines[first])) is not None:
            if block[1] and blocks:
                blocks.pop()
            elif not block[1]:
                blocks.append(block[2] or "")
        wrong = [i for i in bad if lines[i].strip()]
        if not wrong:
            continue
        if _is_needed(lines[wrong[0]], blocks) or (is_structure and _LAYOUT.match(lines[wrong[0]])):
            return label, []
        for i in wrong:
            kept[i] = ""
        shown = " ".join(lines[wrong[0]].split())[:_SHOWN]
        notes.append(f"malformed statement in line {wrong[0] + 1 - is_structure} left out: {shown!r}")
    return "\n".join(kept[is_structure:]), notes


def _statement(
    lines: list[str], heads: list[int], at: int, is_statement: Callable[[str], bool]
) -> tuple[int, int]:
    """Return the line after the statement that begins at a head, and the index of the next head.

    For a malformed statement, the line is that of the head itself.
    """
    first = heads[at]
    ends = [*heads[at + 1 : at + 1 + _LONGEST], len(lines)]
    if _BLOCK.fullmatch(lines[first]) or lines[first].strip() == "END":
        return first + 1, at + 1
    if is_statement("\n".join(lines[first : ends[0]])):
        return ends[0], at + 1
    for last in range(ends[0] - 1, first, -1):
        if is_statement("\n".join(lines[first:last])):
            return last, at + 1
    if lines[first].count('"') % 2:
        for further, last in enumerate(ends[1:], 2):
            if is_statement("\n".join(lines[first:last])):
                return last, at + further
    return first, at + 1


def _is_needed(line: str, blocks: list[str]) -> bool:
    """Whether a table may depend on the statement that begins with ``line`` inside these blocks."""
    head = _HEAD.match(line)
    key = (head[1] or head[2]).upper() if head is not None else ""
    if any(_TABLES.fullmatch(block.upper()) for block in blocks):
        return not key.endswith(_PROSE)
    return _NEEDED.fullmatch(key) is not None
