"""``icecore query``: rows of a table."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from icecore import errors
from icecore.cli.console import (
    AllowLinks,
    Json,
    PathArgument,
    Progress,
    RepoArgument,
    StorageOption,
    emit,
    examples,
    open_repo,
    talk,
    tell_packed,
)
from icecore.display import text

if TYPE_CHECKING:
    from icecore.repository.repo import Repo
    from icecore.tables.query.table import Table

_SHOWN = 20


def query(
    repo: RepoArgument,
    path: PathArgument,
    where: Annotated[
        str | None, typer.Option(metavar="CLAUSE", help='"lon between 120 and 120.1 and tb > 90"')
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help='Columns, in this order; all by default. "a, b" in double quotes is one.'
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write .csv, .json, .parquet, .arrow or .npy; - for CSV to stdout.",
        ),
    ] = None,
    reduce: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help='Numbers instead of rows: "count, mean:tb, max:tb by c"; of count, sum, mean, min, max, '
            "std, rms, histogram:tb:40:0:400 (bins and ends; by default 100 from least to greatest).",
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Only rows inside the polygons of a GeoJSON file."),
    ] = None,
    xy: Annotated[
        str | None,
        typer.Option(
            metavar="X,Y",
            help="The columns that --within is about; by default those named lon, lat and the like.",
        ),
    ] = None,
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only rows that came from this file; also a glob.")
    ] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", help="At most so many rows.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Run it, and say only what it took.")] = False,
    no_prune: Annotated[bool, typer.Option("--no-prune", help="Don't use summaries.")] = False,
    json: Json = False,
    storage: StorageOption = None,
    allow_links: AllowLinks = None,
) -> None:
    """Select rows of a table.

    A table is a group of arrays of one length. CLAUSE compares columns (name[3] is one value of a column of
    several a row) with constants and each other: < <= = != >= >, between A and B, in (…), is [not] null,
    like 'abc%', and, or, not, ( ), + - * / %, abs sqrt floor ceil log10 exp sin cos radians,
    wrap(lon, 350, 10) for longitudes across 360.
    Texts, ISO times and times of day ('09:39:11.25') stand in 'single quotes', names that are no plain words
    in "double quotes", also in WHAT and among --columns. Without -o the first rows are
    shown on a terminal, and CSV goes anywhere else.
    Exit status 1 when no row matches.
    """
    from icecore.tables.query.export import export, writer

    options = {"where": where, "within": within, "source": source, "limit": limit, "prune": not no_prune}
    if explain and output is not None:
        raise errors.make("invalid", f"--explain writes no rows to {output}", "leave one of them out")
    if output is not None:
        writer(output)
    opened = open_repo(repo, storage, allow_links)
    if output is not None:
        from icecore.cli.output_guard import spare

        spare(opened, output)
    table = _table(opened, path, [columns, where, reduce])
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: talk(f"icecore: warning: {message}")
        with Progress("query") if reduce is not None else nullcontext():
            rows = _rows(table, _columns(columns), reduce, {**options, "xy": _pair(xy)})
    if reduce is None and columns is None and not explain:
        for name, why in table.left_out.items():
            talk(f"icecore: {name} is left out: {why}; icecore read prints it")
    _tell_packed(table, [where, reduce, columns if reduce or columns else ",".join(table)])
    if explain:
        with Progress("query"):
            if reduce is None:
                rows.count()
        _explained(rows.report(), json)
        return
    with Progress("query") if output not in (None, "-") else nullcontext():
        count = export(rows, output, json, _SHOWN)
    if output not in (None, "-") and json:
        emit({"file": output, "rows": count, "columns": rows.columns}, json, "")
    elif output not in (None, "-"):
        talk(f"{output}: {text.plural(count, 'row')} of {text.plural(len(rows.columns), 'column')}")
    if limit != 0 and (count == 0 or (reduce is not None and rows.matched == 0)):
        talk("icecore: no row matches")
        raise typer.Exit(1)


def _table(repo: Repo, path: str, texts: list[str | None]) -> Table:
    """The group at ``path``; of arrays that differ in length those as long as the ones named in ``texts``.

    Raises:
        Error: ``mismatch`` where none are named, or such of several lengths.
    """
    try:
        return repo.table(path)
    except errors.Error as error:
        arrays = getattr(repo[path], "arrays", {}) if error.kind == "mismatch" else {}
        lengths = {arrays[name].shape[:1] for name in _named(texts, arrays)}
        if len(lengths) != 1 or lengths == {()}:
            raise
    from icecore.tables.query.column import fits

    names = [name for name, array in arrays.items() if array.shape[:1] in lengths and not fits(array)]
    said = f"the arrays of {path} differ in length; those as long as the ones named: {', '.join(names)}"
    talk(f"icecore: {said}")
    return repo.table(path, names)


def _named(texts: list[str | None], names: Iterable[str]) -> list[str]:
    """Which of the columns ``names`` stand in ``texts``."""
    words = set(re.findall(r"\w+", " ".join(text for text in texts if text)))
    return [name for name in names if words & set(re.findall(r"\w+", name))]


def _rows(table: Table, columns: list[str] | None, reduce: str | None, options: dict[str, Any]) -> Any:
    """The scan or, with --reduce, what it came to."""
    if reduce is None:
        return table.scan(columns, **options)
    if columns is not None:
        raise errors.make(
            "invalid",
            "--columns chooses columns of rows, and --reduce makes columns of its own",
            'name them there: --reduce "count, mean:tb by c"',
        )
    from icecore.tables.query.reduce import reduced

    return reduced(table, reduce, **options)


def _tell_packed(table: Table, texts: list[str | None]) -> None:
    """Say which columns named in ``texts`` hold other numbers than they stand for."""
    for name in _named(texts, table):
        tell_packed(name, table[name])


def _names(text: str | None) -> list[str] | None:
    from icecore.tables.query.column_names import split

    return None if text is None else split(text)


def _columns(text: str | None) -> list[str] | None:
    names = _names(text)
    if names == []:
        raise errors.make("invalid", f"--columns {text!r} names no column", "leave it out for all of them")
    return names


def _pair(text: str | None) -> tuple[str, str] | None:
    names = _names(text)
    if names is None:
        return None
    if len(names) != 2:
        raise errors.make("invalid", f"--xy {text!r} names {len(names)} columns", "--xy clon,clat")
    return names[0], names[1]


def _explained(report: dict[str, Any], json: bool) -> None:
    summed = report.get("from_summaries")
    lines = [f"{report['rows_out']:,} of {report['rows']:,} rows"]
    if summed and not report["zones"]:
        lines.append(f"zones    wanted as a whole: the summaries of {', '.join(summed)} tell")
    elif report["zones"]:
        lines.append(
            f"zones    {report['zones']:,}: {report['zones_pruned']:,} pruned, "
            f"{report['zones_whole']:,} wanted as a whole"
            + (f", of which the summaries of {', '.join(summed)} tell" if summed else "")
        )
    else:
        lines.append("zones    no summary of the clause's columns: nothing was pruned")
    lines.append(f"tested   {report['rows_tested']:,} rows")
    for name, label in (("summaries", "summary"), ("predicate", "clause"), ("data", "rest")):
        read = report[name]
        size = text.size(read["bytes_fetched"])
        lines.append(
            f"{label.ljust(8)} {text.plural(read['requests'], 'request')}, {size}, "
            f"{text.plural(read['chunks'], 'chunk')} decoded"
        )
    emit(report, json, "\n".join(lines))
    if report["rows_out"] == 0:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog=examples(
            'icecore query icecore-demo/demo.icecore /photons/gt1l --where "height > 1" --limit 5',
            'icecore query icecore-demo/demo.icecore /photons/gt1l --reduce "count, mean:height"',
        )
    )(query)
