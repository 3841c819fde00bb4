"""Union of tables by column name, as one Arrow stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from icecore import errors
from icecore.tables.query.scan import arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from icecore.tables.query.table import Table

#: attributes of columns that change the meaning of their numbers
_MEANING = ("units", "scale_factor", "add_offset")
_LEAVE = "leave it out: columns=[…]"


def union(
    tables: Sequence[Table],
    columns: Sequence[str] | None = None,
    where: str | None = None,
    *,
    name: str | None = None,
) -> pa.RecordBatchReader:
    """Return the rows of several tables, one table after the other, with their columns matched by name.

    A column that a table lacks is null in its rows. Numbers of different types get a type that represents
    them: int32 and float32 become float64, for example. Nothing is read before the stream is.

    Args:
        tables: the tables, of one repository or several.
        columns: names, in the order of the result; by default all, in the order in which they appear.
        where: a where-clause, see :class:`icecore.Table`. Each table must have its columns.
        name: name of an additional first column with the path of each row's table.

    Returns:
        An Arrow stream, for pyarrow, polars and DuckDB.

    Raises:
        Error: ``mismatch`` for a column that has strings in one table and numbers in another, or other units,
            and while reading for an integer that the common type can't represent; ``not-found`` for a column
            that no table has; ``invalid`` without tables.

    Example:
        >>> import icecore
        >>> repo = icecore.create("memory://")
        >>> with repo.writer() as w:
        ...     w.array("/a/id", "i4", (2,))[...] = [1, 2]
        ...     w.array("/b/tb", "f4", (1,))[...] = [250]
        ...     w.array("/b/id", "i8", (1,))[...] = [3]
        >>> repo = repo.at("main")
        >>> icecore.union([repo.table("/a"), repo.table("/b")]).read_all().to_pydict()
        {'id': [1, 2, 3], 'tb': [None, None, 250.0]}
    """
    if not tables:
        raise errors.make("invalid", "a union of no tables", "icecore.union([repo.table('/a'), …])")
    pa = arrow()
    whole = [table.scan(where=where).schema for table in tables]
    known = list(dict.fromkeys(field for schema in whole for field in schema.names))
    wanted = known if columns is None else list(columns)
    for column in wanted:
        if column not in known:
            raise errors.make("not-found", f"none of the tables has a column {column}", ", ".join(known[:10]))
    if name is not None and name in wanted:
        raise errors.make("invalid", f"the tables have a column {name}", "choose another name=")
    fields = [_field(column, tables, whole) for column in wanted]
    added = [] if name is None else [pa.field(name, pa.string())]
    schema = pa.schema([*added, *fields])
    # A table without any of the columns has rows of nulls, which another of its columns counts.
    taken = [[column for column in wanted if column in found.names] or found.names[:1] for found in whole]
    scans = [(table, table.scan(mine, where)) for table, mine in zip(tables, taken, strict=True)]
    batches = (_placed(batch, table, schema, name) for table, scan in scans for batch in scan)
    return pa.RecordBatchReader.from_batches(schema, batches)


def _field(column: str, tables: Sequence[Table], schemas: Sequence[pa.Schema]) -> pa.Field:
    """Return a column's field in the union."""
    pa = arrow()
    pairs = zip(tables, schemas, strict=True)
    having = [(table, schema.field(column)) for table, schema in pairs if column in schema.names]
    first, field = having[0]
    for table, other in having[1:]:
        for key in _MEANING:
            mine, theirs = ((each.metadata or {}).get(key.encode(), b"").decode() for each in (field, other))
            if mine != theirs and (key != "units" or (mine and theirs)):
                said = f"{mine or 'no'} {key} in {first.path} and {theirs or 'no'} {key} in {table.path}"
                raise errors.make("mismatch", f"column {column} has {said}", _LEAVE)
        both = [pa.schema([pa.field(column, each.type)]) for each in (field, other)]
        try:
            common = pa.unify_schemas(both, promote_options="permissive").field(column).type
        except (pa.ArrowTypeError, pa.ArrowInvalid):
            message = f"column {column} is {field.type} in {first.path} and {other.type} in {table.path}"
            raise errors.make("mismatch", message, _LEAVE) from None
        field = field.with_type(common)
        if not (field.metadata or {}).get(b"units"):
            field = field.with_metadata(other.metadata)
    return field.with_nullable(True)


def _placed(batch: pa.RecordBatch, table: Table, schema: pa.Schema, name: str | None) -> pa.RecordBatch:
    """Return a batch of one table in the schema of the union."""
    pa = arrow()
    rows, values = batch.num_rows, []
    for field in schema:
        if field.name == name:
            values.append(pa.array([table.path] * rows, field.type))
        elif field.name not in batch.schema.names:
            values.append(pa.nulls(rows, field.type))
        else:
            try:
                values.append(batch.column(field.name).cast(field.type))
            except pa.ArrowInvalid as error:
                message = f"{table.path}: column {field.name} does not fit {field.type}: {error}"
                raise errors.make("mismatch", message, "read the tables one by one") from None
    return pa.RecordBatch.from_arrays(values, schema=schema)
