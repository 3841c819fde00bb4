"""PDS4 labels (XML): character, delimited and binary tables.

Source: PDS4 Data Standards Reference, chapter 4; the information model's Table_Base and its fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from icecore import errors
from icecore.sources.mapping.table_file import Field, Kind, TableSpec
from icecore.sources.tables import binary
from icecore.sources.tables.pds3 import Finder, left_out
from icecore.sources.tables.preamble import unique

_PRODUCT = re.compile(rb"<(\w+:)?Product_\w+[\s>]")
_SEPARATORS = {"comma": ",", "horizontal tab": "\t", "semicolon": ";", "vertical bar": "|"}
_RECORDS = {
    "Table_Character": "Record_Character",
    "Table_Delimited": "Record_Delimited",
    "Table_Binary": "Record_Binary",
    "Inventory": "Record_Delimited",  # of a collection
}
#: hint: elements of a label that are tables
TABLES = f"tables are {', '.join(_RECORDS)}, beside a File with a file_name"
#: sizes (bytes) in the names of data types
_SIZES = re.compile(r"(?:(?:Uns|S)igned|IEEE754|Complex)(?:[ML]SB)?(Byte|Single|Double|\d+)")
_NAMED = {"Byte": 1, "Single": 4, "Double": 8}
#: binary constants that are given as bit patterns
_BITS = re.compile(r"16#([0-9A-Fa-f]+)#|0[xX]([0-9A-Fa-f]+)")
_MOST, _DEEPEST = 1 << 15, 8


def is_label(start: bytes) -> bool:
    """Whether a file begins with a PDS4 label."""
    head = start.lstrip(b"\xef\xbb\xbf \r\n\t")
    return head.startswith(b"<") and _PRODUCT.search(start[: 1 << 14]) is not None


def read(name: str, text: bytes, find: Finder) -> tuple[list[TableSpec], list[str]]:
    """Return the tables that a label describes, and a note on each other object that has data.

    Raises:
        Error: ``format`` for XML that can't be parsed or is incomplete.
    """
    from xml.etree import ElementTree  # most tables have no such label

    if re.search(rb"<!(DOCTYPE|ENTITY)", text):
        raise errors.make(
            "format", f"{name} defines entities of its own", "PDS4 labels have none: remove them"
        )
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise errors.make("format", f"{name} is not valid XML: {error}", "repair the label") from error
    for element in root.iter():
        element.tag = str(element.tag).rsplit("}", 1)[-1]
    about = {}
    title = root.findtext("Identification_Area/title")
    if title:
        about["title"] = " ".join(title.split())
    result, left = [], []
    for area in root:
        file = (area.findtext("File/file_name") or "").strip()
        for element in area:
            if element.tag in _RECORDS and file:
                result.append(_table(name, file, element, about))
            elif element.tag in _RECORDS:
                left.append(f"{element.tag} left out: no File with a file_name is beside it")
            elif area.tag.startswith("File_Area") and element.tag != "File":
                title = (element.findtext("name") or element.findtext("local_identifier") or "").strip()
                left.append(left_out(f"{element.tag} {title}".strip(), file or name, _shape(element)))
    return result, left


def _shape(element: Any) -> str:
    """Return the shape of an array, slowest axis first, or the length of another object."""
    axes = sorted(element.iterfind("Axis_Array"), key=lambda axis: _whole("", axis, "sequence_number", 0))
    if axes:
        sizes = " x ".join((axis.findtext("elements") or "?").strip() for axis in axes)
        return f"{sizes} ({' x '.join((axis.findtext('axis_name') or '?').strip() for axis in axes)})"
    length = (element.findtext("object_length") or "").strip()
    return f"{length} bytes" if length else ""


def _table(name: str, file: str, table: Any, about: dict[str, Any]) -> TableSpec:
    record = table.find(_RECORDS[table.tag])
    if record is None:
        raise errors.make("format", f"{name}: {table.tag} has no {_RECORDS[table.tag]}", "repair the label")
    fields = list(_fields(name, record, 0, table.tag == "Table_Binary", 0))
    if not fields:
        raise errors.make("format", f"{name}: {table.tag} of {file} has no fields", "repair the label")
    delimited = _RECORDS[table.tag] == "Record_Delimited"
    names = unique([item.name for item in fields])
    fields = [
        Field(n, f.start, f.length, f.kind, f.attrs, f.longest, f.binary)
        for n, f in zip(names, fields, strict=True)
    ]
    word = (table.findtext("field_delimiter") or "comma").strip().lower()
    if delimited and word not in _SEPARATORS:
        raise errors.make(
            "format", f"{name}: fields are separated by {word!r}", f"known: {', '.join(_SEPARATORS)}"
        )
    attrs = dict(about)
    if table.findtext("description"):
        attrs["description"] = " ".join(table.findtext("description").split())
    return TableSpec(
        name,
        file,
        "delimited" if delimited else "binary" if table.tag == "Table_Binary" else "fixed",
        tuple(fields) if delimited else tuple(sorted(fields, key=lambda f: f.start)),
        _whole(name, table, "offset", 0),
        0 if delimited else _whole(name, record, "record_length", 0),
        _whole(name, table, "records", -1) if table.find("records") is not None else None,
        _SEPARATORS.get(word, ","),
        attrs,
        name=(table.findtext("local_identifier") or table.findtext("name") or "").strip(),
    )


def _fields(name: str, record: Any, base: int, is_binary: bool, depth: int) -> Iterator[Field]:
    if depth > _DEEPEST:
        raise errors.make(
            "format", f"{name}: groups inside groups inside …", f"at most {_DEEPEST} levels are taken"
        )
    count = 0
    for element in record:
        if element.tag.startswith("Field_"):
            yield (field := _field(name, element, base, is_binary, count > 0))
            count += 1
            for bits in _bits(name, element, field) if is_binary else ():
                count += 1
                yield bits
        elif element.tag.startswith("Group_"):
            times = _whole(name, element, "repetitions", 1)
            length = _whole(name, element, "group_length", 0)
            size, over = divmod(length, max(times, 1))
            delimited = element.tag.endswith("_Delimited")
            start = base + _begin(name, element, "group_location", count > 0)
            for i in range(times):
                found = count
                for inner in _fields(name, element, start + i * size, is_binary, depth + 1):
                    end = inner.start + inner.length - start - i * size
                    if times > 1 and not delimited and (over or end > size):
                        message = f"{name}: {inner.name} takes byte {end} of a group of {length} bytes"
                        hint = "repair the label: group_length is of all repetitions"
                        raise errors.make("format", f"{message}, which is for {times} repetitions", hint)
                    count += 1
                    yield replace(inner, name=f"{inner.name}_{i}") if times > 1 else inner
                    _few(name, count)
                if count == found:
                    break  # no other repetition has fields either
        _few(name, count)


def _begin(name: str, element: Any, key: str, needed: bool) -> int:
    """Return the bytes before a field or group; delimited ones don't state it, and the first may omit 0."""
    needed = needed and not element.tag.endswith("_Delimited")
    first = _whole(name, element, key, 0 if needed else 1)
    if first < 1:
        title = (element.findtext("name") or element.tag).strip()
        place = f"no {key}" if element.find(key) is None else f"{key} {first}"
        raise errors.make("format", f"{name}: {title} has {place}", "bytes count from 1: repair the label")
    return first - 1


def _field(name: str, field: Any, base: int, is_binary: bool, needed: bool) -> Field:
    data_type = (field.findtext("data_type") or "").strip()
    longest, length = _whole(name, field, "maximum_field_length", 0), _whole(name, field, "field_length", 0)
    title = (field.findtext("name") or "column").strip()
    sized = _SIZES.fullmatch(data_type) if is_binary else None
    if sized and length and length != (size := _NAMED.get(sized[1]) or int(sized[1])):
        message = f"{name}: {title} is {data_type}, of {size} bytes, and its field_length is {length}"
        raise errors.make("mismatch", message, "correct the label")
    return Field(
        title,
        base + _begin(name, field, "field_location", needed),
        length,
        _kind(data_type),
        _attributes(field, data_type if is_binary else "", length),
        longest or None,
        data_type if is_binary else "",
    )


def _bits(name: str, element: Any, field: Field) -> Iterator[Field]:
    """Yield the numbers packed into a field; its first bit is the most significant bit of its first byte."""
    for bit in element.iterfind("Packed_Data_Fields/Field_Bit"):
        ends = [
            _whole(name, bit, f"{end}_bit_location", _whole(name, bit, f"{end}_bit", 0))
            for end in ("start", "stop")
        ]
        if not binary.holds(field.length, *ends):
            message = f"{name}: bits {ends[0]} to {ends[1]} of {field.name}, which has {8 * field.length}"
            raise errors.make("format", message, "repair the label")
        signed = (bit.findtext("data_type") or "").strip().startswith("Signed")
        title = (bit.findtext("name") or "bits").strip()
        kind = binary.packed(ends[0], ends[1], signed, False)
        yield Field(title, field.start, field.length, "number", _attributes(bit), binary=kind)


def _kind(data_type: str) -> Kind:
    if data_type in ("ASCII_Real", "ASCII_Integer", "ASCII_NonNegative_Integer"):
        return "number"
    if data_type == "ASCII_Numeric_Base16":
        return "hex"
    if data_type.startswith("ASCII_Numeric_Base"):
        return "text"  # digits that may look like dates
    return "words"


def _attributes(field: Any, stored: str = "", size: int = 0) -> dict[str, Any]:
    """Return the CF attributes of a field; ``stored`` is the type of binary values of ``size`` bytes."""
    result: dict[str, Any] = {}
    if field.findtext("description"):
        result["description"] = " ".join(field.findtext("description").split())
    unit = (field.findtext("unit") or "").strip()
    if unit and unit.lower() not in ("none", "n/a", "null"):
        result["units"] = unit
    for key, cf, nothing in (("scaling_factor", "scale_factor", 1), ("value_offset", "add_offset", 0)):
        value = _number(field.findtext(key) or "")
        if isinstance(value, (int, float)) and value != nothing:
            result[cf] = value
    constants = field.find("Special_Constants")
    if constants is not None:
        values = [_constant(c.text or "", stored, size) for c in constants if c.tag.endswith("_constant")]
        numbers = [value for value in values if isinstance(value, (int, float))]
        if numbers:
            result["missing_value"] = list(dict.fromkeys(numbers))
    return result


def _constant(text: str, stored: str, size: int) -> Any:
    """Return a number; constants of binary values may be bit patterns (``16#FF7FFFFB#``, ``0xFF7FFFFB``)."""
    found = _BITS.fullmatch(text.strip())
    return binary.pattern(int(found[1] or found[2], 16), stored, size) if found and stored else _number(text)


def _number(text: str) -> Any:
    for reader in (int, float):
        try:
            return reader(text.strip())
        except ValueError:
            continue
    return text.strip()


def _whole(name: str, level: Any, key: str, default: int) -> int:
    text = level.findtext(key)
    if text is None:
        return default
    value = _number(text)
    if not isinstance(value, int) or not 0 <= value < 1 << 40:
        raise errors.make(
            "format", f"{name}: {key} is {text!r}, not a number of bytes or rows", "repair the label"
        )
    return value


def _few(name: str, count: int) -> None:
    if count > _MOST:
        raise errors.make("format", f"{name} describes more than {_MOST:,} columns", "repair the label")
