"""The object that the native HTTP server calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
