"""Rows of a table over HTTP."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from icecore import errors
from icecore.repository.open import open as open_repository
from icecore.repository.repo import Repo
from icecore.tables.query.export import STREAMS, Rows

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


# Versions of repositories that requests have named.


def repository(node: Mapping[str, Any]) -> Repo:
    """Open the version of a repository that the server found."""
    allowed = node["allow_links"]
    return _opened(
        node["url"],
        node["snapshot"],
        tuple(sorted(node["storage"].items())),
        None if allowed is None else tuple(allowed),
    )


@lru_cache(maxsize=32)
def _opened(
    url: str, snapshot: str, storage: tuple[tuple[str, str], ...], allowed: tuple[str, ...] | None
) -> Repo:
    return open_repository(
        f"{url}@{snapshot}",
        storage=dict(storage) or None,
        allow_links=None if allowed is None else list(allowed),
    )


# Stream rows as files of several formats, block by block.

#: size of a block in bytes
_BLOCK = 1 << 20
#: content types by suffix; the first one that a client accepts is sent
TYPES = {
    ".arrow": "application/vnd.apache.arrow.file",
    ".arrows": "application/vnd.apache.arrow.stream",
    ".parquet": "application/vnd.apache.parquet",
    ".geoparquet": "application/vnd.apache.parquet",
    ".csv": "text/csv; charset=utf-8",
}


def blocks(rows: Rows, suffix: str) -> Iterator[bytes]:
    """Yield a file of this format in blocks; rows are read as the blocks are consumed."""
    sink = io.BytesIO()
    for _ in STREAMS[suffix](rows, _SinkFile(sink)):
        if sink.tell() >= _BLOCK:
            yield _taken(sink)
    yield _taken(sink)


class _SinkFile(io.RawIOBase):
    """File object that appends to a sink; positions count all written bytes, including consumed ones."""

    def __init__(self, sink: io.BytesIO) -> None:
        self._sink = sink
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        length = self._sink.write(data)
        self._position += length
        return length

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        """Do nothing: writers close their sink before the last bytes are consumed."""


def _taken(sink: io.BytesIO) -> bytes:
    taken = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return taken


def accepted(accept: str) -> str:
    """Return the suffix of the first supported format in an ``Accept`` header; CSV if any is accepted."""
    kinds = [each.split(";")[0].strip().lower() for each in accept.split(",")]
    for kind in kinds:
        for suffix, content in TYPES.items():
            if kind == content.split(";")[0]:
                return suffix
    if not accept.strip() or {"*/*", "text/*"} & set(kinds):
        return ".csv"
    raise errors.make(
        "unsupported", f"tables can't be sent as {accept}", f"Accept: one of {', '.join(TYPES.values())}"
    )
