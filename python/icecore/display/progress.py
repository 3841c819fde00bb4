"""Progress that adds up."""

from __future__ import annotations

from collections.abc import Callable

#: called with (path, bytes just done)
Progress = Callable[[str, int], None]


def counted(progress: Callable[[str, int, int], None] | None, total: int | None = None) -> Progress:
    """Calls ``progress`` with (path, bytes done, bytes in all).

    What is done stands for an unknown ``total``.
    """
    done = 0

    def count(path: str, nbytes: int) -> None:
        nonlocal done
        done += nbytes
        if progress is not None:
            progress(path, done, done if total is None else total)

    return count
