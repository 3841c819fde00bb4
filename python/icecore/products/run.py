"""Run a product on sources."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any

from icecore import errors
from icecore.cluster.connection import connected
from icecore.display.progress import ProgressCall
from icecore.display.progress_bar import reported
from icecore.products.inputs import Inputs, listed
from icecore.products.registry import Product, find
from icecore.products.rows import Rows
from icecore.products.values import bind
from icecore.sources.failure import Failure

if TYPE_CHECKING:
    import pyarrow as pa


class Result(Rows):
    """Rows of a product, computed as they are read.

    Attributes:
        failures: with ``keep_going`` the sources and pieces that failed so far; complete after the last row.
    """

    def __init__(self, rows: Rows, failures: list[Failure]) -> None:
        super().__init__(rows.schema, rows._batches)
        self.failures = failures


def run(
    product: str,
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str] | None = None,
    *,
    storage: Mapping[str, Any] | None = None,
    keep_going: bool = False,
    progress: bool | ProgressCall | None = None,
    client: Any = None,
    **parameters: Any,
) -> Result:
    """Compute a product of files or repositories with your own parameters.

    Args:
        product: a name: ``atl06``, ``subset``, ``stats``, ``histogram``, ``query``, ``trend``, or one that a
            package registers under the entry point ``icecore.products``. ``icecore run NAME --help`` lists
            its parameters with units and bounds.
        sources: files, directories, globs, ``@list.txt``, URLs, ``REPO``, ``REPO@REF`` or ``REPO:/path``.
            Files are read in place.
        output: write the rows to a ``.parquet``, ``.geoparquet``, ``.arrow``, ``.csv``, ``.json`` or ``.npy``
            file, which appears when it is complete; of spectra also a ``.png`` picture.
        storage: credentials of object stores.
        keep_going: record sources and pieces that fail in ``failures`` instead of raising the first.
        progress: true for a bar in a terminal or notebook; or a function that is called with (name, pieces
            done, pieces known so far).
        client: compute on a Dask cluster, one task for each source: a ``distributed.Client`` or the address
            of a scheduler.
        **parameters: of the product; nested ones as a dictionary: ``fit={"maxi": 3}``.

    Returns:
        Rows as a stream of Arrow batches, which can be read once; with ``output`` they are read already.

    Raises:
        Error: ``not-found`` for an unknown product or missing datasets; ``invalid`` for an unknown parameter,
            a wrong unit or a value out of bounds; and the errors of reads.

    Example:
        >>> import icecore
        >>> repo = icecore.create("moon.icecore")
        >>> with repo.writer() as w:
        ...     w.array("/rdr/tb", "f4", (3,))[...] = [200, 250, 300]
        >>> icecore.run("stats", "moon.icecore", where="tb > 220").to_pandas()[["column", "count", "mean"]]
          column  count   mean
        0     tb      2  275.0
    """
    found = find(product)
    bound = bind(found.signature, parameters)
    if output is not None:
        checked(found, os.fspath(output))
    inputs = Inputs(listed(sources), storage, keep_going, variables=found.variables)
    with reported(progress, product, nbytes=False) as inputs.progress:
        if client is None:
            rows = Rows.of(product, found.function(inputs, **bound))
        else:
            rows = computed(found, inputs, parameters, client)
    result = Result(Rows(rows.schema, _reported(rows, product, inputs, progress)), inputs.failures)
    if output is not None:
        write(found, result, os.fspath(output))
    return result


def checked(product: Product, output: str) -> None:
    """Check that a product can be written to a file of this suffix.

    Raises:
        Error: ``unsupported``.
    """
    if not (output.lower().endswith(".png") and getattr(product.function, "picture", None)):
        from icecore.tables.query.export import writer

        writer(output)


def write(product: Product, rows: Rows, output: str | None, json: bool = False, shown: int = 20) -> int:
    """Write rows as :func:`icecore.tables.query.export.export` does, or draw them in a ``.png`` file."""
    from icecore.tables.query.export import export

    place = getattr(product.function, "picture", None)
    if output is None or place is None or not output.lower().endswith(".png"):
        return export(rows, output, json, shown)
    module, _, function = place.partition(":")
    drawn: int = getattr(import_module(module), function)(rows, output)
    return drawn


def _reported(
    rows: Rows, product: str, inputs: Inputs, progress: bool | ProgressCall | None
) -> Iterator[pa.RecordBatch]:
    """Yield the batches, with a bar from the first one to the last."""
    with reported(progress, product, nbytes=False) as inputs.progress:
        yield from rows._batches


# Products on a Dask cluster: one task for each source, rows in the order of the sources.


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
