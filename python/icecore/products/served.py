"""Products over HTTP: their names, their parameters as JSON Schema, and their rows as they are computed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from icecore import errors
from icecore.products.area import area
from icecore.products.inputs import Inputs, Source, listed
from icecore.products.registry import BUILT_IN, Product, find
from icecore.products.rows import Rows
from icecore.products.values import bind
from icecore.repository.group import Group
from icecore.service.tables import TYPES, accepted, blocks, from_json, repository

_JSON = "application/json"
_MEMBERS = ("sources", "parameters")


def product(request: Mapping[str, Any], plugins: frozenset[str]) -> tuple[str, Iterator[bytes]]:
    """Answer ``GET /products``, ``GET /products/NAME`` and ``POST /products/NAME``.

    Args:
        request: as the native server passes it.
        plugins: names of products of other packages that are offered, besides the built-in ones.

    Raises:
        Error: ``not-found`` for an unknown product; ``invalid`` for a wrong body or parameter; those of the
            product, until its first block is sent.
    """
    offered = sorted({*BUILT_IN, *plugins})
    name, suffix = _name_and_suffix(request["name"])
    if not name:
        return _json({"products": [{"name": each, "description": _described(each)} for each in offered]})
    if name not in offered:
        raise errors.make("not-found", f"no product {name}", f"there are {', '.join(offered)}")
    found = find(name)
    if request["method"] == "GET":
        return _json(found.signature.schema())
    suffix = suffix or accepted(request["accept"])
    return TYPES[suffix], blocks(_computed(name, found, request), suffix)


def _computed(name: str, found: Product, request: Mapping[str, Any]) -> Rows:
    body = from_json("the body", request["body"], 'send {"sources": ["/REPOSITORY"]}')
    if not isinstance(body, dict):
        raise errors.make("invalid", "the body is not an object", 'send {"sources": ["/REPOSITORY"]}')
    if unknown := sorted(set(body) - set(_MEMBERS)):
        raise errors.make(
            "invalid", f"unknown member {unknown[0]!r} of the body", f"use {', '.join(_MEMBERS)}"
        )
    parameters = body.get("parameters", {})
    if not isinstance(parameters, dict):
        raise errors.make("invalid", "parameters must be an object", 'send {"parameters": {"res": 20}}')
    bound = bind(found.signature, {key: _without_files(key, value) for key, value in parameters.items()})
    inputs = Served(request["located"], found.variables, request["locate"])
    return Rows.of(name, found.function(inputs, **bound))


class Served(Inputs):
    """Sources that the server has found, under the names of their domains.

    Args:
        locate: returns the node of a domain that the request's user may read.
    """

    def __init__(
        self,
        located: list[Mapping[str, Any]],
        variables: list[str] | None,
        locate: Callable[[str], Mapping[str, Any]],
    ) -> None:
        super().__init__([node["domain"] for node in located], None, variables=variables)
        self._located = {node["domain"]: node for node in located}
        self._locate = locate

    def others(self, names: Any, variables: list[str] | None = None) -> list[Source]:
        """Open the domains that a parameter names."""
        located = [self._locate(name) for name in listed(names)]
        return Served(located, variables, self._locate).open_all()

    @property
    def are_joined_several(self) -> bool:
        """Whether there is more than one domain."""
        return len(self.names) > 1

    def joined(self) -> Iterator[Source]:
        """Yield the domains."""
        yield from self

    def _expanded(self) -> Iterator[str]:
        yield from self.names

    def _open(self, name: str) -> Source:
        node = self._located[name]
        repo = repository(node)
        root = repo[node["path"]]
        if not isinstance(root, Group):
            raise errors.make("mismatch", f"{name} is an array", "name its group")
        return Source(name, repo, root.path)


def _without_files(name: str, value: Any) -> Any:
    """Return a parameter. The service reads no files for its clients, so an area must be given as JSON."""
    if name != "poly":
        return value
    geometry = (
        from_json(name, value, "send a GeoJSON geometry, or points") if isinstance(value, str) else value
    )
    if not isinstance(geometry, (dict, list, type(None))):
        raise errors.make("invalid", f"poly is not an area (got {type(geometry).__name__})", "send GeoJSON")
    area(geometry)
    return geometry


def _name_and_suffix(name: str) -> tuple[str, str]:
    for suffix in TYPES:
        if name.endswith(suffix):
            return name.removesuffix(suffix), suffix
    return name, ""


def _described(name: str) -> str:
    return find(name).signature.doc


def _json(value: Any) -> tuple[str, Iterator[bytes]]:
    return _JSON, iter([json.dumps(value).encode()])
