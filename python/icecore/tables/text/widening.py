"""Stored rows of a table, converted for columns that need a wider type.

Numbers, texts and times are converted from the old arrays. If the values are not enough (text that was a
number, numbers that are equal as doubles), the text of each source is restored and parsed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from icecore import errors
from icecore.sources.mapping.table_file import Field, TableFile, TableSpec
from icecore.tables.text import column_codecs, column_types, print_format, restore, stored_format
from icecore.tables.text.column_types import blank, converted
from icecore.tables.text.stored_format import stored_columns as columns
from icecore.tables.text.stored_format import written_over

if TYPE_CHECKING:
    from icecore.repository.repo import Repo

Column = dict[str, Any]
#: bytes of a column's rows that are converted at once
_WINDOW = 16 << 20


class Beyond(Exception):
    """A stored value does not fit: the column (by index) must become ``wider``, or text if that is None.

    If it is ``wider`` already, the value fits, but its text can't be reproduced from it.
    """

    def __init__(self, column: int, wider: Column | None) -> None:
        super().__init__(column)
        self.column, self.wider = column, wider


class Lost(Exception):
    """Cells of a source that the new array can't hold."""

    def __init__(self, place: str, spec: TableSpec, cells: list[tuple[int, int, int, bytes]]) -> None:
        super().__init__(place)
        self.place, self.spec, self.cells = place, spec, cells


@dataclass
class Rows:
    """Some rows of a source: column index → values, and their escapes."""

    source: int
    values: dict[int, np.ndarray]
    escapes: bytes


class Stored:
    """A table in the version that is extended."""

    def __init__(self, repo: Repo, path: str, kept: dict[str, Any]) -> None:
        """
        Raises:
            Error: ``mismatch`` if the columns no longer form a table.
        """
        self.repo, self.path, self.kept = repo, path, kept
        self.columns = stored_format.columns(kept)
        self.names: list[str] = kept["columns"]
        self.sources: list[dict[str, Any]] = kept.get("sources", [])
        packed = max((int(source["rows"][1]) for source in self.sources), default=0)
        lengths = {array.path: array.shape[0] for array in columns(repo, path, kept, packed)}
        first, self.rows = next(iter(lengths.items()))
        other = next((array for array, rows in lengths.items() if rows != self.rows), None)
        if other is not None:
            raise written_over(path, f"{first} has {self.rows:,} rows, {other} {lengths[other]:,}")
        self._formats = stored_format.formats(kept)

    @property
    def has_text(self) -> bool:
        """Whether the text of every source can be reproduced."""
        return "text" in self.kept and all("sha256" in source for source in self.sources)

    @property
    def short(self) -> list[int]:
        """Indexes of the columns that are stored as a single chunk without shards and so can't grow."""
        nodes = (self.repo._nodes[f"{self.path}/{name}"] for name in self.names)
        return [i for i, node in enumerate(nodes) if node.grid[1] is None]

    @property
    def attributes(self) -> dict[str, Mapping[str, Any]]:
        """Attributes of each column, by name."""
        return {name: self.repo._array(f"{self.path}/{name}").attrs for name in self.names}

    def changed(self, columns: list[Column]) -> list[int]:
        """Return the indexes of the columns that need another array."""
        both = zip(self.columns, columns, strict=True)
        return [i for i, (old, new) in enumerate(both) if not column_types.same_array(old, new)]

    def by_text(self, columns: list[Column], changed: list[int]) -> bool:
        """Return whether the text must be parsed again for the new columns."""
        return self.has_text and not all(column_types.by_value(self.columns[i], columns[i]) for i in changed)

    def formats(self, columns: list[Column], changed: list[int]) -> list[dict[str, Any]]:
        """Return the print formats, adapted to these columns."""
        return [self.refitted(fmt, columns, changed) for fmt in self._formats]

    def format(self, source: int) -> dict[str, Any]:
        """Return the print format of a source."""
        return self._formats[self.sources[source].get("format", 0)]

    def refitted(self, fmt: dict[str, Any], columns: list[Column], changed: list[int]) -> dict[str, Any]:
        """Return a print format adapted to these columns."""
        fitted = list(fmt["columns"])
        for i in changed:
            is_blank = "blank" in self.columns[i] and not column_types.by_value(self.columns[i], columns[i])
            fitted[i] = column_types.fitted(
                columns[i], {**fitted[i], "blank": True} if is_blank else fitted[i]
            )
            fitted[i].pop("blank", None)
        return {**fmt, "columns": fitted}

    def values(self, column: int, new: Column) -> Iterator[np.ndarray]:
        """Yield all rows of a column in parts, converted to the type of ``new``.

        Raises:
            Beyond: if a value doesn't fit.
        """
        array = self.repo._array(f"{self.path}/{self.names[column]}")
        width = max(column_types.dtype(new).itemsize, array.dtype.itemsize)
        chunk, _ = column_codecs.lengths(width)
        step = max(_WINDOW // (width * chunk), 1) * chunk
        for start in range(0, self.rows, step):
            yield self._converted(column, array[start : min(start + step, self.rows)], new)

    def _converted(self, i: int, old: np.ndarray, new: Column) -> np.ndarray:
        if not column_types.by_value(self.columns[i], new):  # the column has had no value so far
            kind = column_types.dtype(new)
            return np.full(old.shape, blank(kind), kind)
        made = converted(old, new, self.has_text)
        if made is None:
            same = "real" in new["style"] or "words" in new["style"]
            raise Beyond(
                i, {**new, **column_types.REAL} if "number" in new["style"] else new if same else None
            )
        return made

    def texts(self, columns: list[Column], changed: list[int], fresh: list[int]) -> Texts:
        """Return all rows of the ``fresh`` columns, parsed again from the restored text."""
        return Texts(self, columns, changed, fresh)


class Texts:
    """Sources of a table, restored as text and parsed again.

    Attributes:
        columns: descriptions of the columns; the changed ones are widened as the sources' cells require.
        formats: print format of each source.
    """

    def __init__(self, stored: Stored, columns: list[Column], changed: list[int], fresh: list[int]) -> None:
        self._stored, self._changed, self._fresh = stored, changed, fresh
        own = [self._own(i, stored.format(i), columns) for i in range(len(stored.sources))]
        widened = {i: columns[i] for i in changed}
        for fmt in own:
            for i in changed:
                merged = column_types.merge(widened[i], fmt["columns"][i])
                if merged is not None and not column_types.same_array(widened[i], merged):
                    widened[i] = merged
        self.columns = [widened.get(i, column) for i, column in enumerate(columns)]
        self.formats = [stored.refitted(fmt, self.columns, changed) for fmt in own]

    def rows(self) -> Iterator[Rows]:
        """Yield all rows, source by source.

        Raises:
            Lost: if an array can't hold all cells.
        """
        for i, source in enumerate(self._stored.sources):
            native = print_format.native(self.formats[i])
            for count, escapes, text in self._stretches(i):
                if not count:
                    yield Rows(i, {}, escapes)
                    continue
                parsed = native.parse(np.frombuffer(text, "u1"), True, True)
                if parsed["lost"]:
                    raise Lost(source["name"], _spec(self.formats[i]), parsed["lost"])
                if (parsed["rows"], parsed["used"]) != (count, len(text)):
                    raise errors.make(
                        "internal",
                        f"{source['name']} of {self._stored.path} does not come back as the rows that it was",
                        "please report it; pack all files in one go",
                    )
                values = {n: column_types.values(parsed["columns"][n], self.columns[n]) for n in self._fresh}
                yield Rows(i, values, parsed["escapes"])

    def _stretches(self, i: int) -> Iterator[tuple[int, bytes, bytes]]:
        return restore.stretches(self._stored.repo, self._stored.path, self._stored.kept, i)

    def _own(self, i: int, fmt: dict[str, Any], columns: list[Column]) -> dict[str, Any]:
        """Return a source's print format; the styles of columns that become text are inferred from its
        cells.
        """
        stored = self._stored
        words = {n for n in self._changed if "words" in columns[n]["style"]} - {
            n for n, column in enumerate(fmt["columns"]) if "words" in column["style"]
        }
        text = next((text for rows, _, text in self._stretches(i) if rows), b"") if words else b""
        if not text:
            return fmt
        file = TableFile(stored.sources[i]["name"], stored.path, _never, _spec(fmt))
        seen, _ = print_format.infer(file, text, "data", {}, words)
        both = enumerate(zip(fmt["columns"], seen["columns"], strict=True))
        return {**fmt, "columns": [new if n in words else old for n, (old, new) in both]}


def _spec(fmt: dict[str, Any]) -> TableSpec:
    """Return the table layout that a print format implies."""
    names = [column["name"] for column in fmt["columns"]]
    if "fixed" in fmt["layout"]:
        how = fmt["layout"]["fixed"]
        fields = tuple(Field(name, *cell) for name, cell in zip(names, how["cells"], strict=False))
        row, trimmed = how["template"], how.get("trimmed", False)
        crlf = row.endswith("\r\n")
        characters = tuple(tuple(stretch) for stretch in how.get("characters", ()))
        return TableSpec(
            "", "", "fixed", fields, row_bytes=len(row), trimmed=trimmed, crlf=crlf, characters=characters
        )
    if "binary" in fmt["layout"]:
        return TableSpec("", "", "binary", tuple(map(Field, names)))
    separator = fmt["layout"]["delimited"]["separator"]
    return TableSpec("", "", "delimited", tuple(map(Field, names)), separator=separator)


def _never() -> Any:
    raise AssertionError
