"""Exceptions: each has a kind, a message and a hint.

The native module, the sources and the command line all raise through :func:`make`. An error therefore has
the same ``kind`` in Rust, in Python and on the command line (``icecore: error[KIND]: …``).
"""

from __future__ import annotations

from icecore.redaction import redact


class Error(Exception):
    """Base class of all errors that icecore raises on purpose.

    Attributes:
        kind: one of :data:`KINDS`, stable between releases; programs should test it, not the message.
        message: the object, what is wrong, and for a mismatch both sides; without the secrets of addresses.
        hint: what to do next; may be empty.

    Example:
        >>> import icecore
        >>> try:
        ...     icecore.create("memory://")["/t2m"]
        ... except icecore.Error as error:
        ...     print(error.kind)
        not-found
    """

    kind: str = "internal"
    hint: str = ""

    def __init__(self, message: str = "", hint: str = "", *, kind: str | None = None) -> None:
        message = redact(message)
        super().__init__(message)
        self.message = message
        self.hint = redact(hint)
        if kind is not None:
            self.kind = kind

    def __str__(self) -> str:
        # KeyError would print the repr of the message, and OSError its errno.
        return f"{self.message}\n  try: {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.kind, self.message, self.hint))


class NotFound(Error, KeyError):
    """A path, branch, tag or snapshot inside a repository does not exist."""


class FileMissing(Error, FileNotFoundError):
    """A file, directory or repository does not exist."""


class SelectionError(Error, IndexError):
    """A selection does not fit the array."""


class InvalidValue(Error, ValueError):
    """An argument, a metadata document or a value is not valid."""


class UnsupportedError(Error, NotImplementedError, ValueError):
    """The input is valid, but icecore does not support it."""


class PermissionDenied(Error, PermissionError):
    """The operating system denies access, or a linked file is outside the allowed URL prefixes."""


class StorageError(Error, OSError):
    """Reading or writing failed, or the stored bytes are damaged or have changed."""


class MemoryLimit(Error, MemoryError):
    """The result would not fit the memory budget."""


class Interrupted(Error, KeyboardInterrupt):
    """The user interrupted the operation."""


#: kind → exception class
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
    """Return the exception for ``kind``; a kind that is not in :data:`KINDS` gives a plain :class:`Error`."""
    return KINDS.get(kind, Error)(message, hint, kind=kind)


#: the name on the package index; the module, the command and the stored format are called icecore
DISTRIBUTION = "icecore-archive"
#: extra → the packages that it installs, by the names that Python imports
EXTRAS: dict[str, tuple[str, ...]] = {
    "xarray": ("xarray",),
    "dask": ("dask", "distributed"),
    "zarr": ("zarr", "numcodecs", "icechunk"),
    "plot": ("matplotlib",),
    "table": ("pyarrow", "pandas", "polars", "shapely"),
    "plugins": ("hdf5plugin",),
    "pds": ("pvl", "backports"),
    "votable": ("astropy",),
    "root": ("awkward", "uproot"),
    "gw": ("gwpy", "igwn_segments"),
    "find": ("earthaccess", "pystac_client", "gwosc", "gwdatafind"),
    "serve": (),
    "all": (),
}


def extra_of(module: str) -> str:
    """Return the extra that installs a module, ``"all"`` for one that no extra names.

    Example:
        >>> extra_of("pyarrow.parquet")
        'table'
    """
    package = module.partition(".")[0]
    return next((extra for extra, packages in EXTRAS.items() if package in packages), "all")


def installing(extra: str) -> str:
    """Return the command that installs an extra.

    Raises:
        Error: ``invalid`` for an unknown extra.

    Example:
        >>> installing("table")
        "pip install 'icecore-archive[table]'"
    """
    if extra not in EXTRAS:
        raise make("invalid", f"{DISTRIBUTION} has no extra {extra!r}", f"one of {', '.join(EXTRAS)}")
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def needs(extra: str, message: str, otherwise: str = "") -> Error:
    """Return the ``unsupported`` error of a function that needs an extra; its hint installs the extra.

    Args:
        extra: a key of :data:`EXTRAS`.
        message: the function or the input, and the package that is missing.
        otherwise: another way, for the end of the hint.

    Raises:
        Error: ``invalid`` for an unknown extra.

    Example:
        >>> print(needs("plot", "figures need matplotlib"))
        figures need matplotlib
          try: pip install 'icecore-archive[plot]'
    """
    hint = installing(extra)
    return make("unsupported", message, f"{hint}, or {otherwise}" if otherwise else hint)


def or_rest(error: Error) -> Error:
    """Return ``error`` with a hint that ``--keep-going`` skips the object that failed."""
    skip = "skip it and continue: --keep-going"
    hint = f"{error.hint}, or {skip}" if error.hint else skip
    return make(error.kind, error.message, hint)


def no_file(message: str, hint: str = "") -> Error:
    """Return a ``not-found`` error about a file or a repository; it is a ``FileNotFoundError``."""
    return FileMissing(message, hint, kind="not-found")


def _rebuild(cls: type[Error], kind: str, message: str, hint: str) -> Error:
    return cls(message, hint, kind=kind)
