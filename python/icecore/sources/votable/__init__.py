"""VOTables (TABLEDATA, BINARY, BINARY2) through astropy: units, UCDs, descriptions and nulls are kept."""

from __future__ import annotations

import io
import warnings
from typing import Any
from xml.etree import ElementTree

import numpy as np

from icecore import errors
from icecore.repository.json_attributes import attribute_type, fill_attribute, to_json
from icecore.repository.nodes import OURS
from icecore.repository.zarr_dtypes import copy_codecs, data_type, fill_json
from icecore.sources.files import archives
from icecore.sources.files.byte_source import ByteSource, open_file
from icecore.sources.files.identity import is_remote
from icecore.sources.mapping.array_map import ArrayEntry, ArrayMap, Note
from icecore.sources.tables.text_kinds import root_element

_START = 1 << 16
#: attributes of a FIELD that an array keeps
_KEPT = ("ucd", "utype", "xtype")


def matches(source: ByteSource, start: bytes) -> bool:
    """Whether a file is a VOTable with a RESOURCE, which holds its tables."""
    if not start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return False
    head = source.read_at(0, _START)
    return (root_element(head) or "").lower() == "votable" and b"RESOURCE" in head


def open(source: str) -> ArrayMap:
    """Index a VOTable: its table is the group ``/``; of several each has a group of its own.

    Raises:
        Error: ``unsupported`` for a document that astropy can't read, or without any table.
    """
    from astropy.io import votable

    _without_streams(source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of units and versions; values are not concerned
            document = votable.parse(open_file(source) if is_remote(source) else source, verify="ignore")
            tables = list(document.iter_tables())
    except Exception as error:  # whatever its parsers raise
        message = f"{source} is a VOTable that astropy can't read: {type(error).__name__}: {error}"
        hint = "convert it: astropy.table.Table.read(FILE, format='votable').write('t.ecsv')"
        raise errors.make("unsupported", message, hint) from error
    tables = [table for table in tables if table.fields]
    if not tables:
        raise errors.make("unsupported", f"{source} is a VOTable without a table", "is it an error message?")
    result = ArrayMap(source)
    for number, table in enumerate(tables, 1):
        root = "" if len(tables) == 1 else f"/{_name(table.name or table.ID or '', number)}"
        _add(result, root if root not in result.groups else f"{root}_{number}", table)
    return result


def _without_streams(source: str) -> None:
    """Raise ``unsupported`` if a document names data elsewhere: astropy would open any file or address."""
    try:
        content = archives.content(source)
    except archives.FAULTS:
        return  # astropy names the damage
    if b"href" not in content:
        return
    try:
        for _, element in ElementTree.iterparse(io.BytesIO(content), ("start",)):
            if element.tag.rpartition("}")[2] == "STREAM" and "href" in element.attrib:
                message = f"{source}: a table of it lies in {element.attrib['href']}"
                hint = "write the data into the document, or convert it to ECSV with astropy"
                raise errors.make("unsupported", message, hint)
    except ElementTree.ParseError:
        return  # astropy reads some documents that are not valid XML, and stops at the same place in others


def _add(result: ArrayMap, root: str, table: Any) -> None:
    names: list[str] = []
    for field in table.fields:
        name = _name(field.name or field.ID, len(names) + 1)
        while name in names:
            name += "_"
        path = f"{root}/{name}"
        values = table.array[field.ID] if len(table.array) else np.ma.empty(0, "U1")
        try:
            entry = _entry(path, field, np.ma.asarray(values))
        except (TypeError, ValueError) as error:
            result.dropped.append(Note(path, "unsupported", f"column of {field.datatype}: {error}"))
            continue
        names.append(name)
        result.add(entry)
    attrs: dict[str, Any] = {OURS: {"table": {"columns": names}}}
    if table.description:
        attrs["description"] = str(table.description)
    attrs.update({param.name: to_json(param.value) for param in table.params if param.name not in attrs})
    result.groups[root or "/"] = attrs


def _name(name: str, number: int) -> str:
    plain = name.strip().replace("/", "_")
    return plain if plain.strip(".") and not plain.startswith("__") else f"column_{number}"


def _entry(path: str, field: Any, values: np.ma.MaskedArray) -> ArrayEntry:
    """The array of a FIELD.

    Raises:
        TypeError, ValueError: for cells that no array holds.
    """
    data, missing = _filled(field, values)
    attrs: dict[str, Any] = {}
    types: dict[str, str] = {}
    if missing is not None:
        form = fill_attribute(missing, data.dtype)
        attrs["_FillValue" if form is not None else "missing_value"] = missing if form is None else form
    if field.unit is not None:
        attrs["units"] = str(field.unit)
    if field.description:
        attrs["description"] = str(field.description)
    attrs.update({name: str(value) for name in _KEPT if (value := getattr(field, name, None))})
    for name, value in (("valid_min", field.values.min), ("valid_max", field.values.max)):
        if value is not None and np.ndim(value) == 0 and data.dtype.kind in "iuf":
            attrs[name] = to_json(value)
            if kind := attribute_type(value):
                types[name] = kind
    return ArrayEntry(
        path=path,
        shape=data.shape,
        dims=("row", *[None] * (data.ndim - 1)),
        data_type=data_type(data.dtype),
        dtype=data.dtype,
        chunks=tuple(max(n, 1) for n in data.shape),
        codecs=copy_codecs(data.dtype),
        fill_value=fill_json(None, data.dtype),
        attrs=attrs,
        attr_types=types,
        read=lambda region: np.ascontiguousarray(data[region]),
        note="read by astropy",
        is_column=True,
    )


def _filled(field: Any, values: np.ma.MaskedArray) -> tuple[np.ndarray, Any]:
    """Return the cells as a plain array, and its value for null; None without nulls."""
    mask = np.ma.getmaskarray(values)
    kind = values.dtype.kind
    if kind in "OSU":
        return _texts(values, mask), None
    if kind == "b":
        data = values.filled(False)
        return (data, None) if not mask.any() else (np.where(mask, 2, data).astype("u1"), np.uint8(2))
    if kind in "fc":
        return values.filled(np.nan), None
    if kind not in "iu":
        raise TypeError(f"values of type {values.dtype}")
    null = _null(field, values, mask)
    return values.filled(0 if null is None else null), null


def _texts(values: np.ma.MaskedArray, mask: np.ndarray) -> np.ndarray:
    cells = values.data.ravel()
    found = np.empty(cells.shape, object)
    for i, (cell, is_null) in enumerate(zip(cells, np.broadcast_to(mask, values.shape).ravel(), strict=True)):
        if isinstance(cell, bytes):
            cell = cell.decode("utf-8", "replace")
        if not is_null and not isinstance(cell, str):
            raise TypeError("cells of variable length are not supported")
        found[i] = "" if is_null else cell
    return found.reshape(values.shape)


def _null(field: Any, values: np.ma.MaskedArray, mask: np.ndarray) -> Any:
    """Return the value for null among integers: that of the file, or a number that no cell holds."""
    held = values.data[~mask]
    stated = field.values.null
    if stated is not None and np.ndim(stated) == 0 and not (held == stated).any():
        return values.dtype.type(stated)
    if not mask.any():
        return None
    limits = np.iinfo(values.dtype)
    candidates = (limits.min, limits.max) if limits.min else (limits.max, 0)
    for number in (*candidates, *range(limits.max, limits.max - held.size - 2, -1)):
        if not (held == number).any():
            return values.dtype.type(number)
    raise ValueError("every number of its type is a value, none is left for null")
