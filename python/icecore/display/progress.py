"""Callbacks that report progress."""

from __future__ import annotations

from collections.abc import Callable

#: called with (what was worked on, work done, all work): a path and bytes, or a name and pieces
ProgressCall = Callable[[str, int, int], None]
#: called with (path, newly finished bytes)
Progress = Callable[[str, int], None]


def counted(progress: ProgressCall | None, total: int | None = None) -> Progress:
    """Return a function that calls ``progress`` with (path, finished bytes, total bytes).

    If ``total`` is unknown, the finished bytes are passed instead.
    """
    done = 0

    def count(path: str, nbytes: int) -> None:
        nonlocal done
        done += nbytes
        if progress is not None:
            progress(path, done, done if total is None else total)

    return count
