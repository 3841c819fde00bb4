"""Choose columns of events: names, globs, regular expressions, functions, and lists of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.repository.nodes import suggestion

if TYPE_CHECKING:
    from icecore.repository.repo import Repo
    from icecore.tables.query.event_columns import EventColumn, EventColumns

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
    return errors.make("not-found", f"there is no column {name}", hint)


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
