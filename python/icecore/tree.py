"""A repository's groups and arrays as a tree of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from icecore.nodes import Node

_LIMIT = 400


def children(nodes: Sequence[Node]) -> dict[str, list[Node]]:
    """group path → the nodes directly in it, in order."""
    below: dict[str, list[Node]] = {}
    for node in nodes:
        if node.path != "/":
            below.setdefault(node.parent, []).append(node)
    return below


def text(nodes: Sequence[Node], root: str, title: str, limit: int | None = _LIMIT) -> str:
    """The tree below ``root``, one line a node, columns aligned; long trees are cut after ``limit`` nodes."""
    rows = list(_walk(children(nodes), root, ""))
    shown = rows if limit is None else rows[:limit]
    left = max((len(lead) for lead, _ in shown), default=0)
    types = max((len(node.labels[0]) for _, node in shown if node.is_array), default=0)
    lines = [title]
    for lead, node in shown:
        if node.is_array:
            kind, shape = node.labels
            lines.append(f"{lead.ljust(left)}  {kind.ljust(types)}  {shape}".rstrip())
        else:
            lines.append(lead)
    if len(shown) < len(rows):
        lines.append(f"… and {len(rows) - len(shown):,} more")
    return "\n".join(lines)


def _walk(below: dict[str, list[Node]], path: str, indent: str) -> Iterator[tuple[str, Node]]:
    members = below.get(path, [])
    for i, node in enumerate(members):
        last = i == len(members) - 1
        yield f"{indent}{'└── ' if last else '├── '}{node.name}{'' if node.is_array else '/'}", node
        if not node.is_array:
            yield from _walk(below, node.path, indent + ("    " if last else "│   "))
