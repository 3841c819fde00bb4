"""Array of an open writer: its metadata, its codecs, and changes by other writers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.analyzer.adaptive_codec import Adapting
from icecore.analyzer.measure import checked, is_bare
from icecore.codecs.rounding import Rounding
from icecore.codecs.spec import Codec
from icecore.layout import layout
from icecore.repository.nodes import OURS, Node
from icecore.repository.typed_attributes import fill
from icecore.writing.append_buffer import Tail
from icecore.writing.new_array import ShardReplan
from icecore.writing.row_grid import RowGrid, unit_of

if TYPE_CHECKING:
    from icecore.writing.open_writer import OpenWriter


class Repairs:
    """Changes of an array that an interruption (Ctrl-C) can break off, and the functions that repair them."""

    def __init__(self, writer: OpenWriter) -> None:
        self._writer = writer
        #: unfinished changes, innermost last: the valid shape, and the function that repairs the array
        self._open: list[tuple[tuple[int, ...], Callable[[], None]]] = []

    def __len__(self) -> int:
        return len(self._open)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array once its interrupted changes are repaired."""
        return self._open[0][0]

    @contextmanager
    def atomic(self, shape: tuple[int, ...], repaired: Callable[[], None]) -> Iterator[None]:
        """Make a ``with`` block atomic: after an interruption the next use of the writer calls ``repaired``,
        again if that is interrupted too.

        Args:
            shape: shape after the repair.
            repaired: repairs the array so that it has ``shape``, wherever the block or ``repaired`` was
                interrupted.
        """
        self._writer._torn = self
        self._open.append((shape, repaired))
        yield
        self.close()

    def close(self) -> None:
        """Forget the innermost change, which is finished."""
        self._open.pop()
        if not self._open:
            self._writer._torn = None

    def mend(self) -> None:
        """Repair interrupted changes, the innermost first."""
        while self._open:
            self._open[-1][1]()
            self.close()


class OpenArray:
    """Part of :class:`ArrayWriter` that manages the array's metadata."""

    def __init__(
        self,
        writer: OpenWriter,
        node: Node,
        dtype: np.dtype[Any],
        replan: ShardReplan | None = None,
        new: bool = False,
    ) -> None:
        """Open an array; ``new`` means that it is being created and that no stored array belongs to it."""
        self._writer, self._turn, self.path = writer, writer._turn, node.path
        self._adapting = Adapting.of(node, dtype, int if new else self._bytes)
        self._rounding = Rounding.of(node.ours)
        self._replan = replan
        self._document = node.document
        self.dtype = dtype
        self._stored = node.shape
        unit = unit_of(node)
        if unit is None:
            raise errors.make(
                "unsupported", f"{self.path} has chunks of different shapes", "pack it into a new array first"
            )
        self.unit = unit
        self._rows = RowGrid.of(node.document, unit[0] if unit else 1)
        self._tail: Tail | None = None
        #: rows before those that wait, from the beginning of their shard, if they were read already
        self.old_rows: np.ndarray | None = None
        self.is_deleted = False
        #: whether any chunk is in a linked file; None: unknown
        self._is_linked: bool | None = False if new else None
        self._seen = writer._history.count
        self._bare = _bare(node)
        self._compared = writer._history.count if new else None
        self._repairs = Repairs(writer)

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis, including appended rows that are not written yet."""
        if self._repairs:
            return self._repairs.shape
        return self._stored if self._tail is None else (self._tail.stop, *self._stored[1:])

    def _whole(self, repaired: Callable[[], None]) -> AbstractContextManager[None]:
        """Make a change of the array atomic that does not change its shape; see :meth:`Repairs.atomic`."""
        return self._repairs.atomic(self.shape, repaired)

    def _elements(self, data: Any) -> np.ndarray:
        return elements(data, self.dtype, self.path, self._missing)

    def _bytes(self) -> int:
        """Return the array's stored bytes in the base version of the changes."""
        base = self._writer._base()
        return base._array(self.path).nbytes_stored if self.path in base else 0

    def _missing(self) -> Any:
        """Return the value for missing elements, or None. A fill value of zero does not count, because it is
        the default of all arrays.
        """
        attrs = self._document.get("attributes", {})
        if "_FillValue" in attrs:
            return fill(attrs["_FillValue"], self.dtype)
        value = self._writer._view()._array(self.path).fill_value
        return value if value else None

    def _marks(self) -> list[Any]:
        """Return the values that mark missing elements; those are never rounded."""
        attrs = self._document.get("attributes", {})
        marks = [fill(attrs["_FillValue"], self.dtype)] if "_FillValue" in attrs else []
        value = self._writer._view()._array(self.path).fill_value
        marks += [value] if value else []
        return [*marks, *np.atleast_1d(attrs.get("missing_value", []))]

    def _adapt(
        self, start: tuple[int, ...], shape: tuple[int, ...], read: Callable[[tuple[slice, ...]], np.ndarray]
    ) -> None:
        """Change the array's codecs if the data to be written requires others."""
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
        """Add a checksum before the first change of an array with a single small chunk without one, because
        the chunk may become longer.
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
        """Read the attributes again after they were replaced; icecore's own attributes are kept."""
        document = json.loads(self._writer._native.document(self.path) or "{}")
        attributes, before = document.get("attributes", {}), self._document.get("attributes", {})
        if OURS in before:
            attributes.setdefault(OURS, before[OURS])
        self._document = {**document, "attributes": attributes}

    def _fresh(self) -> None:
        """Reload the metadata if a commit of this writer merged commits of others.

        Raises:
            Error: ``not-found`` if this writer deleted the array; ``conflict`` if another writer deleted or
                replaced it.
        """
        if self.is_deleted:
            hint = "create it again: writer.array(…)"
            raise errors.make("not-found", f"{self.path} was deleted by this writer", hint)
        if self._seen == self._writer._history.count:
            return
        seen, self._seen = self._seen, self._writer._history.count
        if not self._writer._history.met_others(seen):
            return
        text = self._writer._native.document(self.path)
        if text is None:
            raise errors.make("conflict", f"{self.path} was deleted by another writer", "create it again")
        self._tail = None
        node = Node(self.path, True, text)
        if (node.grid, len(node.shape)) != (self._grid(), len(self._stored)):
            raise errors.make("conflict", f"{self.path} was replaced by another writer", "open a new writer")
        self._document, self._stored, self._bare = node.document, node.shape, _bare(node)
        self._rows = RowGrid.of(node.document, self._rows.unit)
        if self._adapting is not None:
            self._adapting = Adapting.of(node, self.dtype, self._bytes)

    def _grid(self) -> Any:
        return Node(self.path, True, json.dumps(self._document)).grid


def _bare(node: Node) -> list[Codec]:
    """Return the codecs of an array of one chunk without a checksum; an empty list for other arrays."""
    chunk, shard = node.grid
    one = (
        shard is None
        and chunk is not None
        and all(0 < n <= c for n, c in zip(node.shape, chunk, strict=True))
    )
    return node.codecs if one and is_bare(node.codecs, node.ours.get("codec")) else []


# Convert a caller's data to an array's dtype without changing values.


def elements(data: Any, dtype: np.dtype[Any], path: str, missing: Callable[[], Any]) -> np.ndarray:
    """Return ``data`` as an array of ``dtype``; the same object if it is one.

    Floats may be rounded to the precision of ``dtype``; other values must not change. Masked elements become
    the result of ``missing``.

    Raises:
        Error: ``dtype`` if the dtype can't hold a value, or if ``data`` has masked elements and the array has
            no fill value for them.
    """
    if dtype.kind in "OT" and not hasattr(data, "mask"):
        return np.asarray(data, dtype)
    try:
        # NumPy converts tuples to records only if it gets the dtype.
        values = np.asanyarray(data, None if hasattr(data, "dtype") or not dtype.names else dtype)
    except (TypeError, ValueError) as error:  # for example, rows of different lengths
        raise _refused(path, dtype, f"a {type(data).__name__}: {error}") from None
    if type(values) is not np.ndarray:
        return _unmasked(values, dtype, path, missing)
    if values.dtype == dtype:
        return values
    try:
        with np.errstate(over="raise", invalid="ignore"):
            if values.dtype.kind == "c" and dtype.kind != "c":
                raise TypeError("complex numbers have two parts")
            new = values.astype(dtype)
            changed = _changed(values, new)
    except (TypeError, ValueError, OverflowError, FloatingPointError) as error:
        raise _refused(path, dtype, f"{values.dtype}: {error}") from None
    if changed is not None and changed.any():
        raise _refused(path, dtype, str(values[changed][0] if values.ndim else values[()]))
    return new


def _unmasked(values: Any, dtype: np.dtype[Any], path: str, missing: Callable[[], Any]) -> np.ndarray:
    """Convert a masked array (or another subclass) to a plain array."""
    mask = np.ma.getmaskarray(values)
    if not mask.any():
        return elements(np.asarray(values), dtype, path, missing)
    fill = missing()
    if fill is None:
        raise errors.make(
            "dtype",
            f"{path} has no fill value for {int(mask.sum())} masked elements",
            "create it with fill_value=…, or write data.filled(…)",
        )
    # Masked values need not fit the dtype.
    plain = elements(np.where(mask, np.zeros((), values.dtype), values.data), dtype, path, missing).copy()
    plain[mask] = fill
    return plain


def _changed(values: np.ndarray, new: np.ndarray) -> Any:
    """Return a mask of changed values; None if no value can change."""
    old, kind = values.dtype, new.dtype.kind
    if kind in "fc" and old.kind in "biufc":
        return None  # rounding is allowed
    if kind in "biu" and old.kind in "biufO":
        if np.can_cast(old, new.dtype):
            return None
        # The conversion of 2**63 to an integer differs between processors.
        outside = values >= float(np.iinfo(new.dtype).max) + 1 if old.kind == "f" and kind != "b" else False
        return (new != values) | outside
    if old.kind == "O":
        return None
    if old.names is not None and old.names == new.dtype.names:
        fields = (_changed(values[name], new[name]) for name in old.names)
        return sum((field for field in fields if field is not None), np.zeros(values.shape, bool))
    changed = new.astype(old) != values
    return changed & ~np.isnat(values) if old.kind in "mM" else changed


def _refused(path: str, dtype: np.dtype[Any], what: str) -> errors.Error:
    return errors.make(
        "dtype",
        f"{path} is {str(dtype).lstrip('<>|')} and can't hold {what}",
        "convert the data first, or create the array with another dtype",
    )
