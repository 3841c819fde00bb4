"""Tables of all sources as one stream of rows with the columns of the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.products.area import area
from icecore.products.inputs import Inputs, Source, is_pattern
from icecore.products.rows import Rows
from icecore.products.signature import Field
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
        Error: ``not-found`` if the source has no table; ``mismatch`` if a later one has other columns or
            types.
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


# Selection of rows that several products share: clause, area, time.


@dataclass(frozen=True)
class Where:
    """What rows to select; :meth:`options` gives the options of a scan of a table."""

    clause: str | None = None
    poly: Any = None
    box: list[float] | None = None
    t0: str | None = None
    t1: str | None = None
    time: str | None = None
    xy: list[str] | None = None

    def options(self, table: Table) -> dict[str, Any]:
        """Return ``where``, ``within`` and ``xy`` for a scan.

        Raises:
            Error: ``not-found`` if the table has no column of times or coordinates.
        """
        clauses = [f"({self.clause})"] if self.clause is not None else []
        if self.t0 is not None or self.t1 is not None:
            column = _quoted(self.time or time_column(table))
            clauses += [f"{column} >= {_time(self.t0)}"] if self.t0 is not None else []
            clauses += [f"{column} < {_time(self.t1)}"] if self.t1 is not None else []
        options: dict[str, Any] = {"where": " and ".join(clauses) or None}
        inside = area(self.poly, self.box)
        if inside is not None:
            options["within"] = inside
        if self.xy is not None:
            if len(self.xy) != 2:
                raise errors.make("invalid", f"xy must name two columns (got {self.xy})", "xy=lon,lat")
            options["xy"] = (self.xy[0], self.xy[1])
        return options


def time_column(table: Table) -> str:
    """Return the column of times: with a time dtype, or with units such as ``seconds since 2018-01-01``.

    Raises:
        Error: ``not-found``.
    """
    for name, array in table._columns.items():
        if array.dtype.kind == "M" or " since " in str(array.attrs.get("units", "")):
            return name
    message = f"{table.path} has no column of times (a time dtype, or units such as seconds since 2018-01-01)"
    raise errors.make("not-found", message, 'use a clause instead: where="delta_time > 1e8"')


def _time(text: str | None) -> str:
    return "'" + str(text).replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# Descriptions of parameters that several products share.

TABLE = Field("Path of a table in each source, or a pattern of several (gt*/heights); default: the only one.")
COLUMNS = Field("Columns, in this order; default: all.")
POLY = Field("Area: a GeoJSON file or geometry, or points of one ring as {lon, lat} or [lon, lat].")
BOX = Field(
    "Area: west,south,east,north; west > east crosses the antimeridian.", unit="degrees", low=-360, high=360
)
T0 = Field("Start of the time span, as 2018-10-14T00:00:00.")
T1 = Field("End of the time span, not included.")
WHERE = Field("A where-clause: h_ph > 100 and quality_ph = 0.")
TIME = Field(
    "Column of times; default: the first with a time dtype or units such as seconds since 2018-01-01."
)
XY = Field("Columns of longitude and latitude; default: found by name.")
