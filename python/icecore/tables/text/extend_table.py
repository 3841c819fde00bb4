"""Extension of a stored table with more rows; columns that need a wider type are rewritten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore.display.text import plural
from icecore.repository.nodes import HIDDEN
from icecore.tables.text import column_codecs, column_types
from icecore.tables.text.column_types import blank, missing
from icecore.tables.text.table_job import TableOptions
from icecore.tables.text.widening import Stored

if TYPE_CHECKING:
    from icecore import _icecore
    from icecore.repository.array import Array
    from icecore.writing.array_writer import ArrayWriter
    from icecore.writing.writer import Writer


#: codecs that all Zarr readers support; a table that uses only these stays portable
_PORTABLE = {"bytes", "vlen-utf8", "blosc", "zstd", "gzip", "crc32c"}


class Extending:
    """Prepares the columns, formats and rows of a stored table for more rows.

    Attributes:
        columns: descriptions of the columns' arrays.
        changed: indexes of the columns with a wider type than before.
        by_text: whether the text of the sources is parsed again.
        formats, sources: values for the table's attributes.
        blank: indexes of the new integer arrays that mark missing values with a number.
    """

    def __init__(
        self,
        writer: Writer,
        stored: Stored,
        columns: list[dict[str, Any]],
        options: TableOptions,
        reparsed: bool,
    ) -> None:
        """Set up the extension; ``reparsed`` means that the text is needed, not only the values."""
        self._writer, self._stored, self._options = writer, stored, options
        paths = [f"{stored.path}/{name}" for name in stored.names]
        gone = [i for i, path in enumerate(paths) if not writer._native.exists(path)]  # deleted in a retry
        self.columns, self.changed = columns, stored.changed(columns)
        #: indexes of the columns that are rewritten
        self._fresh = sorted({*self.changed, *stored.short, *gone})
        self.blank: set[int] = set()
        self.sources = [dict(source) for source in stored.sources]
        self._arrays: list[ArrayWriter] = []
        self._escapes: ArrayWriter | None = None
        self.by_text = bool(self.changed) and (reparsed or stored.by_text(columns, self.changed))
        if self.by_text:
            self._texts = stored.texts(columns, self.changed, self._fresh)
            self.columns = self._texts.columns
            self.formats: list[dict[str, Any]] = []
            for source, fmt in zip(self.sources, self._texts.formats, strict=True):
                if fmt not in self.formats:
                    self.formats.append(fmt)
                source["format"] = self.formats.index(fmt)
        else:
            self.formats = stored.formats(columns, self.changed)

    @property
    def before(self) -> list[Array | None]:
        """The stored arrays of the columns; None for those that are rewritten."""
        repo, names = self._stored.repo, self._stored.names
        arrays = (repo._array(f"{self._stored.path}/{name}") for name in names)
        return [None if i in self._fresh else array for i, array in enumerate(arrays)]

    def run(self) -> tuple[list[ArrayWriter], Growing, ArrayWriter | None]:
        """Return the columns' arrays, the row writer, and the array of escapes if the table has one.

        Raises:
            Beyond, Lost: if a column needs an even wider type.
        """
        growing = self._parse() if self.by_text else self._convert()
        for i in self._fresh:
            self._arrays[i].reach((self._stored.rows,))
        growing.sums()
        return self._arrays, growing, self._escapes

    def _convert(self) -> Growing:
        """Rewrite columns from the values of the old arrays."""
        stored, columns = self._stored, self.columns
        none = np.empty(0, "u1")
        starts = ((i, stored.values(i, columns[i])) for i in self._fresh)
        self._make({i: next(parts, none.astype(column_types.dtype(columns[i]))) for i, parts in starts})
        if "text" in stored.kept:
            self._escapes = self._writer[f"{stored.path}/{HIDDEN[0]}/escapes"]
        growing = Growing(self._writer, self._arrays)
        for i in self._fresh:
            for values in stored.values(i, columns[i]):
                self._add(growing, i, values)
        return growing

    def _parse(self) -> Growing:
        """Rewrite columns and escapes from the text."""
        path, all_rows = self._stored.path, self._texts.rows()
        ahead = []
        for rows in all_rows:
            ahead.append(rows)
            if rows.values:
                break  # the lines before the first row have no values
        self._make(ahead[-1].values if ahead else {})
        growing = Growing(self._writer, self._arrays)
        self._delete(f"{path}/{HIDDEN[0]}/escapes")
        self._escapes = escapes_array(self._writer, path)
        source = -1
        for rows in chain(ahead, all_rows):
            for i, values in rows.values.items():
                self._add(growing, i, values)
            at = self._escapes.shape[0]
            if rows.source > source:
                source = rows.source
                self.sources[source]["escapes"] = [at, at]
            self._escapes.append(np.frombuffer(rows.escapes, "u1"))
            self.sources[source]["escapes"][1] = at + len(rows.escapes)
        return growing

    def take_back(self, rows: int) -> None:
        """Undo what was written; the columns have ``rows`` rows."""
        native, fresh = self._writer._native, set(self._fresh)
        for array in self._arrays:
            array.reach((rows,), is_prepared=True)
        if self._escapes is not None:
            self._escapes.finish()
        native.flush()  # data in flight must land while its arrays still exist
        for i, array in enumerate(self._arrays):
            self._shorten(array, i in fresh)
        if self._escapes is not None:
            self._shorten(self._escapes, self.by_text)
        native.flush()

    def _shorten(self, array: ArrayWriter, is_new: bool) -> None:
        if is_new:
            self._writer.delete(array.path)
            return
        array.resize(self._stored.repo._array(array.path).shape)
        del self._writer._arrays[array.path]

    def _make(self, first: dict[int, np.ndarray]) -> None:
        """Open or create the arrays of all columns; rewritten ones keep their attributes. ``first`` are their
        first values.
        """
        stored, path = self._stored, self._stored.path
        used = {
            codec["name"] for name in stored.names for codec in stored.repo._nodes[f"{path}/{name}"].codecs
        }
        options = replace(self._options, portable=self._options.portable or used <= _PORTABLE)
        choices = column_codecs.Choices(options)
        for i, (name, column) in enumerate(zip(stored.names, self.columns, strict=True)):
            if i not in self._fresh:
                self._arrays.append(self._writer[f"{path}/{name}"])
                continue
            old = stored.repo._array(f"{path}/{name}")
            attrs = dict(old.attrs)
            if i in self.changed and old.dtype.kind in "iu" and attrs.get("_FillValue") == blank(old.dtype):
                del attrs["_FillValue"]  # it marked missing values of the old type
            self._delete(old.path)
            values = first[i] if i in first else np.empty(0, column_types.dtype(column))
            self._arrays.append(column_array(self._writer, path, column, values, attrs, choices))

    def _delete(self, path: str) -> None:
        if self._writer._native.exists(path):  # an earlier attempt may have deleted it
            self._writer.delete(path)

    def _add(self, growing: Growing, i: int, values: np.ndarray) -> None:
        growing.elements(i, values)
        if (
            values.dtype.kind in "iu"
            and missing(values).any()
            and not column_types.is_binary(self.columns[i])
        ):
            self.blank.add(i)


def rewritten(extending: Extending, stored: Stored, why: dict[int, str]) -> Iterator[str]:
    """Yield a note for each column that was rewritten."""
    for i in extending.changed:
        old, new = column_types.about(stored.columns[i]), column_types.about(extending.columns[i])
        reason = f": {why[i]} needs it" if i in why else ""
        rows = plural(stored.rows, "row")
        yield f"column {stored.names[i]} became {new}, was {old}{reason}; its {rows} were written again"


# Row writer: appends rows to the arrays of a table and encodes chunks as soon as they are full.


#: bytes of stored rows that are read at once when the last shard of an array is rewritten
_STORED = 1 << 20


class Growing:
    """Appends rows to a table's arrays, which all have the same length.

    Partly filled shards are rewritten to new objects; earlier versions keep the old ones.
    """

    def __init__(self, writer: Writer, arrays: Sequence[ArrayWriter]) -> None:
        from icecore import _icecore

        self._arrays = arrays
        for array in arrays:
            array._check()  # may replace its codecs
            array.grow_by_chunks()
        starts = [array.first_again for array in arrays]
        chunks = [array.unit[0] if array.is_listed else None for array in arrays]
        self._native = _icecore.TableRows(writer._native, [array.path for array in arrays], starts, chunks)
        for i, (array, start) in enumerate(zip(arrays, starts, strict=True)):
            self._again(writer, i, array, start)
        self._native.sums()

    def _again(self, writer: Writer, i: int, array: ArrayWriter, start: int) -> None:
        """Read the stored rows of an array after its last shard boundary, and add them again."""
        step = max(_STORED // max(array.dtype.itemsize, 1), 1)
        for first in range(start, array.shape[0], step):
            rows = slice(first, min(first + step, array.shape[0]))
            self.elements(i, writer._pending().array(array.path).read((rows,)))

    def append(self, columns: _icecore.Columns | list[np.ndarray]) -> list[int]:
        """Add a block of rows: parsed columns, or the arrays of binary records.

        Returns:
            Indexes of the integer columns that mark missing values with a number.

        Raises:
            Error: errors of encoding and storing the earlier blocks.
        """
        if isinstance(columns, list):
            for i, values in enumerate(columns):
                self.elements(i, values)
            return []
        blank = self._native.append(columns)
        return [i for i in blank if self._arrays[i].dtype.kind in "iu"]

    def elements(self, i: int, values: Any) -> None:
        """Add elements of one array."""
        self._native.append_elements(i, self._arrays[i].path, values)

    def sums(self) -> list[int]:
        """Return the CRC-32C of each column's elements that were added since the last call."""
        return self._native.sums()

    def finish(self, rows: int) -> None:
        """Write the remaining rows; the arrays now have ``rows`` rows."""
        for array in self._arrays:
            array.reach((rows,), is_prepared=True)
        self._native.finish()


# Arrays of a new or extended table.


def column_array(
    writer: Writer,
    table: str,
    column: dict[str, Any],
    values: np.ndarray,
    attrs: Mapping[str, Any],
    choices: column_codecs.Choices,
    whole: int | None = None,
) -> ArrayWriter:
    """Create the array of a column that begins with ``values``.

    ``whole`` is the number of rows that it will have, if it may be stored in one chunk.
    """
    width = column_codecs.width(values)
    is_whole = whole is not None and whole <= column_codecs.WHOLE and whole * width <= column_codecs.WIDE
    chunk, shard = (max(whole or 0, 1),) * 2 if is_whole else column_codecs.lengths(width)
    return writer.array(
        f"{table}/{column['name']}",
        column_types.dtype(column),
        dims=("row",),
        chunks=(chunk,),
        shards=(shard,),
        codec=choices.of(column, values, is_whole),
        fill_value=column_codecs.constant(values),
        attrs=attrs,
    )


def escapes_array(writer: Writer, table: str) -> ArrayWriter:
    """Create the array of the escapes."""
    path = f"{table}/{HIDDEN[0]}"
    writer.group(path)
    zstd = {"name": "zstd", "configuration": {"level": 15, "checksum": False}}
    return writer.array(
        f"{path}/escapes",
        "u1",
        chunks=(1 << 20,),
        shards=(1 << 20,),
        codec=[{"name": "bytes"}, zstd, {"name": "crc32c"}],
    )
