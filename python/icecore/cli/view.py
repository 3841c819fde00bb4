"""``icecore view``: open the page on a repository or a file."""

from __future__ import annotations

import json as json_module
import os
import secrets
import signal
import sys
import threading
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from icecore.cli.console import AllowLinks, StorageOption, print_stderr, settings
from icecore.repository import address

if TYPE_CHECKING:
    from icecore.repository.repo import Repo

EXAMPLES = (
    "icecore view icecore-demo/demo.icecore --help",
    "icecore view icecore-demo/demo.icecore --static demo-page",
)


def view(
    repo: Annotated[
        str, typer.Argument(metavar="REPO|FILE", help="A repository, REPO@REF for a version, or a file.")
    ],
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="The array or group to show first.")] = "/",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port; 0 selects a free port.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the browser; otherwise only print the URL.")
    ] = True,
    static: Annotated[
        str | None,
        typer.Option(
            "--static",
            metavar="DIR",
            help="Write the page into a new folder instead, for any web server beside the repository.",
        ),
    ] = None,
    child: Annotated[bool, typer.Option("--child", hidden=True)] = False,
    storage: StorageOption = None,
    allow_links: AllowLinks = None,
) -> None:
    """Show a repository or a file in the browser until Ctrl-C.

    The service listens on this machine alone. Its URL is printed to stdout; it contains a secret, so that
    other users and web pages can't open it.

    --static DIR writes a folder that needs no service: a web server or bucket that serves the folder and the
    repository is enough. The page shows this version, and reads packed chunks in the browser.
    """
    if static is not None:
        return _write_static(repo, static, settings(storage))
    from icecore import _icecore
    from icecore.cli.serve import delegate, storage_of
    from icecore.sources.files import access

    place, version = address.split_ref(repo)
    secret = secrets.token_urlsafe(24)
    name = _name(place)
    options: dict[str, Any] = (
        _from_parent() if child else {"storage": settings(storage), "allow_links": allow_links}
    )
    options["storage"] = storage_of([place], options["storage"] or {})

    def ready(host: str, bound: int) -> None:
        url = f"http://{host}:{bound}/{secret}/view/?{query(name, version, path)}"
        typer.echo(url)
        sys.stdout.flush()
        if browser:
            _open(url)

    _check(place)
    linked = _linked(place, options["storage"])
    opens = [] if linked else _openable(place)
    try:
        with access.only([*opens, *(options["allow_links"] or [])]):
            _icecore.serve(
                [f"{name}={linked.url if linked else place}"],
                host="127.0.0.1",
                port=port,
                ready=ready,
                secret=secret,
                delegate=delegate(None, []),
                **options,
            )
    except KeyboardInterrupt:
        print_stderr("stopped")


def _write_static(repo: str, folder: str, storage: dict[str, Any]) -> None:
    import icecore
    from icecore import errors
    from icecore.service import static_page

    place, _ = address.split_ref(repo)
    _check(place)
    if not address.is_url(place) and address.local(place).is_file():
        raise errors.make(
            "unsupported", f"--static needs a repository, {place} is a file", f"icecore pack {place} REPO"
        )
    reasons = static_page.write(icecore.open(repo, storage=storage or None), folder, _name(place))
    for reason, count in reasons.items():
        print_stderr(f"note: {count} array{'s' if count > 1 else ''} can't be shown: they {reason}")
    print_stderr(f"serve {folder} and {place} from one web server, and open {folder}/index.html there")


def query(name: str, version: str | None, path: str) -> str:
    """Return the part of the page's URL that says what is shown."""
    shown = {"repo": name, "version": version or "", "path": "" if path == "/" else path}
    return "&".join(f"{key}={quote(value, safe='/')}" for key, value in shown.items() if value)


def _openable(place: str) -> list[str]:
    """Return what may be opened: a repository; for a file its directory, which may have parts of it."""
    if address.is_url(place):
        return [place]
    path = address.local(place)
    return [str(path.parent if path.is_file() else path)]


def _check(place: str) -> None:
    """Refuse what isn't there before a server starts."""
    from icecore import errors

    if not address.is_url(place) and not address.local(place).exists():
        raise errors.make("not-found", f"there is no {place}", "name a repository or a file")


def _linked(place: str, storage: dict[str, str]) -> Repo | None:
    """Return a repository in memory that is linked to a file on a server; None for everything else."""
    from icecore.ingest.plan.repository_source import is_repository
    from icecore.ingest.source_in_memory import filled
    from icecore.sources.files.identity import is_remote

    if not is_remote(place) or is_repository(place):
        return None
    return filled(place, f"memory://{secrets.token_hex(8)}", storage)


def _name(place: str) -> str:
    found = PurePosixPath(place.rstrip("/")).name or "data"
    return found.replace("@", "_").replace("=", "_").replace("\\", "_")


def _open(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        print_stderr("no browser was found: open the URL yourself")


def _from_parent() -> dict[str, Any]:
    """Read storage settings, which no process list must show, and end when the parent does."""
    options: dict[str, Any] = json_module.loads(sys.stdin.readline())

    def wait() -> None:
        sys.stdin.read()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=wait, daemon=True).start()
    return options
