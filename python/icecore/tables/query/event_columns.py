"""Columns of events: plain arrays, lists and records, selected by name, glob or regular expression."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.repository.nodes import suggestion

if TYPE_CHECKING:
    from icecore.repository.group import Group
    from icecore.repository.repo import Repo

#: the attribute of a group whose arrays are one jagged array (docs/format.md)
JAGGED = "jagged"
_KINDS = ("offsets", "counts", "ends")
_SHOWN = 8

Filter = str | Callable[[str], bool] | None


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


def find_columns(group: Group) -> dict[str, EventColumn]:
    """Return name (relative to the group) → column, for arrays and lists, including those in subgroups."""
    repo, found = group.repo, {}
    prefix = group.path.rstrip("/") + "/"
    inside: list[str] = []
    for node in repo._visible():
        path = node.path
        if not path.startswith(prefix) or any(path.startswith(each) for each in inside):
            continue
        if not node.is_array and JAGGED in node.attrs:
            inside.append(path + "/")
        elif not node.is_array:
            continue
        found[path[len(prefix) :]] = column_at(repo, path)
    return found


def column_at(repo: Repo, path: str) -> EventColumn:
    """Return the column at ``path``.

    Raises:
        Error: ``format`` if a group's attribute names missing arrays.
    """
    node = repo._nodes.get(path)
    if node is None:
        raise errors.make("format", f"{path} is named by a jagged array and is not there", "link it again")
    if node.is_array:
        return EventColumn(path, "array")
    stated: Any = node.attrs.get(JAGGED)
    if stated is None:
        names = [each for each in repo._visible() if each.parent == path and each.path != "/"]
        members = {each.name: column_at(repo, each.path) for each in names}
        return EventColumn(path, "record", members=members, is_tuple=node.attrs.get("tuple") is True)
    kind = next((name for name in _KINDS if isinstance(stated, dict) and name in stated), None)
    if kind is None or not isinstance(stated.get("content"), str):
        raise errors.make("format", f"{path}: attribute {JAGGED} is {stated!r:.80}", "see docs/format.md")
    lengths = posixpath.normpath(posixpath.join(path, stated[kind]))
    content = posixpath.normpath(posixpath.join(path, stated["content"]))
    bounds = None
    if kind != "offsets":
        entries, elements = (np.array(axis, "i8") for axis in stated.get("bounds", ([0], [0])))
        bounds = entries, elements
    members = {"": column_at(repo, content)}
    optional = stated.get("optional") is True
    return EventColumn(path, "list", kind, lengths, bounds, members, is_optional=optional)


def choose(
    columns: dict[str, EventColumn], wanted: str | Iterable[str] | None, filter_name: Filter = None
) -> list[str]:
    """Return the names of columns that match ``wanted`` (names and globs) and ``filter_name``.

    Raises:
        Error: ``not-found`` for a name or glob without a match.
    """
    if wanted is None:
        names = list(columns)
    else:
        each = [wanted] if isinstance(wanted, str) else list(wanted)
        names = list(dict.fromkeys(name for item in each for name in resolve(columns, item)))
    accepts = _accepts(filter_name)
    return [name for name in names if accepts(name)]


def resolve(columns: dict[str, EventColumn], name: str) -> Sequence[str]:
    """Return the columns for a name: itself, the only one that ends with it, or the matches of a glob."""
    if name in columns:
        return [name]
    if any(character in name for character in "*?["):
        found = [each for each in columns if fnmatchcase(each, name)]
    else:
        plain = name.replace(".", "/")
        found = [plain] if plain in columns else [each for each in columns if each.endswith(f"/{name}")]
        found = found if len(found) == 1 else []
    if not found:
        shown = ", ".join(list(columns)[:_SHOWN]) + (", …" if len(columns) > _SHOWN else "")
        hint = suggestion(name, columns, f"there are {shown}")
        raise errors.make("not-found", f"there is no column {name}", hint)
    return found


def _accepts(pattern: Filter) -> Callable[[str], bool]:
    if pattern is None:
        return lambda _: True
    if callable(pattern):
        return pattern
    if len(pattern) > 1 and pattern.startswith("/") and pattern.rstrip("i").endswith("/"):
        flags = re.IGNORECASE if pattern.endswith("i") else 0
        try:
            expression = re.compile(pattern.rstrip("i")[1:-1], flags)
        except re.error as error:
            raise errors.make(
                "invalid", f"filter_name {pattern}: {error}", "a regular expression in / /"
            ) from None
        return lambda name: expression.search(name) is not None
    return lambda name: fnmatchcase(name, pattern)
