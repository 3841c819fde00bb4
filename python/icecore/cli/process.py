"""Process settings of a command: garbage collection, memory reuse, signals, fast exit."""

from __future__ import annotations

import atexit
import ctypes
import io
import os
import re
import signal
import sys
from collections.abc import Sequence
from gc import freeze, set_threshold
from threading import Timer, main_thread
from typing import Any, NoReturn

from icecore import errors
from icecore.display.text import visible

#: number of new objects after which Python searches for reference cycles
_OBJECTS = 50_000
#: parameter numbers of glibc's mallopt (malloc.h), and the largest value of the second
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT, _OWN = 256 << 20, 32 << 20
#: exit status of Ctrl-C, and the base to which other signal numbers are added
_INTERRUPTED, _SIGNALLED = 130, 128
#: seconds until a lost Ctrl-C is repeated
_AGAIN = 0.05
_ended_by: list[int] = []


def configure() -> None:
    """Configure the process of a command; call it after the common imports."""
    _streams()
    # Commands don't use BLAS, but NumPy's BLAS would start threads that busy-wait.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imported objects live until the end and commands create few cycles, so collection is wasted time.
    freeze()
    set_threshold(_OBJECTS)
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return  # another C library
    # The kernel clears each new page, which costs as much as decoding into it: keep freed memory.
    mallopt(_M_TRIM_THRESHOLD, _KEPT)
    mallopt(_M_MMAP_THRESHOLD, _OWN)


def _streams() -> None:
    """Replace closed standard streams by the null device; escape characters that a terminal can't encode."""
    for name in (
        "stdin",
        "stdout",
        "stderr",
    ):  # descriptor order: open() reuses the closed one
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper) and name != "stdin":
            stream.reconfigure(errors="backslashreplace")


def handle_signals() -> None:
    """Handle SIGTERM and SIGHUP like Ctrl-C, so that partial output and scratch directories are removed.

    An ignored signal (``nohup``) stays ignored. A second signal ends the process at once.
    """
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)
    sys.unraisablehook = _lost


def _lost(what: sys.UnraisableHookArgs) -> None:
    """Repeat a Ctrl-C that Python dropped.

    Python ignores exceptions raised in destructors. KeyboardInterrupt is often raised there while h5py works.
    """
    if what.exc_type is KeyboardInterrupt:
        again = Timer(_AGAIN, signal.pthread_kill, (main_thread().ident, signal.SIGINT))
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(what)


def _end(number: int, _: Any) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)
    _ended_by.append(number)
    raise KeyboardInterrupt


def leave(status: int) -> NoReturn:
    """Exit without destroying Python objects one by one; the kernel frees the memory at once."""
    if status == _INTERRUPTED and _ended_by:
        status = _SIGNALLED + _ended_by[0]
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        sys.exit(status)  # Python reports the error of its output
    os._exit(status)


# Convert exceptions to an error message and an exit status.

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
