"""Writing one array: whole, by region, or row by row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from icecore import errors
from icecore.display.text import label
from icecore.repository.selection import box
from icecore.writing import region_writes as resizing
from icecore.writing.row_appends import RowAppends
from icecore.writing.row_grid import RowGrid
from icecore.writing.synchronized import in_turn


class ArrayWriter(RowAppends):
    """``w.array(…)`` or ``w[path]``: ``a[...] = data``, ``a[10:20] = data``, ``a.append(row)``."""

    def __repr__(self) -> str:
        return f"<icecore.ArrayWriter {label(self.path)} {self.dtype} {self.shape}>"

    @in_turn
    def append(self, data: Any) -> None:
        """Append rows at the end of the first axis; returns when they are copied or queued for encoding.

        The call waits while the encoders' queue exceeds its share of the writer's ``memory``. It commits if
        ``commit_every`` or ``commit_seconds`` requires it. After Ctrl-C some of the rows may have been
        appended: complete rows, starting with the first. A later commit is consistent.

        Args:
            data: one row (shape of the other axes) or several (with the first axis). It is copied.

        Raises:
            Error: ``mismatch`` if the shape does not fit; ``dtype`` if a value does not fit
                (:func:`icecore.writing.open_array.elements`); the errors of writing and committing.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     t2m = w.array("/t2m", "f4", (0, 2))
            ...     t2m.append([1, 2])
            ...     t2m.append([[3, 4], [5, 6]])
            >>> repo.at("main")["/t2m"].shape
            (3, 2)
        """
        self._writer._mend()
        rows = self._elements(data)
        row = self._stored[1:]
        if self._stored and rows.shape == row:
            rows = rows[None]
        if not self._stored or rows.ndim != len(self._stored) or rows.shape[1:] != row:
            raise self._misfit(np.shape(data))
        self._writer._append_begins(self.path)
        self._fresh()
        self._add(rows)
        self._writer._append_ends(self.path)

    @in_turn
    def resize(self, shape: Sequence[int] | int) -> None:
        """Change the array's shape. New elements get the fill value, even if the array was larger before.

        Args:
            shape: length of each axis; the number of axes can't change.

        Raises:
            Error: ``invalid`` if ``shape`` is not a shape with as many axes.

        Example:
            >>> import icecore
            >>> repo = icecore.create("memory://")
            >>> with repo.writer() as w:
            ...     t2m = w.array("/t2m", "f4", (3,))
            ...     t2m[...] = [1, 2, 3]
            ...     t2m.resize((2,))
            >>> repo.at("main")["/t2m"][...].tolist()
            [1.0, 2.0]
        """
        self._settle()  # before the old shape is read
        shape = self._possible(shape)
        resized = partial(self._resized, self._stored, shape)
        try:
            with self._repairs.atomic(shape, resized):
                resized()
        except errors.Error:
            if self._stored != shape and len(self._repairs) == 1:  # raised, not interrupted
                self._document = {**self._document, "shape": list(self._stored)}
                self._repairs.close()
            raise

    def _resized(self, before: tuple[int, ...], shape: tuple[int, ...]) -> None:
        if self._adapting is not None:
            self._adapting.settled()
        self._resize(shape)
        for start, extent in resizing.edges(
            before, self._stored, [self._rows, *map(RowGrid, self.unit[1:])][: len(before)]
        ):
            for low, high in self._blocks(start, extent) if 0 not in extent else ():
                self._writer._native.write(self.path, low, self._block(low, high))
        if any(now > n for n, now in zip(before, self._stored, strict=True)):
            self._refill(before)

    @in_turn
    def reach(self, shape: tuple[int, ...], is_prepared: bool = False) -> None:
        """Change the array's shape without filling: the caller writes all new elements, or has written them
        already behind the stored ones (``is_prepared``).
        """
        self._settle()
        if self._adapting is not None:
            self._adapting.settled()
        more = shape[0] - self._stored[0] if shape and resizing.is_longer(self._stored, shape) else 0
        if more and not is_prepared:
            self._prepare(more)
        self._resize(shape)

    @in_turn
    def __setitem__(self, sel: Any, data: Any) -> None:
        """Write a box: ints and slices with positive steps.

        Partly covered shards are read, patched and written again. The new version shares unchanged chunks
        with the previous one.

        Raises:
            Error: ``selection``; ``mismatch`` and ``dtype`` as :meth:`append`.
        """
        self._settle()
        places, kept = box(sel, self.shape, self.path)
        shape = tuple(map(len, places))
        target = tuple(shape[axis] for axis in kept)
        found = self._elements(data)
        try:
            values = np.broadcast_to(found, target).reshape(shape)
        except ValueError:
            raise errors.make(
                "mismatch", f"data of shape {np.shape(data)} for a region of shape {target} of {self.path}"
            ) from None
        if self._compared != self._writer._history.count:
            self._writer._native.compare(self.path)
            self._compared = self._writer._history.count
        if all(axis.step == 1 or len(axis) == 1 for axis in places):
            self.write(tuple(axis.start for axis in places), values)
        else:
            self.write_strided(places, values)
