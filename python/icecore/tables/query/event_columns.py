"""Columns of events: plain arrays, lists and records below a group, described when they are asked for."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.repository.cached_property import cached_property

if TYPE_CHECKING:
    from icecore.repository.group import Group
    from icecore.repository.nodes import Node
    from icecore.repository.repo import Repo

#: the attribute of a group whose arrays are one jagged array (docs/format.md)
JAGGED = "jagged"
#: the attribute of a group with the number of entries of a tree
ENTRIES = "entries"
_KINDS = ("offsets", "counts", "ends")


@dataclass(frozen=True)
class EventColumn:
    """A column of events: an array, lists of a column, or a record of columns.

    Attributes:
        path: path of the array or group.
        kind: ``array``, ``list`` or ``record``.
        lengths: for lists, the kind of the array at ``lengths_path``: ``offsets``, ``counts`` or ``ends``.
        lengths_path: path of the array of lengths.
        bounds: entries and elements at which the parts of ``counts`` and ``ends`` begin, and their ends.
        members: the content of lists (under the name ``""``), or the fields of a record.
        is_optional: whether lists have one element or none: values that may be missing.
        is_tuple: whether a record's fields are numbered rather than named.
    """

    path: str
    kind: str
    lengths: str = ""
    lengths_path: str = ""
    bounds: tuple[np.ndarray, np.ndarray] | None = None
    members: dict[str, EventColumn] = field(default_factory=dict)
    is_tuple: bool = False
    is_optional: bool = False

    def member(self, names: list[str]) -> EventColumn | None:
        """Return the part of a record, or of lists of records, at a path of field names; None if missing."""
        if not names:
            return self
        if self.kind == "list":
            part = self.members[""].member(names)
            return None if part is None else replace(self, members={"": part})
        inside = self.members.get(names[0]) if self.kind == "record" else None
        return None if inside is None else inside.member(names[1:])


class EventColumns(Mapping[str, EventColumn]):
    """Columns of a group by name (relative to the group), including those in subgroups.

    Names and kinds come from the list of nodes alone, in one pass. The metadata of a column is parsed when
    the column is asked for.
    """

    def __init__(self, group: Group) -> None:
        self._group = group
        self.repo = group.repo
        self._prefix = group.path.rstrip("/") + "/"
        self._kinds: dict[str, str] = {}
        self._made: dict[str, EventColumn] = {}
        inside: set[str] = set()
        start = len(self._prefix)
        for node in self.repo._below(group.path):  # in the order of paths: groups come before their members
            path = node.path
            if path.rpartition("/")[0] in inside:
                inside.add(path)
            elif node.is_array:
                self._kinds[path[start:]] = "array"
            elif _has_lists(node):
                self._kinds[path[start:]] = "list"
                inside.add(path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)

    def __contains__(self, name: object) -> bool:
        return name in self._kinds

    def __getitem__(self, name: str) -> EventColumn:
        if name not in self._made:
            if name not in self._kinds:
                raise KeyError(name)
            self._made[name] = self.at(self.path_of(name))
        return self._made[name]

    def path_of(self, name: str) -> str:
        """Return the path in the repository of a column or group."""
        return self._prefix + name

    def at(self, path: str) -> EventColumn:
        """Return the column at a path: an array, lists, or a group of columns as a record.

        Raises:
            Error: ``format`` if a group's attribute names missing arrays.
        """
        return _column(self.repo, path)

    def is_record(self, name: str) -> bool:
        """Whether a group of columns has this name."""
        node = self.repo._node(self.path_of(name))
        return node is not None and not node.is_array and name not in self._kinds

    @cached_property
    def lists(self) -> list[str]:
        """Names of the lists that can be read."""
        return [name for name, kind in self._kinds.items() if kind == "list" and not self.fault(name)]

    @property
    def arrays(self) -> list[str]:
        """Names of the plain arrays."""
        return [name for name, kind in self._kinds.items() if kind == "array"]

    @cached_property
    def rows(self) -> int:
        """Number of entries: that of the tree; of a group that does not state it, that of most columns."""
        stated = self._group._node.attrs.get(ENTRIES)
        if isinstance(stated, int) and (not self or any(self._rows(name) == stated for name in self)):
            return stated
        found = Counter(n for name in self if (n := self._rows(name)) is not None)
        return found.most_common(1)[0][0] if found else 0

    @cached_property
    def readable(self) -> list[str]:
        """Names of the columns that can be read together."""
        return [name for name in self if not self.fault(name)]

    def fault(self, name: str) -> str:
        """Return why a column can't be read beside the others; empty if it can."""
        try:
            rows = self._rows(name, strict=True)
        except errors.Error as error:
            return error.message
        return "" if rows == self.rows else f"it has {rows:,} entries, the table has {self.rows:,}"

    def _rows(self, name: str, strict: bool = False) -> int | None:
        """Return the number of entries of a column; None (or an error if ``strict``) if it is damaged."""
        try:
            column = self[name]
            shape = self.repo._array(column.lengths_path or column.path).shape
            if column.kind == "array":
                return shape[0] if shape else 0
            return shape[0] - (column.lengths == "offsets")
        except errors.Error:
            if strict:
                raise
            return None


def _has_lists(node: Node) -> bool:
    # The text is searched: parsing every group would cost more than the rest of opening a table.
    return f'"{JAGGED}":' in node.zarr_json


def _column(repo: Repo, path: str) -> EventColumn:
    node = repo._node(path)
    if node is None:
        raise errors.make("format", f"{path} is named by a jagged array and is not there", "link it again")
    if node.is_array:
        return EventColumn(path, "array")
    stated: Any = node.attrs.get(JAGGED)
    if stated is None:
        members = {each.name: _column(repo, each.path) for each in repo._members(path)}
        return EventColumn(path, "record", members=members, is_tuple=node.attrs.get("tuple") is True)
    kind = next((name for name in _KINDS if isinstance(stated, dict) and name in stated), None)
    if kind is None or not isinstance(stated.get("content"), str):
        raise errors.make("format", f"{path}: attribute {JAGGED} is {stated!r:.80}", "see docs/format.md")
    lengths, content = (posixpath.normpath(posixpath.join(path, stated[key])) for key in (kind, "content"))
    if repo._node(lengths) is None:
        message = f"{path}: the lengths of its lists, {lengths}, are not there"
        raise errors.make("format", message, "link it again")
    bounds = None
    if kind != "offsets":
        entries, elements = (np.array(axis, "i8") for axis in stated.get("bounds", ([0], [0])))
        bounds = entries, elements
    members = {"": _column(repo, content)}
    optional = stated.get("optional") is True
    return EventColumn(path, "list", kind, lengths, bounds, members, is_optional=optional)
