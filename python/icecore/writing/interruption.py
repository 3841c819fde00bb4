"""Recovery of an array from an interruption (Ctrl-C) in the middle of a change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from icecore.writing.open_writer import OpenWriter


class Interruptible:
    """The part of an :class:`ArrayWriter` that repairs changes that were interrupted."""

    _writer: OpenWriter
    #: interrupted changes, innermost last: the shape that counts, and the function that repairs the array
    _halfway: list[tuple[tuple[int, ...], Callable[[], None]]]

    if TYPE_CHECKING:

        @property
        def shape(self) -> tuple[int, ...]: ...

    @contextmanager
    def _whole(self, mended: Callable[[], None], shape: tuple[int, ...] | None = None) -> Iterator[None]:
        """Around what is to be done or not: where Ctrl-C, say, breaks it off the next use of the writer calls
        ``mended``, more than once if that is broken off as well.

        Args:
            mended: leaves the array in ``shape``, wherever in the block or in itself it was broken off.
            shape: as it is now where None.
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
        """Set right what was broken off."""
        while self._halfway:
            self._halfway[-1][1]()
            self._over()
