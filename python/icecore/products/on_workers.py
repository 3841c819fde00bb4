"""Products on a Dask cluster: one task for each source, rows in the order of the sources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.cluster.connection import connected
from icecore.products.inputs import Inputs
from icecore.products.registry import Product, find
from icecore.products.rows import Rows
from icecore.products.values import bind

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class SourceRows:
    """Work of a task: the rows of a product of one source; None if the source failed."""

    product: str
    parameters: dict[str, Any]

    def __call__(self, inputs: Inputs) -> pa.Table | None:
        found = find(self.product)
        inputs.variables = found.variables
        try:
            made = found.function(inputs, **bind(found.signature, self.parameters))
            return Rows.of(self.product, made).read_all()
        except errors.Error:
            if not inputs.failures:
                raise
            return None


def computed(product: Product, inputs: Inputs, parameters: dict[str, Any], client: Any) -> Rows:
    """Compute a product on a cluster.

    Raises:
        Error: ``unsupported`` for a product that does not declare how its results are combined.
    """
    name = product.signature.name
    bound = bind(product.signature, parameters)
    if getattr(product.function, "merges", False):
        with connected(client) as inputs.cluster:
            return Rows.of(name, product.function(inputs, **bound))
    if not getattr(product.function, "by_source", False):
        message = f"product {name} doesn't declare that it can be computed source by source"
        raise errors.make("unsupported", message, f"set {name}.by_source = True in its module if it can")
    tables = _tables(inputs, SourceRows(name, parameters), client)
    first = next(tables, None)
    if first is None:
        hint = "; ".join(f"{each.name}: {each.message}" for each in inputs.failures[:3])
        raise errors.make("not-found", "no source has rows", hint or "name at least one source")
    return Rows(first.schema, _batches(first.schema, chain([first], tables), name))


def _tables(inputs: Inputs, work: SourceRows, client: Any) -> Iterator[pa.Table]:
    with connected(client) as inputs.cluster:
        yield from (table for table in inputs.over_sources(work) if table is not None)


def _batches(schema: pa.Schema, tables: Iterator[pa.Table], name: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows in the schema of the first source."""
    import pyarrow as pa

    for table in tables:
        try:
            yield from table.select(schema.names).cast(schema).to_batches()
        except (KeyError, ValueError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            message = f"{name}: a source has other columns than the first: {error}"
            raise errors.make("mismatch", message, "name columns that all have: columns=…") from None
