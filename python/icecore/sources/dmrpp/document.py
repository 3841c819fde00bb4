"""A DMR++ document as references: groups, dimensions, attributes and variables."""

from __future__ import annotations

import json
import os
from typing import Any
from xml.etree import ElementTree

from icecore import errors
from icecore.sources.dmrpp.variable import TYPES, Variable, attribute_value, tag, wrong
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
