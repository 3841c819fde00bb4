"""Writing one array: whole, by region, or row by row. Only whole shards reach the engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import prod
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.analyzer.adaptive_codec import Adapting
from icecore.analyzer.measure import checked, is_bare
from icecore.codecs.spec import Codec
from icecore.display.text import label
from icecore.layout import layout
from icecore.repository.nodes import OURS, Node
from icecore.repository.selection import box, is_int
from icecore.repository.typed_attributes import fill
from icecore.writing import resize as resizing
from icecore.writing.append_buffer import Tail, tail
from icecore.writing.box_split import halved
from icecore.writing.elements import elements
from icecore.writing.shard_replan import Suiting
from icecore.writing.synchronized import in_turn

if TYPE_CHECKING:
    from icecore.writing.writer import Writer


class ArrayWriter:
    """``w.array(…)`` or ``w[path]``: ``a[...] = data``, ``a[10:20] = data``, ``a.append(row)``."""

    def __init__(
        self,
        writer: Writer,
        node: Node,
        dtype: np.dtype[Any],
        suiting: Suiting | None = None,
        new: bool = False,
    ) -> None:
        """``new``: the array is being made; one of its path that is stored is another one."""
        self._writer, self._turn, self.path = writer, writer._turn, node.path
        self._adapting = Adapting.of(node, dtype, int if new else self._bytes)
        self._suiting = suiting
        self._document = node.document
        self.dtype = dtype
        self._stored = node.shape
        chunk, shard = node.grid
        unit = shard or chunk
        if unit is None:
            raise errors.make(
                "unsupported", f"{self.path} has chunks of different shapes", "pack it into a new array first"
            )
        self.unit = unit
        self._tail: Tail | None = None
        self.is_deleted = False
        self._seen = writer._commits
        self._bare = _bare(node)
        self._compared = writer._commits if new else None
        #: what was broken off in the middle, innermost last: the shape that counts, and what sets it right
        self._halfway: list[tuple[tuple[int, ...], Callable[[], None]]] = []

    def __repr__(self) -> str:
        return f"<icecore.ArrayWriter {label(self.path)} {self.dtype} {self.shape}>"

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis, appended rows that are not written yet included."""
        if self._halfway:
            return self._halfway[0][0]
        return self._stored if self._tail is None else (self._tail.stop, *self._stored[1:])

    @in_turn
    def append(self, data: Any) -> None:
        """Append rows at the end of the first axis; returns when they are copied or queued for encoding.

        It waits while the encoders' queue exceeds its part of the writer's ``memory``, and commits if
        ``commit_every`` or ``commit_seconds`` requires it. After Ctrl-C some of the rows may have been
        appended: complete rows, from the first on. A later commit is consistent.

        Args:
            data: one row (shape of the other axes) or several (with the first axis). It is copied.

        Raises:
            Error: ``mismatch`` if the shape does not fit; ``dtype`` if a value does not fit
                (:func:`icecore.writing.elements.elements`); the errors of writing and committing.

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

    def _add(self, rows: np.ndarray) -> None:
        while len(rows):
            if self._tail is None:
                if len(rows) >= self.unit[0] and self._stored[0] % self.unit[0] == 0:
                    rows = rows[self._write_whole(rows) :]
                    continue
                self._tail = self._open_tail()
            rows = rows[self._tail.take(rows) :]
            if self._tail.full and not self._lengthen():
                self._write_tail()

    @in_turn
    def resize(self, shape: Sequence[int] | int) -> None:
        """Change the array's shape. New elements get the fill value, even where the array had been larger.

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
        self._settle()  # before anything is said of what there was
        shape = self._possible(shape)
        resized = partial(self._resized, self._stored, shape)
        try:
            with self._whole(resized, shape):
                resized()
        except errors.Error:
            if self._stored != shape and len(self._halfway) == 1:  # refused, not broken off
                self._document = {**self._document, "shape": list(self._stored)}
                self._over()
            raise

    def _resized(self, before: tuple[int, ...], shape: tuple[int, ...]) -> None:
        if self._adapting is not None:
            self._adapting.settled()
        self._resize(shape)
        for start, extent in resizing.edges(before, self._stored, self.unit):
            for low, high in self._blocks(start, extent) if 0 not in extent else ():
                self._writer._native.write(self.path, low, self._block(low, high))
        if any(now > n for n, now in zip(before, self._stored, strict=True)):
            self._refill(before)

    @in_turn
    def reach(self, shape: tuple[int, ...]) -> None:
        """Change the array's shape, where all that is new is written by the caller, or was behind the end."""
        self._settle()
        if self._adapting is not None:
            self._adapting.settled()
        self._resize(shape)

    def _refill(self, before: tuple[int, ...]) -> None:
        """Put the fill value where old chunks reach into what is new: cut off since the last commit, or by
        another program, which may have left them.
        """
        found = self._writer._pending().array(self.path).held()
        fill = self._writer._view()._array(self.path).fill_value
        for start, extent in resizing.exposed(found[1], self.unit, before, self._stored) if found else ():
            part = self._block(start, tuple(a + n for a, n in zip(start, extent, strict=True)))
            fresh = np.full_like(part, fill)
            if not resizing.same(part, fresh):
                self.write(start, fresh)

    @in_turn
    def __setitem__(self, sel: Any, data: Any) -> None:
        """Write a box: ints and slices with step 1. Parts of shards are read, patched and written
        again; what stays the same is shared with the version before.

        Raises:
            Error: ``selection``; ``mismatch`` and ``dtype`` as :meth:`append`.
        """
        self._settle()
        start, stop, kept = box(sel, self.shape, self.path)
        shape = tuple(b - a for a, b in zip(start, stop, strict=True))
        target = tuple(shape[axis] for axis in kept)
        found = self._elements(data)
        try:
            values = np.broadcast_to(found, target).reshape(shape)
        except ValueError:
            raise errors.make(
                "mismatch", f"data of shape {np.shape(data)} for a region of shape {target} of {self.path}"
            ) from None
        if self._compared != self._writer._commits:
            self._writer._native.compare(self.path)
            self._compared = self._writer._commits
        self.write(start, values)

    def write(self, start: tuple[int, ...], values: np.ndarray, owned: bool = False) -> None:
        """Write the box that begins at ``start``.

        ``values`` may be changed afterwards, unless they are ``owned``: then they aren't copied where that
        can be avoided, and nobody may touch them before the commit.
        """
        values = self._elements(values)

        def part(region: Any) -> np.ndarray:
            return values[(..., *region)]  # an array, also of a single text

        self.write_from(start, values.shape, part, owned)

    @in_turn
    def write_from(
        self,
        start: tuple[int, ...],
        shape: tuple[int, ...],
        read: Callable[[tuple[slice, ...]], np.ndarray],
        owned: bool = True,
    ) -> None:
        """Write the box of ``shape`` that begins at ``start``; ``read`` gives parts of it (relative to
        ``start``).
        """
        self._writer._open()
        if 0 in shape:
            return
        self._check()
        self._adapt(start, shape, read)
        for low, high in self._blocks(start, shape):
            inner = tuple(
                slice(max(a, s), min(b, s + n)) for a, b, s, n in zip(low, high, start, shape, strict=True)
            )
            part = read(tuple(slice(i.start - s, i.stop - s) for i, s in zip(inner, start, strict=True)))
            if part.shape == tuple(b - a for a, b in zip(low, high, strict=True)):
                contiguous = np.asarray if owned else np.array  # np.array copies
                self._writer._native.write(self.path, low, contiguous(part, self.dtype, order="C"))
            else:
                self._patch(low, high, inner, part)

    def _elements(self, data: Any) -> np.ndarray:
        return elements(data, self.dtype, self.path, self._missing)

    def _bytes(self) -> int:
        """What is stored of it in the version that the writer builds on."""
        base = self._writer.base()
        return base._array(self.path).nbytes_stored if self.path in base else 0

    def _missing(self) -> Any:
        """What stands for a value that is missing; None where nothing does: zero is what every array is
        filled with that was given no other value.
        """
        attrs = self._document.get("attributes", {})
        if "_FillValue" in attrs:
            return fill(attrs["_FillValue"], self.dtype)
        value = self._writer._view()._array(self.path).fill_value
        return value if value else None

    def _adapt(
        self, start: tuple[int, ...], shape: tuple[int, ...], read: Callable[[tuple[slice, ...]], np.ndarray]
    ) -> None:
        """Change the array's codecs where what is about to be written asks for it."""
        if self._adapting is None:
            return
        found = self._adapting.before(shape, read, not any(start) and shape == self._stored)
        if found is None:
            return
        codecs, record = found
        recoded = partial(self._update, layout.recoded(self._document, codecs, record))
        with self._whole(recoded):
            recoded()

    def _check(self) -> None:
        """An array whose only chunk is so short that it does without a checksum gets one before it changes:
        what comes may be longer.
        """
        if not self._bare:
            return
        block = self._writer._pending().array(self.path).read(tuple(slice(0, n) for n in self._stored))
        check = partial(self._with_checksum, checked(self._bare), block)
        with self._whole(check):
            check()

    def _with_checksum(self, codecs: list[Codec], block: np.ndarray) -> None:
        self._update(layout.recoded(self._document, codecs, {}))
        self._writer._native.write(self.path, (0,) * block.ndim, block)
        self._bare = []

    def _update(self, document: dict[str, Any]) -> None:
        self._document = document
        self._writer._native.update_array(
            self.path, json.dumps(document, allow_nan=False, separators=(",", ":"))
        )

    def reread(self) -> None:
        """Its attributes were replaced; icecore's own stay."""
        document = json.loads(self._writer._native.document(self.path) or "{}")
        attributes, before = document.get("attributes", {}), self._document.get("attributes", {})
        if OURS in before:
            attributes.setdefault(OURS, before[OURS])
        self._document = {**document, "attributes": attributes}

    @in_turn
    def finish(self) -> None:
        """Write the rows that still wait."""
        if self._tail is not None and self._tail.waiting:
            self._write_tail()

    def shorten(self, is_last: bool) -> None:
        """Before a commit: shorter shards, where those there are suit it badly. An array that was left alone
        stays as it is: others may have changed it.
        """
        if self._suiting is not None and self._tail is not None and self._seen == self._writer._commits:
            self._regrid(self._suiting.shorter(self._tail, self.unit[0], is_last))

    def _lengthen(self) -> bool:
        """Longer shards where that suits the rows that come; whether there is room for more of them now."""
        if self._suiting is None or self._tail is None:
            return False
        return self._regrid(self._suiting.longer(self._tail, self.unit[0]))

    def _regrid(self, where: layout.Layout | None) -> bool:
        """Make the array anew, with all its rows, which wait here."""
        if where is None or self._tail is None or self._bare:
            return False
        anew = partial(self._anew, where, self._tail.rows)
        with self._whole(anew):
            if self._stored[0]:
                anew()
            else:  # nothing is there that has its place in the old grid
                self._update(layout.regridded(self._document, where))
                self._refilled(where, self._tail.rows)
        return True

    def _anew(self, where: layout.Layout, rows: np.ndarray) -> None:
        native = self._writer._native
        self._document = layout.regridded(self._document, where)
        if native.exists(self.path):
            native.delete(self.path)
        native.add_array(self.path, json.dumps(self._document, allow_nan=False, separators=(",", ":")))
        self._refilled(where, rows)

    def _refilled(self, where: layout.Layout, rows: np.ndarray) -> None:
        self._stored, self.unit, self._tail = (0, *self._stored[1:]), where.unit, None
        if self._adapting is not None:
            self._adapting.regridded(Node(self.path, True, json.dumps(self._document)))
        self._add(rows)

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

    def _patch(
        self, low: tuple[int, ...], high: tuple[int, ...], inner: tuple[slice, ...], part: np.ndarray
    ) -> None:
        block = self._block(low, high)
        block[tuple(slice(i.start - a, i.stop - a) for i, a in zip(inner, low, strict=True))] = part
        self._writer._native.write(self.path, low, block)

    def _block(self, low: tuple[int, ...], high: tuple[int, ...]) -> np.ndarray:
        """What is stored from ``low`` to before ``high``."""
        old = self._writer._pending().array(self.path)
        region = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
        # Memory of its own: what the pool of results keeps would come on top of the writer's.
        own = (
            None
            if self.dtype.kind in "OT"
            else np.empty([b - a for a, b in zip(low, high, strict=True)], self.dtype)
        )
        return old.read(region, out=own)

    def _blocks(
        self, start: tuple[int, ...], shape: tuple[int, ...]
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Boxes of whole shards (clipped to the array) that cover a region: big ones inside, single ones
        else.
        """
        low = tuple(s // u * u for s, u in zip(start, self.unit, strict=True))
        high = tuple(
            min(-(-(s + n) // u) * u, full)
            for s, n, u, full in zip(start, shape, self.unit, self._stored, strict=True)
        )
        yield from halved(low, high, self.unit, max(self.dtype.itemsize, 1), self._writer._box)

    def _misfit(self, given: tuple[int, ...]) -> errors.Error:
        row = ", ".join(map(str, self._stored[1:]))
        hint = f"append {self._stored[1:]} or (n{', ' if row else ''}{row})" if self._stored else ""
        return errors.make("mismatch", f"rows of shape {given} for {self.path} of shape {self.shape}", hint)

    def _fresh(self) -> None:
        """With a commit of this writer those of others come in: then go on from what they left.

        Raises:
            Error: ``not-found`` where this writer deleted the array; ``conflict`` where others did, or made
                another one.
        """
        if self.is_deleted:
            hint = "make it again: writer.array(…)"
            raise errors.make("not-found", f"{self.path} was deleted by this writer", hint)
        if self._seen == self._writer._commits:
            return
        seen, self._seen = self._seen, self._writer._commits
        if not self._writer._met_others(seen):
            return
        text = self._writer._native.document(self.path)
        if text is None:
            raise errors.make("conflict", f"{self.path} was deleted by someone else", "make it again")
        self._tail = None
        node = Node(self.path, True, text)
        if (node.grid, len(node.shape)) != (self._grid(), len(self._stored)):
            raise errors.make("conflict", f"someone else replaced {self.path}", "use another writer")
        self._document, self._stored, self._bare = node.document, node.shape, _bare(node)
        if self._adapting is not None:
            self._adapting = Adapting.of(node, self.dtype, self._bytes)

    def _grid(self) -> Any:
        return Node(self.path, True, json.dumps(self._document)).grid

    def _settle(self) -> None:
        """Write the rows that wait and forget them: what they lie in is about to be changed."""
        self._writer._open()
        self._writer._mend()
        self._fresh()
        self.finish()
        self._tail = None

    def _open_tail(self) -> Tail:
        def read(first: int, last: int) -> np.ndarray:
            return self._writer._pending().array(self.path).read((slice(first, last),))

        memory = self._writer._tail_memory()
        # A shard has to be held in any case, to be encoded: the only array may as well gather it.
        shard = prod(self.unit) * max(self.dtype.itemsize, 1) if len(self._writer._arrays) == 1 else 0
        whole = max(memory, shard)
        return tail(self._stored[0], self._stored[1:], self.unit[0], self.dtype, memory, whole, read)

    def _write_whole(self, rows: np.ndarray) -> int:
        """Write the rows that fill whole shards; return how many."""
        count = len(rows) // self.unit[0] * self.unit[0]
        before = self._stored
        # What is broken off leaves the rows so far, and no others.
        with self._whole(partial(self._resize, before, surely=True)):
            self._resize((before[0] + count, *before[1:]))
            self.write((before[0], *[0] * (len(before) - 1)), rows[:count])
        return count

    def _write_tail(self) -> None:
        """Only when all is done do the rows count as written: what Ctrl-C broke off is done again."""
        tail = self._tail
        assert tail is not None
        self._resize((tail.stop, *self._stored[1:]))
        self.write((tail.start, *[0] * (len(self._stored) - 1)), tail.rows, owned=True)
        tail.written()
        if tail.full or not tail.aligned:
            self._tail = None

    def _possible(self, shape: Sequence[int] | int) -> tuple[int, ...]:
        lengths: Any = (shape,) if isinstance(shape, Integral) else shape
        wanted: list[Any] = list(lengths) if np.ndim(lengths) == 1 else []
        if len(wanted) != len(self._stored) or not all(is_int(n) and 0 <= n < 1 << 63 for n in wanted):
            message = f"{self.path} has shape {self._stored} and can't become {shape!r:.60}"
            raise errors.make("invalid", message, "a length for each axis: (0, 138)")
        return tuple(map(int, wanted))

    def _resize(self, shape: tuple[int, ...], surely: bool = False) -> None:
        """``surely``: also where another shape was not noted here because that was broken off."""
        shape = self._possible(shape)
        if surely or shape != self._stored:
            self._check()
            if not resizing.is_longer(self._stored, shape):
                self._writer._native.flush()  # what is on its way has its chunk's number in the old grid
            self._update({**self._document, "shape": list(shape)})
            self._stored = shape


def _bare(node: Node) -> list[Codec]:
    """The codecs of an array of one chunk that does without a checksum; none where it has one."""
    chunk, shard = node.grid
    one = (
        shard is None
        and chunk is not None
        and all(0 < n <= c for n, c in zip(node.shape, chunk, strict=True))
    )
    return node.codecs if one and is_bare(node.codecs, node.ours.get("codec")) else []
