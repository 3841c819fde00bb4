"""Columns of events: plain arrays, lists and records below a group, described when they are asked for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.repository.cached_property import cached_property
from icecore.repository.list_columns import JAGGED, has_lists, is_projected, places
from icecore.repository.nodes import suggestion

if TYPE_CHECKING:
    from icecore.repository.group import Group
    from icecore.repository.repo import Repo


#: the attribute of a group with the number of entries of a tree
ENTRIES = "entries"


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
        self.repo, self.path = group.repo, group.path
        self._prefix = group.path.rstrip("/") + "/"
        self._kinds: dict[str, str] = {}
        #: lists that repeat other columns: they are read by name only
        self._repeated: set[str] = set()
        self._made: dict[str, EventColumn] = {}
        inside: set[str] = set()
        start = len(self._prefix)
        for node in self.repo._below(group.path):  # in the order of paths: groups come before their members
            path = node.path
            if path.rpartition("/")[0] in inside:
                inside.add(path)
            elif node.is_array:
                self._kinds[path[start:]] = "array"
            elif has_lists(node):
                self._kinds[path[start:]] = "list"
                if is_projected(node):
                    self._repeated.add(path[start:])
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

    def is_list(self, name: object) -> bool:
        """Whether this is the name of lists that can be read."""
        return isinstance(name, str) and self._kinds.get(name) == "list" and not self.fault(name)

    @cached_property
    def lists(self) -> list[str]:
        """Names of the lists that can be read."""
        names = [name for name, kind in self._kinds.items() if kind == "list" and name not in self._repeated]
        return [name for name in names if not self.fault(name)]

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
        return [name for name in self if name not in self._repeated and not self.fault(name)]

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


def _column(repo: Repo, path: str) -> EventColumn:
    node = repo._node(path)
    if node is None:
        raise errors.make("format", f"{path} is named by a jagged array and is not there", "link it again")
    if node.is_array:
        return EventColumn(path, "array")
    stated: Any = node.attrs.get(JAGGED)
    if not isinstance(stated, dict):
        members = {each.name: _column(repo, each.path) for each in repo._members(path)}
        return EventColumn(path, "record", members=members, is_tuple=node.attrs.get("tuple") is True)
    kind, lengths, content = places(node)
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


# Choose columns of events: names, globs, regular expressions, functions, and lists of them.

_SHOWN = 8
_GLOB = "*?["
_FLAGS = {
    "i": re.IGNORECASE,
    "m": re.MULTILINE,
    "s": re.DOTALL,
    "x": re.VERBOSE,
    "a": re.ASCII,
    "u": re.UNICODE,
}
_REGEX = re.compile(r"/(.*)/([imsxau]*)", re.DOTALL)

#: a condition on names, or several: one has to hold
Filter = str | Callable[[str], bool] | Iterable[str | Callable[[str], bool]] | None
#: names in C++ of NumPy's types, as ROOT and uproot write them
_CPP: dict[str, tuple[str, ...]] = {
    "bool": ("bool", "Bool_t"),
    "int8": ("int8_t", "char", "Char_t"),
    "uint8": ("uint8_t", "unsigned char", "UChar_t"),
    "int16": ("int16_t", "short", "Short_t"),
    "uint16": ("uint16_t", "unsigned short", "UShort_t"),
    "int32": ("int32_t", "int", "Int_t"),
    "uint32": ("uint32_t", "unsigned int", "UInt_t"),
    "int64": ("int64_t", "long", "Long64_t"),
    "uint64": ("uint64_t", "unsigned long", "ULong64_t"),
    "float32": ("float", "Float_t"),
    "float64": ("double", "Double_t"),
    "string": ("std::string", "string", "TString"),
}


def choose(
    columns: EventColumns, wanted: str | Iterable[str] | None, accepts: Callable[[str], bool]
) -> list[str]:
    """Return the names of columns that match ``wanted`` (names and globs) and that ``accepts`` accepts.

    Columns with another number of entries are left out, unless they are wanted by their own name.

    Raises:
        Error: ``not-found`` for a name or glob without a match.
    """
    if wanted is None:
        names = columns.readable
    else:
        each = [wanted] if isinstance(wanted, str) else list(wanted)
        names = list(dict.fromkeys(name for item in each for name in resolve(columns, item)))
    return [name for name in names if accepts(name)]


def resolve(columns: EventColumns, name: str) -> Sequence[str]:
    """Return the columns for a name: itself, the only one that ends with it, or the matches of a glob.

    ``a.b`` is the column ``a/b``; the fields of records in lists have names too.
    """
    if name in columns:
        return [name]
    plain = name.replace(".", "/")
    if is_glob(name):
        found = [each for each in columns if _matches(each, name) and not columns.fault(each)]
    elif plain in columns or _member(columns, plain) is not None:
        return [plain]
    else:
        found = [each for each in columns if each.endswith((f"/{name}", f"/{plain}"))]
        found = found if len(found) == 1 else []
    if not found:
        raise _unknown(columns, name)
    return found


def _matches(column: str, pattern: str) -> bool:
    return fnmatchcase(column, pattern) or fnmatchcase(column.replace("/", "."), pattern)


def is_glob(name: str) -> bool:
    """Whether a name is a pattern."""
    return any(character in name for character in _GLOB)


def find(columns: EventColumns, name: str) -> EventColumn:
    """Return the column of this name: a column, a group of columns, or the field of a record.

    Raises:
        Error: ``not-found``; ``mismatch`` if the column has another number of entries than the table.
    """
    if name not in columns and columns.is_record(name):
        return columns.at(columns.path_of(name))
    (found,) = resolve(columns, name)
    if found not in columns:
        column = _member(columns, found)
        assert column is not None
        return column
    if fault := columns.fault(found):
        message = f"{found} can't be read beside the other columns: {fault}"
        raise errors.make("mismatch", message, "leave it out, or link the tree again")
    return columns[found]


def _member(columns: EventColumns, name: str) -> EventColumn | None:
    """Return the field of a record or of lists of records: ``Muon/pt``."""
    parts = name.split("/")
    for count in range(len(parts) - 1, 0, -1):
        outer = "/".join(parts[:count])
        if outer in columns:
            return columns[outer].member(parts[count:])
    return None


def _unknown(columns: EventColumns, name: str) -> errors.Error:
    base, _, field = name.rpartition(".")
    if base in columns:
        message = f"{base} has no field {field}: it is a column of {typenames_of(columns, base)}"
        return errors.make(
            "invalid", message, "leave the dot out; functions are written as abs(x), sum(x), …"
        )
    shown = ", ".join(list(columns)[:_SHOWN]) + (", …" if len(columns) > _SHOWN else "")
    hint = suggestion(name, columns, f"there are {shown}")
    return errors.make("not-found", f"{columns.path} has no column {name}", hint)


def accept_names(pattern: Filter) -> Callable[[str], bool]:
    """Return whether a column's name passes ``filter_name``: its path, or the last part of its path.

    Raises:
        Error: ``invalid`` for another type or a broken regular expression.
    """
    if pattern is None:
        return lambda _: True
    accepts = _condition(pattern, "filter_name")
    return lambda name: accepts(name.rpartition("/")[2]) or ("/" in name and accepts(name))


def accept_types(columns: EventColumns, pattern: Filter) -> Callable[[str], bool]:
    """Return whether a column's type passes ``filter_typename``: any of the names of the type.

    Raises:
        Error: as :func:`accept_names`.
    """
    if pattern is None:
        return lambda _: True
    accepts = _condition(pattern, "filter_typename")
    return lambda name: any(accepts(each) for each in typenames(columns.repo, columns[name]))


def typenames(repo: Repo, column: EventColumn) -> list[str]:
    """Return the names of a column's type in C++ and NumPy: ``float[]``, ``std::vector<float>``, …"""
    if column.kind == "array":
        node = repo._array(column.path)._node
        row = "".join(f"[{n}]" for n in node.shape[1:])
        plain = node.dtype_label
        return [f"{name}{row}" for name in (*_CPP.get(plain, ()), plain)]
    if column.kind == "record":
        return ["struct"]
    inside = typenames(repo, column.members[""])
    if column.is_optional:
        return [made for each in inside for made in (f"std::optional<{each}>", f"?{each}")]
    vectors = [f"{vector}<{each}>" for each in inside for vector in ("std::vector", "vector")]
    return [*(f"{each}[]" for each in inside), *vectors]


def typenames_of(columns: EventColumns, name: str) -> str:
    """Return the type of a column as text for an error."""
    return typenames(columns.repo, columns[name])[-1]


def _condition(pattern: Any, option: str) -> Callable[[str], bool]:
    if callable(pattern):
        return lambda text: bool(pattern(text))
    if isinstance(pattern, str):
        return _match(pattern, option)
    if isinstance(pattern, Iterable) and not isinstance(pattern, (bytes, Mapping)):
        several = [_condition(each, option) for each in pattern]
        return lambda text: any(accepts(text) for accepts in several)
    hint = "a name, a glob, a regular expression in / /, a function, or a list of them"
    raise errors.make("invalid", f"{option} is {pattern!r:.80}", hint)


def _match(pattern: str, option: str) -> Callable[[str], bool]:
    found = _REGEX.fullmatch(pattern)
    if found is None:
        return lambda text: text == pattern or fnmatchcase(text, pattern)
    try:
        flags = 0
        for letter in found[2]:
            flags |= _FLAGS[letter]
        expression = re.compile(found[1], flags)
    except (re.error, ValueError) as error:
        message = f"{option} {pattern}: {error}"
        raise errors.make("invalid", message, "a regular expression in / /") from None
    return lambda text: expression.search(text) is not None
