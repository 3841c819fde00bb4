"""The command line: one file a verb. ``main`` runs it, ``table`` makes the table of verbs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

import typer

from icecore.cli.failure import describe
from icecore.cli.process import leave, settle

#: in the order of the list that ``icecore --help`` prints; each has a module of its name
VERBS = (
    "demo",
    "link",
    "pack",
    "assay",
    "ls",
    "info",
    "read",
    "query",
    "restore",
    "explain",
    "plot",
    "trend",
    "log",
    "diff",
    "tag",
    "branch",
    "gc",
    "verify",
    "serve",
    "bench",
)
_SELECTING = ("read", "explain", "plot")


def table(verbs: Sequence[str] = VERBS) -> typer.Typer:
    """The table of some verbs."""
    app = typer.Typer(
        name="icecore",
        help="Cut exactly the part you need out of an archive of any size.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(_options)
    for verb in verbs:
        import_module(f"icecore.cli.{verb}").register(app)
    return app


def _options(
    version: bool = typer.Option(False, "--version", help="Print the version and stop.", is_eager=True),
    debug: bool = typer.Option(False, "--debug", help="Show tracebacks of errors."),
) -> None:
    if version:
        from icecore import __version__

        typer.echo(f"icecore {__version__}")
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave: 0 done, 1 a check failed or nothing was found, 2 an error."""
    settle()
    if "_ICECORE_COMPLETE" in os.environ:  # a shell asks what could come next; this leaves
        table()(prog_name="icecore")
    leave(run(list(sys.argv[1:] if arguments is None else arguments)))


def run(arguments: list[str]) -> int:
    """Run one command; the exit status."""
    debug = "--debug" in arguments or bool(os.environ.get("ICECORE_DEBUG"))
    arguments = [item for item in arguments if item != "--debug"]
    if arguments and arguments[0] in _SELECTING:
        # "-1" and "-5:" are selections, not options.
        arguments = [" " + item if re.match(r"-\d", item) else item for item in arguments]
    # A command needs no other verb's options, which take their time to read.
    verbs = arguments[:1] if arguments and arguments[0] in VERBS else VERBS
    try:
        # Not by calling the table: it keeps what was raised to itself where that is Ctrl-C.
        command = typer.main.get_command(table(verbs))
        with command.make_context("icecore", list(arguments)) as context:
            command.invoke(context)
        return 0
    except typer.Exit as end:
        return end.exit_code
    except BrokenPipeError:
        # The reader of our output left (as `head` does): no error, but Python must not try to flush again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            raise
        text, status = describe(error, arguments)
        with suppress(OSError):  # the status tells of it too
            print(text, file=sys.stderr, flush=True)
        return status
