"""``icecore serve``: repositories over HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

from icecore.cli.console import AllowLinks, StorageOption, examples, settings, talk


def serve(
    repos: Annotated[
        list[str],
        typer.Argument(
            metavar="REPO…", help="Repositories, or directories of them; NAME=PATH to choose a name."
        ),
    ],
    host: Annotated[str, typer.Option("--host", help="The IP address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")
    ] = 5101,
    requests: Annotated[
        int | None,
        typer.Option("--requests", min=1, help="Requests answered at once; others get status 503."),
    ] = None,
    seconds: Annotated[
        int | None, typer.Option("--seconds", min=1, help="Seconds until an answer must begin.")
    ] = None,
    compress: Annotated[
        bool, typer.Option("--compress", help="Compress binary values for clients that accept it.")
    ] = False,
    writable: Annotated[
        bool, typer.Option("--writable", help="Let clients create, change and remove domains.")
    ] = False,
    storage: StorageOption = None,
    allow_links: AllowLinks = None,
) -> None:
    """Serve repositories: HDF REST (h5pyd, h5web) at /, Zarr v3 at /zarr/REPO, until Ctrl-C.

    A domain is /REPO, /REPO@VERSION or /REPO/GROUP. /health reads a chunk, /metrics is for Prometheus.
    """
    from icecore import _icecore

    def ready(address: str, bound: int) -> None:
        talk(f"serving at http://{address}:{bound} (Ctrl-C ends it)")

    try:
        _icecore.serve(
            repos,
            host=host,
            port=port,
            ready=ready,
            storage=settings(storage),
            allow_links=allow_links,
            compress_values=compress,
            requests=requests,
            seconds=seconds,
            writable=writable,
        )
    except KeyboardInterrupt:
        talk("stopped")


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog=examples("icecore serve icecore-demo/demo.icecore", "icecore serve icecore-demo --port 0")
    )(serve)
