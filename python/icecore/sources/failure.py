"""A source, or an array of one, that could not be used: what `link` and `pack` report."""

from __future__ import annotations

from dataclasses import dataclass

from icecore import errors


@dataclass(frozen=True)
class Failure:
    """A source (or an array of one) that could not be used, and why."""

    name: str
    kind: str
    message: str
    hint: str = ""

    @classmethod
    def of(cls, name: str, error: errors.Error) -> Failure:
        """The failure that an error means for ``name``."""
        return cls(name, error.kind, error.message, error.hint)
