"""Recovery of an array from an interruption (Ctrl-C) in the middle of a change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from icecore.writing.open_writer import OpenWriter


class Interruptible:
    """Part of :class:`ArrayWriter` that repairs interrupted changes."""

    _writer: OpenWriter
    #: interrupted changes, innermost last: the valid shape, and the function that repairs the array
    _halfway: list[tuple[tuple[int, ...], Callable[[], None]]]

    if TYPE_CHECKING:

        @property
        def shape(self) -> tuple[int, ...]: ...

    @contextmanager
    def _whole(self, mended: Callable[[], None], shape: tuple[int, ...] | None = None) -> Iterator[None]:
        """Make a ``with`` block atomic: after an interruption the next use of the writer calls ``mended``,
        again if that is interrupted too.

        Args:
            mended: repairs the array so that it has ``shape``, wherever the block or ``mended`` was
                interrupted.
            shape: shape after the repair; by default the current one.
        """
        self._writer._torn = self
        self._halfway.append((self.shape if shape is None else shape, mended))
        yield
        self._over()

    def _over(self) -> None:
        self._halfway.pop()
        if not self._halfway:
            self._writer._torn = None

    def mend(self) -> None:
        """Repair interrupted changes, the innermost first."""
        while self._halfway:
            self._halfway[-1][1]()
            self._over()
