"""Options that several commands share, each declared once, and the action for arrays that exist."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.options import option

if TYPE_CHECKING:
    from icecore.display.progress import ProgressCall

Place = str | os.PathLike[str]
#: help of ``--allow-links`` and of ``--storage``
ALLOW_LINKS = "Directory or URL that linked files may be read from; default: those recorded; may be repeated."
STORAGE = (
    "Setting of a store: region=…, profile=…, anon=true, s3://bucket.KEY=… for one bucket; may be repeated."
)


def storage() -> Any:
    """Return the option of the repository's store."""
    return option(
        None,
        "credentials of the repository's object store.",
        help=STORAGE,
        metavar="KEY=VALUE",
        kind=list,
    )


def message() -> Any:
    """Return the option of the commit message."""
    return option(
        None,
        "the commit message.",
        help="Commit message; default: command and files.",
        flags=("-m", "--message"),
        metavar="TEXT",
        is_once=True,
    )


def bandwidth(goal: str) -> Any:
    """Return the option of the store's speed, which the command line uses for ``goal``."""
    return option(
        None,
        'speed of the store for ``balanced``: bytes per second, or ``"200MB/s"`` (the default).',
        help=f"Speed of the store, for {goal}; default 200MB/s.",
        metavar="SPEED",
    )


def portable() -> Any:
    """Return the option that restricts codecs."""
    return option(
        False,
        "use only codecs that other Zarr readers have.",
        help="Only codecs that other Zarr readers have.",
    )


def progress(numbers: str) -> Any:
    """Return the option of progress, whose function is called with ``numbers``."""
    return option(
        None, f"true for a bar in a terminal or notebook; or a function that is called with ({numbers})."
    )


class Reported:
    """Options with ``progress``."""

    if TYPE_CHECKING:
        progress: bool | ProgressCall | None

    @property
    def call(self) -> ProgressCall | None:
        """The function that progress is reported to."""
        return self.progress if callable(self.progress) else None


@dataclass(frozen=True)
class Existing:
    """Action for an array that already exists: reject it (the default), or exactly one of the first three.

    ``over``: of an array that is extended, rows with the coordinates of new files are replaced by theirs.
    """

    append: bool = False
    replace: bool = False
    skip: bool = False
    over: bool = False

    def check(self, concat: str | None) -> None:
        """Reject contradictory options.

        Raises:
            Error: ``invalid`` if several are set, or ``append`` without a dimension.
        """
        if self.append + self.replace + self.skip > 1:
            raise errors.make(
                "invalid", "append, replace and skip-existing exclude each other", "name one of them"
            )
        if self.append and concat is None:
            raise errors.make(
                "invalid", "append needs the dimension to append along", "name it: --concat time"
            )
