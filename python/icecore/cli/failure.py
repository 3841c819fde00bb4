"""Exceptions → what is printed and the exit status."""

from __future__ import annotations

import re
from collections.abc import Sequence

from icecore import errors
from icecore.display.text import visible

_KINDS: tuple[tuple[type[BaseException], str], ...] = (
    (FileNotFoundError, "not-found"),
    (PermissionError, "permission"),
    (MemoryError, "memory"),
    (OSError, "io"),
)
#: what the loader of libraries says where a process may have no more memory
_UNMAPPED = re.compile("failed to map segment|[Cc]annot allocate memory|cannot map")

#: what to try where whoever raised the error didn't say
_HINTS = {
    "not-found": "check the name: `icecore ls` shows the nodes of a repository, `ls` the files of a folder",
    "exists": "choose another name",
    "permission": "check who may read and write there",
    "memory": "ask for a smaller part, or give more --memory",
    "io": "check that the path is right, that it can be written, and that there is space",
    "network": "check the address and the connection",
    "conflict": "read the new version and try again",
    "dtype": "`icecore info` shows the types of arrays",
    "corrupt": "compare it with its original; `icecore verify --deep` names what is damaged in a repository",
    "interrupted": "",
}


def describe(error: BaseException, arguments: Sequence[str]) -> tuple[str, int]:
    """``icecore: error[KIND]: …`` with ``  try: …`` below it, and the exit status."""
    if isinstance(error, errors.Error):
        return _format(error.kind, error.message, error.hint), 2
    usage = getattr(error, "format_message", None)
    if type(error).__name__ == "NoArgsIsHelpError" and usage is not None:
        return usage(), 2
    if usage is not None:  # the parser of the command line, whichever package it lives in
        known = bool(arguments) and "No such command" not in usage()
        verb = f" {arguments[0]}" if known and not arguments[0].startswith("-") else ""
        return _format("invalid", usage(), f"icecore{verb} --help"), 2
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "Abort":
        return _format("interrupted", str(error) or "stopped", ""), 130
    if isinstance(error, UnicodeEncodeError) and "surrogates" in error.reason:
        return _format("invalid", f"{error.object:.60} is not UTF-8", "write it in UTF-8"), 2
    for kind_of, kind in _KINDS:
        if isinstance(error, kind_of):
            return _format(kind, str(error) or type(error).__name__, ""), 2
    if isinstance(error, ImportError) and _UNMAPPED.search(str(error)):
        name = error.name or "a library"
        message = f"there is no memory to load {name.partition('.')[0]}"
        return _format("memory", message, "raise the limit on memory: `ulimit -v`"), 2
    message = f"{type(error).__name__}: {error}"
    return _format("internal", message, "run it again with --debug, and report what it prints"), 2


def _format(kind: str, message: str, hint: str) -> str:
    text = f"icecore: error[{kind}]: {message}"
    hint = hint or _HINTS.get(kind, "icecore VERB --help shows what a verb takes")
    return visible(f"{text}\n  try: {hint}" if hint else text)
