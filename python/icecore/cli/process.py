"""A command's own process: less to collect, memory that is used again, and a quick end."""

from __future__ import annotations

import atexit
import ctypes
import io
import os
import signal
import sys
from gc import freeze, set_threshold
from threading import Timer, main_thread
from typing import Any, NoReturn

#: objects that are made before Python looks for cycles among them
_OBJECTS = 50_000
#: glibc's numbers of the two settings (malloc.h), and the most that it takes for the second
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT, _OWN = 256 << 20, 32 << 20
#: exit statuses: that of Ctrl-C, and what the numbers of other signals are added to
_INTERRUPTED, _SIGNALLED = 130, 128
#: seconds until Ctrl-C is tried again where it was lost
_AGAIN = 0.05
_ended_by: list[int] = []


def settle() -> None:
    """Set up the process of one command; to be called when all that is always needed was imported."""
    _streams()
    # No command multiplies matrices; NumPy's library for that starts threads all the same, which wait awake.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # What was imported stays, and a command leaves few cycles behind: looking for them took its time.
    freeze()
    set_threshold(_OBJECTS)
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return  # another C library
    # New memory comes in pages that the kernel clears one by one, which costs as much as decoding into them.
    mallopt(_M_TRIM_THRESHOLD, _KEPT)
    mallopt(_M_MMAP_THRESHOLD, _OWN)


def _streams() -> None:
    """What was closed is nothing; what a terminal has no letters for is written as Python writes it."""
    for name in ("stdin", "stdout", "stderr"):  # in this order each takes the place of the one that is closed
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper) and name != "stdin":
            stream.reconfigure(errors="backslashreplace")


def heed() -> None:
    """Let the signals that end a batch job or close a terminal do what Ctrl-C does: nothing half-written and
    no scratch folder stays. One that is ignored (``nohup``) stays so; a second one ends the process at once.
    """
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)
    sys.unraisablehook = _lost


def _lost(what: sys.UnraisableHookArgs) -> None:
    """Python drops what is raised while an object is taken apart, Ctrl-C too, which often comes just there
    when h5py is at work. Then it comes again.
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
    """End the process: the kernel takes back as a whole what Python would take apart object by object."""
    if status == _INTERRUPTED and _ended_by:
        status = _SIGNALLED + _ended_by[0]
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        sys.exit(status)  # Python says what is wrong with its output
    os._exit(status)
