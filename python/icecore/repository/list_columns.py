"""Columns of lists in listings: one line in place of the group and the arrays that hold them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from icecore import errors
from icecore.display.text import shape_label
from icecore.repository.nodes import Node

#: the attribute of a group whose arrays are one jagged array (docs/format.md)
JAGGED = "jagged"
#: the attribute of lists whose fields are columns too: listings leave them out
PROJECTED = "projected"
#: members of the attribute that name the array of lengths
LENGTHS = ("offsets", "counts", "ends")
#: dimension of the lists of a tree
_ENTRY = "entry"
#: the beginning of that attribute in a document; users may have attributes of this name with other values
_STATED = re.compile(rf'"{JAGGED}":\s*\{{')


def has_lists(node: Node) -> bool:
    """Whether a group's arrays are one column of lists."""
    # The text is searched: parsing every group would cost more than the rest of opening a table.
    return not node.is_array and _STATED.search(node.zarr_json) is not None


def is_projected(node: Node) -> bool:
    """Whether a group of lists repeats other columns."""
    return f'"{PROJECTED}":' in node.zarr_json and node.attrs.get(PROJECTED) is True


def places(group: Node) -> tuple[str, str, str]:
    """Return the kind of the lengths of a group of lists, the path of their array, and that of the content.

    Raises:
        Error: ``format`` for an attribute that names neither, or a content outside of the group.
    """
    stated: Any = group.attrs.get(JAGGED)
    kind = next((name for name in LENGTHS if isinstance(stated, dict) and name in stated), None)
    if kind is None or not all(isinstance(stated.get(key), str) for key in (kind, "content")):
        message = f"{group.path}: attribute {JAGGED} is {stated!r:.80}"
        raise errors.make("format", message, "see docs/format.md")
    lengths, content = (
        posixpath.normpath(posixpath.join(group.path, stated[key])) for key in (kind, "content")
    )
    if not content.startswith(f"{group.path}/"):  # it might contain the group
        raise errors.make("format", f"{group.path}: its content, {content}, is not below it", "link it again")
    return kind, lengths, content


@dataclass(frozen=True)
class ListNode:
    """A column of lists in a listing.

    Attributes:
        node: the group.
        find: returns the node at a path, or None.
        members: returns the members of a group.
    """

    node: Node
    find: Callable[[str], Node | None]
    members: Callable[[str], Sequence[Node]]

    is_array = True

    @property
    def path(self) -> str:
        """Path of the group."""
        return self.node.path

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.node.name

    @property
    def parent(self) -> str:
        """The path of its group."""
        return self.node.parent

    @property
    def dtype_label(self) -> str:
        """Type of the lists, as Awkward Array writes it: ``var * float32``."""
        return self._type(self.node)

    @property
    def shape(self) -> tuple[int]:
        """Number of lists."""
        kind, lengths, _ = self._parts(self.node)
        return (lengths.shape[0] - (kind == "offsets"),)

    @property
    def dims(self) -> tuple[str | None]:
        """Name of the dimension."""
        kind, lengths, _ = self._parts(self.node)
        return (_ENTRY if kind == "offsets" else lengths.dims[0],)

    @property
    def labels(self) -> tuple[str, str]:
        """Type and shape for a listing; damaged metadata does not make the listing fail."""
        try:
            return self.dtype_label, shape_label(self.shape, self.dims)
        except errors.Error as error:
            return f"unreadable ({error.kind})", ""

    def arrays(self) -> Iterator[Node]:
        """Yield the arrays that hold the lists: those below the group, and lengths that lie elsewhere."""
        lengths = self._parts(self.node)[1]
        if not lengths.path.startswith(f"{self.path}/"):
            yield lengths
        inside = [self.node]
        while inside:
            for node in self.members(inside.pop().path):
                if node.is_array:
                    yield node
                else:
                    inside.append(node)

    def _parts(self, group: Node) -> tuple[str, Node, Node]:
        """Return the kind of the lengths, their array, and the content."""
        kind, *paths = places(group)
        lengths, content = map(self.find, paths)
        if lengths is None or content is None or not lengths.is_array or not lengths.shape:
            raise errors.make("format", f"{group.path}: {' or '.join(paths)} is missing", "link it again")
        return kind, lengths, content

    def _type(self, node: Node) -> str:
        if node.is_array:
            return "".join(f"{n} * " for n in node.shape[1:]) + node.dtype_label
        if has_lists(node):
            inner = self._type(self._parts(node)[2])
            return f"?{inner}" if node.attrs[JAGGED].get("optional") is True else f"var * {inner}"
        members = self.members(node.path)
        if node.attrs.get("tuple") is True:
            return f"({', '.join(self._type(each) for each in members)})"
        return "{" + ", ".join(f"{each.name}: {self._type(each)}" for each in members) + "}"


def folded(
    nodes: Sequence[Node], find: Callable[[str], Node | None] = lambda _: None
) -> list[Node | ListNode]:
    """Return nodes with a :class:`ListNode` in place of each group of lists and of everything below it.

    Lists that repeat other columns are left out.

    Args:
        nodes: nodes in the order of their paths.
        find: finds nodes that are not among them.
    """
    known = {node.path: node for node in nodes}
    below: dict[str, list[Node]] = {}
    for node in nodes:
        below.setdefault(node.parent, []).append(node)

    def look(path: str) -> Node | None:
        return known.get(path) or find(path)

    result: list[Node | ListNode] = []
    inside: set[str] = set()
    for node in nodes:
        if node.parent in inside:
            inside.add(node.path)
        elif has_lists(node):
            inside.add(node.path)
            if not is_projected(node):
                result.append(ListNode(node, look, lambda path: below.get(path, [])))
        else:
            result.append(node)
    return result
