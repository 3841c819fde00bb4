"""Options and output shared by the commands."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from icecore import errors
from icecore.display import text
from icecore.display.progress_bar import Progress as Progress
from icecore.filesystem.atomic_output import printing
from icecore.ingest.common_options import ALLOW_LINKS, STORAGE
from icecore.options import Option, described, kind

if TYPE_CHECKING:
    from icecore.ingest.report import Report
    from icecore.repository.array import Array
    from icecore.repository.repo import Repo
    from icecore.sources.failure import Failure


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
    typer.Argument(
        metavar="SEL",
        help='Places: "0:10, :, ::4" or "time=0:10, lat=3". Coordinates: "lat=45.0, time=2020-01..2020-02", '
        "with both ends. Default: everything.",
    ),
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
        help=STORAGE,
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
        help=ALLOW_LINKS,
    ),
]


def examples(*lines: str) -> str:
    """Return the examples at the end of a command's help."""
    return "\b\nExamples (after `icecore demo`):\n" + "\n".join(f"  {line}" for line in lines)


_FEDERATIONS = ("osdf://", "pelican://")


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
    """Open the repository of a command, or a source file, which is linked into a repository in memory."""
    from icecore.repository.open import open

    options = settings(storage)
    # Some servers answer every address, also those of a repository's parts below a file.
    is_web = repo.startswith(("http://", "https://"))
    is_file = (is_web and _has_suffix(repo) and ".icecore" not in repo) or repo.startswith(_FEDERATIONS)
    if is_file and (found := _source(repo, options)) is not None:
        return found
    try:
        return open(repo, storage=options, allow_links=allow_links)
    except errors.Error as error:
        if is_file or error.kind not in ("format", "not-found"):
            raise
        if (found := _source(repo, options)) is None:
            raise
        return found


def _has_suffix(url: str) -> bool:
    """Whether the last part of an address looks like the name of a file: ``f.root:Events?token=…``."""
    name = url.partition("?")[0].removesuffix("/").rpartition("/")[2].partition(":")[0]
    _, dot, suffix = name.rpartition(".")
    return bool(dot) and suffix.isascii() and suffix.isalnum() and len(suffix) < 8


def _source(name: str, options: dict[str, str]) -> Repo | None:
    from icecore.ingest.source_in_memory import opened

    return opened(name, options)


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


# Reject outputs that would overwrite a linked file.


def reject_linked(repo: Repo, output: str) -> None:
    """Reject an output file that a version links to: overwriting it would destroy the linked arrays.

    Raises:
        Error: ``invalid``.
    """
    if os.path.isfile(output) and _is_linked(repo, os.stat(output)):
        message = f"{output} is linked by {repo.url}: its arrays would be lost"
        raise errors.make("invalid", message, "name another file")


def _is_linked(repo: Repo, file: os.stat_result) -> bool:
    from icecore.sources.files.identity import local_path

    for url in repo._native.sources():
        with suppress(OSError, ValueError):  # missing, or not a file
            if os.path.samestat(os.stat(local_path(url)), file):
                return True
    return False


# Shared code of ``icecore branch`` and ``icecore tag``: list, create and delete names of versions.


def name_version(
    repo: Repo, kind: Literal["branch", "tag"], name: str | None, delete: bool, as_json: bool
) -> None:
    """List branches or tags, delete one, or create one at the version of ``repo``."""
    if name is None:
        if delete:
            raise errors.make("invalid", "--delete needs a name", f"icecore {kind} REPO NAME --delete")
        known = repo.tags if kind == "tag" else repo.branches
        emit(known, as_json, "\n".join(f"{snapshot}  {each}" for each, snapshot in known.items()) or "none")
    elif delete:
        (repo.delete_tag if kind == "tag" else repo.delete_branch)(name)
        if as_json:
            emit({kind: name, "deleted": True}, as_json, "")
        else:
            print_stderr(f"deleted {kind} {name}")
    else:
        (repo.tag if kind == "tag" else repo.branch)(name)
        facts = {kind: name, "snapshot": repo.snapshot_id}
        emit(
            facts, as_json, f"{repo.snapshot_id}  {name}", done=f"the {kind} {name} was created nevertheless"
        )


# Options and output shared by ``link`` and ``pack``.

#: notes of one kind that are printed without -v
_NOTES = 20

Verbose = Annotated[
    bool, typer.Option("-v", "--verbose", help="List every array instead of a summary by group.")
]

#: largest number of arrays listed one by one without -v
_ROWS = 20


def finish(
    done: str,
    report: Report,
    into: str,
    json: bool,
    verbose: bool,
    storage: dict[str, str] | None = None,
) -> None:
    """Print the report or the plan, then the failures; exit with status 2 if there are any."""
    print_notes(report, verbose)
    print_failures(report.failures)
    committed = f"{into}: snapshot {report.snapshot} was committed nevertheless" if report.snapshot else ""
    by = _readers(report, into, storage)
    found = report.as_dict() | ({"readable_by": by} if by else {})
    emit(found, json, _text(done, report, into, verbose, by), done=committed)
    if report.failures:
        raise typer.Exit(2)


def print_failures(failures: Iterable[Failure]) -> None:
    """Print the sources and arrays that failed, with the reason."""
    from icecore.ingest.failure_policy import one_line

    for failure in failures:
        print_stderr(f"icecore: error[{failure.kind}]: {one_line(failure)}")
        if failure.hint:
            print_stderr(f"  try: {failure.hint}")


def print_notes(report: Report, verbose: bool = False) -> None:
    """Print the notes of a report; of each kind at most ``_NOTES`` unless ``verbose``."""
    left_out: Counter[str] = Counter()
    printed: Counter[str] = Counter()
    for note in report.notes:
        if note.kind == "dimension":
            continue  # name and length are kept in the arrays; --json lists it
        if printed[note.kind] >= _NOTES and not verbose:
            left_out[note.kind] += 1
            continue
        printed[note.kind] += 1
        print_stderr(f"icecore: note[{note.kind}]: {note.name}: {note.message}")
    for name, count in left_out.items():
        print_stderr(f"icecore: note[{name}]: {count:,} more (-v or --json lists them)")


def _arrays(report: Report, verbose: bool) -> str:
    """Return the plan of a dry run, all arrays, or a summary by group if there are many arrays."""
    if report.plan is not None:
        return str(report.plan)
    if verbose or len(report.rows) <= _ROWS:
        return report.table()
    from icecore.ingest.report import summarize

    return f"{summarize(report.rows)}\n(-v lists every array)"


def _readers(report: Report, into: str, storage: dict[str, str] | None) -> str:
    """Return which programs can read the arrays of a committed report; empty without a commit."""
    from icecore.codecs.readers import summary
    from icecore.repository.open import open

    if not report.snapshot or report.dry_run:
        return ""
    paths = {row.path for row in report.rows if row.how != "skipped"}
    version = open(into, storage=storage).at(report.snapshot)
    return summary(
        node.document
        for node in version._visible()
        if node.is_array and (node.path in paths or node.parent in paths)
    )


def _text(done: str, report: Report, into: str, verbose: bool, by: str) -> str:
    shown = _arrays(report, verbose)
    stored = report.bytes_stored + sum(row.bytes for row in report.rows if row.how in ("linked", "mixed"))
    counts = [f"{report.count(how)} {how}" for how in ("linked", "mixed", "copied", "packed", "skipped")]
    counts = [count for count in counts if not count.startswith("0 ")]
    nothing = "groups only" if report.snapshot else "nothing to do"
    lines = [shown, "", f"{text.plural(len(report.rows), 'array')}: {', '.join(counts) or nothing}"]
    if report.dry_run:
        lines.append(f"dry run: nothing was written to {into}")
    else:
        ratio = text.ratio(report.bytes_raw, stored)
        size = f"{text.size(report.bytes_raw)} raw, {text.size(stored)} stored ({ratio})"
        if done == "linked":
            size += f"; {text.size(report.bytes_stored)} of it in the repository"
        lines += [f"readable by {by}"] if by else []
        where = f"snapshot {report.snapshot}" if report.snapshot else "nothing was committed"
        lines += [size, f"{into}: {where}, {report.seconds:.2f} s"]
    return "\n".join(lines)


# Options of the command line, made of a dataclass's fields (:mod:`icecore.options`).

Command = Callable[..., None]


def lengths(shape: str | None) -> tuple[int, ...] | dict[str, int] | None:
    """Parse ``"16,64,64"`` or ``"time=16,lat=64"``."""
    if shape is None:
        return None
    parts = [part.strip() for part in shape.split(",")]
    try:
        if "=" in shape:
            return {name.strip(): int(value) for name, value in (part.split("=") for part in parts)}
        return tuple(int(part) for part in parts)
    except ValueError:
        raise errors.make("invalid", f"{shape!r} is not a shape", "16,64,64 or time=16,lat=64") from None


#: name → function that converts the text of the command line
_PARSE: dict[str, Callable[[Any], Any]] = {
    "into": lambda repo: repo if repo is None else persistent(repo),
    "storage": settings,
    "chunk": lengths,
    "shard": lengths,
}


def takes(options: type, *, optional: tuple[str, ...] = ()) -> Callable[[Command], Command]:
    """Return a decorator for a command ``f(values, …)``: the other parameters follow those of ``options``.

    Args:
        options: a dataclass of options; those with a help text are on the command line.
        optional: required options that the command may be called without.

    Returns:
        The decorator; the command is called with name → parsed value of the options.
    """
    fields = {name: each for name, each in described(options).items() if each[1].help is not None}

    def derive(command: Command) -> Command:
        _, *own = inspect.signature(command, eval_str=True).parameters.values()
        names = [each.name for each in own]
        parameters = [*(_parameter(*each, name in optional) for name, each in fields.items()), *own]

        def call(**given: Any) -> None:
            values = {name: _value(*each, given) for name, each in fields.items()}
            command(values, **{name: given[name] for name in names})

        keywords = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
        call.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
        call.__annotations__ = {each.name: each.annotation for each in keywords}
        call.__name__, call.__doc__ = command.__name__, command.__doc__
        return call

    return derive


def once(options: type) -> tuple[list[str], str]:
    """Return the options that exclude following a directory: fields, and names on the command line."""
    fields = {name: each for name, each in described(options).items() if each[1].is_once}
    return list(fields), ", ".join(_flags(*each)[0] for each in fields.values())


def _is_negated(field: dataclasses.Field[Any], option: Option) -> bool:
    """Whether the option turns off what is on by default: ``--no-restore``."""
    return kind(field, option) is bool and field.default is True


def _flags(field: dataclasses.Field[Any], option: Option) -> tuple[str, ...]:
    name = field.name.replace("_", "-")
    return option.flags or (f"--no-{name}" if _is_negated(field, option) else f"--{name}",)


def _parameter(field: dataclasses.Field[Any], option: Option, is_optional: bool) -> inspect.Parameter:
    """Return Typer's parameter for an option."""
    made: Any = kind(field, option)
    made = list[str] if made is list else made
    default = None if is_optional else field.default
    if default is dataclasses.MISSING:
        default = inspect.Parameter.empty
    elif default is None:
        made |= None
    elif _is_negated(field, option):
        default = False
    how: dict[str, Any] = {
        "metavar": option.metavar,
        "help": option.help,
        "min": option.low,
        "max": option.high,
    }
    if option.is_argument:
        how["show_default"] = False
    declared = typer.Argument(**how) if option.is_argument else typer.Option(*_flags(field, option), **how)
    position = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(field.name, position, default=default, annotation=Annotated[made, declared])


def _value(field: dataclasses.Field[Any], option: Option, given: dict[str, Any]) -> Any:
    value = given[field.name]
    if _is_negated(field, option):
        return not value
    return _PARSE[field.name](value) if field.name in _PARSE else value
