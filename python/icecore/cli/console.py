"""Options and output shared by the commands."""

from __future__ import annotations

import json
import re
import shutil
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from icecore import errors
from icecore.display import text
from icecore.display.progress_bar import Progress as Progress
from icecore.filesystem.atomic_output import printing

if TYPE_CHECKING:
    from icecore.repository.array import Array
    from icecore.repository.repo import Repo


def persistent(repo: str) -> str:
    """Return the name of a repository that outlives this process.

    Raises:
        Error: ``invalid`` for a repository in memory.
    """
    if repo.startswith("memory://"):
        message = f"{repo} is in memory and would be lost when this command ends"
        raise errors.make("invalid", message, "name a directory: moon.icecore")
    return repo


RepoArgument = Annotated[
    str, typer.Argument(metavar="REPO", help="The repository, REPO@REF for a version.", callback=persistent)
]
PathArgument = Annotated[str, typer.Argument(metavar="PATH", help="Path inside the repository.")]
SelArgument = Annotated[
    str | None,
    typer.Argument(metavar="SEL", help='"0:10, :, ::4" or "time=0:10, lat=3"; default: everything.'),
]
RtolOption = Annotated[
    float | None,
    typer.Option("--rtol", metavar="R", help="Accept this relative error of floats stored in byte planes."),
]
BytesOption = Annotated[
    int | None,
    typer.Option("--bytes", metavar="K", help="Read the K most significant bytes of floats in byte planes."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
StorageOption = Annotated[
    list[str] | None,
    typer.Option(
        "--storage",
        metavar="KEY=VALUE",
        help="Setting of a store: region=…, profile=…, anon=true, s3://bucket.KEY=… for one bucket; may be "
        "repeated.",
    ),
]
DaskOption = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="Work on the cluster of this Dask scheduler."),
]
AllowLinks = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-links",
        metavar="PREFIX",
        help="Directory or URL that linked files may be read from; default: those recorded; may be repeated.",
    ),
]


def examples(*lines: str) -> str:
    """Return the examples at the end of a command's help."""
    return "\b\nExamples (after `icecore demo`):\n" + "\n".join(f"  {line}" for line in lines)


def settings(pairs: list[str] | None) -> dict[str, str]:
    """Parse ``KEY=VALUE`` options to a dictionary."""
    result = {}
    for pair in pairs or []:
        key, equals, value = _pair(pair)
        if not equals or not key:
            raise errors.make("invalid", "--storage needs KEY=VALUE", "--storage region=us-west-2")
        result[key] = value
    return result


def _pair(pair: str) -> tuple[str, str, str]:
    """Key, sign and value; the address of a key, ``s3://bucket/year=2026.region``, may contain the sign."""
    if match := re.match(r"(\w+://.+?\.(?:header\.)?[\w-]+)(=)(.*)", pair, re.DOTALL):
        return match[1], match[2], match[3]
    return pair.partition("=")


def open_repo(repo: str, storage: list[str] | None = None, allow_links: list[str] | None = None) -> Repo:
    """Open the repository of a command."""
    from icecore.repository.open import open

    return open(repo, storage=settings(storage), allow_links=allow_links)


def emit(value: Any, as_json: bool, plain: str, fold: bool = True, done: str = "") -> None:
    """Print data to stdout as JSON or as text; long lines are wrapped on a terminal.

    Names and attributes may come from untrusted files, so control characters are escaped. If printing fails,
    the error reports what is ``done`` already.
    """
    plain = text.visible(plain)
    if fold and not as_json and sys.stdout.isatty():
        plain = text.folded(plain, shutil.get_terminal_size().columns)
    print_stdout(_json(value) if as_json else plain, done)


def print_stdout(line: str, done: str = "") -> None:
    """Print to stdout.

    Raises:
        Error: ``io`` if stdout can't be written; the message includes what is ``done`` already.
    """
    with printing(done):
        typer.echo(line)


def print_stderr(message: str) -> None:
    """Print a message to stderr."""
    typer.echo(text.visible(message), err=True)


def warn_packed(name: str, array: Array) -> None:
    """Warn if stored numbers differ from physical values (scale, offset, unsigned)."""
    attrs = array.attrs
    scale, offset = attrs.get("scale_factor", 1), attrs.get("add_offset", 0)
    if (scale, offset) != (1, 0):
        shown = f"(value - {_short(offset)}) / {_short(scale)}"
        print_stderr(f"icecore: {name} is stored as {shown}; the stored numbers are used")
    if str(attrs.get("_Unsigned")).lower() == "true" and array.dtype.kind == "i":
        print_stderr(f"icecore: {name} has the attribute _Unsigned; the stored signed numbers are used")


def _short(value: Any) -> str:
    """Format a number of an attribute; a float32 with its own digits, not those of its float64 in JSON."""
    from struct import pack, unpack

    if isinstance(value, float) and abs(value) < 1e38 and unpack("f", pack("f", value)) == (value,):
        import numpy as np

        return str(np.float32(value))
    return str(value)


def _json(value: Any) -> str:
    try:
        return json.dumps(value, indent=1, default=_plain, allow_nan=False)
    except ValueError:  # NaN and infinities
        from icecore.repository.json_attributes import to_json

        return json.dumps(to_json(value), indent=1, allow_nan=False)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
