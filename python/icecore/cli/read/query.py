"""``icecore query``: select rows of a table."""

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
    open_repo,
    print_stderr,
    takes,
    warn_packed,
)
from icecore.display import text
from icecore.tables.query.scan_options import ScanOptions

if TYPE_CHECKING:
    from icecore.repository.repo import Repo
    from icecore.tables.query.table import Table

_SHOWN = 20

EXAMPLES = (
    'icecore query icecore-demo/demo.icecore /photons/gt1l --where "height > 1" --limit 5',
    'icecore query icecore-demo/demo.icecore /photons/gt1l --reduce "count, mean:height"',
)


@takes(ScanOptions)
def query(
    values: dict[str, Any],
    repo: RepoArgument,
    path: PathArgument,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Output: .csv, .json, .parquet, .geoparquet, .arrow or .npy; - for CSV to stdout.",
        ),
    ] = None,
    reduce: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help='Statistics instead of rows: "count, mean:tb, max:tb by c"; count, sum, mean, min, max, '
            "std, rms, histogram:tb:40:0:400 (bins and ends; default: 100 from minimum to maximum). "
            "Columns may be expressions: mean:tb * 2 by floor(lat) as y, hour(time).",
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Run the query, but print only its cost.")
    ] = False,
    json: Json = False,
    storage: StorageOption = None,
    allow_links: AllowLinks = None,
) -> None:
    """Select rows of a table.

    A table is a group of arrays of equal length. CLAUSE compares columns (name[3]: one item of a list column)
    with constants and other columns: < <= = != >= >, between A and B, in (…), is [not] null, like 'abc%',
    and, or, not, ( ), + - * / %, abs sqrt floor ceil round log log10 exp sin cos radians min max,
    year month day hour minute second of times, wrap(lon, 350, 10) for longitudes across 360.
    Put strings, ISO times and times of day ('09:39:11.25') in 'single quotes'. Put column names that are not
    plain words in "double quotes", also in WHAT and --columns. Without -o, a terminal shows the first rows,
    and a pipe or file gets CSV.
    Exit status 1 if no row matches.
    """
    from icecore.tables.query.export import export, writer

    columns, where = values["columns"], values["where"]
    if explain and output is not None:
        raise errors.make("invalid", f"--explain can't be combined with -o {output}", "remove one of them")
    if output is not None:
        writer(output)
    opened = open_repo(repo, storage, allow_links)
    if output is not None:
        from icecore.cli.console import reject_linked

        reject_linked(opened, output)
    table = _table(opened, path, [columns, where, reduce])
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: print_stderr(f"icecore: warning: {message}")
        with Progress("query") if reduce is not None else nullcontext():
            rows = _rows(table, reduce, {**values, "columns": _columns(columns), "xy": _pair(values["xy"])})
    if reduce is None and columns is None and not explain:
        for name, why in table.left_out.items():
            print_stderr(f"icecore: column {name} skipped: {why}; icecore read prints it")
    _warn_packed(table, [where, reduce, columns if reduce or columns else ",".join(table._columns)])
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
        print_stderr(f"{output}: {text.plural(count, 'row')} of {text.plural(len(rows.columns), 'column')}")
    if values["limit"] != 0 and (count == 0 or (reduce is not None and rows.matched == 0)):
        print_stderr("icecore: no row matches")
        raise typer.Exit(1)


def _table(repo: Repo, path: str, texts: list[str | None]) -> Table:
    """Return the group at ``path`` as a table.

    If its arrays differ in length, the columns are those as long as the ones that ``texts`` mention.

    Raises:
        Error: ``mismatch`` if ``texts`` mention no column, or columns of different lengths.
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
    message = f"the arrays of {path} differ in length; columns of this table: {', '.join(names)}"
    print_stderr(f"icecore: {message}")
    return repo.table(path, names)


def _named(texts: list[str | None], names: Iterable[str]) -> list[str]:
    """Return the columns that ``texts`` mention."""
    words = set(re.findall(r"\w+", " ".join(text for text in texts if text)))
    return [name for name in names if words & set(re.findall(r"\w+", name))]


def _rows(table: Table, reduce: str | None, options: dict[str, Any]) -> Any:
    """Return the scan, or with --reduce the result of the reduction."""
    if reduce is None:
        return table.scan(**options)
    if options.pop("columns") is not None:
        raise errors.make(
            "invalid",
            "--columns can't be combined with --reduce",
            'name the columns there: --reduce "count, mean:tb by c"',
        )
    from icecore.tables.query.reduce import reduced

    return reduced(table, reduce, **options)


def _warn_packed(table: Table, texts: list[str | None]) -> None:
    """Warn about columns in ``texts`` whose stored numbers differ from the physical values."""
    for name in _named(texts, table._columns):
        warn_packed(name, table._columns[name])


def _names(text: str | None) -> list[str] | None:
    from icecore.tables.query.column import split

    return None if text is None else split(text)


def _columns(text: str | None) -> list[str] | None:
    names = _names(text)
    if names == []:
        raise errors.make("invalid", f"--columns {text!r}: expected names", "remove it to select all columns")
    return names


def _pair(text: str | None) -> tuple[str, str] | None:
    names = _names(text)
    if names is None:
        return None
    if len(names) != 2:
        raise errors.make(
            "invalid", f"--xy {text!r}: expected 2 columns (got {len(names)})", "--xy clon,clat"
        )
    return names[0], names[1]


def _explained(report: dict[str, Any], json: bool) -> None:
    summed = report.get("from_summaries")
    lines = [f"{report['rows_out']:,} of {report['rows']:,} rows"]
    if summed and not report["zones"]:
        lines.append(f"zones    all computed from the summaries of {', '.join(summed)}")
    elif report["zones"]:
        lines.append(
            f"zones    {report['zones']:,}: {report['zones_pruned']:,} pruned, "
            f"{report['zones_whole']:,} selected completely"
            + (f" (computed from the summaries of {', '.join(summed)})" if summed else "")
        )
    else:
        lines.append("zones    none skipped: the columns of the clause have no summaries")
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
