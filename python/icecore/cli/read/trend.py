"""``icecore trend``: minimum, maximum, mean and rms of a time series, drawn or listed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from icecore.cli.console import (
    AllowLinks,
    Json,
    PathArgument,
    Progress,
    RepoArgument,
    StorageOption,
    emit,
    open_repo,
)

if TYPE_CHECKING:
    from icecore.timeseries.trend import Trend

EXAMPLES = (
    "icecore trend icecore-demo/demo.icecore /frames/H1/DEMO-STRAIN --points 10",
    "icecore trend icecore-demo/demo.icecore /frames/H1/DEMO-STRAIN --start 1400000050 "
    "--stop 1400000070 -o trend.csv",
)


def trend(
    repo: RepoArgument,
    path: PathArgument,
    start: Annotated[str | None, typer.Option(help="GPS seconds, or UTC as 2015-09-14T09:50:29.")] = None,
    stop: Annotated[str | None, typer.Option(help="The end, not included.")] = None,
    points: Annotated[int, typer.Option(help="Windows at most.")] = 2000,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Write .png or .csv.")
    ] = None,
    json: Json = False,
    storage: StorageOption = None,
    allow_links: AllowLinks = None,
) -> None:
    """Show the trend of a time series.

    Minimum, maximum, mean, rms and count of equal windows. Windows without samples stay empty. Stored trends
    are read where they are fine enough, else the samples.
    """
    array = open_repo(repo, storage, allow_links)._array(path)
    with Progress("trend"):
        found = array.trend(start, stop, points)
    if output is not None:
        _write(found, output)
    emit(_facts(found), json, _text(found, output))


def _write(found: Trend, output: str) -> None:
    from icecore.timeseries.trend import write

    write(found, output)


def _facts(found: Trend) -> dict[str, object]:
    import numpy as np

    columns = {name: getattr(found, name) for name in ("min", "max", "mean", "rms")}
    plain = {name: [None if np.isnan(x) else x for x in column.tolist()] for name, column in columns.items()}
    return {
        "path": found.channel,
        "t0_ns": found.t0,
        "epoch": found.epoch,
        "window_seconds": found.step,
        "source": found.source,
        "bytes_read": found.bytes_read,
        "expanded_seconds": list(found.expanded),
        **plain,
        "count": found.count.tolist(),
    }


def _text(found: Trend, output: str | None) -> str:
    from icecore.display import text

    if output is not None:
        return f"{output}: {len(found)} windows of {found.step:g} s of {found.channel}, {_origin(found)}"
    rows = [
        (f"{time:.6f}", *(f"{x:.6g}" for x in values), count)
        for time, *values, count in zip(
            found.times, found.min, found.max, found.mean, found.rms, found.count, strict=True
        )
    ]
    shown = rows if len(rows) <= 40 else rows[:20]
    table = text.table([found.epoch, "min", "max", "mean", "rms", "count"], shown, (0, 1, 2, 3, 4, 5))
    more = "" if len(shown) == len(rows) else f"\n{len(rows) - len(shown)} more: -o trend.csv, or --json"
    return f"{table}{more}\n{_origin(found)}"


def _origin(found: Trend) -> str:
    from icecore.display import text

    what = "samples" if found.source == "samples" else f"stored windows of {found.source}"
    before, behind = found.expanded
    wider = f"; {before:g} s before and {behind:g} s after the stretch" if before or behind else ""
    return f"from {what}, {text.size(found.bytes_read)} read{wider}"
