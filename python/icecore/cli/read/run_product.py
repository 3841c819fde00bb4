"""``icecore run``: compute a product of sources."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from icecore import errors
from icecore.cli.console import (
    DaskOption,
    Json,
    Progress,
    StorageOption,
    emit,
    print_stderr,
    settings,
)
from icecore.display import text

if TYPE_CHECKING:
    from icecore.products.registry import Product
    from icecore.products.signature import Signature

_SHOWN = 20

EXAMPLES = (
    "icecore run stats icecore-demo/demo.icecore -p table=photons/gt1l -p columns=height",
    "icecore run subset icecore-demo/demo.icecore -p table=photons/gt1l -p limit=5",
)


def run(
    product: Annotated[
        str | None, typer.Argument(metavar="PRODUCT", help="Its name; --list lists them.")
    ] = None,
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="SRC…", help="Files, globs, @list.txt, URLs, REPO or REPO:/path."),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", metavar="KEY=VALUE", help="A parameter; may be repeated."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Output: .parquet, .geoparquet, .arrow, .csv, .json or .npy, of spectra .png; - for CSV to "
            "stdout.",
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the products.")] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of the parameters.")
    ] = False,
    about: Annotated[bool, typer.Option("--parameters", help="List the parameters of a product.")] = False,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Report sources and pieces that fail, and continue.")
    ] = False,
    dask: DaskOption = None,
    json: Json = False,
    storage: StorageOption = None,
) -> None:
    """Compute a product with your own parameters.

    Files are read in place. `icecore run PRODUCT --help` lists the parameters. Without -o, a terminal shows
    the first rows, and a pipe or file gets CSV.
    Exit status 1 if the result has no rows, 2 if something failed.
    """
    from icecore.products import registry

    if list_ or product is None:
        _list(registry.names(), json)
        return
    found = registry.find(product)
    if schema:
        emit(found.signature.schema(), True, "")
        return
    if about:
        emit(found.signature.schema(), json, described(found.signature), fold=False)
        return
    if not sources:
        message = f"{product} needs a source"
        raise errors.make("invalid", message, f"icecore run {product} FILE; --help lists its parameters")
    how = {"storage": settings(storage), "keep_going": keep_going, "client": dask}
    _run(found, sources, _parameters(param), output, json, how)


def _run(
    found: Product,
    sources: list[str],
    parameters: dict[str, Any],
    output: str | None,
    json: bool,
    how: dict[str, Any],
) -> None:
    from icecore.products.run import checked, write
    from icecore.products.run import run as compute

    name = found.signature.name
    if output is not None:
        checked(found, output)
    with Progress(name, nbytes=False) as progress:
        rows = compute(name, sources, progress=progress, **how, **parameters)
        count = write(found, rows, output, json, _SHOWN)
    if output not in (None, "-"):
        facts = {"file": output, "rows": count, "columns": rows.columns, "failed": len(rows.failures)}
        if json:
            emit(facts, json, "")
        else:
            print_stderr(
                f"{output}: {text.plural(count, 'row')} of {text.plural(len(rows.columns), 'column')}"
            )
    for each in rows.failures:
        print_stderr(f"failed: {each.name}: {each.message}")
    if rows.failures:
        raise typer.Exit(2)
    if count == 0:
        print_stderr("icecore: the result has no rows")
        raise typer.Exit(1)


def _list(names: dict[str, str], json: bool) -> None:
    from icecore.products.registry import find

    rows = []
    for name in sorted(names):
        try:
            doc = find(name).signature.doc.partition("\n")[0]
        except errors.Error as error:
            doc = f"error: {error.message}"
        rows.append((name, names[name], doc))
    listed = [dict(zip(("name", "origin", "description"), row, strict=True)) for row in rows]
    emit(listed, json, text.table(["product", "from", "description"], rows))


def described(signature: Signature) -> str:
    """Return the help text of a product: description, parameters with defaults, units and bounds."""
    lines = []
    for name, default, accepted, doc in signature.rows():
        limits = "; ".join(part for part in (accepted, f"default {default}" if default else "") if part)
        lines.append((f"  {name}", doc + (f" [{limits}]" if limits else "")))
    head = f"icecore run {signature.name} SRC… --param KEY=VALUE … [-o FILE]"
    return f"{head}\n\n{signature.doc}\n\nParameters:\n{text.pairs(lines)}"


def _parameters(pairs: list[str] | None) -> dict[str, Any]:
    """Parse ``KEY=VALUE`` options; a key that is repeated makes a list."""
    found: dict[str, Any] = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals or not re.fullmatch(r"[\w.]+", key.strip()):
            raise errors.make("invalid", f"--param {pair!r} is not KEY=VALUE", "--param len=40")
        key = key.strip()
        if key in found:
            before = found[key]
            found[key] = [*before, value] if isinstance(before, list) else [before, value]
        else:
            found[key] = value
    return found
