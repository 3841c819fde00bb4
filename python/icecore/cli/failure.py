"""Convert exceptions to an error message and an exit status."""

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
#: messages of the dynamic loader when memory is exhausted
_UNMAPPED = re.compile("failed to map segment|[Cc]annot allocate memory|cannot map")

#: kind → default hint
_HINTS = {
    "not-found": "check the name: `icecore ls` lists a repository, `ls` a directory",
    "exists": "choose another name",
    "permission": "check the permissions of the file or directory",
    "memory": "select a smaller part, or set a larger --memory",
    "io": "check the path, its permissions and the free space",
    "network": "check the address and the connection",
    "conflict": "open the new version and try again",
    "dtype": "`icecore info` shows the dtypes of arrays",
    "corrupt": "compare it with the original; `icecore verify --deep` lists damaged objects of a repository",
    "interrupted": "",
}


def describe(error: BaseException, arguments: Sequence[str]) -> tuple[str, int]:
    """Return the message (``icecore: error[KIND]: …``, on the next line ``  try: …``) and the exit status."""
    if isinstance(error, errors.Error):
        return _format(error.kind, error.message, error.hint), 2
    usage = getattr(error, "format_message", None)
    if type(error).__name__ == "NoArgsIsHelpError" and usage is not None:
        return usage(), 2
    if usage is not None:  # a usage error of the command-line parser (typer or click)
        known = bool(arguments) and "No such command" not in usage()
        verb = f" {arguments[0]}" if known and not arguments[0].startswith("-") else ""
        return _format("invalid", usage(), f"icecore{verb} --help"), 2
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "Abort":
        return _format("interrupted", str(error) or "stopped", ""), 130
    if isinstance(error, UnicodeEncodeError) and "surrogates" in error.reason:
        return _format("invalid", f"{error.object:.60} is not UTF-8", "use UTF-8"), 2
    for kind_of, kind in _KINDS:
        if isinstance(error, kind_of):
            return _format(kind, str(error) or type(error).__name__, ""), 2
    if isinstance(error, ImportError) and _UNMAPPED.search(str(error)):
        name = error.name or "a library"
        message = f"not enough memory to load {name.partition('.')[0]}"
        return _format("memory", message, "raise the limit on memory: `ulimit -v`"), 2
    message = f"{type(error).__name__}: {error}"
    return _format("internal", message, "run it again with --debug and report the traceback"), 2


def _format(kind: str, message: str, hint: str) -> str:
    text = f"icecore: error[{kind}]: {message}"
    hint = hint or _HINTS.get(kind, "icecore COMMAND --help lists the options")
    return visible(f"{text}\n  try: {hint}" if hint else text)
