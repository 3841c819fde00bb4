"""PDS3 labels (ODL), attached or detached: locations of tables and descriptions of their columns.

Source: PDS Standards Reference 3.8, chapter 4 (pointers), appendix A.29 TABLE, A.8 COLUMN, A.9 CONTAINER.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from icecore import errors
from icecore.sources.files.archives import FAULTS, Member
from icecore.sources.mapping.table_file import Field, Kind, TableSpec
from icecore.sources.tables import odl
from icecore.sources.tables.binary import holds, packed, pattern
from icecore.sources.tables.odl import Based
from icecore.sources.tables.preamble import unique

Finder = Callable[[str], Member | None]

#: hint: objects of a label that are tables
TABLES = (
    "tables are its objects TABLE, SERIES, SPECTRUM and SPREADSHEET (or A_TABLE), with a pointer (^TABLE)"
)
_TABLE = re.compile(r"(.*_)?(TABLE|SERIES|SPECTRUM|SPREADSHEET)")
_START = re.compile(rb"(\xef\xbb\xbf)?\s*(CCSD\w+|NJPL\w+|PDS_VERSION_ID)\b")
#: objects that contain those of a file; the other object of a label for a zipped file is its archive
_FILES = ("FILE", "UNCOMPRESSED_FILE")
_WORDS = ("CHARACTER", "TIME", "DATE", "IDENTIFIER", "BOOLEAN", "LITERAL")
#: for pvl, a tab between quotes is blank
_SEPARATORS = {"COMMA": ",", "SEMICOLON": ";", "TAB": "\t", "": "\t", "VERTICAL_BAR": "|"}
#: statements of a structure file that may describe the table itself
_LAYOUT = ("INTERCHANGE_FORMAT", "ROWS", "ROW_BYTES", "ROW_PREFIX_BYTES", "ROW_SUFFIX_BYTES")
#: keys of the sizes of other objects
_SHAPES = (
    ("BANDS", "LINES", "LINE_SAMPLES"),
    ("CORE_ITEMS",),
    ("AXIS_ITEMS",),
    ("ITEMS",),
    ("ROWS", "COLUMNS"),
    ("BYTES",),
)
#: largest number of columns of a table, and largest depth of nested structures
_MOST, _DEEPEST = 1 << 15, 8


def is_label(start: bytes) -> bool:
    """Whether a file begins with a PDS3 label."""
    return _START.match(start) is not None


def read(name: str, start: bytes, find: Finder) -> tuple[list[TableSpec], list[str]]:
    """Return the tables that a label describes, and a note on each other object that has data.

    Args:
        name: name of the label, for messages.
        start: the label's bytes; data may follow.
        find: finds other files (``^STRUCTURE``) by name; it never returns the label itself.

    Raises:
        Error: ``format`` for a label that can't be parsed or is incomplete, ``source-missing`` for a missing
            structure file, ``unsupported`` if pvl is not installed.
    """
    module, notes = odl.parse_rest(name, start)
    files = _Files(find)
    specs = list(_tables(name, module, module, files))
    return specs, [*notes, *dict.fromkeys(files.notes), *files.left]


class _Files:
    """Finds other files by name; collects notes on those, and on objects that are left out."""

    def __init__(self, find: Finder) -> None:
        self._find = find
        self.notes: list[str] = []
        self.left: list[str] = []

    def __call__(self, name: str) -> Member | None:
        return self._find(name)


def _tables(name: str, level: Any, module: Any, find: _Files) -> Iterator[TableSpec]:
    seen = Counter[str]()
    for key, value in level.items():
        if not isinstance(value, Mapping):
            continue
        if key in _FILES:
            yield from _tables(name, value, module, find)
        elif _TABLE.fullmatch(key) and f"^{key}" in level:
            pointers = level.getall(f"^{key}")  # one for each of several tables with the same name
            yield _table(name, key, value, level, pointers[min(seen[key], len(pointers) - 1)], find)
            seen[key] += 1
        elif f"^{key}" in level:
            file = ""
            with suppress(errors.Error):  # no table depends on this pointer
                file, _, _ = _pointer(name, key, level.getall(f"^{key}")[0], level)
            find.left.append(left_out(key, file or name, _shape(value)))
        elif _TABLE.fullmatch(key):
            find.left.append(f"{key} left out: no pointer (^{key}) says where its rows are")


def left_out(what: str, file: str, shape: str) -> str:
    """Return the note on an object other than a table."""
    return f"{what} in {file} left out{f', {shape}' if shape else ''}: only tables are read"


def _shape(data: Any) -> str:
    """Return the shape of an image, a cube or a header as its label states it."""
    for names in _SHAPES:
        sizes = [data.get(key) for key in names if key in data]
        if sizes:
            flat = [n for size in sizes for n in (size if isinstance(size, (list, tuple)) else [size])]
            numbers = " x ".join(str(getattr(n, "value", n)) for n in flat)
            return f"{numbers} ({' x '.join(key for key in names if key in data)})"
    return ""


def _table(name: str, key: str, table: Any, level: Any, pointer: Any, find: _Files) -> TableSpec:
    if "^STRUCTURE" in table:
        stated = _structure(name, str(table["^STRUCTURE"]), find)
        for word in (word for word in _LAYOUT if word in stated and word not in table):
            table[word] = stated[word]
    binary = str(table.get("INTERCHANGE_FORMAT", "ASCII")).upper() == "BINARY"
    file, offset = _place(name, key, level, pointer, binary, find)
    fields = list(_columns(name, table, 0, binary, find, 0))
    if not fields:
        raise errors.make("format", f"{name}: {key} has no columns", "is a ^STRUCTURE missing?")
    prefix = _whole(name, table, "ROW_PREFIX_BYTES", 0)
    row, suffix = _whole(name, table, "ROW_BYTES", 0), _whole(name, table, "ROW_SUFFIX_BYTES", 0)
    # A record is a row with its prefix and suffix.
    row = row + prefix + suffix if row else _whole(name, level, "RECORD_BYTES", 0)
    names = unique([item.name for item in fields])
    fields = [
        Field(n, f.start + prefix, f.length, f.kind, f.attrs, f.longest, f.binary)
        for n, f in zip(names, fields, strict=True)
    ]
    rows = _whole(name, table, "ROWS", -1)
    sheet = key.endswith("SPREADSHEET")
    return TableSpec(
        name,
        file,
        "delimited" if sheet else "binary" if binary else "fixed",
        tuple(fields) if sheet else tuple(sorted(fields, key=lambda f: f.start)),
        offset,
        0 if sheet else row,
        rows if rows >= 0 else None,
        _separator(name, table),
        _about(level, table),
        name=key,
    )


def _separator(name: str, table: Any) -> str:
    word = str(table.get("FIELD_DELIMITER", "COMMA")).strip().upper()
    separator = _SEPARATORS.get(word, word)
    if separator not in _SEPARATORS.values():
        known = ", ".join(word for word in _SEPARATORS if word)
        raise errors.make("format", f"{name}: fields are separated by {word!r}", f"known: {known}")
    return separator


def _pointer(name: str, key: str, value: Any, level: Any) -> tuple[str, int, int]:
    """Parse ``"x"``, ``("x", 3)``, ``("x", 300 <BYTES>)`` or ``23`` as (file or "", record, record bytes)."""
    parts = list(value) if isinstance(value, (list, tuple, set)) and not hasattr(value, "units") else [value]
    file = str(parts.pop(0)) if parts and isinstance(parts[0], str) else ""
    if not parts:
        return file, 1, 1
    place = parts[0]
    units = getattr(place, "units", None)
    try:
        number = int(getattr(place, "value", place))
    except (TypeError, ValueError):
        raise errors.make(
            "format", f"{name}: ^{key} points to {value!r}", "a file, a record or both"
        ) from None
    if units is not None and str(units).upper().startswith("BYTE"):
        return file, number, 1
    return file, number, _whole(name, level, "RECORD_BYTES", 0)


def _place(name: str, key: str, level: Any, pointer: Any, binary: bool, find: Finder) -> tuple[str, int]:
    """Return a table's file, and the number of bytes before it."""
    file, record, size = _pointer(name, key, pointer, level)
    stream = str(level.get("RECORD_TYPE")).upper() == "STREAM" and not binary
    if stream and size != 1 and record > 0:
        return file, _lines(find(file), record - 1)
    if size < 1:
        message = f"{name}: ^{key} points to record {record}, and no RECORD_BYTES says how long records are"
        raise errors.make("format", message, "repair the label: state it, or point to a byte (8 <BYTES>)")
    if record < 1:
        raise errors.make(
            "format",
            f"{name}: ^{key} points to record or byte {record}",
            "they count from 1: repair the label",
        )
    return file, (record - 1) * size


def _lines(member: Member | None, count: int) -> int:
    """Return the length in bytes of the first lines of a file whose records are lines."""
    if member is None:
        return 0  # reported when the table is opened
    taken = 0
    try:
        with member.open() as stream:
            for _ in range(count):
                line = stream.readline()
                if not line:
                    break
                taken += len(line)
    except FAULTS as error:
        if isinstance(error, errors.Error):
            raise
        raise errors.make("corrupt", f"{member.place}: {error}") from error
    return taken


def _columns(name: str, table: Any, base: int, binary: bool, find: _Files, depth: int) -> Iterator[Field]:
    """Yield the columns of a table or container, including ``^STRUCTURE`` files and all items of vectors."""
    if depth > _DEEPEST:
        raise errors.make("format", f"{name}: structures inside structures inside …", "does one name itself?")
    count = 0
    for key, value in table.items():
        if key == "^STRUCTURE":
            yield from _columns(name, _structure(name, str(value), find), base, binary, find, depth + 1)
        elif key in ("COLUMN", "FIELD") and isinstance(value, Mapping):
            start = base + _begin(name, value, key != "FIELD" and count > 0)
            for item in _items(name, value, start, binary):
                count += 1
                yield item
        elif key == "CONTAINER" and isinstance(value, Mapping):
            start = base + _begin(name, value, count > 0)
            size, times = _whole(name, value, "BYTES", 0), _whole(name, value, "REPETITIONS", 1)
            for i in range(_few(name, times)):
                found = count
                for inner in _columns(name, value, start + i * size, binary, find, depth + 1):
                    if times > 1 and inner.start + inner.length > start + (i + 1) * size:
                        message = (
                            f"{name}: {inner.name} ends behind a container of {size} bytes, which repeats"
                        )
                        raise errors.make("format", f"{message} {times} times", "repair the label")
                    count += 1
                    yield replace(inner, name=f"{inner.name}_{i}") if times > 1 else inner
                if count == found:
                    break  # no other repetition has columns either
                _few(name, count)
        _few(name, count)


def _structure(name: str, file: str, find: _Files) -> Any:
    member = find(file)
    if member is None:
        raise errors.make(
            "source-missing", f"{name} takes its columns from {file}, which is not beside it", "put it there"
        )
    try:
        with member.open() as stream:
            statements, notes = odl.parse_rest(member.name, stream.read(1 << 26), is_structure=True)
            find.notes += notes
            return statements
    except FAULTS as error:
        if isinstance(error, errors.Error):
            raise
        raise errors.make("corrupt", f"{member.place}: {error}") from error


def _begin(name: str, level: Any, needed: bool) -> int:
    """Return the bytes before a column or container; it may omit them unless ``needed``."""
    first = _whole(name, level, "START_BYTE", 0 if needed else 1)
    if first < 1:
        title, place = (
            level.get("NAME"),
            f"START_BYTE = {first}" if "START_BYTE" in level else "no START_BYTE",
        )
        raise errors.make("format", f"{name}: {title} has {place}", "bytes count from 1: repair the label")
    return first - 1


def _items(name: str, column: Any, start: int, binary: bool) -> Iterator[Field]:
    title = str(column.get("NAME", f"column_{column.get('COLUMN_NUMBER', 1)}"))
    items = _few(name, _whole(name, column, "ITEMS", 1))
    size = _whole(name, column, "ITEM_BYTES", 0) or _whole(name, column, "BYTES", 0) // max(items, 1)
    step = _whole(name, column, "ITEM_OFFSET", size)
    if items > 1 and step < size:
        message = f"{name}: items of {title} have {size} bytes, and ITEM_OFFSET = {step} from one to the next"
        raise errors.make("format", message, "repair the label")
    kind = str(column.get("DATA_TYPE", "CHARACTER")).upper()
    attrs = attributes(column, kind, size, binary)
    for i in range(items):
        yield Field(
            f"{title}_{i}" if items > 1 else title,
            start + i * step,
            size,
            _kind(kind),
            attrs,
            size or None,
            kind if binary else "",
        )
    if binary and items == 1:
        yield from _bits(name, title, column, start, size)


def _bits(name: str, title: str, column: Any, start: int, size: int) -> Iterator[Field]:
    """Yield the numbers that are packed into a column; its first bit is the most significant one."""
    little = str(column.get("DATA_TYPE", "")).upper().startswith(("LSB", "VAX", "PC"))
    for key, value in column.items():
        if key != "BIT_COLUMN" or not isinstance(value, Mapping):
            continue
        items = _few(name, _whole(name, value, "ITEMS", 1))
        width = _whole(name, value, "ITEM_BITS", 0) or _whole(name, value, "BITS", 0) // max(items, 1)
        step = _whole(name, value, "ITEM_OFFSET", width)
        kind = str(value.get("BIT_DATA_TYPE", "")).upper()
        signed = "INTEGER" in kind and "UNSIGNED" not in kind
        label = str(value.get("NAME", f"{title}_bits"))
        for i in range(items):
            first = _whole(name, value, "START_BIT", 1) + i * step
            if not holds(size, first, first + width - 1):
                message = f"{name}: bits {first} to {first + width - 1} of {title}, which has {8 * size}"
                raise errors.make("format", message, "repair the label")
            stored = packed(first, first + width - 1, signed, little)
            attrs = attributes(value, kind, size, False)
            yield Field(f"{label}_{i}" if items > 1 else label, start, size, "number", attrs, binary=stored)


def _kind(data_type: str) -> Kind:
    if data_type.startswith(_WORDS):
        return "words"
    return "number" if "REAL" in data_type or "INTEGER" in data_type or "NUMERIC" in data_type else "any"


def _about(level: Any, table: Any) -> dict[str, Any]:
    keys = ("DATA_SET_ID", "PRODUCT_ID", "INSTRUMENT_ID", "TARGET_NAME", "START_TIME", "STOP_TIME")
    found = {key.lower(): level[key] for key in keys if isinstance(level.get(key), str)}
    if table.get("DESCRIPTION") is not None:
        found["description"] = " ".join(str(table["DESCRIPTION"]).split())
    return found


def _whole(name: str, level: Any, key: str, default: int) -> int:
    value = level.get(key, default)
    value = getattr(value, "value", value)
    if not isinstance(value, int) or not -1 <= value < 1 << 40:
        raise errors.make(
            "format", f"{name}: {key} is {value!r}, not a number of bytes or rows", "repair the label"
        )
    return value


def _few(name: str, count: int) -> int:
    if not 0 <= count <= _MOST:
        raise errors.make("format", f"{name} describes {count:,} columns", f"at most {_MOST:,} are taken")
    return count


# Convert the descriptions of columns in PDS3 labels to CF attributes.

_CONSTANTS = (
    "MISSING_CONSTANT",
    "INVALID_CONSTANT",
    "UNKNOWN_CONSTANT",
    "NULL_CONSTANT",
    "NOT_APPLICABLE_CONSTANT",
)
_QUOTED = re.compile(r"16#([0-9A-Fa-f]+)#")
_NUMBERS = ("REAL", "INTEGER", "NUMERIC", "FLOAT", "DOUBLE")


def is_number(data_type: str) -> bool:
    """Whether values of a type are numeric."""
    return any(word in data_type for word in _NUMBERS)


def attributes(column: Any, data_type: str, size: int, stored: bool) -> dict[str, Any]:
    """Return the CF attributes of a column.

    Args:
        column: the column object of the label.
        data_type: data type of its values.
        size: size of a value in bytes.
        stored: whether values are binary.
    """
    result: dict[str, Any] = {}
    if column.get("DESCRIPTION") is not None:
        result["description"] = " ".join(str(column["DESCRIPTION"]).split())
    unit = str(column.get("UNIT", "N/A")).strip()
    if unit.upper() not in ("N/A", "NONE", "NULL", ""):
        result["units"] = unit
    quoted = is_number(data_type)
    for key, cf, nothing in (("SCALING_FACTOR", "scale_factor", 1), ("OFFSET", "add_offset", 0)):
        number = _number(column.get(key), quoted)
        if number is not None and number != nothing:
            result[cf] = number
    given = [column[key] for key in _CONSTANTS if key in column]
    if stored:
        given = [_pattern(value, data_type, size) for value in given]
    constants = [number for value in given if (number := _number(value, quoted)) is not None]
    if constants:
        result["missing_value"] = list(dict.fromkeys(constants))
    return result


def _number(value: Any, quoted: bool) -> int | float | None:
    """Return a number, with or without units; strings are accepted only if ``quoted``."""
    value = getattr(value, "value", value)
    if isinstance(value, str) and quoted:
        for reader in (int, float):
            try:
                value = reader(value)
                break
            except ValueError:
                continue
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return int(value) if isinstance(value, int) else None


def _pattern(value: Any, data_type: str, size: int) -> Any:
    """Return the value of a bit pattern (``16#FF7FFFFB#``, also quoted), as used for binary constants."""
    if isinstance(value, str) and is_number(data_type) and (found := _QUOTED.fullmatch(value.strip())):
        value = Based(int(found[1], 16))
    return pattern(value, data_type, size) if isinstance(value, Based) else value
