"""The object that the native HTTP server calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from icecore import errors
from icecore.service.indexes import Indexes
from icecore.service.tables import table


class Delegate:
    """Answer what the native server does not.

    Args:
        cache: the directory for indexes of plain files; by default ``icecore/served`` in the user's cache.
    """

    def __init__(self, cache: Path | None = None) -> None:
        self._indexes = Indexes(cache)

    def index(self, file: str) -> str:
        """Return the repository that links the arrays of a file; it is made on first use.

        Raises:
            Error: those of :func:`icecore.link`.
        """
        return str(self._indexes.of(Path(file)))

    def answer(self, request: Mapping[str, Any]) -> tuple[str, Iterator[bytes]]:
        """Return the content type and the blocks of a reply.

        Raises:
            Error: it becomes the status of the reply.
        """
        if request["collection"] == "tables":
            return table(request)
        raise errors.make("unsupported", "this service has no products", "read arrays and tables")
