"""The object that the native HTTP server calls."""

from __future__ import annotations

import gzip
import mimetypes
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from icecore import errors

#: content type and data blocks of a reply
Reply = tuple[str, Iterator[bytes]]


class Delegate:
    """Answers the requests that the native server delegates.

    Args:
        index: returns the repository that links the arrays of a file; it may raise the errors of
            :func:`icecore.link`.
        answers: collection of URLs (``tables``, ``products``) → the function that answers its requests. A
            request is a dictionary with ``collection``, ``name``, ``method``, ``located`` (nodes of
            repositories that the user may read), ``params``, ``accept`` and ``body``.
    """

    def __init__(
        self, index: Callable[[str], str], answers: Mapping[str, Callable[[Mapping[str, Any]], Reply]]
    ) -> None:
        self.index = index
        self._answers = answers

    def answer(self, request: Mapping[str, Any]) -> Reply:
        """Return the content type and the blocks of a reply.

        Raises:
            Error: it becomes the status of the reply.
        """
        collection = request["collection"]
        if collection not in self._answers:
            raise errors.make(
                "unsupported", f"this service has no {collection}", f"it has {', '.join(self._answers)}"
            )
        return self._answers[collection](request)


# Files of the page. They are in the package as gzip, as browsers take them.

PLACE = Path(__file__).with_name("page")
_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html; charset=utf-8"}


def page_file(request: Mapping[str, Any]) -> tuple[str, Iterator[bytes]]:
    """Return the content type and the bytes of a file; compressed if the parameter ``gzip`` is given.

    Raises:
        Error: ``not-found``.
    """
    name = request["name"]
    found = PLACE / f"{name}.gz"
    if name not in names():
        raise errors.make("not-found", f"the page has no file {name}", "open /view/")
    data = found.read_bytes()
    suffix = found.with_suffix("").suffix
    kind = _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    return kind, iter([data if "gzip" in dict(request["params"]) else gzip.decompress(data)])


def names() -> frozenset[str]:
    """Return the names of all files of the page."""
    return frozenset(found.relative_to(PLACE).as_posix().removesuffix(".gz") for found in PLACE.rglob("*.gz"))
