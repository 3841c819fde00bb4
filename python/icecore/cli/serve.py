"""``icecore serve``: serve repositories and files over HTTP."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from icecore import errors
from icecore.cli.console import AllowLinks, StorageOption, print_stderr, settings

if TYPE_CHECKING:
    from icecore.integrations.arrakis import Server
    from icecore.service.delegate import Delegate

EXAMPLES = (
    "icecore serve icecore-demo/demo.icecore",
    "icecore serve icecore-demo --port 0",
)


def serve(
    repos: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="REPO…",
            help="Repositories, files (HDF5, NetCDF, …), or directories of them; NAME=PATH to choose a name.",
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="The IP address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port; 0 selects a free port.")
    ] = 5101,
    requests: Annotated[
        int | None,
        typer.Option("--requests", min=1, help="Concurrent requests; further ones get status 503."),
    ] = None,
    seconds: Annotated[
        int | None, typer.Option("--seconds", min=1, help="Time limit until a response begins.")
    ] = None,
    compress: Annotated[
        bool, typer.Option("--compress", help="Compress binary values for clients that accept it.")
    ] = False,
    writable: Annotated[
        bool, typer.Option("--writable", help="Let clients create, change and remove domains.")
    ] = False,
    write_limit: Annotated[
        int | None,
        typer.Option("--write-limit", min=1, help="Largest write of a request in MiB; 1024 by default."),
    ] = None,
    users: Annotated[
        Path | None,
        typer.Option("--users", help="A file of users; without it the service is open to all."),
    ] = None,
    add_user: Annotated[
        str | None,
        typer.Option(
            "--add-user",
            metavar="NAME",
            help="Add a user to --users, with a password from the input, and end.",
        ),
    ] = None,
    cert: Annotated[
        Path | None,
        typer.Option("--cert", help="Encrypt connections with this certificate (PEM, with its chain)."),
    ] = None,
    key: Annotated[Path | None, typer.Option("--key", help="The private key of --cert (PEM).")] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            "--origin",
            metavar="URL",
            help="A web page's origin (https://host) that may use the service, or '*' for reading by all.",
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option("--cache", help="The directory for indexes of files; by default in the user's cache."),
    ] = None,
    product: Annotated[
        list[str] | None,
        typer.Option("--product", metavar="NAME", help="Offer this product of another package, too."),
    ] = None,
    arrakis: Annotated[
        int | None,
        typer.Option(
            "--arrakis",
            metavar="PORT",
            min=0,
            max=65535,
            help="Also serve channels in GPS time to Arrakis clients at this port; 0 selects a free one.",
        ),
    ] = None,
    storage: StorageOption = None,
    allow_links: AllowLinks = None,
) -> None:
    """Serve repositories and files until Ctrl-C: HDF REST (h5pyd, h5web), Zarr v3, tables.

    A domain is /REPO, /REPO@VERSION, /REPO/GROUP or /FILE.h5; a file is indexed on first use. Arrays are also
    at /zarr/REPO, tables at /tables/REPO/TABLE.csv (.parquet, .arrow), products at /products; a browser
    gets a page that shows them. /docs lists all
    requests, /health reads a chunk, /metrics is for
    Prometheus.
    """
    from icecore import _icecore
    from icecore.sources.files import access

    if add_user is not None:
        append_user(users, add_user)
        return

    if (cert is None) != (key is None):
        raise errors.make("invalid", "--cert and --key belong together", "name both PEM files")
    certificate = None if cert is None or key is None else (cert, key)
    origins = [_origin(each) for each in origin or []]
    for line in warnings(host, users is not None, certificate is not None, writable):
        print_stderr(f"icecore: warning: {line}")

    live = None
    if arrakis is not None:
        live = arrakis_server(repos or [], host, arrakis, users is not None, settings(storage))

    def ready(address: str, bound: int) -> None:
        scheme = "https" if certificate else "http"
        print_stderr(f"serving at {scheme}://{address}:{bound} (Ctrl-C ends it)")
        if live is not None:
            live.start()
            print_stderr(f"Arrakis at grpc://{host}:{live.port}")

    try:
        with access.only([*map(_place, repos or []), *(allow_links or [])]):
            _icecore.serve(
                repos or [],
                host=host,
                port=port,
                ready=ready,
                storage=storage_of(repos or [], settings(storage)),
                allow_links=allow_links,
                compress_values=compress,
                requests=requests,
                seconds=seconds,
                writable=writable,
                users=users,
                certificate=certificate,
                origins=origins,
                delegate=delegate(cache, product or []),
                written=None if write_limit is None else write_limit << 20,
            )
    except KeyboardInterrupt:
        print_stderr("stopped")
    finally:
        if live is not None:
            live.stop()


def arrakis_server(
    served: list[str], host: str, port: int, has_users: bool, storage: dict[str, str]
) -> Server:
    """Return the Arrakis server of the repositories among what is served.

    Raises:
        Error: ``unsupported`` with users, as Arrakis requests have no login here; ``invalid`` without
            repositories.
    """
    from icecore.ingest.plan.repository_source import is_repository

    if has_users:
        message = "--arrakis has no login: everybody who reaches the port may read"
        raise errors.make("unsupported", message, "leave out --users, or serve Arrakis in another process")
    places = [place for place in map(_place, served) if is_repository(place)]
    if not places:
        raise errors.make(
            "invalid", "--arrakis needs a repository", "name one: icecore serve REPO --arrakis 0"
        )
    from icecore.integrations.arrakis import Server

    return Server(places, host, port, storage or None)


def storage_of(served: list[str], storage: dict[str, str]) -> dict[str, str]:
    """Return the options of everything that is served, as ``open`` understands them: each bucket has its own.

    The engine knows neither other spellings nor profiles.
    """
    from icecore.repository import address
    from icecore.repository.storage import storage_options

    found = storage_options.resolve("", storage)
    for name in served:
        _, equals, named = name.partition("=")
        place = address.location(named if equals and "://" in named else name)
        if address.is_bucket(place):
            own = storage_options.options_for(place, storage_options.resolve(place, storage))
            found |= {f"{address.bucket(place)}.{key}": value for key, value in own.items()}
    return found


def warnings(host: str, has_users: bool, has_certificate: bool, writable: bool) -> list[str]:
    """Return what an operator should know about a service that listens beyond this machine."""
    if _is_loopback(host):
        return []
    may = "read and change" if writable else "read"
    lines = []
    if not has_users:
        lines.append(f"everybody who reaches {host} may {may} what is served; --users FILE asks for a login")
    if not has_certificate:
        more = " and passwords" if has_users else ""
        lines.append(f"values{more} travel unencrypted; --cert and --key encrypt, or a proxy with TLS does")
    return lines


def _is_loopback(host: str) -> bool:
    import ipaddress

    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True  # the server refuses the address


def _origin(text: str) -> str:
    """Return an origin as browsers send it."""
    from urllib.parse import urlsplit

    parts = urlsplit(text.strip().lower())
    if text == "*":
        return text
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
        raise errors.make("invalid", f"--origin {text} is not an origin", "--origin https://host[:port]")
    return f"{parts.scheme}://{parts.netloc}"


def _place(served: str) -> str:
    """Return the path or URL of ``NAME=PATH`` or ``PATH``, as the server reads it."""
    name, equals, place = served.partition("=")
    return place if equals and not set(name) & set("/:?") else served


def delegate(cache: Path | None, plugins: list[str]) -> Delegate:
    """Return what answers for the native server."""
    from functools import partial

    from icecore.cli.read.read_group import selector
    from icecore.ingest.follow.file_indexes import Indexes
    from icecore.products.served import product
    from icecore.service.delegate import Delegate, page_file
    from icecore.service.netcdf import netcdf
    from icecore.service.tables import table
    from icecore.service.view.answers import answer

    answers: dict[str, Any] = {
        "tables": table,
        "nc": partial(netcdf, selector=selector),
        "products": partial(product, plugins=frozenset(plugins)),
        "page": page_file,
        "view": answer,
    }
    return Delegate(Indexes(cache).of, answers)


def append_user(users: Path | None, name: str) -> None:
    """Append a user to a file that only its owner reads; a user of that name is replaced."""
    from icecore import _icecore

    if users is None:
        raise errors.make("invalid", "--add-user needs --users FILE", "name the file of users")
    password = (
        typer.prompt(f"Password of {name}", hide_input=True) if sys.stdin.isatty() else sys.stdin.readline()
    )
    line = _icecore.user_line(name, password.rstrip("\n"))
    lines = users.read_text().splitlines() if users.exists() else []
    kept = [each for each in lines if not each.startswith(f"{name}:") or each.startswith(f"{name}:token:")]
    users.touch(mode=0o600)
    users.write_text("\n".join([*kept, line, ""]))
