"""HTML representations for notebooks: collapsible, without scripts or external resources."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from icecore.display import text, tree
from icecore.display.text import shape_label
from icecore.display.tree import Node

if TYPE_CHECKING:
    from icecore.repository.array import Array

_LIMIT = 2000
_INDENT = "style='margin-left:1.2em'"
_CELL = "style='text-align:left;padding:0 1em 0 0;vertical-align:top'"


def hierarchy(nodes: Sequence[Node], root: str, title: str) -> str:
    """Return the tree below ``root`` as nested ``<details>``; the first level is open."""
    below = tree.children(nodes[:_LIMIT])
    body = _members(below, root, depth=0)
    cut = f"<div>… and {len(nodes) - _LIMIT:,} more</div>" if len(nodes) > _LIMIT else ""
    return f"<div style='font-family:monospace;line-height:1.5'><b>{_shown(title)}</b>{body}{cut}</div>"


def array(a: Array) -> str:
    """Return the metadata and storage of an array, without reading its data."""
    rows = [
        ("shape", shape_label(a.shape, a.dims)),
        ("dtype", str(a.dtype)),
        ("chunks", str(a.chunks or "rectilinear")),
        ("shards", str(a.shards or "-")),
        ("codecs", ", ".join(codec.get("name", "?") for codec in a.codecs)),
        (
            "size",
            f"{text.size(a.nbytes)}, {text.size(a.nbytes_stored)} stored{', linked' if a.linked else ''}",
        ),
    ]
    head = _table(rows)
    attrs = a.attrs
    more = (
        f"<details><summary>{text.plural(len(attrs), 'attribute')}</summary>{_table(attrs.items())}</details>"
        if attrs
        else ""
    )
    return f"<div style='font-family:monospace'><b>{_shown(a.path)}</b>{head}{more}</div>"


def table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """Return a table's columns and their dtypes."""
    return f"<div style='font-family:monospace'><b>{_shown(title)}</b>{_table(rows)}</div>"


def _shown(name: str) -> str:
    return escape(text.label(name))


def _members(below: dict[str, list[Node]], path: str, depth: int) -> str:
    items = []
    for node in below.get(path, []):
        if node.is_array:
            label = " ".join(node.labels)
            items.append(
                f"<div {_INDENT}>{_shown(node.name)} <span style='opacity:.6'>{_shown(label)}</span></div>"
            )
        else:
            inner = _members(below, node.path, depth + 1)
            is_open = " open" if depth == 0 else ""
            items.append(
                f"<details{is_open} {_INDENT}><summary>{_shown(node.name)}/</summary>{inner}</details>"
            )
    return "".join(items)


def _table(rows: object) -> str:
    cells = "".join(
        f"<tr><td {_CELL}>{_shown(str(name))}</td>"
        f"<td {_CELL}>{_shown(text.shorten(str(value), 200))}</td></tr>"
        for name, value in rows  # type: ignore[attr-defined]
    )
    return f"<table style='margin:0'>{cells}</table>"
