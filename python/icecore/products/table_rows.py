"""Tables of all sources as one stream of rows with the columns of the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.products.inputs import Inputs, Source, is_pattern
from icecore.products.rows import Rows
from icecore.tables.query.scan import arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from icecore.tables.query.table import Table

#: columns that name the origin of a row
ORIGIN = ("source", "table")


@dataclass(frozen=True)
class Place:
    """A table, and the source that has it."""

    source: Source
    table: Table

    @property
    def name(self) -> str:
        """The name in messages."""
        return f"{self.source.name}:{self.table.path}"

    @property
    def origin(self) -> tuple[str, str]:
        """Values of the columns ``source`` and ``table``."""
        return self.source.name, self.source.below(self.table.path)


def places(inputs: Inputs, pattern: str | None, columns: Sequence[str] | None = None) -> Iterator[Place]:
    """Yield the tables of all sources that match a pattern.

    Raises:
        Error: as :meth:`Source.tables`.
    """
    for source in inputs:
        try:
            found = source.tables(pattern, list(columns) if columns is not None else None)
        except errors.Error as error:
            inputs.failed(source.name, error)
            continue
        yield from (Place(source, table) for table in found)


def concatenated(
    inputs: Inputs, pattern: str | None, columns: Sequence[str] | None, scan: Callable[[Table], Any]
) -> Rows:
    """Return the rows that ``scan`` returns for each table, one table after another.

    The first table decides names and types. The columns ``source`` and ``table`` come first if there may be
    several tables.

    Raises:
        Error: ``not-found`` if there is no table; ``mismatch`` if a later one has other columns or types.
    """
    every = places(inputs, pattern, columns)
    first = next(every, None)
    if first is None:
        hint = "; ".join(f"{each.name}: {each.message}" for each in inputs.failures[:3])
        raise errors.make("not-found", "no source has rows", hint or "name at least one source")
    rows, pa = scan(first.table), arrow()
    is_named = inputs.are_several or is_pattern(pattern)
    origin = [pa.field(name, pa.large_string()) for name in ORIGIN] if is_named else []
    schema = pa.schema([*origin, *rows.schema])

    def batches() -> Iterator[Any]:
        for number, place in enumerate(chain([first], every), 1):
            try:
                for batch in (rows if place is first else scan(place.table)).batches():
                    yield _as(schema, batch, place, bool(origin))
            except errors.Error as error:
                inputs.failed(place.name, error)
            inputs.advance(place.name, number)

    return Rows(schema, batches())


def _as(schema: pa.Schema, batch: pa.RecordBatch, place: Place, is_named: bool) -> pa.RecordBatch:
    """Return a batch in a schema, with the columns of its origin."""
    import pyarrow as pa

    names = schema.names[len(ORIGIN) :] if is_named else schema.names
    try:
        columns = [batch[name].cast(schema.field(name).type) for name in names]
    except (KeyError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        message = f"{place.name} has other columns than the first table: {error}"
        raise errors.make("mismatch", message, "name columns that all have: columns=…") from None
    texts = [pa.scalar(value, pa.large_string()) for value in place.origin] if is_named else []
    front = [pa.repeat(text, batch.num_rows) for text in texts]
    return pa.RecordBatch.from_arrays([*front, *columns], schema=schema)
