"""Rows of a table over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from icecore import errors
from icecore.service.opened import repository
from icecore.service.streams import TYPES, accepted, blocks

#: longest number of rows
_DIGITS = 18
#: parameters of a URL
_PARAMETERS = ("columns", "where", "within", "xy", "source", "limit")


def table(request: Mapping[str, Any]) -> tuple[str, Iterator[bytes]]:
    """Answer ``/tables/REPO/TABLE.csv?columns=a,b&where=…``.

    Parameters: ``columns`` and ``xy`` are lists with commas, ``where`` a where-clause, ``within`` GeoJSON,
    ``source`` a glob of source files, ``limit`` a number of rows.

    Raises:
        Error: ``invalid`` for an unknown parameter or a wrong value, and those of
            :meth:`icecore.Table.scan`; ``unsupported`` if no accepted format can be written.
    """
    suffix = request["name"] or accepted(request["accept"])
    options = parameters(dict(request["params"]))
    (node,) = request["located"]
    rows = repository(node).table(node["path"]).scan(**options)
    return TYPES[suffix], blocks(rows, suffix)


def parameters(given: dict[str, str]) -> dict[str, Any]:
    """Return the arguments of a scan from parameters of a URL."""
    if unknown := sorted(set(given) - set(_PARAMETERS)):
        raise errors.make(
            "invalid", f"unknown parameter {unknown[0]}", f"tables have {', '.join(_PARAMETERS)}"
        )
    options: dict[str, Any] = dict(given)
    for name in ("columns", "xy"):
        if name in options:
            options[name] = tuple(part.strip() for part in given[name].split(","))
    if "xy" in options and len(options["xy"]) != 2:
        raise errors.make("invalid", f"xy={given['xy']} names {len(options['xy'])} columns", "xy=lon,lat")
    if "limit" in options:
        if not given["limit"].isdecimal() or len(given["limit"]) > _DIGITS:
            raise errors.make("invalid", f"limit={given['limit']}", "give a number of rows")
        options["limit"] = int(given["limit"])
    if "within" in options:
        options["within"] = geometry(given["within"])
    return options


def geometry(text: str) -> dict[str, Any]:
    """Return GeoJSON from a parameter. Paths are rejected: the service reads no files for its clients."""
    found = from_json("within", text, "send a GeoJSON geometry")
    if not isinstance(found, dict):
        raise errors.make(
            "invalid", f"within is not GeoJSON (got {type(found).__name__})", "send a geometry as JSON"
        )
    return found


def from_json(name: str, text: str | bytes, hint: str) -> Any:
    """Return the value of a text that a client sent.

    Raises:
        Error: ``invalid`` if it is not JSON, or is nested too deeply.
    """
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise errors.make("invalid", f"{name} is not JSON: {reason}", hint) from None
