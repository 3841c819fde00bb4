"""A DMR++ document as references: groups, dimensions, attributes and variables."""

from __future__ import annotations

import json
import os
import zlib
from base64 import b64decode, b64encode
from math import isfinite, prod
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from icecore import errors
from icecore.sources.files.byte_source import open_bytes
from icecore.sources.files.identity import is_remote
from icecore.sources.kerchunk.reference_file import Refs

_HREF = "{http://xml.opendap.org/dap/dmrpp/1.0.0#}href"
#: Hyrax writes this where the address of the file is set later
_PLACEHOLDER = "OPeNDAP_DMRpp_DATA_ACCESS_URL"
_SUFFIXES = (".dmrpp", ".dmr++")
#: elements of a group that hold no data
_OTHERS = {"Dimension", "Attribute", "Enumeration", "Group"}
#: attribute with the path of a variable that Hyrax moved to the root group
_FULL_PATH = "fullnamepath"


def read(source: str) -> Refs:
    """Parse a DMR++ document.

    Raises:
        Error: ``corrupt`` if it is not valid.
    """
    root = _parsed(source)
    refs = Refs(source, [], {})
    data = root.get(_HREF) or ""
    _Walk(source, refs, _data_file(source, data)).group(root, "", {})
    refs.nodes.sort()
    return refs


def _parsed(source: str) -> ElementTree.Element:
    data = open_bytes(source)
    try:
        text = data.read_at(0, data.identity.size)
    finally:
        data.close()
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise wrong(source, "a document type, which DMR++ does not have")
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise wrong(source, f"no valid XML: {error}") from error
    if tag(root) != "Dataset":
        raise wrong(source, f"its root is <{tag(root)}>, not <Dataset>")
    return root


def _data_file(source: str, href: str) -> str:
    """The address of the described file: ``href``, or the file of that name beside the document."""
    own = next((source[: -len(end)] for end in _SUFFIXES if source.lower().endswith(end)), "")
    if "://" in href:
        return href
    if href in ("", _PLACEHOLDER):
        return own
    name = href.rsplit("/", 1)[-1]
    if is_remote(source):
        return own if own.rsplit("/", 1)[-1] == name else href
    folder = os.path.dirname(os.path.abspath(source))
    beside = os.path.join(folder, name)
    return beside if os.path.isfile(beside) and not os.path.isfile(os.path.join(folder, href)) else href


class _Walk:
    """Collects the metadata and references of all groups and variables."""

    def __init__(self, source: str, refs: Refs, data: str) -> None:
        self._source, self._refs, self._data = source, refs, data

    def group(self, element: ElementTree.Element, path: str, outer: dict[str, int]) -> None:
        """Take over a group and what is below it; ``outer`` are the dimensions of the groups around it."""
        sizes = {**outer, **self._dimensions(element, path)}
        self._node(path, ".zgroup", {"zarr_format": 2}, self._attributes(element))
        for child in element:
            kind = tag(child)
            if kind == "Group":
                self.group(child, self._below(path, child), sizes)
            elif child.get("name") is not None and kind not in _OTHERS:
                self._variable(child, path, sizes)

    def _variable(self, element: ElementTree.Element, group: str, sizes: dict[str, int]) -> None:
        attributes = self._attributes(element)
        flattened = attributes.get(_FULL_PATH)
        path = self._below(group, element)
        if not group and isinstance(flattened, str) and flattened.strip("/"):
            path = flattened.strip("/")
            self._parents(path)
        if path in self._refs.nodes:
            raise wrong(self._source, f"/{path} is described twice")
        kind = tag(element)
        try:
            if kind not in TYPES:
                said = "strings of variable length" if kind in ("String", "URL") else f"the type {kind}"
                raise errors.make(
                    "dtype", f"{said} are not in the data file's chunks", "link the file itself"
                )
            variable = Variable(f"{self._source}:/{path}", element, sizes)
            array, chunks = variable.array(), variable.chunks(self._data)
        except errors.Error as error:
            self._refs.nodes.append(path)
            self._refs.refused[path] = error
            return
        attributes["_ARRAY_DIMENSIONS"] = variable.dims
        self._node(path, ".zarray", array, attributes)
        self._refs.chunks[path] = chunks

    def _node(self, path: str, name: str, document: dict[str, Any], attributes: dict[str, Any]) -> None:
        below = f"{path}/" if path else ""
        if path not in self._refs.nodes:
            self._refs.nodes.append(path)
        self._refs.metadata[f"{below}{name}"] = json.dumps(document).encode()
        self._refs.metadata[f"{below}.zattrs"] = json.dumps(attributes).encode()

    def _parents(self, path: str) -> None:
        """The groups above a variable that Hyrax moved to the root group."""
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            parent = "/".join(parts[:depth])
            if parent not in self._refs.nodes:
                self._node(parent, ".zgroup", {"zarr_format": 2}, {})

    def _below(self, path: str, element: ElementTree.Element) -> str:
        name = element.get("name") or ""
        if not name or "/" in name:
            raise wrong(self._source, f"a <{tag(element)}> in /{path} is named {name!r}")
        return f"{path}/{name}" if path else name

    def _dimensions(self, element: ElementTree.Element, path: str) -> dict[str, int]:
        found = {}
        for child in element:
            if tag(child) == "Dimension":
                size = child.get("size") or ""
                if not size.isdecimal():
                    raise wrong(self._source, f"dimension {child.get('name')} has the size {size!r}")
                found[f"/{self._below(path, child)}"] = int(size)
        return found

    def _attributes(self, element: ElementTree.Element) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for child in element:
            if tag(child) == "Attribute" and (name := child.get("name")):
                if child.get("type") == "Container":
                    found[name] = self._attributes(child)
                elif (value := attribute_value(child)) is not None:
                    found[name] = value
        return found


# A variable of a DMR++ document: Zarr metadata, and a reference for each chunk.

#: DAP4's types of fixed size
TYPES = {
    **{name: "u1" for name in ("Byte", "UInt8", "Char")},
    "Int8": "i1",
    **{
        f"{sign}Int{bits}": f"{kind}{bits // 8}"
        for bits in (16, 32, 64)
        for sign, kind in (("", "i"), ("U", "u"))
    },
    "Float32": "f4",
    "Float64": "f8",
}
_CODECS = {
    "shuffle": lambda size, _level: {"id": "shuffle", "elementsize": size},
    "deflate": lambda _size, level: {"id": "zlib", "level": level},
    "fletcher32": lambda _size, _level: {"id": "fletcher32"},
}
#: elements with values whose place in the file is not given as chunks
_ELSEWHERE = ("vlsa", "specialstructuredata", "block", "fStringArray")
#: bytes of data that a document may hold itself
_MOST = 1 << 28


def tag(element: Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def wrong(name: str, what: str) -> errors.Error:
    """The error for a document that is not valid."""
    return errors.make("corrupt", f"{name}: {what}", "make it anew with Hyrax, or link the file itself")


def attribute_value(element: Element) -> Any:
    """An attribute's value: text or a number, a list of several; None if it has no JSON form."""
    texts = [
        each.get("value") if each.get("value") is not None else (each.text or "")
        for each in element
        if tag(each) == "Value"
    ]
    kind = TYPES.get(element.get("type") or "")
    values: list[Any] = [str(text) for text in texts]
    if kind is not None:
        try:
            values = [_number(text, kind) for text in values]
        except ValueError:
            return None
        if any(isinstance(value, float) and not isfinite(value) for value in values):
            values = [str(value) for value in values]
    if not values:
        return "" if element.get("type") == "String" else None
    return values[0] if len(values) == 1 else values


class Variable:
    """One variable of fixed-size elements.

    Attributes:
        dims: a name per axis; of axes without one, one that is made up from the size.
        shape: in elements.
        chunk: shape of a chunk, in elements.
    """

    def __init__(self, name: str, element: Element, sizes: dict[str, int]) -> None:
        self._name, self._element = name, element
        for each in element.iter():
            if tag(each) in _ELSEWHERE or each.get("LBIndex") is not None:
                raise errors.make(
                    "dtype", f"values in <dmrpp:{tag(each)}> are not read", "link the file itself"
                )
        self.dims, self.shape = self._axes(sizes)
        self._stored = next((each for each in element if tag(each) == "chunks"), None)
        self._inline = [each for each in element if tag(each) in ("compact", "missingdata")]
        order = "" if self._stored is None else self._stored.get("byteOrder", "LE")
        kind = TYPES[tag(element)]
        self._dtype = np.dtype(kind).newbyteorder(">" if order == "BE" else "<")
        self.chunk = self._chunk_shape()

    def array(self) -> dict[str, Any]:
        """The ``.zarray`` document.

        Raises:
            Error: ``dtype`` for a filter without a codec.
        """
        filters = [] if self._inline else self._filters()
        return {
            "zarr_format": 2,
            "shape": self.shape,
            "chunks": self.chunk,
            "dtype": self._dtype.str,
            "fill_value": self._fill(),
            "order": "C",
            "compressor": None,
            "filters": filters or None,
        }

    def chunks(self, data: str) -> list[tuple[str, Any]]:
        """Chunk names with references (address, offset, length), or with the values themselves.

        Raises:
            Error: ``corrupt`` for invalid numbers, and places outside the grid.
        """
        if self._inline:
            values = self._values(self._inline[0])
            return [(self._key((0,) * len(self.shape)), f"base64:{b64encode(values).decode()}")]
        within = self._element if self._stored is None else self._stored
        found = []
        for each in within:
            if tag(each) != "chunk":
                continue
            if int(each.get("fm") or "0", 0):
                raise errors.make(
                    "dtype", "chunks that skip some filters are not read", "link the file itself"
                )
            href = next(
                (value for key, value in each.attrib.items() if key.rpartition("}")[2] == "href"), data
            )
            offset, length = (self._count(each.get(key)) for key in ("offset", "nBytes"))
            found.append((self._key(self._place(each)), [href, offset, length]))
        return found

    def _axes(self, sizes: dict[str, int]) -> tuple[list[str], list[int]]:
        dims: list[str] = []
        shape: list[int] = []
        for each in self._element:
            if tag(each) != "Dim":
                continue
            name = each.get("name")
            if name is not None and name not in sizes:
                raise wrong(self._name, f"its dimension {name} is not in the document")
            size = sizes[name] if name is not None else self._count(each.get("size"))
            dims.append(name.rsplit("/", 1)[-1] if name is not None else f"dim_{len(dims)}_{size}")
            shape.append(size)
        return dims, shape

    def _chunk_shape(self) -> list[int]:
        given = None if self._stored is None else _child(self._stored, "chunkDimensionSizes")
        if self._inline or given is None:
            return [max(n, 1) for n in self.shape]
        sizes = [self._count(part) for part in (given.text or "").split()]
        if len(sizes) != len(self.shape) or 0 in sizes:
            raise wrong(self._name, f"chunks of {sizes} for an array of {self.shape}")
        return sizes

    def _filters(self) -> list[dict[str, Any]]:
        names = [] if self._stored is None else (self._stored.get("compressionType") or "").split()
        levels = [] if self._stored is None else (self._stored.get("deflateLevel") or "").split()
        if strange := [name for name in names if name not in _CODECS]:
            raise errors.make("dtype", f"filter {strange[0]} has no Zarr codec", "link the file itself")
        level = int(levels[0]) if levels and levels[0].isdecimal() else 6
        if "shuffle" in names and "deflate" in names and names.index("shuffle") > names.index("deflate"):
            names = ["shuffle", *[name for name in names if name != "shuffle"]]  # older versions
        return [_CODECS[name](self._dtype.itemsize, level) for name in names]

    def _fill(self) -> Any:
        text = None if self._stored is None else self._stored.get("fillValue")
        if not text:
            return None  # readers take a fill value of version 2 for the mark of missing values
        try:
            value = _number(text, self._dtype.str)
        except ValueError:
            return 0 if self._dtype.kind in "iu" else self._bad_fill(text)
        if isinstance(value, float) and not isfinite(value):
            return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
        return value

    def _bad_fill(self, text: str) -> Any:
        raise wrong(self._name, f"its fill value {text!r} is no {self._dtype.name}")

    def _values(self, element: Element) -> bytes:
        """Values that the document holds: base64, of missing data compressed."""
        size = prod(self.shape) * self._dtype.itemsize
        if size > _MOST:
            raise wrong(self._name, f"{size} bytes of values in the document")
        try:
            values = b64decode("".join((element.text or "").split()), validate=True)
            if tag(element) == "missingdata":
                values = zlib.decompressobj().decompress(values, size + 1)
        except (ValueError, zlib.error) as error:
            raise wrong(self._name, f"its values in the document can't be decoded: {error}") from error
        if len(values) != size:
            raise wrong(self._name, f"{len(values)} bytes of values in the document, expected {size}")
        return values

    def _place(self, chunk: Element) -> tuple[int, ...]:
        text = chunk.get("chunkPositionInArray")
        if text is None:
            return (0,) * len(self.shape)
        place = [self._count(part.strip()) for part in text.strip("[] ").split(",") if part.strip()]
        fits = len(place) == len(self.shape) and all(
            at % n == 0 and at < size for at, n, size in zip(place, self.chunk, self.shape, strict=True)
        )
        if not fits:
            raise wrong(self._name, f"a chunk at {text}, of {self.chunk} in {self.shape}")
        return tuple(at // n for at, n in zip(place, self.chunk, strict=True))

    def _key(self, index: tuple[int, ...]) -> str:
        return ".".join(map(str, index)) or "0"

    def _count(self, text: str | None) -> int:
        if text is None or not text.isdecimal() or len(text) > 18:
            raise wrong(self._name, f"a size must be a whole number of at most 18 digits (got {text!r})")
        return int(text)


def _child(element: Element, name: str) -> Element | None:
    return next((each for each in element if tag(each) == name), None)


def _number(text: str, dtype: str) -> Any:
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return float(text)
    value = int(text)
    limits = np.iinfo(kind)
    if not int(limits.min) <= value <= int(limits.max):
        raise ValueError(text)
    return value
