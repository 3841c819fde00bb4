"""The one family of exceptions: a kind, the facts, and what to try next.

The native module, the sources and the command line all raise through :func:`make`, so that an error has the
same ``kind`` in Rust, in Python and on the command line (``icecore: error[KIND]: …``).
"""

from __future__ import annotations


class Error(Exception):
    """Base of everything icecore raises on purpose.

    Attributes:
        kind: one of :data:`KINDS`, stable between releases; programs test this, not the message.
        message: what is wrong, with both sides of a mismatch and the name of the thing.
        hint: what to try next; may be empty.
    """

    kind: str = "internal"
    hint: str = ""

    def __init__(self, message: str = "", hint: str = "", *, kind: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if kind is not None:
            self.kind = kind

    def __str__(self) -> str:
        # KeyError shows the repr of its argument and OSError shows errno: neither helps a reader.
        return f"{self.message}\n  try: {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.kind, self.message, self.hint))


class NotFound(Error, KeyError):
    """A path, branch, tag or snapshot inside a repository does not exist."""


class FileMissing(Error, FileNotFoundError):
    """A file, folder or repository does not exist."""


class SelectionError(Error, IndexError):
    """A selection does not fit the array."""


class InvalidValue(Error, ValueError):
    """An argument, a document or data does not make sense."""


class UnsupportedError(Error, NotImplementedError, ValueError):
    """Well-formed, but icecore can't do it."""


class PermissionDenied(Error, PermissionError):
    """Not allowed: by the system, or by the prefixes that linked files may come from."""


class StorageError(Error, OSError):
    """Reading or writing bytes failed, or the bytes are not what they should be."""


class MemoryLimit(Error, MemoryError):
    """The answer would not fit the memory budget."""


class Interrupted(Error, KeyboardInterrupt):
    """The user stopped it."""


#: kind → the exception class that carries it.
KINDS: dict[str, type[Error]] = {
    "not-found": NotFound,
    "exists": InvalidValue,
    "selection": SelectionError,
    "mismatch": InvalidValue,
    "dtype": InvalidValue,
    "codec": InvalidValue,
    "corrupt": StorageError,
    "source-changed": StorageError,
    "source-missing": FileMissing,
    "link-not-allowed": PermissionDenied,
    "conflict": StorageError,
    "read-only": PermissionDenied,
    "permission": PermissionDenied,
    "io": StorageError,
    "network": StorageError,
    "format": InvalidValue,
    "unsupported": UnsupportedError,
    "memory": MemoryLimit,
    "invalid": InvalidValue,
    "interrupted": Interrupted,
    "internal": Error,
}


def make(kind: str, message: str, hint: str = "") -> Error:
    """The exception for ``kind`` (unknown kinds become a plain :class:`Error`), ready to raise."""
    return KINDS.get(kind, Error)(message, hint, kind=kind)


def or_rest(error: Error) -> Error:
    """An error about one thing of several, with the way to do without it."""
    hint = f"{error.hint}, or take the rest: --keep-going" if error.hint else "take the rest: --keep-going"
    return make(error.kind, error.message, hint)


def no_file(message: str, hint: str = "") -> Error:
    """A ``not-found`` error about a file or a repository, which users catch as ``FileNotFoundError``."""
    return FileMissing(message, hint, kind="not-found")


def _rebuild(cls: type[Error], kind: str, message: str, hint: str) -> Error:
    return cls(message, hint, kind=kind)
