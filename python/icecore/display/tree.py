"""Format a repository's groups and arrays as a text tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median_low
from typing import Protocol, TypeVar

from icecore.display.text import label, ljust, width

_LIMIT = 400
#: width up to which a column is never narrowed, in characters
_USUAL = 32


class Node(Protocol):
    """Interface of the displayed groups and arrays."""

    @property
    def path(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def parent(self) -> str: ...

    @property
    def is_array(self) -> bool: ...

    @property
    def labels(self) -> tuple[str, str]:
        """Data type and shape as text."""


#: the displayed class
NodeT = TypeVar("NodeT", bound=Node)


def children(nodes: Sequence[NodeT]) -> dict[str, list[NodeT]]:
    """Return group path → its direct members, in order."""
    below: dict[str, list[NodeT]] = {}
    for node in nodes:
        if node.path != "/":
            below.setdefault(node.parent, []).append(node)
    return below


def text(
    nodes: Sequence[NodeT],
    root: str,
    title: str,
    limit: int | None = _LIMIT,
    more: Callable[[NodeT], str] | None = None,
) -> str:
    """Format the tree below ``root``, one line per node; long trees are cut after ``limit`` nodes.

    ``more`` returns a further column for an array.
    Columns are aligned; entries much longer than the others are not counted for the alignment.
    """
    rows = list(_walk(children(nodes), root, ""))
    shown = rows if limit is None else rows[:limit]
    left = _width([width(lead) for lead, node in shown if node.is_array])
    types = _width([len(node.labels[0]) for _, node in shown if node.is_array])
    shapes = _width([len(node.labels[1]) for _, node in shown if node.is_array])
    lines = [label(title)]
    for lead, node in shown:
        if node.is_array:
            kind, shape = node.labels
            rest = "" if more is None else more(node)
            shape = shape.ljust(shapes) if rest else shape
            lines.append(f"{ljust(lead, left)}  {kind.ljust(types)}  {shape}  {rest}".rstrip())
        else:
            lines.append(lead)
    if len(shown) < len(rows):
        lines.append(f"… and {len(rows) - len(shown):,} more")
    return "\n".join(lines)


def _width(lengths: list[int]) -> int:
    """Return the width of a column; a single very long name must not push the next column out of view."""
    most = max(_USUAL, 2 * median_low(lengths)) if lengths else 0
    return max((length for length in lengths if length <= most), default=0)


def _walk(below: dict[str, list[NodeT]], path: str, indent: str) -> Iterator[tuple[str, NodeT]]:
    members = below.get(path, [])
    for i, node in enumerate(members):
        last = i == len(members) - 1
        yield f"{indent}{'└── ' if last else '├── '}{label(node.name)}{'' if node.is_array else '/'}", node
        if not node.is_array:
            yield from _walk(below, node.path, indent + ("    " if last else "│   "))
