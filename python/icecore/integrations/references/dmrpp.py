"""References as a DMR++ document, which OPeNDAP's Hyrax, VirtualiZarr and icecore read.

A chunk outside of the document's own file has its address. Source: the DMR++ documentation of OPeNDAP, and
the DAP4 specification for groups, dimensions and attributes.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as Xml

import numpy as np

from icecore import errors
from icecore.filesystem.atomic_output import landing
from icecore.integrations.references.inventory import Exported, Item, items, plain_address, unsupported
from icecore.repository.dimension_names import Known, dimension_names
from icecore.repository.group import Group
from icecore.repository.typed_attributes import marker, typed

if TYPE_CHECKING:
    from icecore.repository.array import Array
    from icecore.repository.repo import Repo

_DAP = "http://xml.opendap.org/ns/DAP/4.0#"
_DMRPP = "http://xml.opendap.org/dap/dmrpp/1.0.0#"
_TYPES = {"i1": "Int8", "u1": "Byte", "f4": "Float32", "f8": "Float64"}
_TYPES |= {
    f"{kind}{bits // 8}": f"{name}{bits}"
    for kind, name in (("i", "Int"), ("u", "UInt"))
    for bits in (16, 32, 64)
}
_FILTERS = {"shuffle": "shuffle", "zlib": "deflate", "fletcher32": "fletcher32"}


def write(repo: Repo, path: str, output: str) -> Exported:
    """Write the references of a group to a DMR++ document.

    Raises:
        Error: ``invalid`` if ``path`` is an array.
    """
    if repo[path]._node.is_array:
        message = f"{path} is an array: a DMR++ document needs a group"
        raise errors.make("invalid", message, f"name its group: {repo[path]._node.parent}")
    result = Exported()
    document = _Document(repo, list(items(repo, path, result)), result)
    with landing(output) as place:
        Xml.indent(document.root)
        Xml.ElementTree(document.root).write(place, "utf-8", xml_declaration=True)
    return result


class _Document:
    """The elements of a document: groups with their dimensions, and the variables in them."""

    def __init__(self, repo: Repo, found: list[Item], result: Exported) -> None:
        Xml.register_namespace("", _DAP)
        Xml.register_namespace("dmrpp", _DMRPP)
        self._repo, self._known = repo, Known()
        files = Counter(url for item in found if item.links is not None for url in item.links.urls)
        self._file = files.most_common(1)[0][0] if files else ""
        self.root = Xml.Element(f"{{{_DAP}}}Dataset", {"dapVersion": "4.0", "dmrVersion": "1.0"})
        self.root.set("name", self._file.rpartition("/")[2] or "empty")
        self.root.set(f"{{{_DMRPP}}}href", plain_address(self._file))
        self._groups = {"": self.root}
        self._sizes: dict[str, int] = {}
        for item in found:
            if item.array is None:
                self._group(item)
        for item in found:
            if item.array is not None:
                self._variable(item, item.array, result)
        for item in found:
            if item.array is None:
                _attributes(self._groups[item.name], typed(item.node))

    def _group(self, item: Item) -> None:
        if item.name:
            above, _, name = item.name.rpartition("/")
            self._groups[item.name] = _sub(self._groups[above], "Group", name=name)

    def _variable(self, item: Item, array: Array, result: Exported) -> None:
        try:
            kind = _TYPES.get(array.dtype.str[1:])
            if kind is None:
                raise unsupported(f"DMR++ has no chunks of {array._node.dtype_label}")
            made = Xml.Element(f"{{{_DAP}}}{kind}", {"name": item.node.name})
            data = self._chunks(item, array) if item.links is not None else _values(array)
        except errors.UnsupportedError as error:
            result.left_out[item.node.path] = error.message
            return
        result.linked += item.links is not None
        result.inline += item.links is None
        above = item.name.rpartition("/")[0]
        for name, size in zip(self._names(item), array.shape, strict=True):
            place = self._dimension(above, name, size)
            _sub(made, "Dim", **({"name": place} if place else {"size": str(size)}))
        attributes = typed(item.node)
        if "_FillValue" in attributes:
            attributes["_FillValue"] = marker(item.node, "_FillValue", attributes["_FillValue"], array.dtype)
        _attributes(made, attributes)
        made.append(data)
        self._groups[above].append(made)

    def _names(self, item: Item) -> tuple[str, ...]:
        parent = self._repo[item.node.parent]
        assert isinstance(parent, Group)
        return dimension_names(parent, self._known)[item.node.name]

    def _dimension(self, group: str, name: str, size: int) -> str:
        """Return the path of a dimension of that size, here or above, or make it; empty if it can't be."""
        at = group
        while True:
            place = f"/{at}/{name}" if at else f"/{name}"
            if self._sizes.get(place) == size:
                return place
            if not at:
                break
            at = at.rpartition("/")[0]
        place = f"/{group}/{name}" if group else f"/{name}"
        if place in self._sizes:
            return ""
        self._sizes[place] = size
        made = Xml.Element(f"{{{_DAP}}}Dimension", {"name": name, "size": str(size)})
        self._groups[group].insert(sum(each.tag.endswith("}Dimension") for each in self._groups[group]), made)
        return place

    def _chunks(self, item: Item, array: Array) -> Xml.Element:
        """Return the chunks of a linked array as byte ranges of files."""
        links, (names, settings, order) = item.links, _codecs(array)
        assert links is not None
        if array.storage.references > len(links.chunks):
            raise unsupported("DMR++ holds chunks in files only, and the repository holds some of its chunks")
        made = Xml.Element(f"{{{_DMRPP}}}chunks", {"byteOrder": order, **settings})
        if array.storage.missing or "_FillValue" in array._node.attrs:
            made.set("fillValue", _number(array.fill_value))
        if names:
            made.set("compressionType", " ".join(names))
        if array.shape:
            _sub(made, "chunkDimensionSizes", _DMRPP).text = " ".join(map(str, array.chunks or ()))
        chunk = np.array(array.chunks, "i8")
        columns = (links.files, links.offsets, links.lengths)
        for place, file, offset, length in zip(
            (links.places * chunk).tolist(), *(each.tolist() for each in columns), strict=True
        ):
            each = _sub(made, "chunk", _DMRPP, offset=str(offset), nBytes=str(length))
            if array.shape:
                each.set("chunkPositionInArray", f"[{','.join(map(str, place))}]")
            if links.urls[file] != self._file:
                each.set("href", plain_address(links.urls[file]))
        return made


def _codecs(array: Array) -> tuple[list[str], dict[str, str], str]:
    """Return the filters of the chunks, their settings, and the byte order."""
    if array.shards is not None:
        raise unsupported("DMR++ has no shards")
    names, settings, order = [], {}, "LE"
    for codec in array.codecs:
        name, configuration = codec["name"], codec.get("configuration", {})
        if name == "bytes":
            order = "BE" if configuration.get("endian") == "big" else "LE"
            continue
        filter_ = _FILTERS.get(name.removeprefix("numcodecs."))
        if filter_ is None:
            raise unsupported(f"DMR++ has no codec {name}")
        if filter_ == "deflate":
            settings["deflateLevel"] = str(configuration.get("level", 6))
        names.append(filter_)
    return names, settings, order


def _values(array: Array) -> Xml.Element:
    made = Xml.Element(f"{{{_DMRPP}}}compact")
    made.text = b64encode(array.read().astype(array.dtype.newbyteorder("<")).tobytes()).decode()
    return made


def _attributes(element: Xml.Element, attributes: dict[str, Any]) -> None:
    """Add attributes in front of the chunks; what DAP4 has no type for becomes JSON text."""
    for name, value in attributes.items():
        many = np.asarray(value).reshape(-1) if not isinstance(value, dict) and value is not None else None
        kind = None if many is None else _TYPES.get(many.dtype.str[1:])
        if many is not None and kind is not None:
            texts = [_number(each) for each in many]
        elif many is not None and all(_is_text(each) for each in many.tolist()):
            kind, texts = "String", many.tolist()
        else:
            kind, texts = "String", [json.dumps(value, default=str)]
        made = _sub(element, "Attribute", name=name, type=kind)
        for text in texts:
            _sub(made, "Value").text = text


def _is_text(value: Any) -> bool:
    """Whether a value is text that XML can hold."""
    return isinstance(value, str) and all(letter >= " " or letter in "\t\n" for letter in value)


def _number(value: Any) -> str:
    return str(np.asarray(value)[()]) if np.asarray(value).dtype.kind in "iuf" else str(value)


def _sub(parent: Xml.Element, tag: str, namespace: str = _DAP, **attributes: str) -> Xml.Element:
    return Xml.SubElement(parent, f"{{{namespace}}}{tag}", attributes)
