"""Failure of a source or of one of its arrays, as `link` and `pack` report it."""

from __future__ import annotations

from dataclasses import dataclass

from icecore import errors
from icecore.redaction import redact


@dataclass(frozen=True)
class Failure:
    """A source (or an array of one) that could not be used, and why."""

    name: str
    kind: str
    message: str
    hint: str = ""

    @classmethod
    def of(cls, name: str, error: errors.Error) -> Failure:
        """Return the failure of ``name`` for an error."""
        return cls(redact(name), error.kind, error.message, error.hint)
