"""Exceptions → what is printed and the exit status."""

from __future__ import annotations

from collections.abc import Sequence

from icecore import errors

_KINDS: tuple[tuple[type[BaseException], str], ...] = (
    (FileNotFoundError, "not-found"),
    (PermissionError, "permission"),
    (MemoryError, "memory"),
    (OSError, "io"),
)


def describe(error: BaseException, arguments: Sequence[str]) -> tuple[str, int]:
    """``icecore: error[KIND]: …`` with ``  try: …`` below it, and the exit status."""
    if isinstance(error, errors.Error):
        return _format(error.kind, error.message, error.hint), 2
    usage = getattr(error, "format_message", None)
    if usage is not None:  # the parser of the command line, whichever package it lives in
        known = bool(arguments) and "No such command" not in usage()
        verb = f" {arguments[0]}" if known and not arguments[0].startswith("-") else ""
        return _format("invalid", usage(), f"icecore{verb} --help"), 2
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "Abort":
        return _format("interrupted", "stopped", ""), 130
    for kind_of, kind in _KINDS:
        if isinstance(error, kind_of):
            return _format(kind, str(error) or type(error).__name__, ""), 2
    message = f"{type(error).__name__}: {error}"
    return _format("internal", message, "run it again with --debug, and report what it prints"), 2


def _format(kind: str, message: str, hint: str) -> str:
    text = f"icecore: error[{kind}]: {message}"
    return f"{text}\n  try: {hint}" if hint else text
